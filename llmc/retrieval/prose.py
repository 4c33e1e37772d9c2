"""Which lines of code are documentation, and which only import? Read off the beginnings of lines.

No grammar: a place is a few dozen lines out of a file that was read a moment ago, and often not a whole one.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["documentation", "imports", "says"]

# `#define`, `#[derive]`, `#private` and `--count` are code.
_COMMENT: Final = re.compile(r"\s*(?://|#(?:[\s!#:]|$)|--(?:\s|$)|;;|\*[\s*]|\*/)")
_QUOTES: Final = re.compile(r"\s*[rRbBuU]{0,2}(\"\"\"|''')")
_OPENED: Final = re.compile(r"\s*(/\*|<!--|\{-)")
_CLOSED: Final = {"/*": "*/", "<!--": "-->", "{-": "-}"}
_IMPORT: Final = re.compile(
    r"\s*(?:import\b(?!\()|from\s+[\w.]+\s+import\b|#\s*include\b|(?:pub\s+)?use\s+[\w:{]+.*;?$|using\s+[\w.]+;"
    r"|package\s+[\w.]+;?\s*$|(?:const|let|var)\s[^=]*=\s*require\()"
)
_BRACKETS: Final = {"(": ")", "{": "}"}
_WORD: Final = re.compile(r"\w\w")


def says(line: str) -> bool:
    """Whether there is more on it than signs."""
    return _WORD.search(line) is not None


def documentation(lines: Iterable[tuple[int, str]]) -> Iterator[int]:
    """The numbers of those that are nothing else."""
    until = ""
    for number, line in lines:
        if until:
            yield number
            until = "" if until in line else until
        elif _COMMENT.match(line):
            yield number
        elif opened := _QUOTES.match(line) or _OPENED.match(line):
            yield number
            closing = _CLOSED.get(opened[1], opened[1])
            until = "" if closing in line[opened.end() :] else closing


def imports(lines: Iterable[tuple[int, str]]) -> Iterator[int]:
    """The numbers of those that name what other files define, in brackets over several lines too."""
    until = ""
    for number, line in lines:
        if until:
            yield number
            until = "" if until in line else until
        elif _IMPORT.match(line):
            yield number
            opened = next((mark for mark in line if mark in _BRACKETS), "")
            until = _BRACKETS[opened] if opened and _BRACKETS[opened] not in line else ""
