"""Searches the memory of a session, for example for "the solution from earlier".

Uses the analysis and fusion of code search over a few thousand short texts: BM25 over stems plus cosine similarity of
the bundled model's vectors, each normalized to its best score. An entry is embedded on its first search; the vectors of
the last two sessions searched stay in memory (5,000 texts take 5 MB).
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
# As in retrieval: both lists have nearly the same weight.
WORDS, VECTORS = 0.6, 0.4
# Unrelated texts have a cosine of 0.0 to 0.2 with the bundled model.
UNRELATED: Final = 0.25
# Texts below this share of the best score usually have only one word in common with the query.
LEAST_SHARE: Final = 0.4
MOST_SESSIONS: Final = 2


@dataclass(frozen=True, slots=True)
class Remembered:
    """A searchable text and its origin: `key v3`, `log 12`."""

    of: str
    text: str
    at: float
    speaker: str = ""


class Recalls:
    """Vectors by text, for the sessions searched most recently."""

    def __init__(self) -> None:
        self._vectors: OrderedDict[int, dict[str, npt.NDArray[np.float32]]] = OrderedDict()
        self._lock = threading.Lock()

    def vectors(self, session: int, texts: Sequence[str], embedder: Embedder) -> list[npt.NDArray[np.float32]]:
        with self._lock:
            cached = self._vectors.pop(session, {})
            new = [text for text in dict.fromkeys(texts) if text not in cached]
            if new:
                cached.update(zip(new, embedder.embed(new), strict=True))
            current = {text: cached[text] for text in texts}
            self._vectors[session] = current
            while len(self._vectors) > MOST_SESSIONS:
                self._vectors.popitem(last=False)
            return [current[text] for text in texts]


def recall(
    recalls: Recalls,
    session: int,
    remembered: Sequence[Remembered],
    query: str,
    *,
    embedder: Embedder | None = None,
    most: int = 8,
) -> list[Remembered]:
    """The best matches first; of equal matches, the later one."""
    if not remembered:
        return []
    texts = [f"{one.of} {one.text}" for one in remembered]  # the origin may contain the query, such as "solution"
    scores = normalize(by_words(texts, query), WORDS)
    if embedder is not None:
        vectors = recalls.vectors(session, texts, embedder)
        query_vector = embedder.embed_query(query)
        near = [max(0.0, float(vector @ query_vector) - UNRELATED) for vector in vectors]
        scores = [one + other for one, other in zip(scores, normalize(near, VECTORS), strict=True)]
    ranked = sorted(zip(scores, remembered, strict=True), key=lambda pair: (-pair[0], -pair[1].at))
    enough = ranked[0][0] * LEAST_SHARE
    return [one for score, one in ranked[:most] if score > 0 and score >= enough]


def normalize(scores: Sequence[float], weight: float) -> list[float]:
    best = max(scores)
    return [weight * score / best for score in scores] if best > 0 else [0.0] * len(scores)


def by_words(texts: Sequence[str], query: str) -> list[float]:
    """BM25 scores; stop words count only when the query has no other words."""
    query_vector = words.query_words(query)
    telling_words = [word for word in query_vector if not word.stop] or list(query_vector)
    terms = {term for word in telling_words for term in (word.term, *word.parts)}
    documents = [Counter(words.body(text).split()) for text in texts]
    sizes = [sum(one.values()) for one in documents]
    average = sum(sizes) / len(sizes) or 1.0
    weights = {term: weight(sum(term in one for one in documents), len(documents)) for term in terms}
    return [
        sum(weights[term] * term_frequency(one[term], size / average) for term in terms if term in one)
        for one, size in zip(documents, sizes, strict=True)
    ]


def weight(having: int, total: int) -> float:
    return math.log(1 + (total - having + 0.5) / (having + 0.5))


def term_frequency(times: int, length: float) -> float:
    return times * (K1 + 1) / (times + K1 * (1 - B + B * length))
