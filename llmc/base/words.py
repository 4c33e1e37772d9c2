"""words: how does text become index terms?

The text analysis shared by indexing and search: identifiers, their parts, and a light stemmer. A compound identifier
(`HTTPServer`, `http_server`) yields itself without separators (`httpserver`) and the stem of each part; a plain word
yields its stem. The store indexes the terms of `body`, `name` and `path`, split at spaces; retrieval builds its clauses
from `query_words`. `ANALYSIS` is part of the index format: increase it when a term changes, to rebuild indexes.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from llmc.base.cache_budget import register_cache

__all__ = ["ANALYSIS", "LONGEST_WORD", "QueryWord", "body", "compound", "name", "path", "query_words", "stem"]

ANALYSIS = 1

# Longer runs are data (base64, hashes, minified blobs) that users do not search by word; grep finds them.
LONGEST_WORD = 64
# About 200 bytes per entry. The vocabulary of a repository repeats, so clearing the cache costs little.
MAX_CACHED = 30_000

_WORD = re.compile(r"\w+")
# For ASCII text, replacing other characters by spaces and splitting is twice as fast as the pattern.
_ASCII_WORDS = "".join(c if c.isalnum() or c == "_" else " " for c in map(chr, range(128)))
# A run of capitals ends before the capital that starts a word: HTTPServer → HTTP, Server.
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
# Scripts without spaces are indexed as character pairs.
_UNSPACED = re.compile(r"[\u0e00-\u0eff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]+")

# Suffixes are removed repeatedly while four letters remain (three after a plural s). Merging the forms of a word
# (render, renderer, rendering) improves code search, where the exact name is scored separately: NDCG@10 is .869 without
# stemming, .881 with plurals only, .887 with these.
_SUFFIXES = (
    "ization", "ation", "ator", "izer", "ment", "ating", "izing", "ated", "ized", "ates", "izes",
    "ate", "ize", "ion", "ing", "ed", "er", "or", "es", "e",
)  # fmt: skip
_SHORTEST_STEM = 4

# Words of a question without information about the code. They are indexed, since an identifier may be named `the`.
STOP_WORDS = frozenset(
    """
    a an and any are as at be been but by can could do does did done for from get gets had has have how i if in into is
    it its me my no not of on or our out over so such than that the their them then there these they this to up us use
    used uses using via was we were what when where which while who whose why will with within without work works would
    you your about after also all between during each handle handled handles happen happens should
    """.split()  # noqa: SIM905 a column of quoted words would hide the list
)


@lru_cache(maxsize=16_384)
def stem(word: str) -> str:
    """The stem of a lower-case word: the same for `queries` and `query`, and for `mapping` and `map`."""
    if not word.isascii():
        return word
    previous, word = "", _singular(word)
    while previous != word:
        previous, word = word, _shorter(word)
    return word


def _singular(word: str) -> str:
    if word.endswith("ies") and len(word) > _SHORTEST_STEM:
        return word[:-3] + "y"
    if word.endswith("s") and not word.endswith(("ss", "us", "is")) and len(word) >= _SHORTEST_STEM:
        return word[:-1]
    return word


def _shorter(word: str) -> str:
    for suffix in _SUFFIXES:
        if word.endswith(suffix) and len(word) - len(suffix) >= _SHORTEST_STEM:
            return _single(word[: -len(suffix)])
    return _single(word)


def _single(word: str) -> str:
    """Remove a doubled last letter: `mapp` from `mapping`, `buff` from `buffer`."""
    return word[:-1] if len(word) >= _SHORTEST_STEM and word[-1] == word[-2] and word[-1].isalpha() else word


def split(identifier: str) -> tuple[str, ...]:
    """The parts of an identifier, lower-cased, not stemmed: `HTTPServer2` → http, server, 2."""
    if identifier.isascii():
        return tuple(part.lower() for part in _PART.findall(identifier))
    parts: list[str] = []
    for run in re.split(r"_+|(?<=\d)(?=[^\W\d])|(?<=[^\W\d])(?=\d)", identifier):
        parts.extend(_unspaced(run) if _UNSPACED.fullmatch(run) else _by_case(run))
    return tuple(part for part in parts if part)


def _unspaced(run: str) -> list[str]:
    return [run[i : i + 2] for i in range(len(run) - 1)] or [run]


def _by_case(run: str) -> list[str]:
    """Split between a lower-case and an upper-case letter, in any script."""
    cuts = [0, *(i for i in range(1, len(run)) if run[i].isupper() and run[i - 1].islower()), len(run)]
    return [run[start:end].lower() for start, end in pairwise(cuts)]


def _terms(identifier: str) -> tuple[str, ...]:
    """Every index term of an identifier, the whole identifier first."""
    if len(identifier) > LONGEST_WORD:
        return ()
    parts = split(identifier)
    if len(parts) <= 1:
        return (stem(parts[0]),) if parts else ()
    whole = identifier.replace("_", "").lower()
    # A single letter carries no information (`x11`, `kFlag`), except in scripts without spaces.
    return (whole, *(stem(part) for part in parts if len(part) > 1 or not part.isascii()))


class _Table(dict[str, str]):
    """Identifier → its terms, joined. Filled on demand; the lookup makes the analysis fast."""

    def __missing__(self, identifier: str) -> str:
        if len(self) >= MAX_CACHED:
            self.clear()
        self[identifier] = terms = " ".join(_terms(identifier))
        return terms


_TABLE = _Table()
register_cache("words", lambda: 200 * len(_TABLE), _TABLE.clear)


def body(text: str) -> str:
    """The index terms of code or prose, in order, joined by spaces."""
    return " ".join(map(_TABLE.__getitem__, _identifiers(text)))


def _identifiers(text: str) -> list[str]:
    if text.isascii():
        return text.translate(_ASCII_WORDS).split()
    return _WORD.findall(unicodedata.normalize("NFKC", text))


def name(text: str) -> str:
    """The index terms of a (qualified) symbol name."""
    return body(text)


def compound(name: str) -> str:
    """The first term of a name that has several, such as `BaseModel` or `base_model`; empty for a plain word. The other
    terms are not computed, which takes most of the time of `name`."""
    first, *more = _identifiers(name) or ("",)
    if not more and len(first) <= LONGEST_WORD:
        parts = split(first)
        is_compound = len(parts) > 1 and any(len(part) > 1 or not part.isascii() for part in parts)
        return first.replace("_", "").lower() if is_compound else ""
    terms = body(name).split()
    return terms[0] if len(terms) > 1 else ""


def path(path: str) -> str:
    """The index terms of a relative path: folders, file name, and the stem of the file name as one word."""
    return body(path)


@dataclass(frozen=True, slots=True)
class QueryWord:
    """A word of a query. `term` is the whole word, `parts` are the parts of a compound; a plain word has none."""

    text: str
    term: str
    parts: tuple[str, ...] = ()
    stop: bool = False


def query_words(text: str) -> tuple[QueryWord, ...]:
    """The words of a query in order, analysed in the same way as the index. Stop words are marked, not dropped."""
    words = ((word, _terms(word)) for word in _identifiers(text))
    return tuple(QueryWord(word, terms[0], terms[1:], word.lower() in STOP_WORDS) for word, terms in words if terms)
