"""What does the query ask for? Any text is a query: a name, words, a question, an issue, a stack trace, a log, a diff.

Three forms are told apart. A short line that is clearly written with operators is read by `syntax`. Pasted text is
read by `pasted`: its headline is what is asked, its body ranks. Everything else is words, and quotes, dashes and
colons in it are plain text. Whatever the form, what the text quotes from the code is collected by `evidence`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

from llmc.base.errors import QueryError
from llmc.base.languages import PLAIN, language_of
from llmc.base.words import QueryWord, query_words
from llmc.retrieval.evidence import Evidence, EvidenceKind, extract
from llmc.retrieval.pasted import bounded, is_pasted, read_pasted
from llmc.retrieval.syntax import Filter, Operators, is_written_as_query, read_operators

__all__ = ["Evidence", "EvidenceKind", "Filter", "Query", "QueryRoute", "condensed", "parse"]

# Words beyond some dozens only cost time; of a pasted text the rarest are looked up besides.
MOST_WORDS = 32

_QUALIFIED = re.compile(r"[^\W\d][\w$]*(?:(?:::|\.|\#|->)[^\W\d][\w$]*)*(?:\(\))?!?")
_DECLARES = re.compile(
    r"(?:class|def|func|function|fn|struct|enum|interface|trait|type|module|method)\s+(?=\S+$)", re.IGNORECASE
)


class QueryRoute(StrEnum):
    SYMBOL = "symbol"  # one name, perhaps qualified
    PATH = "path"  # a file or folder by its path
    WORDS = "words"  # a question, or words that stand for it
    TEXT = "text"  # pasted: an issue, a stack trace, a log, a diff


@dataclass(frozen=True, slots=True)
class Query:
    """`text` is what is searched for as a question, without operators: the words of `words`, in order. Of pasted text
    that is the headline; `body` has the words of all of it, each with how often it occurs."""

    asked: str
    text: str
    route: QueryRoute
    words: tuple[QueryWord, ...]
    phrases: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    filters: tuple[Filter, ...] = ()
    evidence: tuple[Evidence, ...] = ()
    body: tuple[tuple[QueryWord, int], ...] = ()

    @property
    def telling(self) -> tuple[QueryWord, ...]:
        """The words that say something; all of them when none does."""
        return tuple(word for word in self.words if not word.stop) or self.words

    def values(self, name: str, *, exclude: bool = False) -> tuple[str, ...]:
        return tuple(one.value for one in self.filters if one.name == name and one.exclude == exclude)


def parse(asked: str, *, syntax: bool = False) -> Query:
    """The query as a value; QueryError when there is nothing in it to search for. `syntax` reads operators whatever
    the text looks like."""
    text = bounded(asked)
    if syntax or is_written_as_query(text):
        return _operated(text, read_operators(text))
    if is_pasted(text):
        return _pasted(text)
    return _plain(text, text.strip(), Operators(text.strip()))


def _operated(asked: str, read: Operators) -> Query:
    return _plain(asked, read.text, read)


def _pasted(asked: str) -> Query:
    read = read_pasted(asked)
    found = query_words(read.headline)[:MOST_WORDS] or tuple(word for word, _ in read.body[:MOST_WORDS])
    if not found:
        raise _nothing(filters=False)
    return Query(asked, read.headline, QueryRoute.TEXT, found, evidence=extract(asked), body=read.body)


def _plain(asked: str, text: str, read: Operators) -> Query:
    route = QueryRoute.WORDS if read.phrases else _route(text)
    if route is QueryRoute.SYMBOL:
        text = _DECLARES.sub("", text, count=1)
    found = query_words(text)[:MOST_WORDS]
    if not found:
        raise _nothing(filters=bool(read.filters))
    evidence = extract(text) if route is QueryRoute.WORDS else ()
    return Query(asked, text, route, found, read.phrases, read.without, read.filters, evidence)


def condensed(text: str) -> str:
    """A question that stands for pasted text, for callers that take a sentence: its headline and the names it quotes.
    A question stays as it is."""
    plain = bounded(text).strip()
    if not is_pasted(plain):
        return plain
    headline = read_pasted(plain).headline
    quoted = [one.text for one in extract(plain) if one.kind in NAMES_OF_CODE and one.text not in headline]
    return " ".join([headline, *quoted[:MOST_QUOTED_NAMES]]) if headline else plain[:MOST_CONDENSED]


NAMES_OF_CODE = frozenset({EvidenceKind.IDENTIFIER, EvidenceKind.MODULE, EvidenceKind.EXCEPTION})
MOST_QUOTED_NAMES, MOST_CONDENSED = 4, 400


def _nothing(*, filters: bool) -> QueryError:
    return QueryError(
        "there is nothing to search for",
        reason="the query has filters only" if filters else "the query has no words",
        hint="Add a word or a question; use find to list files, grep for punctuation.",
    )


def _route(text: str) -> QueryRoute:
    name = _DECLARES.sub("", text, count=1)
    if " " not in name:
        if "/" in name or language_of(name) != PLAIN or name.endswith(".txt"):
            return QueryRoute.PATH
        if _QUALIFIED.fullmatch(name):
            return QueryRoute.SYMBOL
    return QueryRoute.WORDS
