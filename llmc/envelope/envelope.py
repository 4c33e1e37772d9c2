"""The value that every tool returns.

Groups are usually files, items are places in them ("open result 3" means the third item), and rows are lines. `found`
summarizes the whole result in a few words; it is content, like paths, line numbers and text. `notes` are frame: text
that exists only because llmc produced the reply (pending changes, limits of the index). The parts that `fit` adds
(`showing`, the handle) are frame too.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from llmc.base.errors import LlmcError

__all__ = ["Envelope", "Group", "Item", "Row", "failure"]


@dataclass(frozen=True, slots=True)
class Row:
    """A line. `number` is its line number in the file, or None.

    `longest` is the maximum number of characters to show, 0 for all. The line is cut after redaction, since a truncated
    secret would not be recognized. The part around the first of the texts in `around` that it contains is shown, else
    its beginning.
    """

    text: str
    number: int | None = None
    context: bool = False  # a line around a match
    longest: int = 0
    end: int = 0  # the last line of the definition that this line opens
    cited: bool = False  # its number is always shown
    around: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Item:
    """A place that can be opened separately, with the lines from `start` to `end`.

    `level` is its priority, 0 the highest: entries deeper in a tree or outline are dropped first.
    """

    rows: tuple[Row, ...] = ()
    title: str = ""  # a breadcrumb: the enclosing symbol
    root: str = ""
    path: str = ""
    start: int = 0
    end: int = 0
    level: int = 0


@dataclass(frozen=True, slots=True)
class Group:
    """`count` is the total number of the group's entries; it is shown if not all of them are."""

    title: str
    items: tuple[Item, ...]
    count: int | None = None


@dataclass(frozen=True, slots=True)
class Envelope:
    """`data` is the same result for programs (`--json`). `error` is an error code, empty for a result.

    `unit` is the unit for counting omitted parts, if not items. `in_order`: earlier groups are more important, so
    groups are shown one after the other instead of a part of each. `folded` are groups that the visible ones only
    summarize; the handle has all of them. `explicit`: exactly this text was requested, and its budget is the cap.
    `provisional`: not everything was checked, so more may be found later.
    """

    tool: str
    found: str
    groups: tuple[Group, ...] = ()
    notes: tuple[str, ...] = ()
    error: str = ""
    data: dict[str, Any] = field(default_factory=dict)
    unit: str = ""
    in_order: bool = False
    folded: tuple[Group, ...] = ()
    explicit: bool = False
    provisional: bool = False

    def items(self) -> Iterator[Item]:
        for group in self.groups:
            yield from group.items

    @property
    def is_empty(self) -> bool:
        return not self.groups


def failure(tool: str, error: LlmcError) -> Envelope:
    """An error as an envelope: what happened, why, and what to do."""
    found = error.without_hint
    notes = (error.hint,) if error.hint else ()
    return Envelope(tool, found, notes=notes, error=error.code, data={"error": error.as_dict()})
