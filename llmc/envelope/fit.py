"""Cut an envelope to a budget: what helps most comes first, whole lines only, and what is left out is counted.

The first item of every group comes before the second of any: a reply that must be short names all the files rather
than one of them in full. Within an item its rows are taken from the top; the tool put the telling ones there.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import TYPE_CHECKING

from llmc.envelope.render import frame_line, group_line, head_line, item_line, row_line
from llmc.envelope.tokens import count_line

if TYPE_CHECKING:
    from collections.abc import Iterator

    from llmc.envelope.envelope import Envelope, Group, Item

__all__ = ["Fitted", "fit"]


@dataclass(frozen=True, slots=True)
class Fitted:
    """`shown` of `total` items are in the envelope; `rest` holds what was cut, in the same order; None when all
    fitted.
    """

    envelope: Envelope
    shown: int
    total: int
    rest: Envelope | None = None

    @property
    def left(self) -> str:
        """What the last line counts: items, or lines where the answer is one long text."""
        if self.rest is None:
            return ""
        if self.rest.unit:
            return f"{sum(len(item.rows) for item in self.rest.items()):,} {self.rest.unit}s"
        return f"{sum(1 for _ in self.rest.items()):,} more"


def fit(envelope: Envelope, budget: int) -> Fitted:
    """The envelope within `budget` tokens, its handle line included; at least its first line."""
    total = sum(1 for _ in envelope.items())
    left = budget - count_line(head_line(envelope, total, total)) - sum(map(count_line, envelope.notes))
    if whole_cost(envelope) <= left:
        return Fitted(envelope, total, total)
    left -= count_line(frame_line(f"{total:,} more", "h0000")) + SHOWING
    kept = choose(envelope, left)
    shown = replace(envelope, groups=pick(envelope, kept))
    rest = replace(envelope, groups=leave(envelope, kept))
    return Fitted(shown, sum(1 for _ in shown.items()), total, rest)


# " · showing 1,234 of 5,678"
SHOWING = 12

Kept = dict[tuple[int, int], int]  # (group, item) → how many of its rows


def whole_cost(envelope: Envelope) -> int:
    return sum(count_line(line) for group in envelope.groups for line in group_lines(group))


def group_lines(group: Group) -> Iterator[str]:
    if group.title:
        yield group_line(group)
    for item in group.items:
        yield from item_lines(item, len(item.rows))


def item_lines(item: Item, rows: int) -> Iterator[str]:
    if item.title:
        yield item_line(item)
    yield from (row_line(row) for row in item.rows[:rows])


def choose(envelope: Envelope, left: int) -> Kept:
    kept: Kept = {}
    opened: set[int] = set()
    closed: set[int] = set()
    for at, index, item in in_rounds(envelope):
        if at in closed:
            continue
        group = envelope.groups[at]
        heading = 0 if at in opened or not group.title else count_line(group_line(group))
        rows, cost = affordable(item, left - heading)
        if rows < min(1, len(item.rows)) or left - heading - cost < 0:
            closed.add(at)
            continue
        if rows < len(item.rows):
            closed.add(at)
        opened.add(at)
        kept[at, index] = rows
        left -= heading + cost
    return kept


def in_rounds(envelope: Envelope) -> Iterator[tuple[int, int, Item]]:
    """(group, item number, item): the first items of all groups, then the second ones ..., or group after group."""
    if envelope.in_order:
        for at, group in enumerate(envelope.groups):
            for index, item in enumerate(group.items):
                yield at, index, item
        return
    for index, row in enumerate(zip_longest(*(group.items for group in envelope.groups))):
        for at, item in enumerate(row):
            if item is not None:
                yield at, index, item


def affordable(item: Item, left: int) -> tuple[int, int]:
    """(rows, tokens): as many whole rows as there is room for."""
    spent = count_line(item_line(item)) if item.title else 0
    rows = 0
    for row in item.rows:
        cost = count_line(row_line(row))
        if spent + cost > left:
            break
        spent += cost
        rows += 1
    return rows, spent


def pick(envelope: Envelope, kept: Kept) -> tuple[Group, ...]:
    groups = []
    for at, group in enumerate(envelope.groups):
        items = tuple(
            replace(item, rows=item.rows[: kept[at, index]])
            for index, item in enumerate(group.items)
            if (at, index) in kept
        )
        if items:
            groups.append(replace(group, items=items))
    return tuple(groups)


def leave(envelope: Envelope, kept: Kept) -> tuple[Group, ...]:
    """What `pick` did not take: whole items, and the lower rows of those that were cut."""
    groups = []
    for at, group in enumerate(envelope.groups):
        items = []
        for index, item in enumerate(group.items):
            taken = kept.get((at, index))
            if taken is None:
                items.append(item)
            elif taken < len(item.rows):
                items.append(replace(item, rows=item.rows[taken:]))
        if items:
            groups.append(replace(group, items=tuple(items), count=None))
    return tuple(groups)
