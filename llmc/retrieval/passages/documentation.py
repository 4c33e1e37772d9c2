"""Which lines of code are documentation, and which only import? Read off the beginnings of lines.

No grammar: a place is a few dozen lines out of a file that was read a moment ago, and often not a whole one.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator

__all__ = ["documentation", "imports", "says"]

# `#define`, `#[derive]`, `#private` and `--count` are code.
_COMMENT: Final = re.compile(r"\s*(?://|#(?:[\s!#:]|$)|--(?:\s|$)|;;|\*[\s*]|\*/)")
_QUOTES: Final = re.compile(r"\s*[rRbBuU]{0,2}(\"\"\"|''')")
_OPENED: Final = re.compile(r"\s*(/\*|<!--|\{-)")
_CLOSED: Final = {"/*": "*/", "<!--": "-->", "{-": "-}"}
_IMPORT: Final = re.compile(
    r"\s*(?:import\b(?!\()|from\s+[\w.]+\s+import\b|#\s*include\b|(?:pub\s+)?use\s+[\w:]+.*[;{,]\s*$|using\s+[\w.]+;"
    r"|package\s+[\w.]+;?\s*$|(?:const|let|var)\s[^=]*=\s*require\()"
)
_BRACKETS: Final = {"(": ")", "{": "}"}
# How such lines begin: most lines begin otherwise, and need no pattern.
_MAY_DOCUMENT, _MAY_IMPORT = frozenset("/#-;*\"'rRbBuU<{"), frozenset("if#pucvl")
_WORD: Final = re.compile(r"\w\w")
_TARGET: Final = re.compile(r"^\s*\.\. _.*:.*$", re.MULTILINE)  # reStructuredText: names what follows, or a link


def says(text: str) -> bool:
    """Whether there is more in it than signs and names of places."""
    return _WORD.search(_TARGET.sub("", text) if ".. _" in text else text) is not None


def documentation(lines: Iterable[tuple[int, str]]) -> Iterator[int]:
    """The numbers of those that are nothing else."""
    return _until_closed(lines, _MAY_DOCUMENT, _documents)


def imports(lines: Iterable[tuple[int, str]]) -> Iterator[int]:
    """The numbers of those that name what other files define, in brackets over several lines too."""
    return _until_closed(lines, _MAY_IMPORT, _imports)


def _until_closed(
    lines: Iterable[tuple[int, str]], first: Collection[str], closing: Callable[[str], str | None]
) -> Iterator[int]:
    """`closing` says of a line what ends it, nothing if it ends by itself, and None if it is none of them. Those begin
    with one of `first`, so that most lines need no call."""
    until = ""
    for number, line in lines:
        if until:
            yield number
            until = "" if until in line else until
        elif line.lstrip()[:1] in first and (closed := closing(line)) is not None:
            yield number
            until = closed


def _documents(line: str) -> str | None:
    if _COMMENT.match(line):
        return ""
    opened = _QUOTES.match(line) or _OPENED.match(line)
    if not opened:
        return None
    closing = _CLOSED.get(opened[1], opened[1])
    return "" if closing in line[opened.end() :] else closing


def _imports(line: str) -> str | None:
    if not _IMPORT.match(line):
        return None
    closing = next((_BRACKETS[mark] for mark in line if mark in _BRACKETS), "")
    return "" if closing in line else closing
