"""Formats structured results as tables: selected fields in aligned columns, long lists as counts.

    path                        size
    django/utils/autoreload.py  24,423

JSON repeats the keys in every row; as columns, the same rows cost a model a third. `records_of` finds the rows in a
result, `select` keeps some fields of each, `columns` formats them; `as_table` does all of that to an envelope.
"""

from __future__ import annotations

import json
from dataclasses import replace
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, Final

from llmc.base.errors import QueryError
from llmc.envelope.envelope import Envelope, Group, Item, Row

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

__all__ = ["ALL", "as_table", "columns", "field_names", "records_of", "select"]

Record = dict[str, Any]

ALL: Final = "*"
# Field names of rows that are lists.
NAMED: Final = {"lines": ("line", "text", "matched", "symbol", "kind")}
LISTED: Final = 3
# Wider cells are not aligned, since one long path would shift the second column of every row.
WIDEST: Final = 60


def field_names(values: Iterable[str]) -> tuple[str, ...]:
    """The names in a list such as `["a,b", "c"]`."""
    return tuple(dict.fromkeys(name for text in values for name in text.replace(",", " ").split()))


def as_table(envelope: Envelope, names: Sequence[str]) -> Envelope:
    """The same result as rows of these fields; each row can still be opened."""
    records = records_of(envelope.data) or records_in_text(envelope.data)
    if not records and envelope.groups:
        raise QueryError(f"this result of {envelope.tool} has no fields", hint="Repeat the call without `fields`.")
    chosen = select(records, names)
    head, lines = columns(chosen)
    items = tuple(item_of(record, line) for record, line in zip(records, lines, strict=True))
    groups = (Group(head, items),) if items else ()
    return replace(envelope, groups=groups, data={"rows": chosen}, unit="", in_order=True)


def item_of(record: Record, line: str) -> Item:
    start = record.get("start_line") or record.get("line") or 0
    place = (str(record.get("root") or ""), str(record.get("path") or "")) if record.get("root") else ("", "")
    return Item((Row(line),), "", *place, start, record.get("end_line") or start)


def records_in_text(data: Mapping[str, Any]) -> list[Record]:
    """The rows of a JSON file that contains a table."""
    try:
        return records_of(json.loads(str(data.get("text", ""))))
    except (ValueError, RecursionError):
        return []


def records_of(data: Any) -> list[Record]:
    """The rows of a result. Lists with the same fields are joined; otherwise the longest list is used. Fields of the
    enclosing object are added to each row, so that a match has its path and a symbol its file.
    """
    if isinstance(data, list):
        return [row for one in data for row in flat(one)] if data and all(isinstance(one, dict) for one in data) else []
    if not isinstance(data, dict):
        return []
    alike: dict[frozenset[str], list[Record]] = {}
    for value in data.values():
        if isinstance(value, list) and (records := records_of(value)):
            alike.setdefault(frozenset(records[0]), []).extend(records)
    return max(alike.values(), key=len, default=[])


def flat(record: Mapping[str, Any]) -> Iterator[Record]:
    """One row for each inner row, or the record itself."""
    inner = {name: rows for name, value in record.items() if (rows := inner_rows(name, value))}
    if not inner:
        yield dict(record)
        return
    name = max(inner, key=lambda each: len(inner[each]))
    around = {key: value for key, value in record.items() if key != name}
    for row in inner[name]:
        yield {**around, **row}


def inner_rows(name: str, value: Any) -> list[Record]:
    if not isinstance(value, list) or not value:
        return []
    if all(isinstance(one, dict) for one in value):
        return value
    names = NAMED.get(name, ())
    if names and all(isinstance(one, list) and 0 < len(one) <= len(names) for one in value):
        return [dict(zip(names, one, strict=False)) for one in value]
    return []


def select(records: Sequence[Record], names: Sequence[str]) -> list[Record]:
    """Only these fields of each record; QueryError for an unknown field."""
    known = list(dict.fromkeys(name for record in records for name in record))
    if ALL in names:
        return [dict(record) for record in records]
    for name in names:
        if records and name not in known:
            near = get_close_matches(name, known, 1)
            hint = f"Did you mean {near[0]}?" if near else f"Available: {', '.join(known)}."
            raise QueryError(f"unknown field {name!r}", hint=hint)
    return [{name: record.get(name) for name in names} for record in records]


def columns(records: Sequence[Record]) -> tuple[str, list[str]]:
    """(header, one line for each record), aligned; the width of the last column is not limited."""
    names = list(dict.fromkeys(name for record in records for name in record))
    table = [names, *([cell(record.get(name)) for name in names] for record in records)]
    widths = [min(WIDEST, max(len(row[at]) for row in table)) for at in range(len(names))]
    table[0] = [name.ljust(widths[at] + (at == 0)) for at, name in enumerate(names)]  # rows are indented by a space
    lines = ["  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip() for row in table]
    return lines[0], lines[1:]


def cell(value: Any) -> str:
    """A list is shown as its length and first items; an empty value as a dash, so that columns stay recognizable."""
    if isinstance(value, list | tuple):
        shown = ", ".join(cell(one) for one in value[:LISTED])
        return f"{len(value)}: {shown} …" if len(value) > LISTED else shown or "-"
    if isinstance(value, dict):
        return cell([f"{name}={cell(one)}" for name, one in value.items()])
    if value is None or value == "":
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.4g}" if isinstance(value, float) else str(value).replace("\n", "\\n")
