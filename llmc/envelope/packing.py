"""Serializes an envelope to lists for JSON and back, in a sixth of the size of JSON with field names.

Roots and paths are written once and referenced by number. The fields of a group's items and rows are stored as columns,
since a list for every item takes four times as long. Writer, reader and `VERSION` are in this module: entries of
another version are not read. `data` is not stored; a client that needs it repeats the call.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

import orjson

from llmc.envelope.envelope import Envelope, Group, Item, Row

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

__all__ = ["VERSION", "Packed", "decode", "encode", "pack", "unpack"]

VERSION: Final = 3

Packed = dict[str, Any]


def pack(envelope: Envelope) -> Packed:
    places: dict[tuple[str, str], int] = {}
    groups = [[group.title, group.count, *packed(group.items, places)] for group in envelope.groups]
    head = [envelope.tool, envelope.found, envelope.notes, envelope.error, envelope.unit, envelope.in_order]
    return {"head": head, "places": list(places), "groups": groups}


def packed(items: Sequence[Item], places: dict[tuple[str, str], int]) -> tuple[list[list[Any]], list[list[Any]]]:
    """(columns of the items, columns of all their rows)"""
    rows = [row for item in items for row in item.rows]
    of_items: list[list[Any]] = [
        [places.setdefault((item.root, item.path), len(places)) for item in items],
        [item.title for item in items],
        [item.start for item in items],
        [item.end for item in items],
        [item.level for item in items],
        [len(item.rows) for item in items],
    ]
    contexts = [at for at, row in enumerate(rows) if row.context]
    ends = {at: row.end for at, row in enumerate(rows) if row.end}
    return of_items, [
        [row.text for row in rows],
        [row.number for row in rows],
        contexts,
        list(ends.items()),
        [at for at, row in enumerate(rows) if row.cited],
    ]


def unpack(packed: Mapping[str, Any]) -> Envelope:
    groups = tuple(
        Group(title, tuple(items_of(packed["places"], of_items, of_rows)), count)
        for title, count, of_items, of_rows in packed["groups"]
    )
    tool, found, notes, error, unit, in_order = packed["head"]
    return Envelope(tool, found, groups, tuple(notes), error, unit=unit, in_order=in_order)


def items_of(places: list[list[str]], of_items: list[list[Any]], of_rows: list[list[Any]]) -> Iterator[Item]:
    texts, numbers, contexts, opened, cited = of_rows
    around, ends, numbered = set(contexts), dict(opened), set(cited)
    rows = [
        Row(text, number, at in around, end=ends.get(at, 0), cited=at in numbered)
        for at, (text, number) in enumerate(zip(texts, numbers, strict=True))
    ]
    last = 0
    for place, title, start, end, level, size in zip(*of_items, strict=True):
        root, path = places[place]
        yield Item(tuple(rows[last : last + size]), title, root, path, start, end, level)
        last += size


def encode(value: Any) -> str:
    """JSON. orjson is ten times as fast but rejects names that are not UTF-8."""
    try:
        return orjson.dumps(value).decode()
    except TypeError:
        return json.dumps(value, separators=(",", ":"), default=str)


def decode(text: str) -> Any:
    """Raises ValueError if the text is not valid JSON."""
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return json.loads(text)
