"""Cuts an envelope to a token budget: most useful parts first, whole lines only, left-out parts counted.

The first item of every group comes before the second item of any: a short reply names all files rather than showing one
of them in full. Items of a lower priority (`level`) are added after all items of a higher one. Several texts that are
read together share the budget: short ones are complete, long ones get equal shares. Rows of an item are taken from the
top, where the tool puts the most important ones. A line is cut only if it is longer than the whole budget.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from llmc.base.sections import ORDER, section_of
from llmc.envelope.envelope import Row
from llmc.envelope.render import frame_line, group_lines, head_line, item_line, row_line, row_lines
from llmc.envelope.tokens import count_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from llmc.envelope.envelope import Envelope, Group, Item

__all__ = ["Fitted", "Kept", "everything", "fit", "leave", "pick", "shorten", "shorten_group", "show_around"]

Kept = dict[tuple[int, int], int]  # (group, item) → number of rows shown


@dataclass(frozen=True, slots=True)
class Fitted:
    """`shown` of `total` items are in the envelope; `rest` holds the others in the same order, None if everything fits.
    Both can be rebuilt from `whole` and `kept`.
    """

    envelope: Envelope
    shown: int
    total: int
    rest: Envelope | None = None
    whole: Envelope | None = None
    kept: Kept = field(default_factory=dict)

    @property
    def lines_left(self) -> int:
        """How many lines were cut off; 0 if the reply is not counted in lines."""
        if self.rest is None or self.rest.unit != "line":
            return 0
        return sum(len(item.rows) for item in self.rest.items())

    @property
    def left(self) -> str:
        """The count in the last line: items, or lines if the result is one long text."""
        if self.rest is None:
            return ""
        if self.rest.unit == "line":
            return f"{self.lines_left} line{'' if self.lines_left == 1 else 's'}"
        if self.rest.unit:
            rows = (row for item in self.rest.items() for row in item.rows)
            return f"{sum(not row.context and row.number is not None for row in rows)} {self._where_left(self.rest)}"
        return f"{sum(len(group.items) for group in self.rest.groups)} more"

    def _where_left(self, rest: Envelope) -> str:
        """`in tests and docs` if only these are left and other sections are shown; otherwise `more`."""
        left = {section_of(item.path) for item in rest.items() if item.rows}
        shown = {section_of(item.path) for item in self.envelope.items() if item.path}
        if "code" in left or shown <= left:
            return "more"
        return f"in {' and '.join(one for one in ORDER if one in left)}"


def shorten(envelope: Envelope) -> Envelope:
    """Cut long lines to the length that their tool set. Runs after `clean`, which needs complete secrets."""
    return replace(
        envelope,
        groups=tuple(map(shorten_group, envelope.groups)),
        folded=tuple(map(shorten_group, envelope.folded)),
    )


def shorten_group(group: Group) -> Group:
    if not _has_long(group.items):
        return group
    return replace(group, items=tuple(map(_short_item, group.items)))


def show_around(envelope: Envelope, texts: tuple[str, ...]) -> Envelope:
    """Let long lines show the part with the first of these texts that they contain, instead of their beginning."""
    if not any(_has_long(group.items) for group in envelope.groups):
        return envelope
    groups = tuple(
        replace(group, items=tuple(replace(item, rows=_around(item.rows, texts)) for item in group.items))
        for group in envelope.groups
    )
    return replace(envelope, groups=groups)


def _around(rows: tuple[Row, ...], texts: tuple[str, ...]) -> tuple[Row, ...]:
    return tuple(replace(row, around=texts) if 0 < row.longest < len(row.text) else row for row in rows)


def _has_long(items: Iterable[Item]) -> bool:
    for item in items:  # thousands of items; a generator for each took a sixth of the time of a large reply
        for row in item.rows:
            if 0 < row.longest < len(row.text):
                return True
    return False


def _short_item(item: Item) -> Item:
    return replace(item, rows=tuple(map(_short_row, item.rows))) if _has_long((item,)) else item


def _short_row(row: Row) -> Row:
    if not 0 < row.longest < len(row.text):
        return row
    start = start_of_marker(row.text, _first_shown(row))
    end = start_of_marker(row.text, start + row.longest)
    text = row.text[start:end]
    return replace(row, text=f"{'…' if start else ''}{text}{'…' if end < len(row.text) else ''}")


def _first_shown(row: Row) -> int:
    """The start of the visible part: it contains the text to be shown, and more text after it than before."""
    lowered = row.text.lower()
    for text in row.around:
        at = lowered.find(text.lower())
        if at >= 0:
            return 0 if at + len(text) <= row.longest else max(0, at - row.longest // 3)
    return 0


def start_of_marker(text: str, at: int) -> int:
    """The position, or the start of the redaction marker that a cut at this position would split."""
    marker = text.rfind("[redacted", 0, at + len("[redacted"))
    return marker if 0 <= marker < at <= text.find("]", marker) else at


def fit(envelope: Envelope, budget: int) -> Fitted:
    """The envelope within `budget` tokens, including the handle line; at least its first line."""
    total = sum(len(group.items) for group in envelope.groups)
    left = budget - count_line(head_line(envelope, total, total))
    if fits(envelope, left):
        return Fitted(envelope, total, total) if not envelope.folded else with_folded(envelope, everything(envelope))
    left -= count_line(frame_line(f"{total} {envelope.unit or 'more'}s", "h0000")) + SHOWING
    left -= room_for_marks(envelope, left)
    kept = choose(envelope, left)
    if not kept:
        envelope = with_first_row_cut(envelope, left)
        kept = choose(envelope, left)
    return with_folded(envelope, kept)


def with_folded(envelope: Envelope, kept: Kept) -> Fitted:
    """Show the kept items; the others and the folded groups become the rest."""
    total = sum(len(group.items) for group in envelope.groups)
    whole = replace(envelope, groups=(*envelope.groups, *envelope.folded), folded=())
    shown = replace(envelope, groups=marked(envelope, pick(envelope, kept)), folded=())
    rest = replace(whole, groups=leave(whole, kept))
    return Fitted(shown, len(kept), total, rest, whole, kept)


def room_for_marks(envelope: Envelope, left: int) -> int:
    """Tokens of `… 120 lines to 300` for each text but the last."""
    if envelope.unit != "line" or envelope.in_order:
        return 0
    return min(MARK * (len(envelope.groups) - 1), left // MARK)


MARK = 9


def marked(envelope: Envelope, groups: tuple[Group, ...]) -> tuple[Group, ...]:
    """Mark the end of each truncated text of several; the last line of the reply covers the last text."""
    if envelope.unit != "line" or envelope.in_order:
        return groups
    done = []
    for at, group in enumerate(groups):
        last = group.items[-1]
        shown = last.rows[-1].number if last.rows else None
        if at < len(groups) - 1 and shown is not None and last.end > shown:
            mark = Row(f"… {last.end - shown} lines to {last.end}")
            group = replace(group, items=(*group.items[:-1], replace(last, rows=(*last.rows, mark))))  # noqa: PLW2901
        done.append(group)
    return tuple(done)


def everything(envelope: Envelope) -> Kept:
    return {
        (at, index): len(item.rows)
        for at, group in enumerate(envelope.groups)
        for index, item in enumerate(group.items)
    }


SHOWING = 5  # tokens of " · showing 1234"
# After this many items that did not fit, the reply is full; a small item far down is not worth searching for.
MAX_REFUSED = 8
# Tokens rarely have more characters than this. If this many characters per remaining token already exceed the budget,
# the rest of the line need not be counted: a megabyte without a space takes seconds.
LONG_TOKEN = 8


def cost_of(line: str, left: int) -> int:
    """The tokens of the line, or any number above `left`."""
    enough = LONG_TOKEN * max(left, 1)
    if len(line) > enough and count_line(line[:enough]) > left + 1:
        return max(left, 0) + 1
    return count_line(line)


def fits(envelope: Envelope, left: int) -> bool:
    for group in envelope.groups:
        for line in group_lines(group):
            left -= cost_of(line, left)
            if left < 0:
                return False
    return True


def choose(envelope: Envelope, left: int) -> Kept:
    kept: Kept = {}
    opened: set[int] = set()
    closed: set[int] = set()
    refused = 0
    shares = fair_shares(envelope, left)
    for at, index, item in by_value(envelope):
        if at in closed:
            continue
        group = envelope.groups[at]
        heading = 0 if at in opened or not group.title else heading_cost(group)
        rows, cost = affordable(item, min(left, shares.get(at, left)) - heading)
        if rows < min(1, len(item.rows)) or left - heading - cost < 0:
            closed.add(at)
            refused += 1
            if refused >= MAX_REFUSED:
                break
            continue
        if rows < len(item.rows):
            closed.add(at)
        opened.add(at)
        kept[at, index] = rows
        left -= heading + cost
    return kept


def by_value(envelope: Envelope) -> Iterator[tuple[int, int, Item]]:
    """(group, item number, item): first items of all groups, then second items, and so on; or group after group."""
    groups = [list(enumerate(group.items)) for group in envelope.groups]
    if envelope.in_order:
        for at, items in enumerate(groups):
            yield from ((at, index, item) for index, item in sorted(items, key=level_of))
        return
    levels = sorted({item.level for item in envelope.items()})
    for level in levels:
        alike = groups if len(levels) == 1 else [[pair for pair in one if pair[1].level == level] for one in groups]
        for place in range(max(map(len, alike), default=0)):
            yield from ((at, *items[place]) for at, items in enumerate(alike) if place < len(items))


def level_of(pair: tuple[int, Item]) -> int:
    return pair[1].level


def fair_shares(envelope: Envelope, left: int) -> dict[int, int]:
    """group → tokens, for several texts that are read together; empty for a single text or for ranked groups."""
    if envelope.unit != "line" or envelope.in_order or len(envelope.groups) < 2:  # noqa: PLR2004 - nothing to share
        return {}
    costs = {at: bounded_cost(group, left) for at, group in enumerate(envelope.groups)}
    shares: dict[int, int] = {}
    for waiting, (at, cost) in enumerate(sorted(costs.items(), key=lambda pair: pair[1])):
        shares[at] = max(0, min(cost, left // (len(costs) - waiting)))
        left -= shares[at]
    return shares


def bounded_cost(group: Group, most: int) -> int:
    spent = 0
    for line in group_lines(group):
        spent += cost_of(line, most)
        if spent >= most:
            break
    return spent


def heading_cost(group: Group) -> int:
    """The tokens of the title, including the count that is shown if part of the group is omitted."""
    return count_line(group.title if group.count is None else f"{group.title} · {group.count:,}")


def affordable(item: Item, left: int) -> tuple[int, int]:
    """(rows, tokens): as many whole rows as fit."""
    spent = count_line(item_line(item)) if item.title else 0
    rows = 0
    for line in row_lines(item.rows):
        cost = cost_of(line, left - spent)
        if spent + cost > left:
            break
        spent += cost
        rows += 1
    return rows, spent


# A character has at most as many tokens as bytes.
MOST_TOKENS = 4
FEWEST_CHARACTERS = 4


def with_first_row_cut(envelope: Envelope, left: int) -> Envelope:
    """Split the first line, so that there is something to show; otherwise the pages of a long line would never end."""
    for at, group in enumerate(envelope.groups):
        for index, item in enumerate(group.items):
            if item.rows:
                room = left - (heading_cost(group) if group.title else 0) - count_line(item_line(item)) - SHOWING
                cut = replace(item, rows=(*halves(item.rows[0], room), *item.rows[1:]))
                items = (*group.items[:index], cut, *group.items[index + 1 :])
                groups = (*envelope.groups[:at], replace(group, items=items), *envelope.groups[at + 1 :])
                return replace(envelope, groups=groups)
    return envelope


def halves(row: Row, room: int) -> tuple[Row, ...]:
    """The characters that fit, and the rest; the row itself if all of it fits."""
    size = step = max(FEWEST_CHARACTERS, room // MOST_TOKENS)
    while step:
        longer = replace(row, text=f"{row.text[: size + step]}…")
        fitting = size < len(row.text) and cost_of(row_line(longer), room) <= room
        size += step if fitting else 0
        step = step * 2 if fitting and step == size // 2 else step // 2
    if size >= len(row.text):
        return (row,)
    return replace(row, text=f"{row.text[:size]}…"), replace(row, text=f"…{row.text[size:]}")


def pick(envelope: Envelope, kept: Kept) -> tuple[Group, ...]:
    groups: dict[int, list[Item]] = {}
    for at, index in sorted(kept):
        item, rows = envelope.groups[at].items[index], kept[at, index]
        groups.setdefault(at, []).append(item if rows == len(item.rows) else replace(item, rows=item.rows[:rows]))
    return tuple(replace(envelope.groups[at], items=tuple(items)) for at, items in groups.items())


def leave(envelope: Envelope, kept: Kept) -> tuple[Group, ...]:
    """The complement of `pick`: whole items, and the remaining rows of items that were cut."""
    touched = {at for at, _ in kept}
    groups = []
    for at, group in enumerate(envelope.groups):
        if at not in touched:
            groups.append(group)
            continue
        items = []
        for index, item in enumerate(group.items):
            taken = kept.get((at, index))
            if taken is None:
                items.append(item)
            elif taken < len(item.rows):
                items.append(_from_row(item, taken))
        if items:
            groups.append(replace(group, items=tuple(items), count=None))
    return tuple(groups)


def _from_row(item: Item, taken: int) -> Item:
    """The item without its first rows; it is where its first remaining line is."""
    rows = item.rows[taken:]
    first = next((row.number for row in rows if row.number is not None and not row.context), None)
    return replace(item, rows=rows, start=first if item.start and first else item.start)
