"""The lines of a source file with its comments blanked out, and a copy in which its strings are, too.

Whoever joins lines to statements and counts brackets reads the copy: what is in a string or comment is no code. Where
comments and strings are is known from the syntax tree (`llmc.indexer.syntax.lexical`) or, of a text that has none,
from the regular expressions of `line_kinds`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from llmc.retrieval.line_kinds import FileText

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["STRING", "CodeLines", "code_lines"]

STRING = "\ue000"  # a private character in place of each character of a string
_VISIBLE = re.compile(r"[^\n]")


@dataclass(frozen=True, slots=True)
class CodeLines:
    """`masked` has the same columns as `text`. `in_string` are the indexes of lines that begin inside a string."""

    text: tuple[str, ...]
    masked: tuple[str, ...]
    in_string: frozenset[int]

    def part(self, first: int, last: int) -> CodeLines:
        """Lines by number, from 1, both included."""
        inside = frozenset(at - first + 1 for at in self.in_string if first - 1 <= at < last)
        return CodeLines(self.text[first - 1 : last], self.masked[first - 1 : last], inside)

    def without(self, numbers: frozenset[int]) -> CodeLines:
        """With these lines blank."""
        text, masked = (
            tuple("" if number in numbers else line for number, line in enumerate(lines, 1))
            for lines in (self.text, self.masked)
        )
        return CodeLines(text, masked, self.in_string)


def code_lines(
    text: str,
    language: str,
    spans: tuple[Sequence[tuple[int, int]], Sequence[tuple[int, int]]] | None = None,
) -> CodeLines:
    """`spans` are those of comments and of strings, None if they are not known exactly."""
    comments, strings = spans or FileText(text, language).lexical_spans()
    blotted = sorted([*((span, " ") for span in comments), *((span, STRING) for span in strings)])
    code: list[str] = []
    masked: list[str] = []
    inside: set[int] = set()
    before = line = 0
    for (start, end), mark in blotted:
        if start < before:  # in a comment or string that was found before
            continue
        code.append(text[before:start])
        masked.append(text[before:start])
        blot = _VISIBLE.sub(mark, text[start:end])
        code.append(blot if mark == " " else text[start:end])
        masked.append(blot)
        line += text.count("\n", before, start)
        breaks = blot.count("\n")
        if mark == STRING:
            inside.update(range(line + 1, line + 1 + breaks))
        line += breaks
        before = end
    code.append(text[before:])
    masked.append(text[before:])
    return CodeLines(tuple("".join(code).split("\n")), tuple("".join(masked).split("\n")), frozenset(inside))
