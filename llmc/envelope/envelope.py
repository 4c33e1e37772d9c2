"""The one value that every tool returns.

Groups are files mostly, items are places in them ("open result 3" means the third item), rows are lines. `found` says
in a few words what there is in all; it is content, like paths, line numbers and text. `notes` are frame: what is said
only because llmc stands between (what is pending, what the index could not know). What fitting adds (`showing`, the
handle) is frame as well.
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
    """A line. `number` is its number in the file, None for text that has none.

    `longest` is how many characters of it are worth showing, 0 for all. It is cut once secrets are out of it: half of
    one cannot be told from other text.
    """

    text: str
    number: int | None = None
    context: bool = False  # it only surrounds what was found
    longest: int = 0
    end: int = 0  # the last line of the definition that this line opens
    cited: bool = False  # it always has its number


@dataclass(frozen=True, slots=True)
class Item:
    """One place or thing that can be opened by itself. `start` and `end` say what opening it shows.

    `level` is how much it matters, 0 the most: what is deeper in a tree or an outline gives way first.
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
    """`count` is how many the group has in all; it is said where not all of them are shown."""

    title: str
    items: tuple[Item, ...]
    count: int | None = None


@dataclass(frozen=True, slots=True)
class Envelope:
    """`data` is the same answer for machines (`--json`). `error` is the code of a failure, empty for an answer.

    `unit` is what is counted when something is left out, if not items. `in_order`: what stands first matters most, so
    that groups are shown one after the other instead of a little of each. `folded` is what the groups only
    summarise; it stands in full behind the handle. `explicit`: exactly this was asked for,
    and its budget is the cap.
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

    def items(self) -> Iterator[Item]:
        for group in self.groups:
            yield from group.items

    @property
    def is_empty(self) -> bool:
        return not self.groups


def failure(tool: str, error: LlmcError) -> Envelope:
    """An error is an answer too: what happened, why, what to do."""
    found = f"{error.message}: {error.reason}" if error.reason else error.message
    notes = (error.hint,) if error.hint else ()
    return Envelope(tool, found, notes=notes, error=error.code, data={"error": error.as_dict()})
