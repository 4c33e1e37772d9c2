"""An envelope as text for a model: the least that says it all. One function a line, so that `fit` can count them.

12 matches in 3 files · showing 4
src/main.py · 8
 10 # TODO: optimize this
+8 more → h4k2
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from llmc.envelope.envelope import Envelope, Group, Item, Row

__all__ = ["frame_line", "group_line", "head_line", "item_line", "lines", "render", "row_line"]


def render(
    envelope: Envelope, shown: int | None = None, total: int | None = None, handle: str = "", left: str = ""
) -> str:
    """`left` says how much is behind the handle."""
    return "\n".join(lines(envelope, shown, total, handle, left))


def lines(envelope: Envelope, shown: int | None, total: int | None, handle: str, left: str) -> Iterator[str]:
    yield head_line(envelope, shown, total)
    yield from envelope.notes
    for group in envelope.groups:
        if group.title:
            yield group_line(group)
        for item in group.items:
            if item.title:
                yield item_line(item)
            yield from (row_line(row) for row in item.rows)
    if handle:
        yield frame_line(left, handle)


def head_line(envelope: Envelope, shown: int | None, total: int | None) -> str:
    if shown is None or shown == total or envelope.unit:
        return envelope.found
    return f"{envelope.found} · showing {shown}"


def group_line(group: Group) -> str:
    return group.title if group.count is None else f"{group.title} · {group.count}"


def item_line(item: Item) -> str:
    return f" {item.title}"


def row_line(row: Row) -> str:
    return f" {row.text}" if row.number is None else f" {row.number} {row.text}"


def frame_line(left: str, handle: str) -> str:
    return f"+{left} → {handle}"
