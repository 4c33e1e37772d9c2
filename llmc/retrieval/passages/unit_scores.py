"""How likely is it that a unit of a file answers the question?

BM25 over the units of the one file, for their text and for their names, and the score of the chunk that a unit stands
in, by which the file was found. Weights are those that did best on the 60 questions of `bench.research`, rounded;
cosines of the units themselves (`score`) found the answer no more often and took ten times as long.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmc.base import words
from llmc.base.bm25 import query_terms
from llmc.retrieval.passages.lexical import compared
from llmc.retrieval.query_features import ROLE_WORDS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from llmc.retrieval.query_features import QueryFeatures

__all__ = ["mentions", "named_like", "scaled", "weigh"]

BODY, NAME, CHUNK = 2.0, 2.0, 9.0


def weigh(texts: Sequence[str], names: Sequence[str], shares: Sequence[float], asked: QueryFeatures) -> list[float]:
    """One score per unit; `shares` are the scores of their chunks relative to the best."""
    terms = query_terms(asked.query.telling)
    bodies, named = scaled(compared(texts, terms)), scaled(compared(names, terms))
    return [BODY * body + NAME * name + CHUNK * share for body, name, share in zip(bodies, named, shares, strict=True)]


def named_like(asked: QueryFeatures, names: Sequence[str]) -> list[float]:
    """How much of the question each name contains; 0 if it only has words for the requested kind of file."""
    kinds = {words.stem(kind) for role in asked.roles for kind in ROLE_WORDS[role].split()}
    return compared(
        names, {term: weight for term, weight in query_terms(asked.query.telling).items() if term not in kinds}
    )


def mentions(text: str, asked: QueryFeatures) -> bool:
    return not query_terms(asked.query.telling).keys().isdisjoint(words.body(text).split())


def scaled(values: Sequence[float]) -> list[float]:
    """Between 0 and 1, so that weights mean the same in every file."""
    most = max(values, default=0.0)
    return [value / most for value in values] if most else list(values)
