"""Several targets of one `read`: those of one file that overlap are merged, and all share a reply."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from llmc.base.errors import LlmcError
from llmc.envelope import Envelope, Group, Item, Row
from llmc.envelope.phrases import plural
from llmc.tools.read_code import LONG_OF_SEVERAL, SKELETON

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["merged", "together"]

SKELETONS = f"skeletons of functions over {LONG_OF_SEVERAL} lines, --all shows them"


def merged(targets: Sequence[str], results: list[Envelope | LlmcError]) -> tuple[list[str], list[Envelope | LlmcError]]:
    """Ranges of one file that overlap or touch are one target."""
    names: list[str] = []
    kept: list[Envelope | LlmcError] = []
    for name, result in zip(targets, results, strict=True):
        for at, other in enumerate(kept):
            if isinstance(result, Envelope) and isinstance(other, Envelope) and overlap(result, other):
                kept[at] = joined(other, result)
                break
        else:
            names.append(name)
            kept.append(result)
    return names, kept


def overlap(one: Envelope, other: Envelope) -> bool:
    spans = [(each.data["root"], each.data["path"]) for each in (one, other) if "start_line" in each.data]
    if len(spans) < 2 or spans[0] != spans[1] or not (is_range(one) and is_range(other)):  # noqa: PLR2004 - both
        return False
    first, second = sorted((each.data["start_line"], each.data["end_line"]) for each in (one, other))
    return bool(second[0] <= first[1] + 1)


def is_range(one: Envelope) -> bool:
    """Whether it is nothing but lines that follow each other."""
    if len(list(one.items())) > 1:  # overloads
        return False
    rows = [row for item in one.items() for row in item.rows]
    return len(one.groups) == 1 and not one.folded and all(row.number is not None for row in rows)


def joined(one: Envelope, other: Envelope) -> Envelope:
    rows = {row.number or 0: row for each in (one, other) for item in each.items() for row in item.rows}
    start, end = min(rows), max(rows)
    item = next(one.items())
    whole = replace(item, rows=tuple(rows[at] for at in sorted(rows)), start=start, end=end)
    text = "\n".join(row.text for row in whole.rows)
    data = {**one.data, "start_line": start, "end_line": end, "text": text}
    title = one.found.partition(" · ")[0].rpartition(":")[0] or one.found.partition(" · ")[0]
    total = plural(one.data["lines"], "line")
    found = f"{title}:{start}-{end} of {total}" if start > 1 or end < one.data["lines"] else f"{title} · {total}"
    return replace(one, found=found, groups=(Group("", (whole,)),), data=data)


def together(targets: Sequence[str], results: list[Envelope | LlmcError]) -> Envelope:
    read = [one for one in results if isinstance(one, Envelope)]
    if not read:
        raise next(one for one in results if isinstance(one, LlmcError))
    groups: list[Group] = []
    above: Envelope | None = None
    for target, one in zip(targets, results, strict=True):
        if isinstance(one, Envelope):
            groups += titled(one, above)
            above = one
        else:
            above = None
            words = f"{one.message}. {one.hint}" if one.hint else one.message
            groups.append(Group(target, (Item((Row(words),)),)))
    share = "" if len(read) == len(targets) else f"{len(read)} of "
    return Envelope(
        "read",
        f"{share}{plural(len(targets), 'target')}",
        tuple(groups),
        tuple(dict.fromkeys(SKELETONS if note.startswith(SKELETON) else note for one in read for note in one.notes)),
        data={"targets": [one.data if isinstance(one, Envelope) else {"error": one.as_dict()} for one in results]},
        unit="line" if all(one.unit for one in read) else "",
        folded=tuple(group for one in read for group in one.folded),
        explicit=all(one.explicit or one.folded for one in read),  # an outline has its own limit
    )


def titled(one: Envelope, above: Envelope | None) -> tuple[Group, ...]:
    """Alone, its first line names a file; with others the group must. Below lines of the same file, it only names the
    lines: `:40-60`."""
    first, *others = one.groups or (Group("", ()),)
    title = first.title or one.found
    if above and file_of(above) and file_of(above) == file_of(one):
        title = SAME_FILE.sub(r"\1", title.partition(one.data["path"])[2])
    return replace(first, title=title), *others


SAME_FILE = re.compile(r"^(:\d+(?:-\d+)?) of [\d,]+ lines")


def file_of(one: Envelope) -> tuple[str, str] | None:
    """The file, if it is known which of its lines are shown."""
    is_part = "start_line" in one.data and (one.data["start_line"] > 1 or one.data["end_line"] < one.data["lines"])
    return (one.data["root"], one.data["path"]) if is_part and len(list(one.items())) == 1 else None
