"""Search in a session's memory: "the solution from earlier".

The same analysis and the same fusion as the search in code, over some thousand short texts: BM25 over stems and
neighbours by the bundled model's vectors, each scaled to its best, added up. The model embeds a text once, when it is
first searched; the vectors of the last two sessions stay in memory (5,000 texts are 5 MB).
"""

from __future__ import annotations

import math
import threading
from collections import Counter, OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from llmc.base import words

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    import numpy.typing as npt

    from llmc.embed import Embedder

__all__ = ["Recalls", "Remembered", "recall"]

K1, B = 1.2, 0.75
# As in retrieval: the two lists weigh nearly the same where both have a say.
WORDS, MEANING = 0.6, 0.4
# Cosine of two texts that have nothing to do with each other, with the bundled model: 0.0 to 0.2.
UNRELATED: Final = 0.25
# What has less than this share of the best one's score only shares a word with the question.
FAR: Final = 0.4
MOST_HELD: Final = 2


@dataclass(frozen=True, slots=True)
class Remembered:
    """A text that can be found, and what it is of: `key v3`, `log 12`."""

    of: str
    text: str
    at: float
    speaker: str = ""


class Recalls:
    """Vectors by text, for the sessions that were searched last."""

    def __init__(self) -> None:
        self._held: OrderedDict[int, dict[str, npt.NDArray[np.float32]]] = OrderedDict()
        self._lock = threading.Lock()

    def vectors(self, session: int, texts: Sequence[str], embedder: Embedder) -> list[npt.NDArray[np.float32]]:
        with self._lock:
            held = self._held.pop(session, {})
            new = [text for text in dict.fromkeys(texts) if text not in held]
            if new:
                held.update(zip(new, embedder.embed(new), strict=True))
            kept = {text: held[text] for text in texts}
            self._held[session] = kept
            while len(self._held) > MOST_HELD:
                self._held.popitem(last=False)
            return [kept[text] for text in texts]


def recall(
    recalls: Recalls,
    session: int,
    remembered: Sequence[Remembered],
    query: str,
    *,
    embedder: Embedder | None = None,
    most: int = 8,
) -> list[Remembered]:
    """The best first; of two that are as good, the later one."""
    if not remembered:
        return []
    texts = [f"{one.of} {one.text}" for one in remembered]  # that it is a solution is said beside it
    scores = scaled(by_words(texts, query), WORDS)
    if embedder is not None:
        vectors = recalls.vectors(session, texts, embedder)
        asked = embedder.embed_query(query)
        near = [max(0.0, float(vector @ asked) - UNRELATED) for vector in vectors]
        scores = [one + other for one, other in zip(scores, scaled(near, MEANING), strict=True)]
    ranked = sorted(zip(scores, remembered, strict=True), key=lambda pair: (-pair[0], -pair[1].at))
    enough = ranked[0][0] * FAR
    return [one for score, one in ranked[:most] if score > 0 and score >= enough]


def scaled(scores: Sequence[float], weight: float) -> list[float]:
    best = max(scores)
    return [weight * score / best for score in scores] if best > 0 else [0.0] * len(scores)


def by_words(texts: Sequence[str], query: str) -> list[float]:
    """BM25; words that say nothing count only where the query has no others."""
    asked = words.query_words(query)
    told = [word for word in asked if not word.stop] or list(asked)
    wanted = {term for word in told for term in (word.term, *word.parts)}
    documents = [Counter(words.body(text).split()) for text in texts]
    sizes = [sum(one.values()) for one in documents]
    average = sum(sizes) / len(sizes) or 1.0
    weights = {term: weight(sum(term in one for one in documents), len(documents)) for term in wanted}
    return [
        sum(weights[term] * saturated(one[term], size / average) for term in wanted if term in one)
        for one, size in zip(documents, sizes, strict=True)
    ]


def weight(having: int, total: int) -> float:
    return math.log(1 + (total - having + 0.5) / (having + 0.5))


def saturated(times: int, length: float) -> float:
    return times * (K1 + 1) / (times + K1 * (1 - B + B * length))
