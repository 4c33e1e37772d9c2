"""Query syntax: is this text written as a query with operators, and what do the operators say?

    name:value      path, lang, kind, root; several values of one filter are alternatives
    -word -"…" -path:…   leave out
    "two words"     these characters in this order, whatever their case

Syntax applies to a short line that is clearly written that way. In prose, quotes, dashes and colons are plain text.
A colon alone makes no filter: `std::sort`, `http://…` and `note: this` are words.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import get_close_matches

from llmc.base.errors import QueryError
from llmc.base.words import STOP_WORDS

__all__ = ["Filter", "Operators", "is_written_as_query", "read_operators"]

FILTERS = {
    "path": "path", "file": "path", "lang": "lang", "language": "lang", "kind": "kind", "root": "root", "repo": "root",
}  # fmt: skip

# A person who types operators types few words; longer lines with quotes and dashes are sentences or output.
LONGEST_LINE = 200
MOST_TOKENS = 12
# `retry -test` leaves tests out, `why does tar -xzf fail` names a flag: a list of words has hardly any of these.
MOST_STOP_WORDS = 1

_TOKEN = re.compile(
    r"""(?P<minus>(?<!\S)-(?=[\w"/.*]))?          # a minus that starts a token
        (?:(?P<filter>[A-Za-z]+):(?!:|//)(?=\S))?   # name: in front of a value
        (?:"(?P<quoted>[^"]*)"|(?P<plain>[^\s"]+|"))""",
    re.VERBOSE,
)
_SENTENCE = re.compile(r"[\w)][.!?,;](?:\s|$)|[`{}<>=]|\w'\w")
_PHRASE = re.compile(r'(?<![\w"])"[^"\n]+"(?![\w"])')
_LEFT_OUT = re.compile(r'(?<!\S)-(?:"[^"\n]+"|[A-Za-z][\w./*-]{2,}(?=\s|$))')
_FILTERED = re.compile(r"(?<!\S)-?([A-Za-z]+):(?!:|//)\S")


@dataclass(frozen=True, slots=True)
class Filter:
    name: str
    value: str
    exclude: bool = False


@dataclass(frozen=True, slots=True)
class Operators:
    """`text` is what remains to be searched for once filters and exclusions are taken out."""

    text: str
    phrases: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    filters: tuple[Filter, ...] = ()


def is_written_as_query(text: str) -> bool:
    """Whether operators in this text are meant as such."""
    if len(text) > LONGEST_LINE or "\n" in text.strip():
        return False
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
    """What each token means; QueryError when the name of a filter is misspelled."""
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
    """The filter of this name; None when it is a word followed by a colon; an error when it is a misspelled filter."""
    name = FILTERS.get(typed.lower())
    if name is None and (near := get_close_matches(typed.lower(), FILTERS, 1, 0.8)):
        raise QueryError(
            f"there is no filter {typed!r}",
            hint=f"Did you mean {near[0]}:? Put quotes around it to search for the text.",
        )
    return name
