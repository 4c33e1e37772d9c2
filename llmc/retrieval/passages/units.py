"""A text cut into units, each of which is kept or left out as a whole: functions, heads of classes, paragraphs.

What is kept of a function is all of it. A class is its head and its members, since a question is mostly about one of
them; a function that would be too much by itself is taken apart as well. Lines between definitions go by
paragraphs (`segments`). Every line is in one unit. `inner_passages` are the paragraphs of long units, any of which may
be kept without the rest, with the lines that enclose it.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, Final

from llmc.base.text import indent_of
from llmc.retrieval.passages.segments import COMMENTS, enclosing, segments

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from llmc.retrieval.passages.blocks import Block

__all__ = ["InnerPassage", "TextUnit", "cut", "inner_passages", "is_prose"]

LONGEST_HEAD: Final = 8  # lines of a class or of a long function without a blank line
SHORT: Final = 14  # lines of a unit that is always kept whole
LONGEST_SIGNATURE: Final = 15  # lines above a docstring
SHORTEST_DOC: Final = 6  # lines; less is not worth a mark
QUOTES: Final = ('"""', "'''")


@dataclass(frozen=True, slots=True)
class TextUnit:
    """Lines `start` to `end` (from 0, `end` exclusive); `signature` is its first line of code.

    `heads` are the first lines of what encloses it, `doc` is where its documentation is.
    """

    start: int
    end: int
    signature: int
    name: str = ""
    heads: tuple[int, ...] = ()
    doc: tuple[int, int] = (0, 0)
    defines: bool = False

    @property
    def spare(self) -> tuple[int, int]:
        """Long documentation without its first line, which says the most."""
        return (self.doc[0] + 1, self.doc[1]) if self.doc[1] - self.doc[0] > SHORTEST_DOC else (0, 0)

    def essence(self) -> Iterator[int]:
        """The lines of the unit without what can be spared."""
        first, last = self.spare
        yield from range(self.start, first or self.end)
        yield from range(last or self.end, self.end)


def cut(lines: Sequence[str], blocks: Sequence[Block], costs: Sequence[float], largest: float) -> list[TextUnit]:
    """`largest` is what one unit may cost before it is opened."""
    ordered = sorted(blocks, key=lambda block: (block.start, -block.end))
    sums = list(accumulate(costs, initial=0.0))
    return list(_Cutting(lines, ordered, sums, largest).within(0, len(lines), (0, len(ordered)), (), ""))


def is_prose(blocks: Sequence[Block]) -> bool:
    return all(block.heads_prose for block in blocks)


class _Cutting:
    def __init__(self, lines: Sequence[str], blocks: Sequence[Block], sums: Sequence[float], largest: float) -> None:
        self._lines = lines
        self._blocks = blocks
        self._sums = sums
        self._largest = largest
        self._is_prose = is_prose(blocks)

    def within(
        self, start: int, end: int, among: tuple[int, int], heads: tuple[int, ...], name: str
    ) -> Iterator[TextUnit]:
        """The units of lines `start` to `end`, whose definitions are at `among` in the list."""
        at, index = start, among[0]
        while index < among[1]:
            block = self._blocks[index]
            inner = index + 1
            while inner < among[1] and self._blocks[inner].start <= block.end:
                inner += 1
            top, bottom = max(block.start - 1, at), min(block.end, end)
            if top < bottom:
                top = self._lead(at, top)
                yield from self._between(at, top, heads, name)
                yield from self._definition(block, (top, bottom), (index + 1, inner), heads, name)
                at = bottom
            index = inner
        yield from self._between(at, end, heads, name)

    def _definition(
        self, block: Block, span: tuple[int, int], inner: tuple[int, int], heads: tuple[int, ...], name: str
    ) -> Iterator[TextUnit]:
        top, bottom = span
        full = f"{name}.{block.name}" if name else block.name
        is_large = self._sums[bottom] - self._sums[top] > self._largest
        has_inner = inner[0] < inner[1]
        if not is_large and not (has_inner and block.holds):
            yield self._unit(top, bottom, full, heads)
            return
        own = self._signature(top, bottom)
        first = self._lead(top, max(top, self._blocks[inner[0]].start - 1)) if has_inner else bottom
        blank = (index for index in range(own + 1, first) if not self._lines[index].strip())
        head = max(top, min(first, next(blank, own + LONGEST_HEAD)))
        if head > top:
            yield self._unit(top, head, full, heads)
        if has_inner:
            yield from self.within(head, bottom, inner, (*heads, own), full)
        else:
            yield from self._between(head, bottom, (*heads, own), full, defines=True)

    def _unit(self, start: int, end: int, name: str, heads: tuple[int, ...]) -> TextUnit:
        signature = self._signature(start, end)
        return TextUnit(start, end, signature, name, heads, self._doc(start, signature, end), defines=True)

    def _signature(self, start: int, end: int) -> int:
        """The first line of code behind comments and decorators, those of several lines included."""
        opened = 0
        for index in range(start, end):
            bare = self._lines[index].lstrip()
            if bare.startswith("@") or opened:
                opened += sum(map(bare.count, "([{")) - sum(map(bare.count, ")]}"))
            elif not bare.startswith(COMMENTS):
                return index
        return start

    def _doc(self, start: int, signature: int, end: int) -> tuple[int, int]:
        """The lines of a docstring, or of the comment above."""
        if self._lines[start].lstrip().startswith(COMMENTS) and signature > start:
            return start, signature
        for index in range(signature, min(end, signature + LONGEST_SIGNATURE)):
            bare = self._lines[index].lstrip().lstrip("rRuU")
            if bare.startswith(QUOTES):
                last = (at for at in range(index + 1, end) if bare[:3] in self._lines[at])
                close = index if bare.count(bare[:3]) > 1 else next(last, index)
                return index, close + 1
        return 0, 0

    def _lead(self, start: int, top: int) -> int:
        """Comments and decorators directly above a definition belong to it."""
        while top > start:
            above = self._lines[top - 1].lstrip()
            if above.startswith((*COMMENTS, "@")):
                top -= 1
            elif above.startswith(")") and (first := self._decorator(start, top - 1)) < top - 1:
                top = first
            else:
                break
        return top

    def _decorator(self, start: int, last: int) -> int:
        """Where the decorator begins whose last line this is; the line itself when it is none."""
        depth = len(self._lines[last]) - len(self._lines[last].lstrip())
        for index in range(last - 1, max(start, last - LONGEST_SIGNATURE) - 1, -1):
            line = self._lines[index]
            if line.strip() and indent_of(line) <= depth:
                return index if line.lstrip().startswith("@") else last
        return last

    def _between(
        self, start: int, end: int, heads: tuple[int, ...], name: str, *, defines: bool = False
    ) -> Iterator[TextUnit]:
        for first, last in segments(self._lines, start, end, prose=self._is_prose):
            within = enclosing(self._lines, first, heads[-1]) if defines and heads else ()
            yield TextUnit(first, last, first, name, (*heads, *within), defines=defines)


@dataclass(frozen=True, slots=True)
class InnerPassage:
    """Lines of one unit, `unit` by its place in the list; a short unit is its own passage."""

    text: TextUnit
    unit: int
    is_whole: bool


def inner_passages(lines: Sequence[str], units: Sequence[TextUnit], *, prose: bool) -> list[InnerPassage]:
    """Without the signatures and the documentation of long functions: they speak for the whole function."""
    found: list[InnerPassage] = []
    for number, unit in enumerate(units):
        if unit.end - unit.start <= SHORT:
            found.append(InnerPassage(unit, number, is_whole=True))
            continue
        for first, last in segments(lines, unit.start, unit.end, prose=prose):
            if not unit.defines:
                found.append(InnerPassage(TextUnit(first, last, first, unit.name, unit.heads), number, is_whole=False))
            elif first > unit.signature and last > unit.doc[1]:
                heads = dict.fromkeys((*unit.heads, unit.signature, *enclosing(lines, first, unit.signature)))
                passage = TextUnit(first, last, first, unit.name, tuple(heads), defines=True)
                found.append(InnerPassage(passage, number, is_whole=False))
    return found
