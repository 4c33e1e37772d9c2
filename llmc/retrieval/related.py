"""Which other definitions of the ranked files are named after words of the query?

A list of keywords often names several things that one file does, and a reply quotes the place that has most of them.
The names of the others cost a few tokens each and say where to read next. Only names are compared, which the catalog
has; no text is read. A sentence asks for one thing, so its words are not looked for in names.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final, NamedTuple

from llmc.base import words
from llmc.retrieval.passages.excerpt import BOILERPLATE, OF_NO_BODY
from llmc.retrieval.query import QueryRoute

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from llmc.base.model import Symbol
    from llmc.retrieval.candidate import Candidate
    from llmc.retrieval.query_features import QueryFeatures

__all__ = ["is_keyword_list", "related_definitions"]

# Decision 230: with these the replies to 43 recorded searches of agents name 27 % more of what the agents looked for.
MOST_FILES, MOST_NAMES, LEAST_KEYWORDS = 6, 10, 3
# A name is listed if its words are worth this share of the two rarest of the query. A word in more than this share of a
# file's names says nothing there, and a name counts less in a file that ranks far behind.
LEAST_VALUE: Final = 0.07
MOST_SHARE: Final = 0.4
LAST_LINE: Final = 1 << 30


class _Named(NamedTuple):
    value: float
    rank: int  # of the file
    symbol: Symbol


def is_keyword_list(asked: QueryFeatures) -> bool:
    words_of_query = asked.query.words
    return (
        asked.query.route is QueryRoute.WORDS
        and len(asked.terms) >= LEAST_KEYWORDS
        and not any(word.stop for word in words_of_query)
    )


def related_definitions(
    files: Sequence[Candidate], asked: QueryFeatures, shown: Sequence[Collection[str]]
) -> dict[int, tuple[Symbol, ...]]:
    """Rank of the file → its definitions, best first; `shown` are the names that a reply has of each file anyway."""
    if not is_keyword_list(asked):
        return {}
    ranked = sorted(_candidates(files[:MOST_FILES], asked.weights, shown), key=lambda one: (-one.value, one.rank))
    least = LEAST_VALUE * sum(sorted(asked.weights.values())[-2:])
    found: dict[int, tuple[Symbol, ...]] = {}
    for one in ranked[:MOST_NAMES]:
        if one.value >= least:
            found[one.rank] = (*found.get(one.rank, ()), one.symbol)
    return found


def _candidates(
    files: Sequence[Candidate], weights: Mapping[str, float], shown: Sequence[Collection[str]]
) -> Iterator[_Named]:
    for rank, file in enumerate(files):
        if file.role == "code" and file.doc and not file.moved:
            nearness = (file.score / files[0].score) ** 0.5
            for symbol, value in _named_after(_definitions(file), weights):
                if symbol.qualified not in shown[rank]:
                    yield _Named(value * nearness, rank, symbol)


def _definitions(file: Candidate) -> list[Symbol]:
    """One definition per name, without fields, headings and members that every class has."""
    found: dict[str, Symbol] = {}
    for symbol in file.view.store.catalog.symbols_around(file.doc, 1, LAST_LINE):
        if symbol.kind not in OF_NO_BODY and symbol.kind != "heading" and symbol.name not in BOILERPLATE:
            found.setdefault(symbol.name, symbol)
    return list(found.values())


def _named_after(symbols: Sequence[Symbol], weights: Mapping[str, float]) -> Iterable[tuple[Symbol, float]]:
    terms = [weights.keys() & words.name(symbol.name).split() for symbol in symbols]
    counts = Counter(term for each in terms for term in each)
    most = max(2, MOST_SHARE * len(symbols))
    for symbol, each in zip(symbols, terms, strict=True):
        value = sum(weights[term] for term in each if counts[term] <= most)
        if value:
            yield symbol, value
