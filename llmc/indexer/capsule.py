"""What retrieval knows of a chunk beyond its own lines: the names and signatures of the definitions around it.

It is never shown, and has no path, so that a renamed file needs no new vectors. Imports are left out, since they lead
to users of a thing rather than to the thing itself. The same pass finds the main definition of each chunk.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from llmc.indexer.syntax import Mark

__all__ = ["Setting", "capsule", "settings"]

LONGEST = 300
LONGEST_LINE = 120
_HEAD_LINES = 12
DOCUMENT_KINDS = frozenset({"heading", "cell", "section", "key"})
_COMMENT_SIGNS = re.compile(r"^[\s/*#;!\-\"'<>|%({]+")
_QUOTES = re.compile(r"\s*[rRuU]?(?:\"\"\"|''')\s*(\S.*)")


class Setting(NamedTuple):
    """The surroundings of a chunk: `around` are the definitions that began before it, outermost first."""

    first: int
    last: int
    main: Mark | None
    around: tuple[Mark, ...]


def settings(marks: Sequence[Mark], spans: Sequence[tuple[int, int]]) -> Iterator[Setting]:
    """One for each (first line, last line), which come in order."""
    open_marks: list[Mark] = []
    at = 0
    for first, last in spans:
        open_marks = [mark for mark in open_marks if mark.symbol.end_line >= first]
        around = tuple(open_marks)
        begun: list[Mark] = []
        while at < len(marks) and marks[at].lead <= last:
            begun.append(marks[at])
            at += 1
        yield Setting(first, last, _main(around, begun, first, last), around)
        open_marks += [mark for mark in begun if mark.symbol.end_line > last]


def _main(around: tuple[Mark, ...], begun: list[Mark], first: int, last: int) -> Mark | None:
    """The definition with the most lines here; one that spans the whole chunk only if nothing begins in it."""
    candidates = list(begun)
    if around and (not begun or around[-1].symbol.end_line < last):
        candidates.append(around[-1])
    return max(
        candidates,
        key=lambda mark: min(mark.symbol.end_line, last) - max(mark.lead, first),
        default=None,
    )


def capsule(setting: Setting, line: Callable[[int], str]) -> str:
    """`line` gives the text of a line by its number."""
    parts = [*_names(setting), *_lost(setting, line)]
    return "\n".join(parts)[:LONGEST].rstrip()


def _names(setting: Setting) -> Iterator[str]:
    main = setting.main
    if main and main.symbol.kind in DOCUMENT_KINDS:
        around = [mark.symbol.name for mark in setting.around]
        yield " > ".join(dict.fromkeys([*around, main.symbol.name]))[:LONGEST_LINE]
    elif main and (main.symbol.container or main in setting.around):
        yield main.symbol.qualified[:LONGEST_LINE]


def _lost(setting: Setting, line: Callable[[int], str]) -> Iterator[str]:
    """The heads of the definitions around that stand in an earlier chunk, the nearest first, and what it is about."""
    for mark in reversed(setting.around):
        if mark.symbol.kind not in DOCUMENT_KINDS:
            yield mark.symbol.signature[:LONGEST_LINE]
    if setting.main and setting.main in setting.around:
        yield _about(setting.main, line)[:LONGEST_LINE]


def _about(mark: Mark, line: Callable[[int], str]) -> str:
    """The first words of the comment above a definition or of the string below its head."""
    for number in range(mark.lead, mark.symbol.start_line):
        if words := _COMMENT_SIGNS.sub("", line(number)).strip():
            return words
    for number in range(mark.symbol.start_line, min(mark.symbol.start_line + _HEAD_LINES, mark.symbol.end_line) + 1):
        if found := _QUOTES.match(line(number)):
            return found[1].strip("\"' ")
    return ""
