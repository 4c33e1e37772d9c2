"""An envelope as text for a model: the least that says it all. One function a line, so that `fit` can count them.

12 matches in 3 files · showing 4
src/main.py · 8
 10 # TODO: optimize this
+8 more → habcd

What is ours begins a line: the first line, paths, the handle. Whatever comes from a file stands behind a space, so that
no file can write a line of the reply (`visible` sees to the rest).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from llmc.envelope.envelope import Envelope, Group, Item, Row

__all__ = ["frame_line", "frame_of", "group_line", "head_line", "item_line", "lines", "render", "row_line", "row_lines"]


def render(
    envelope: Envelope, shown: int | None = None, total: int | None = None, handle: str = "", left: str = ""
) -> str:
    """`left` says how much is behind the handle."""
    return "\n".join(lines(envelope, shown, total, handle, left))


def lines(envelope: Envelope, shown: int | None, total: int | None, handle: str, left: str) -> Iterator[str]:
    yield head_line(envelope, shown, total)
    if envelope.error:
        yield from envelope.notes
    for group in envelope.groups:
        if group.title:
            yield group_line(group)
        for item in group.items:
            if item.title:
                yield item_line(item)
            yield from row_lines(item.rows)
    if handle:
        yield frame_line(left, handle)


def head_line(envelope: Envelope, shown: int | None, total: int | None) -> str:
    """What was found, how much of it is shown, and what else must be known: on one line, where no path can be taken
    for it. The hint of an error has a line of its own.
    """
    said = [envelope.found]
    if showing := showing_words(envelope, shown, total):
        said.append(showing)
    return " · ".join(said if envelope.error else [*said, *envelope.notes])


def showing_words(envelope: Envelope, shown: int | None, total: int | None) -> str:
    """Digits without commas: each would be a token."""
    return "" if shown is None or shown == total or envelope.unit else f"showing {shown}"


def group_line(group: Group) -> str:
    """The count is left out where all can be seen; a list of names alone has nothing else to show."""
    seen = all(item.rows or item.title for item in group.items)
    if group.count is None or (seen and group.count == len(group.items)):
        return group.title
    return f"{group.title} · {group.count:,}"


def item_line(item: Item) -> str:
    return f" {item.title}"


# A number on every line is a quarter of the tokens of source code; from the last one that is seen a reader counts on.
COUNTED: Final = 5
NOWHERE: Final = -2


def row_lines(rows: Iterable[Row]) -> Iterator[str]:
    """In a run of lines only the first and every fifth have their numbers, the others stand below; among lines that are
    there for context, those that they are the context of have theirs too."""
    rows = tuple(rows)
    context = any(row.context for row in rows)
    before = NOWHERE
    for row in rows:
        number = NOWHERE if row.number is None else row.number
        told = number != before + 1 or number % COUNTED == 0 or (context and not row.context)
        yield row_line(row, bare=not told)
        before = number


def row_line(row: Row, *, bare: bool = False) -> str:
    if row.number is None:
        return f" {row.text}"
    return f"{' ' * len(f' {row.number} ')}{row.text}".rstrip(" ") if bare else f" {row.number} {row.text}"


def frame_line(left: str, handle: str) -> str:
    return f"+{left} → {handle}"


def frame_of(
    envelope: Envelope, shown: int | None = None, total: int | None = None, handle: str = "", left: str = ""
) -> str:
    """What of the text is there only because llmc stands between."""
    parts = [f" · {words}" for words in (showing_words(envelope, shown, total), *envelope.notes) if words]
    return "".join([*parts, f"\n{frame_line(left, handle)}" if handle else ""])
