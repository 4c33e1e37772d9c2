"""Which terms in which fields make up a query? The boosts of `search`, in one place.

Each word of the query is looked for in a chunk's text, in its symbol's name and in its path. BM25 weighs
each field by itself, so a word in a short name or path counts for more than one in a long text as it is.
Two further forms catch what code does to words: it joins them (`type adapter` → `TypeAdapter`) and cuts them short
(`configuration` → `config`).
"""

from __future__ import annotations

import heapq
import math
from itertools import pairwise
from typing import TYPE_CHECKING

from llmc.base import words
from llmc.retrieval.query import Query, QueryRoute
from llmc.store.protocols import Clause, KeywordQuery

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping

__all__ = ["body_query", "exact_names", "joined", "keyword_query", "path_query", "terms"]

# The capsule is for the embedder (NDCG@10 .897 with the name alone, .892 with a capsule at .2, .885 with one at .7).
TEXT_FIELDS = {"body": 1.0, "name": 0.7, "path": 1.0}
NAME_FIELDS = {"name": 0.7, "path": 1.0}
# Measured flat from .3 to .5 and from .3 to .7. Guessed forms weigh less than the words of the query.
JOINED = 0.3
SHORTENED = 0.5
# `conf`, `param`, `config`: shorter beginnings match too many words, and longer ones are matched by the stem.
SHORT_FORMS = range(4, 7)
# For pasted text: 24 to 64 terms rank the same on development issues, and each costs time.
MOST_BODY_TERMS = 40
BODY_FIELDS = {"body": 1.0, "name": 0.7, "path": 1.0}
PART_OF_BODY = 0.5
COMMON, FEW = 0.1, 20


def terms(query: Query) -> tuple[str, ...]:
    """The index terms of the telling words, each once: a compound's own term and its parts."""
    return tuple(dict.fromkeys(term for word in query.telling for term in (word.term, *word.parts)))


def joined(query: Query) -> tuple[str, ...]:
    """Neighbouring words as one name, as in the index: `base models` → basemodels, basemodel."""
    names: dict[str, None] = {}
    for first, second in pairwise(query.words):
        if not (first.stop or second.stop):
            name = f"{first.text}{second.text}".replace("_", "").lower()
            names[name] = None
            names[name.removesuffix("s")] = None
    return tuple(names)


def exact_names(query: Query) -> tuple[str, ...]:
    """Words that can only be names: compounds, and words with capitals inside. A query of one word is a name whatever
    its form."""
    return tuple(word.text for word in query.words if word.parts or word.text[1:] != word.text[1:].lower())


def short_forms(query: Query) -> tuple[str, ...]:
    said = set(terms(query))
    forms = (
        words.stem(word.text[:size].lower()) for word in query.telling for size in SHORT_FORMS if size < len(word.text)
    )
    return tuple(form for form in dict.fromkeys(forms) if form not in said)


def keyword_query(query: Query, languages: frozenset[str]) -> KeywordQuery:
    return KeywordQuery(
        any=tuple(_scored(query)),
        all=tuple(
            tuple(Clause(field, word.term) for field in TEXT_FIELDS)
            for phrase in query.phrases
            for word in words.query_words(phrase)
        ),
        none=tuple(Clause("body", word.term) for text in query.without for word in _single(text)),
        languages=languages,
    )


def body_query(
    query: Query, frequencies: Callable[[Collection[str]], tuple[int, Mapping[str, int]]], languages: frozenset[str]
) -> KeywordQuery:
    """The rarest words of a pasted text. Words that no chunk has, or every tenth has, do not distinguish anything."""
    weights = {
        term: max(weight, 0.0)
        for word, count in query.body
        for term, weight in ((word.term, _repeated(count)), *((part, PART_OF_BODY) for part in word.parts))
    }
    rows, held = frequencies(weights)
    worth = {
        term: weight * math.log(rows / held[term])
        for term, weight in weights.items()
        if 0 < held[term] <= max(COMMON * rows, FEW)
    }
    kept = heapq.nlargest(MOST_BODY_TERMS, worth, key=worth.__getitem__)
    return KeywordQuery(
        any=tuple(Clause(field, term, boost * weights[term]) for term in kept for field, boost in BODY_FIELDS.items()),
        languages=languages,
    )


def _repeated(count: int) -> float:
    return min(1 + 0.5 * math.log2(count), 2.5)


def _single(text: str) -> tuple[words.QueryWord, ...]:
    """Phrases of several words are excluded later, once the file is read."""
    found = words.query_words(text)
    return found if len(found) == 1 else ()


def path_query(query: Query) -> KeywordQuery:
    """Files whose path has every term of the query."""
    clauses = tuple(Clause("path", word.term) for word in query.words)
    return KeywordQuery(any=clauses, all=tuple((clause,) for clause in clauses))


def _scored(query: Query) -> Iterator[Clause]:
    if query.route is QueryRoute.SYMBOL:  # of the many places that use a name, files with that name come first
        yield from (Clause("name", term) for term in terms(query))
    for fields, found, boost in (
        (TEXT_FIELDS, terms(query), 1.0),
        (TEXT_FIELDS, joined(query), JOINED),
        (NAME_FIELDS, short_forms(query), SHORTENED),
    ):
        for field, weight in fields.items():
            yield from (Clause(field, term, weight * boost) for term in found)
