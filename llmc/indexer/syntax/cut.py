"""Where a text is cut: runs of whole lines near one size, cut where it hurts least.

From the first line of a chunk, every line within reach is a place for the next cut, and has a price: how deep in the
nesting of definitions it lies (between two top-level ones costs nothing, a line in the middle of a paragraph most),
how far the chunk is from the size that is aimed at, and whether it would end inside a definition that other lines
come before. The cheapest is taken, and so on from there. So small neighbours share a chunk, a definition of some size
has its own, and a large one is cut between its methods, or else at a blank line.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from llmc.indexer.syntax.outline import Mark

__all__ = ["cut"]

AIM = 1_500  # characters
LONGEST = 3_000
MOST_LINES = 120
LAST = 2_000  # what is left at the end is one chunk up to this size

# Prices, in chunk sizes: 1.0 is as bad as a chunk of no length at all would be.
TOO_SHORT = 0.9
TOO_LONG = 0.6
DEPTHS = (0.0, 0.15, 0.3, 0.45)
VALUE = 0.1  # between two constants or fields
HALF_OPEN = 0.45
BLANK_LINE = 0.7
PLAIN_LINE = 1.1
INDENT = 0.02  # for each column, up to ten
_CLOSERS = frozenset({"", "}", "};", "})", "});", ")", "]", "end", "*/", "},", "],", "fi", "done", "esac", "{"})
_VALUES = frozenset({"variable", "constant", "field", "property"})


def cut(text: str, starts: Sequence[int], marks: Sequence[Mark]) -> list[int]:
    """The first lines of the chunks, counted from 0. `starts` are the offsets of the lines and, last, of the end."""
    total = len(starts) - 1
    if total and _fits(starts, 0, total):
        return [0]
    places = _Places(text, starts, marks)
    firsts = []
    first = 0
    while first < total:
        firsts.append(first)
        first = total if _fits(starts, first, total) else places.next_cut(first)
    return firsts


def _fits(starts: Sequence[int], first: int, total: int) -> bool:
    return starts[total] - starts[first] <= LAST and total - first <= MOST_LINES


class _Places:
    def __init__(self, text: str, starts: Sequence[int], marks: Sequence[Mark]) -> None:
        self._text = text
        self._starts = starts
        self._prices: dict[int, float] = {}
        self._opened: dict[int, int] = {}
        self._inner_from = [0]
        self._inner_lead = [-1]
        self._read(marks)
        self._edges = sorted(self._prices)

    def _read(self, marks: Sequence[Mark]) -> None:
        """An edge is a line at which a definition begins or the next thing after one does."""
        stack: list[tuple[int, int, float]] = []  # end, lead, price
        for mark in marks:
            lead, end = mark.lead - 1, mark.symbol.end_line
            self._leave(stack, lead)
            outer = stack[-1][1] if stack else -1
            price = DEPTHS[min(len(stack), len(DEPTHS) - 1)] + (VALUE if mark.symbol.kind in _VALUES else 0.0)
            self._edge(lead, price, outer)
            stack.append((end, lead, price))
            self._inner_from.append(lead)
            self._inner_lead.append(lead)
        self._leave(stack, len(self._starts))

    def _leave(self, stack: list[tuple[int, int, float]], line: int) -> None:
        while stack and stack[-1][0] <= line:
            end, _, price = stack.pop()
            outer = stack[-1][1] if stack else -1
            self._inner_from.append(end)
            self._inner_lead.append(outer)
            after = end
            while after < len(self._starts) - 1 and after < end + 3 and self._line(after).strip() in _CLOSERS:
                after += 1
            self._edge(after, price, outer)

    def _edge(self, line: int, price: float, outer: int) -> None:
        if price < self._prices.get(line, PLAIN_LINE):
            self._prices[line] = price
            self._opened[line] = outer

    def _line(self, line: int) -> str:
        return self._text[self._starts[line] : min(self._starts[line + 1], self._starts[line] + 200)]

    def next_cut(self, first: int) -> int:
        starts, total = self._starts, len(self._starts) - 1
        reach = min(bisect_right(starts, starts[first] + LONGEST) - 1, first + MOST_LINES, total)
        if reach <= first + 1:
            return first + 1
        best, price = self._best_edge(first, reach)
        if price > BLANK_LINE:
            _, best = min([(price, best), *self._lines(first, reach)])
        return best

    def _best_edge(self, first: int, reach: int) -> tuple[int, float]:
        edges = self._edges
        best, lowest = reach, (0.0 if reach == len(self._starts) - 1 else PLAIN_LINE) + self._size_price(first, reach)
        for line in edges[bisect_right(edges, first) : bisect_right(edges, reach)]:
            price = self._prices[line] + self._size_price(first, line) + HALF_OPEN * (self._opened[line] > first)
            if price < lowest:
                best, lowest = line, price
        return best, lowest

    def _lines(self, first: int, reach: int) -> list[tuple[float, int]]:
        """Lines that begin nothing: after a blank one rather than not, little indented rather than far."""
        near = max(first + 1, bisect_left(self._starts, self._starts[first] + AIM // 3))
        priced = []
        blank = False
        for line in range(min(near, reach), reach + 1):
            text = self._line(line) if line < len(self._starts) - 1 else ""
            bare = text.lstrip()
            if bare:
                price = (BLANK_LINE if blank else PLAIN_LINE) + INDENT * min(len(text) - len(bare), 10)
                inner = self._inner_lead[bisect_right(self._inner_from, line) - 1]
                priced.append((price + self._size_price(first, line) + HALF_OPEN * (inner > first), line))
            blank = not bare
        return priced

    def _size_price(self, first: int, line: int) -> float:
        size = self._starts[line] - self._starts[first]
        return TOO_SHORT * (AIM - size) / AIM if size < AIM else TOO_LONG * (size - AIM) / AIM
