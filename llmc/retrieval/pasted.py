"""Pasted text of any length: which line says what it is about, and which words of the rest are worth looking up?

An issue begins with its title; a stack trace ends (or begins) with the message; a diff may have a commit message. That
line is the *headline*, and is searched for as a question would be. The rest is the *body*: its distinct words with
how often they occur, from which recall takes the rarest. Very long text is cut to its beginning and end, where reports
and logs say what happened.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from llmc.base.words import query_words

if TYPE_CHECKING:
    from collections.abc import Iterator

    from llmc.base.words import QueryWord

__all__ = ["Pasted", "bounded", "is_binary", "is_pasted", "read_pasted"]

# More than a user types as one question: the longest of 1,156 judged questions has 47 words.
LONGEST_QUESTION: Final = 400
MOST_QUESTION_WORDS: Final = 50
# Maximum length of text that is read. 48 KB of an issue take 15 ms.
HEAD, TAIL = 32_000, 16_000
LONGEST_HEADLINE: Final = 240
MOST_BODY_WORDS: Final = 400

_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]+")
# Bytes that are not UTF-8 arrive as the replacement character. Coloured output has one escape in ten characters.
_NO_TEXT = re.compile(r"[\x00-\x08\x0e-\x1f\x7f\ufffd]")
BINARY_SHARE: Final = 0.25
LEAST_BINARY: Final = 16
_MARKUP = " \t\r#*>=-_~`|"
# Lines that introduce something and say nothing themselves.
_INTRODUCES = re.compile(
    r"traceback \(most recent call last\)|exception in thread|stack ?trace|stack backtrace|description|summary|issue"
    r"|problem|bug report|bug summary|steps to reproduce|diff --git .*|index [0-9a-f]{7,}.*|\+\+\+ .*|@@ .*"
    r"|goroutine \d.*|commit [0-9a-f]{7,}.*|(?:author|date|from): .*|from [0-9a-f]{40} .*|file \".*|at \S+ ?\(.*"
    r"|in \[\d+\].*|\$ .*|.{0,3}",
    re.IGNORECASE,
)
_RAISED = re.compile(
    r"^(?:[\w.:\[\]]{0,80}?(?:Error|Exception|Warning|Failure|panic|panicked|fatal|error|ERROR|FATAL)\b\w{0,20}"
    r"|Caused by)\b.*\S",
    re.MULTILINE,
)
_SUBJECT = re.compile(r"^subject: (?:\[patch[^\]]{0,40}\] ?)?", re.IGNORECASE)
_TEMPLATE = re.compile(r"<!--.{0,2000}?-->", re.DOTALL)
_SENTENCE_END = re.compile(r"(?<=[.!?])\s")
_NUMERIC = re.compile(r"[\d_]+|[0-9a-fA-F]{8,}|0x\w+")


@dataclass(frozen=True, slots=True)
class Pasted:
    headline: str
    body: tuple[tuple[QueryWord, int], ...]  # each word with how often it occurs, in order of appearance


def bounded(text: str) -> str:
    """The text without control characters; a very long one is reduced to its beginning and end."""
    if len(text) > HEAD + TAIL:
        text = f"{text[:HEAD]}\n{text[-TAIL:]}"
    return _CONTROL.sub(" ", text)


def is_binary(text: str) -> bool:
    """Whether most likely neither a person nor a program wrote it to be read."""
    start = text[:HEAD]
    odd = len(_NO_TEXT.findall(start))
    return odd >= LEAST_BINARY and odd > BINARY_SHARE * len(start)


def is_pasted(text: str) -> bool:
    """Whether this is more than one question."""
    stripped = text.strip()
    return (
        len(stripped) > LONGEST_QUESTION
        or sum(1 for line in stripped.splitlines() if line.strip()) > 1
        or len(stripped.split(maxsplit=MOST_QUESTION_WORDS)) > MOST_QUESTION_WORDS
    )


def read_pasted(text: str) -> Pasted:
    plain = _TEMPLATE.sub(" ", text)
    headline = _headline(plain)
    counts: Counter[str] = Counter()
    known: dict[str, QueryWord] = {}
    for word in query_words(plain):
        if not word.stop and len(word.text) > 1 and not _NUMERIC.fullmatch(word.text):
            known.setdefault(word.term, word)
            counts[word.term] += 1
    kept = list(known)
    if len(kept) > MOST_BODY_WORDS:
        kept = sorted(kept, key=lambda term: -counts[term])[:MOST_BODY_WORDS]
    return Pasted(headline, tuple((known[term], counts[term]) for term in kept))


def _headline(text: str) -> str:
    """The first line with content; for a bare stack trace, the line with the message."""
    first = next(_telling_lines(text), "")
    raised = [match[0] for match in _RAISED.finditer(text)]
    if raised and (not first or _is_trace(text)):
        return _shortened(raised[-1])
    return _shortened(first) or _shortened(" ".join(text.split()))


def _is_trace(text: str) -> bool:
    """Whether the text begins as a stack trace does."""
    head = text.lstrip()[:80].lower()
    return head.startswith(
        ("traceback", "exception in thread", "panic:", "goroutine ", "error:", "fatal", 'file "', "at ")
    )


def _telling_lines(text: str) -> Iterator[str]:
    for line in text.splitlines():
        plain = _SUBJECT.sub("", line.strip(_MARKUP))
        if plain and not _INTRODUCES.fullmatch(plain):
            yield plain


def _shortened(line: str) -> str:
    if len(line) <= LONGEST_HEADLINE:
        return line.strip()
    first = _SENTENCE_END.split(line, 1)[0]
    return first[:LONGEST_HEADLINE].strip()
