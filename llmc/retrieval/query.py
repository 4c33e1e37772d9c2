"""What does the query ask for? Any text is a query: a name, words, a question, an issue, a stack trace, a log, a diff.

Three forms are distinguished. A short line that is clearly written with operators is parsed as such:

    name:value      path, lang, kind, root or repo, ref; several values of one filter are alternatives
    -word -"…" -path:…   leave out
    "two words"     these characters in this order, ignoring case

Pasted text is read by `pasted`: its headline is what is asked, its body only ranks. Everything else is words, and
quotes, dashes and colons in it are plain text. Whatever the form, `evidence` collects what the text quotes from code.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import get_close_matches
from enum import StrEnum

from llmc.base.errors import QueryError
from llmc.base.languages import PLAIN, language_of
from llmc.base.words import LONGEST_WORD, STOP_WORDS, QueryWord, query_words
from llmc.retrieval.evidence import Evidence, EvidenceKind, extract
from llmc.retrieval.pasted import bounded, is_binary, is_pasted, read_pasted

__all__ = [
    "Evidence",
    "EvidenceKind",
    "Filter",
    "Query",
    "QueryRoute",
    "condensed",
    "is_written_as_query",
    "parse",
    "read_operators",
]

# Words beyond some dozens only cost time; the rarest words of a pasted text are looked up separately.
MOST_WORDS = 32

FILTERS = {
    "path": "path", "file": "path", "lang": "lang", "language": "lang", "kind": "kind", "root": "root", "repo": "root",
    "ref": "ref",
}  # fmt: skip
# People who type operators type few words; longer lines with quotes and dashes are sentences or program output.
LONGEST_LINE = 200
MOST_TOKENS = 12
# `retry -test` excludes tests, `why does tar -xzf fail` names a flag: a list of keywords has hardly any of these words.
MOST_STOP_WORDS = 1

_TOKEN = re.compile(
    r"""(?P<minus>(?<!\S)-(?=[\w"/.*]))?          # a minus that starts a token
        (?:(?P<filter>[A-Za-z]+):(?!:|//)(?=\S))?   # name: in front of a value
        (?:"(?P<quoted>[^"]*)"|(?P<plain>[^\s"]+|"))""",
    re.VERBOSE,
)
_SENTENCE = re.compile(r"[\w)][.!?,;:](?:\s|$)|[`{}<>=]|\w'\w")
_PHRASE = re.compile(r'(?<![\w"])"[^"\n]+"(?![\w"])')
_LEFT_OUT = re.compile(r'(?<!\S)-(?:"[^"\n]+"|[A-Za-z][\w./*-]{2,}(?=\s|$))')
# A colon alone does not make a filter: `std::sort`, `http://…` and `note: this` are words.
_FILTERED = re.compile(r"(?<!\S)-?([A-Za-z]+):(?!:|//)\S")
# After any number of words these are operators: nothing else is written like this.
_LAST_FILTERS = re.compile(rf"(?<!\S)-?(?:{'|'.join(FILTERS)}):[\w.*][\w.*/-]*$")
_QUALIFIED = re.compile(r"[^\W\d][\w$]*(?:(?:::|\.|\#|->)[^\W\d][\w$]*)*(?:\(\))?!?")
_DECLARES = re.compile(
    r"(?:class|def|func|function|fn|struct|enum|interface|trait|type|module|method)\s+(?=\S+$)", re.IGNORECASE
)


class QueryRoute(StrEnum):
    SYMBOL = "symbol"  # one name, possibly qualified
    PATH = "path"  # a file or folder, by its path
    WORDS = "words"  # a question, or keywords
    TEXT = "text"  # pasted: an issue, a stack trace, a log, a diff


@dataclass(frozen=True, slots=True)
class Filter:
    name: str
    value: str
    exclude: bool = False


@dataclass(frozen=True, slots=True)
class Operators:
    """A line split into operators and the `text` that remains to be searched for."""

    text: str
    phrases: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    filters: tuple[Filter, ...] = ()


@dataclass(frozen=True, slots=True)
class Query:
    """`text` is what is searched for, without operators: the words of `words`, in order. For pasted text that is the
    headline; `body` then has the words of the whole text, each with its number of occurrences."""

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
        """The words that carry information; all of them if none does."""
        return tuple(word for word in self.words if not word.stop) or self.words

    def values(self, name: str, *, exclude: bool = False) -> tuple[str, ...]:
        return tuple(one.value for one in self.filters if one.name == name and one.exclude == exclude)


def parse(asked: str, *, syntax: bool = False) -> Query:
    """The query as a value; QueryError if it contains nothing to search for. `syntax` parses operators even in text
    that does not look like it."""
    text = _checked(asked)
    if syntax or is_written_as_query(text):
        operators = read_operators(text)
        return _plain(text, operators.text, operators)
    if is_pasted(text):
        return _pasted(text)
    return _plain(text, text.strip(), Operators(text.strip()))


def _checked(asked: str) -> str:
    """The text as far as it is read; QueryError if it is not text."""
    if is_binary(asked):
        raise QueryError(
            "there is nothing to search for",
            reason="this is binary data, not text",
            hint="Search for a name or a message that it contains; use find to list files.",
        )
    return bounded(asked)


def _pasted(asked: str) -> Query:
    read = read_pasted(asked)
    found = query_words(read.headline)[:MOST_WORDS] or tuple(word for word, _ in read.body[:MOST_WORDS])
    if not found:
        raise _nothing(asked)
    return Query(asked, read.headline, QueryRoute.TEXT, found, evidence=extract(asked), body=read.body)


def _plain(asked: str, text: str, read: Operators) -> Query:
    route = QueryRoute.WORDS if read.phrases else _route(text)
    if route is QueryRoute.SYMBOL:
        text = _DECLARES.sub("", text, count=1)
    found = query_words(text)[:MOST_WORDS]
    if not found:
        raise _nothing(text, filters=bool(read.filters))
    evidence = extract(text) if route is QueryRoute.WORDS else ()
    return Query(asked, text, route, found, read.phrases, read.without, read.filters, evidence)


def condensed(text: str) -> str:
    """One sentence in place of pasted text, for callers that take a question: its headline and the names that it
    quotes. A question is returned unchanged; QueryError if it is not text."""
    plain = _checked(text).strip()
    if not is_pasted(plain):
        return plain
    headline = read_pasted(plain).headline
    quoted = [one.text for one in extract(plain) if one.kind in NAMES_OF_CODE and one.text not in headline]
    return " ".join([headline, *quoted[:MOST_QUOTED_NAMES]]) if headline else plain[:MOST_CONDENSED]


NAMES_OF_CODE = frozenset({EvidenceKind.IDENTIFIER, EvidenceKind.MODULE, EvidenceKind.EXCEPTION})
MOST_QUOTED_NAMES, MOST_CONDENSED = 4, 400


def _nothing(text: str, *, filters: bool = False) -> QueryError:
    hint = "Add a word or a question; use find to list files, grep for punctuation."
    reason = "the query has filters only" if filters and not text.strip() else "the query has no words"
    if _LONG_WORD.search(text):
        reason = f"it is one run of letters, and words of more than {LONGEST_WORD} characters are not indexed"
        hint = "Use grep for a long string, or search for a word that is part of it."
    return QueryError("there is nothing to search for", reason=reason, hint=hint)


_LONG_WORD = re.compile(rf"\w{{{LONGEST_WORD + 1}}}")


def _route(text: str) -> QueryRoute:
    name = _DECLARES.sub("", text, count=1)
    if " " not in name:
        if "/" in name or language_of(name) != PLAIN or name.endswith(".txt"):
            return QueryRoute.PATH
        if _QUALIFIED.fullmatch(name):
            return QueryRoute.SYMBOL
    return QueryRoute.WORDS


# --- operators


def is_written_as_query(text: str) -> bool:
    """Whether operators in this text are meant as operators."""
    if len(text) > LONGEST_LINE or "\n" in text.strip():
        return False
    if _LAST_FILTERS.search(text):
        return True
    tokens = text.split()
    if len(tokens) > MOST_TOKENS:
        return False
    if any(match[1].lower() in FILTERS for match in _FILTERED.finditer(text)):
        return True
    unquoted = _PHRASE.sub(" ", text)
    stop_words = sum(token.lower() in STOP_WORDS for token in unquoted.split())
    if stop_words > MOST_STOP_WORDS or _SENTENCE.search(unquoted):
        return False
    return bool(_PHRASE.search(text) or _LEFT_OUT.search(text) or _FILTERED.search(text))


def read_operators(text: str) -> Operators:
    """What each token means; QueryError if the name of a filter is misspelled."""
    plain: list[str] = []
    phrases: list[str] = []
    without: list[str] = []
    filters: list[Filter] = []
    for token in _TOKEN.finditer(text):
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
    kept = tuple(phrase for phrase in phrases if phrase.strip())
    return Operators(" ".join(plain).strip(), kept, tuple(without), tuple(filters))


def _filter_name(typed: str) -> str | None:
    """The filter of this name; None for a word followed by a colon; an error for a misspelled filter."""
    name = FILTERS.get(typed.lower())
    if name is None and (near := get_close_matches(typed.lower(), FILTERS, 1, 0.8)):
        raise QueryError(
            f"there is no filter {typed!r}",
            hint=f"Did you mean {near[0]}:? Put quotes around it to search for the text.",
        )
    return name
