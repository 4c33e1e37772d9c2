"""Extracts the documentation sentence and the relevant lines of a definition.

Works on the plain lines of a file in any language: a comment directly above the definition, or a docstring directly
below its head.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from llmc.base import words
from llmc.retrieval.passages.documentation import documentation

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["doc_sentence", "exit_lines", "matching_lines", "one_line"]

LONGEST = 140
# Most lines between the name of a definition and its body, for signatures with one argument per line.
MOST_HEAD = 25
_QUOTES = re.compile(r'^\s*[rRbBuUfF]{0,2}("""|\'\'\'|"|\')(.*)')
_COMMENT = re.compile(
    r"^\s*(?:///?!?|#+(?!\[|include|define|if|end|pragma)|/\*\*?|\*(?!/)|--|;+|%+)\s?(.*?)\s*(?:\*/)?\s*$"
)
_SENTENCE = re.compile(r"(.+?[.!?])(?:\s|$)")
_MARKUP = re.compile(r"<[^>]{1,20}>|:\w+:`|`+|\{@\w+ ")
_LEAVES = re.compile(r"^\s*(?:return|yield|raise|throw)\b\s*[^\s;)}][^\n]*|^\s*(?:panic|bail)!?\(.*")


def doc_sentence(lines: Sequence[str], start: int, named: int, end: int) -> str:
    """The first documentation sentence, or "". `start` is the first line of the definition, `named` its name's."""
    return _below(lines, named, end) or _above(lines, start)


def _below(lines: Sequence[str], named: int, end: int) -> str:
    """A docstring as the first statement of the body; the head may span several lines."""
    for at in range(named, min(end, named + MOST_HEAD, len(lines))):  # lines[named] is the one below the name
        match = _QUOTES.match(lines[at])
        if match:
            return _sentence(_quoted(match[2], lines[at + 1 : at + 4], match[1]))
        text = lines[at].strip()
        if text and not text.endswith((",", "(", ":", "->")) and ")" not in text:
            return ""
    return ""


def _quoted(first: str, further: Sequence[str], quote: str) -> str:
    """The text up to the closing quote or the first empty line."""
    parts: list[str] = []
    for text in [first, *further]:
        if parts and not text.strip():
            break
        head, closed, _ = text.partition(quote)
        if head.strip():
            parts.append(head)
        if closed:
            break
    return " ".join(parts)


def _above(lines: Sequence[str], start: int) -> str:
    found: list[str] = []
    for number in range(start - 1, max(0, start - 25), -1):
        line = lines[number - 1] if number <= len(lines) else ""
        if re.match(r"^\s*(?:@|#\[|\[)", line):
            continue  # an annotation
        match = _COMMENT.match(line)
        if match is None:
            break
        found.append(match[1])
    return _sentence(" ".join(text for text in reversed(found) if text.strip(" *-=/#")))


def _sentence(text: str) -> str:
    text = " ".join(_MARKUP.sub("", text).split())
    match = _SENTENCE.match(text)
    return one_line(match[1] if match else text)


def one_line(text: str, most: int = LONGEST) -> str:
    text = " ".join(text.split())
    return text if len(text) <= most else text[: most - 1].rsplit(" ", 1)[0] + "…"


def exit_lines(lines: Sequence[str], start: int, end: int) -> list[tuple[int, str]]:
    """The lines that leave a function: returns, yields and raises, outside its documentation."""
    body = range(start, min(end, len(lines)) + 1)
    prose = set(documentation((number, lines[number - 1]) for number in body))
    found = [
        (number, lines[number - 1].strip())
        for number in body
        if number not in prose and _LEAVES.match(lines[number - 1])
    ]
    return [(number, one_line(text, 80)) for number, text in found]


def matching_lines(
    lines: Sequence[str], start: int, end: int, terms: frozenset[str], most: int
) -> list[tuple[int, str]]:
    """The first line and the lines with the most terms, in file order."""
    end = min(end, len(lines))
    if start > end:
        return []
    scored = sorted(
        (-len(terms & set(words.body(lines[number - 1]).split())), number)
        for number in range(start + 1, end + 1)
        if lines[number - 1].strip()
    )
    chosen = sorted([start, *(number for score, number in scored[: most - 1] if score)])
    if len(chosen) == 1:
        chosen = [number for number in range(start, end + 1) if lines[number - 1].strip()][:most]
    return [(number, lines[number - 1]) for number in chosen]
