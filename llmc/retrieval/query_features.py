"""What the signals need to know of a query, made once for all files."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from llmc.retrieval.clauses import exact_names, joined, short_forms, terms
from llmc.retrieval.query import Query, QueryRoute

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["QueryFeatures"]

# A question that says so wants what is otherwise put behind the code.
ROLE_WORDS = {
    "test": "test tests testing tested spec specs mock mocks fixture fixtures bench benchmark benchmarks",
    "example": "example examples sample samples demo demos tutorial",
    "doc": "why readme doc docs documented overview decision decisions changelog guide manual tutorial licence license",
    "config": "dockerfile makefile workflow ci lint linter dependencies pyproject tsconfig",
    "data": "data dataset csv translations locale",
    "generated": "generated",
    "vendored": "vendor vendored bundled",
    "legacy": "legacy compat deprecated",
}


@dataclass(frozen=True, slots=True)
class QueryFeatures:
    """`terms` are what a text is searched for, a compound by its parts; `forms` are what code makes of them.

    `symbols` are written as names, and looked up in the symbol table; `names` are all that a definition may be called,
    each with a weight; `roles` are the kinds of files that are asked for by name.
    """

    query: Query
    terms: tuple[str, ...]
    symbols: tuple[str, ...]
    forms: frozenset[str]
    names: dict[str, float]
    roles: frozenset[str]

    @classmethod
    def of(cls, query: Query) -> QueryFeatures:
        said = terms(query)
        return cls(
            query=query,
            terms=tuple(dict.fromkeys(term for word in query.telling for term in word.parts or (word.term,))),
            symbols=(query.words[-1].text,) if query.route is QueryRoute.SYMBOL else exact_names(query),
            forms=frozenset((*said, *joined(query), *short_forms(query))),
            names=names(query),
            roles=roles(word.text.lower() for word in query.words),
        )


def names(query: Query) -> dict[str, float]:
    """A name that was written as one is sought in earnest, a pair of words less so, a plain word hardly."""
    if query.route is QueryRoute.SYMBOL:
        return {spelled(query.words[-1].text): 1.0}
    found = {spelled(word.text): 0.2 for word in query.telling}
    found |= dict.fromkeys(joined(query), 0.7)
    return found | {spelled(name): 1.0 for name in exact_names(query)}


@lru_cache(maxsize=65_536)
def spelled(name: str) -> str:
    """How names are compared: `base_model`, `BaseModel` and `baseModel` are one."""
    return name.replace("_", "").lower()


def roles(said: Iterable[str]) -> frozenset[str]:
    spoken = frozenset(said)
    return frozenset(role for role, names in ROLE_WORDS.items() if spoken & set(names.split()))
