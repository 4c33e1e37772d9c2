"""Does a file contain a string that the query quotes: an error message, a log line, a string?

A message is rarely written in the source as it appears: it is split over lines, joined from pieces, and holds values.
So both sides are reduced to their words in order, and what counts is how much of the message is found as runs of three
words or more: `cannot open 'a.txt': no such file` is found in `"cannot open %r: " "no such file"`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from llmc.retrieval.evidence import EvidenceKind
from llmc.retrieval.passages.lazy_lines import passage
from llmc.retrieval.results import Share

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from llmc.retrieval.candidate import Candidate
    from llmc.retrieval.query_features import QueryFeatures

__all__ = ["is_assembled", "messages", "shared_words", "verbatim"]

QUOTED: Final = 1.0
# Shorter runs of words match by chance, and so does a small part of a message.
SHORTEST_RUN: Final = 3
LEAST_SHARE: Final = 0.4
MOST_MESSAGES: Final = 6
MOST_WORDS: Final = 40
MOST_CHUNKS: Final = 8
_WORD = re.compile(r"[^\W_]+(?:'[a-z])?")
# Code between the pieces of a string: escapes, format fields, prefixes in front of a quote.
_JOINT = re.compile(r"\\[nrt]|%[-+#0-9.]*[a-zA-Z]|\{[^{}\n]{0,60}\}|\$\{?[\w.]{1,40}\}?|\b[rfbuRFBU]{1,2}(?=[\"'])")


def verbatim(asked: QueryFeatures, candidate: Candidate) -> Share | None:
    wanted = messages(asked)
    if not wanted or candidate.text is None:
        return None
    best, quoted = 0.0, ""
    for ordinal, _ in candidate.found[:MOST_CHUNKS]:
        words = _words(passage(candidate.text, candidate.chunks[ordinal]))
        for text, message in wanted:
            share = shared_words(message, words)
            if share > best:
                best, quoted = share, text
    return Share("verbatim", 1 + QUOTED * best, quoted[:60]) if best >= LEAST_SHARE else None


def is_assembled(phrase: str, text: str) -> bool:
    """Whether the text has every word of the phrase in order, with only string concatenation between them."""
    words = _words(phrase)
    return len(words) >= SHORTEST_RUN and shared_words(words, _words(text)) == 1.0


def messages(asked: QueryFeatures) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """(text, words) of the strings quoted in the query, if long enough not to occur by chance."""
    quoted = [one.text for one in asked.query.evidence if one.kind is EvidenceKind.STRING]
    found = [(text, tuple(_words(text)[:MOST_WORDS])) for text in (*asked.query.phrases, *quoted)]
    return tuple((text, words) for text, words in found if len(words) >= SHORTEST_RUN)[:MOST_MESSAGES]


def _words(text: str) -> list[str]:
    return _WORD.findall(_JOINT.sub(" ", text).lower())


def shared_words(message: Sequence[str], words: Sequence[str]) -> float:
    """The share of the message that is in `words` as runs of at least SHORTEST_RUN."""
    starts: dict[tuple[str, ...], list[int]] = {}
    for at in range(len(words) - SHORTEST_RUN + 1):
        starts.setdefault(tuple(words[at : at + SHORTEST_RUN]), []).append(at)
    return sum(_runs(message, words, starts)) / len(message)


def _runs(message: Sequence[str], words: Sequence[str], starts: dict[tuple[str, ...], list[int]]) -> Iterator[int]:
    """The lengths of the longest runs of the message, from left to right."""
    at = 0
    while at <= len(message) - SHORTEST_RUN:
        places = starts.get(tuple(message[at : at + SHORTEST_RUN]), ())
        length = max((_length(message, at, words, place) for place in places[:MOST_CHUNKS]), default=0)
        if length:
            yield length
        at += length or 1


def _length(message: Sequence[str], at: int, words: Sequence[str], place: int) -> int:
    length = SHORTEST_RUN
    while at + length < len(message) and place + length < len(words) and message[at + length] == words[place + length]:
        length += 1
    return length
