"""Texts whose parts last until the next one of their level or above: headings, keys, cells."""

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple

from llmc.base.model import Symbol
from llmc.indexer.syntax.outline import Mark, Outline

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["LONGEST_NAME", "TextSection", "last_line", "nest", "offsets"]

LONGEST_NAME = 100
MOST_SECTIONS = 5_000  # of one file; more of them are data


class TextSection(NamedTuple):
    line: int  # from 1
    level: int
    name: str
    kind: str = "heading"
    signature: str = ""  # the name, if empty


def offsets(text: str) -> list[int]:
    """Where each line begins; `bisect_right` of an offset is its line's number."""
    return list(accumulate((len(line) + 1 for line in text.split("\n")), initial=0))[:-1]


def last_line(text: str) -> int:
    return max(1, text.count("\n") + (not text.endswith("\n")))


def nest(sections: Iterable[TextSection], end: int) -> Outline:
    """`end` is the last line of the text."""
    found = list(sections)[:MOST_SECTIONS]
    ends = [end] * len(found)
    containers = []
    around: list[int] = []
    for at, section in enumerate(found):
        while around and found[around[-1]].level >= section.level:
            ends[around.pop()] = section.line - 1
        containers.append(".".join(found[outer].name for outer in around))
        around.append(at)
    return Outline(tuple(map(_mark, found, containers, ends)))


def _mark(section: TextSection, container: str, end: int) -> Mark:
    line, _, name, kind, signature = section
    return Mark(Symbol(name, kind, container, line, max(line, end), signature or name), line)
