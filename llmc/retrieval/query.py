"""What does the query ask for? Words, quoted phrases, filters, what to leave out, and how to route it.

    name:value      path, lang, kind, root; several values of one filter are alternatives
    -word -"…" -path:…   leave out
    "two words"     these characters in this order, whatever their case

Everything else is words. A colon alone makes no filter: `std::sort`, `http://…` and `note: this` are words.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import get_close_matches
from enum import StrEnum

from llmc.base.errors import QueryError
from llmc.base.languages import PLAIN, language_of
from llmc.base.words import QueryWord, query_words

__all__ = ["Filter", "Query", "QueryRoute", "parse"]

# A pasted log or file is no question; words beyond some dozens only cost time.
LONGEST_QUERY = 4_000
MOST_WORDS = 32

FILTERS = {
    "path": "path", "file": "path", "lang": "lang", "language": "lang", "kind": "kind", "root": "root", "repo": "root",
}  # fmt: skip

_TOKEN = re.compile(
    r"""(?P<minus>(?<!\S)-(?=[\w"/.*]))?          # a minus that starts a token
        (?:(?P<filter>[A-Za-z]+):(?!:|//)(?=\S))?   # name: in front of a value
        (?:"(?P<quoted>[^"]*)"|(?P<plain>[^\s"]+|"))""",
    re.VERBOSE,
)
_QUALIFIED = re.compile(r"[^\W\d][\w$]*(?:(?:::|\.|\#|->)[^\W\d][\w$]*)*(?:\(\))?!?")
_DECLARES = re.compile(
    r"(?:class|def|func|function|fn|struct|enum|interface|trait|type|module|method)\s+(?=\S+$)", re.IGNORECASE
)


class QueryRoute(StrEnum):
    SYMBOL = "symbol"  # one name, perhaps qualified
    PATH = "path"  # a file or folder by its path
    WORDS = "words"  # a question, or words that stand for it


@dataclass(frozen=True, slots=True)
class Filter:
    name: str
    value: str
    exclude: bool = False


@dataclass(frozen=True, slots=True)
class Query:
    """`text` is what remains to be searched for once filters are taken out: the words of `words`, in order."""

    asked: str
    text: str
    route: QueryRoute
    words: tuple[QueryWord, ...]
    phrases: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    filters: tuple[Filter, ...] = ()

    @property
    def telling(self) -> tuple[QueryWord, ...]:
        """The words that say something; all of them when none does."""
        return tuple(word for word in self.words if not word.stop) or self.words

    def values(self, name: str, *, exclude: bool = False) -> tuple[str, ...]:
        return tuple(one.value for one in self.filters if one.name == name and one.exclude == exclude)


def parse(asked: str) -> Query:
    """The query as a value; QueryError when there is nothing in it to search for."""
    if len(asked) > LONGEST_QUERY:
        raise QueryError(
            f"the query is over {LONGEST_QUERY:,} characters", hint="Ask in a sentence, or use grep for a literal text."
        )
    plain: list[str] = []
    phrases: list[str] = []
    without: list[str] = []
    filters: list[Filter] = []
    for token in _TOKEN.finditer(asked):
        name = _filter_name(token["filter"]) if token["filter"] else None
        quoted = token["quoted"]
        value = quoted if quoted is not None else token["plain"]
        if name:
            filters.append(Filter(name, value, exclude=token["minus"] is not None))
        elif token["minus"]:
            without.append(value)
        elif quoted is not None and token["filter"] is None:
            phrases.append(quoted)
            plain.append(quoted)
        else:
            plain.append(token[0])
    return _query(asked, " ".join(plain).strip(), phrases, without, filters)


def _query(asked: str, text: str, phrases: list[str], without: list[str], filters: list[Filter]) -> Query:
    route = QueryRoute.WORDS if phrases else _route(text)
    if route is QueryRoute.SYMBOL:
        text = _DECLARES.sub("", text, count=1)
    found = query_words(text)[:MOST_WORDS]
    if not found:
        raise QueryError(
            "there is nothing to search for",
            reason="the query has filters only" if filters else "the query has no words",
            hint="Add a word or a question; use find to list files, grep for punctuation.",
        )
    return Query(
        asked=asked,
        text=text,
        route=route,
        words=found,
        phrases=tuple(phrase for phrase in phrases if phrase.strip()),
        without=tuple(without),
        filters=tuple(filters),
    )


def _route(text: str) -> QueryRoute:
    name = _DECLARES.sub("", text, count=1)
    if " " not in name:
        if "/" in name or language_of(name) != PLAIN or name.endswith(".txt"):
            return QueryRoute.PATH
        if _QUALIFIED.fullmatch(name):
            return QueryRoute.SYMBOL
    return QueryRoute.WORDS


def _filter_name(typed: str) -> str | None:
    """The filter that is meant; None when it is a word with a colon behind it; an error when it is a slip."""
    name = FILTERS.get(typed.lower())
    if name is None and (near := get_close_matches(typed.lower(), FILTERS, 1, 0.8)):
        raise QueryError(
            f"there is no filter {typed!r}",
            hint=f"Did you mean {near[0]}:? Put quotes around it to search for the text.",
        )
    return name
