"""An envelope as plain lists for JSON, and back: a fifth of the text that its fields by name would take.

Roots and paths are written once and named by number. Writer, reader and `VERSION` live together: what another version
wrote is not read. `data` for machines is not kept, since whoever wants it asks the question again.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

import orjson

from llmc.envelope.envelope import Envelope, Group, Item, Row

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["VERSION", "Packed", "decode", "encode", "pack", "unpack"]

VERSION: Final = 1

Packed = dict[str, Any]


def pack(envelope: Envelope) -> Packed:
    places: dict[tuple[str, str], int] = {}
    groups = [[group.title, group.count, packed(group.items, places)] for group in envelope.groups]
    head = [envelope.tool, envelope.found, envelope.notes, envelope.error, envelope.unit, envelope.in_order]
    return {"head": head, "places": list(places), "groups": groups}


def packed(items: Iterable[Item], places: dict[tuple[str, str], int]) -> list[tuple[Any, ...]]:
    return [
        (
            places.setdefault((item.root, item.path), len(places)),
            *(item.title, item.start, item.end, item.level),
            [(row.text, row.number, row.context) for row in item.rows],
        )
        for item in items
    ]


def unpack(packed: Mapping[str, Any]) -> Envelope:
    places = packed["places"]
    groups = tuple(
        Group(title, tuple(item_of(places, item) for item in items), count) for title, count, items in packed["groups"]
    )
    tool, found, notes, error, unit, in_order = packed["head"]
    return Envelope(tool, found, groups, tuple(notes), error, unit=unit, in_order=in_order)


def item_of(places: list[list[str]], fields: list[Any]) -> Item:
    place, title, start, end, level, rows = fields
    root, path = places[place]
    return Item(tuple(Row(*row) for row in rows), title, root, path, start, end, level)


def encode(value: Any) -> str:
    """JSON. orjson is ten times as fast, but refuses names that are not UTF-8."""
    try:
        return orjson.dumps(value).decode()
    except TypeError:
        return json.dumps(value, separators=(",", ":"), default=str)


def decode(text: str) -> Any:
    """ValueError when it is no JSON."""
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return json.loads(text)
