"""How likely is it that a unit of a file answers the question?

BM25 over the units of the one file, for their text and for their names, and the score of the chunk that a unit stands
in, by which the file was found. Weights are those that did best on the 60 questions of `bench.research`, rounded;
cosines of the units themselves (`envelope/focus`) found the answer no more often and took ten times as long.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from llmc import words
from llmc.retrieval.asked import ROLE_WORDS

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from llmc.retrieval.asked import Asked

__all__ = ["named_like", "weigh"]

K1, B = 1.2, 0.7
BODY, NAME, CHUNK = 2.0, 2.0, 9.0
PART: Final = 0.5  # a part of a compound of the question, beside the whole


def weigh(texts: Sequence[str], names: Sequence[str], shares: Sequence[float], asked: Asked) -> list[float]:
    """One for each unit; `shares` are the scores of their chunks by that of the best."""
    terms = _wanted(asked)
    bodies, named = scaled(bm25(texts, terms)), scaled(bm25(names, terms))
    return [BODY * body + NAME * name + CHUNK * share for body, name, share in zip(bodies, named, shares, strict=True)]


def named_like(asked: Asked, names: Sequence[str]) -> list[float]:
    """How much of the question each name has; 0 where it has nothing but the kind of file that was asked for."""
    kinds = {words.stem(kind) for role in asked.roles for kind in ROLE_WORDS[role].split()}
    return bm25(names, {term: weight for term, weight in _wanted(asked).items() if term not in kinds})


def _wanted(asked: Asked) -> dict[str, float]:
    found: dict[str, float] = {}
    for word in asked.query.telling:
        for term, weight in ((word.term, 1.0), *((part, PART) for part in word.parts)):
            found[term] = max(found.get(term, 0.0), weight)
    return found


def scaled(values: Sequence[float]) -> list[float]:
    """Between 0 and 1, so that weights mean the same in every file."""
    most = max(values, default=0.0)
    return [value / most for value in values] if most else list(values)


def bm25(texts: Sequence[str], wanted: dict[str, float]) -> list[float]:
    analysed = [words.body(text).split() for text in texts]
    met = [_counts(body, wanted) for body in analysed]
    seen = {term: sum(term in counts for counts in met) for term in wanted}
    rarity = {term: math.log(1 + (len(texts) - n + 0.5) / (n + 0.5)) for term, n in seen.items()}
    mean = sum(map(len, analysed)) / max(1, len(texts)) or 1.0
    return [
        sum(
            wanted[term] * rarity[term] * n * (K1 + 1) / (n + K1 * (1 - B + B * len(body) / mean))
            for term, n in counts.items()
        )
        for counts, body in zip(met, analysed, strict=True)
    ]


def _counts(body: list[str], wanted: Collection[str]) -> dict[str, int]:
    return {term: body.count(term) for term in wanted if term in body}
