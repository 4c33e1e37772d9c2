"""Renders an envelope as compact text for a model. One function per kind of line, so that `fit` can count them.

12 matches in 3 files · showing 4
src/main.py · 8
10 # TODO: optimize this
+8 more → habcd

The first line, paths, symbols (`Parser.feed 40-60`) and the handle begin at the left margin. Text of a file always
follows a line number or a space, so that no file can write a line of the reply (`visible` makes hidden characters
visible).
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from llmc.envelope.envelope import Envelope, Group, Item, Row

__all__ = [
    "frame_line",
    "frame_of",
    "group_line",
    "group_lines",
    "head_line",
    "is_span",
    "item_line",
    "lines",
    "number_items",
    "render",
    "row_line",
    "row_lines",
]


def render(
    envelope: Envelope, shown: int | None = None, total: int | None = None, handle: str = "", left: str = ""
) -> str:
    """`left` describes how much is behind the handle."""
    return "\n".join(lines(envelope, shown, total, handle, left))


def lines(envelope: Envelope, shown: int | None, total: int | None, handle: str, left: str) -> Iterator[str]:
    if head := head_line(envelope, shown, total):
        yield head
    if envelope.error:
        yield from envelope.notes
    for group in envelope.groups:
        yield from group_lines(group)
    if handle:
        yield frame_line(left, handle)


def group_lines(group: Group) -> Iterator[str]:
    if group.title:
        yield group_line(group)
    for item in group.items:
        if item.title:
            yield item_line(item)
        yield from row_lines(item.rows)


def head_line(envelope: Envelope, shown: int | None, total: int | None) -> str:
    """The result, how much of it is shown, and the notes, on one line. The hint of an error has its own line."""
    parts = [envelope.found]
    if showing := showing_text(envelope, shown, total):
        parts.append(showing)
    return " · ".join(parts if envelope.error else [*parts, *envelope.notes])


def showing_text(envelope: Envelope, shown: int | None, total: int | None) -> str:
    """How many items are shown, without commas in the number, since each would be a token."""
    return "" if shown is None or shown == total or envelope.unit else f"showing {shown}"


def group_line(group: Group) -> str:
    """The title, with the count unless all entries can be seen; entries without text cannot be seen."""
    seen = all(item.rows or item.title for item in group.items)
    rows = sum(not row.context for item in group.items for row in item.rows)
    if group.count is None or (seen and group.count in (len(group.items), rows)):
        return group.title
    return f"{group.title} · {group.count:,}"


def item_line(item: Item) -> str:
    """A symbol with its lines begins at the left margin, so that it cannot be read as the line after the one above."""
    return item.title if is_span(item.title) else f" {item.title}"


def is_span(title: str) -> bool:
    """Whether it ends with a range of lines: `Parser.feed 40-60`."""
    return SPAN.search(title) is not None


SPAN: Final = re.compile(r" \d+-\d+$")


# Tokens of 9,500 lines of TypeScript and Python relative to the text without numbers: a number on every line 1.09 to
# 1.14, on every fifth with the others aligned below it 1.05 to 1.10, this scheme 1.01. Counting four lines from a
# number is acceptable for citing a line.
MOST_UNNUMBERED: Final = 4
NOWHERE: Final = -2


def row_lines(rows: Iterable[Row]) -> Iterator[str]:
    """Rows as text. The first line of a run has a number, and so have the first one after a blank line and at least
    every fifth; among context lines, matching lines have one too. Lines without a number begin with a space."""
    rows = tuple(rows)
    context = any(row.context for row in rows)
    before, unnumbered = NOWHERE, 0
    for row in rows:
        if row.number is None:
            before = NOWHERE
            yield row_line(row)
            continue
        continues = row.number == before + 1
        before = row.number
        if continues and not row.text.strip():
            unnumbered = MOST_UNNUMBERED
            yield ""
            continue
        numbered = not continues or unnumbered >= MOST_UNNUMBERED or row.cited or (context and not row.context)
        unnumbered = 0 if numbered else unnumbered + 1
        yield row_line(row, bare=not numbered)


def row_line(row: Row, *, bare: bool = False) -> str:
    if row.number is None or bare:
        return f" {row.text}".rstrip(" ") if bare else f" {row.text}"
    return f"{row.number}-{row.end} {row.text}" if row.end > row.number else f"{row.number} {row.text}"


def frame_line(left: str, handle: str) -> str:
    """The last line; a handle of a complete reply serves to address its items."""
    return f"+{left} → {handle}" if left else f"→ {handle}"


def number_items(envelope: Envelope) -> Envelope:
    """Add `[3]` to the third item, as counted by `read habcd:3`: before the path of a group with one item, else before
    the item's title or in its first line."""
    groups, number = [], 0
    for group in envelope.groups:
        if len(group.items) == 1 and group.title:
            groups.append(replace(group, title=f"[{number + 1}] {group.title}"))
        else:
            items = tuple(_numbered(item, at) for at, item in enumerate(group.items, number + 1))
            groups.append(replace(group, items=items))
        number += len(group.items)
    return replace(envelope, groups=tuple(groups))


def _numbered(item: Item, number: int) -> Item:
    if item.title or not item.rows:
        return replace(item, title=f"[{number}] {item.title}".rstrip())
    first, *rest = item.rows
    return replace(item, rows=(replace(first, text=f"[{number}] {first.text}"), *rest))


def frame_of(
    envelope: Envelope, shown: int | None = None, total: int | None = None, handle: str = "", left: str = ""
) -> str:
    """The part of the text that exists only because llmc produced the reply."""
    parts = [f" · {text}" for text in (showing_text(envelope, shown, total), *envelope.notes) if text]
    return "".join([*parts, f"\n{frame_line(left, handle)}" if handle else ""])
