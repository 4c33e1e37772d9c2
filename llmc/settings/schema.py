"""The rows as a JSON schema, for editors and for whoever writes settings by program (`llmc config schema`).

Draft-07, which the TOML and JSON extensions of the common editors understand. The seeds' camelCase spellings are read
too, but one spelling is what an editor should offer.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from llmc.settings.rows import SettingRow, ValueKind, rows_of
from llmc.settings.sections import Settings

__all__ = ["json_schema"]

_TEXT: dict[str, Any] = {"type": "string"}
_TEXTS: dict[str, Any] = {"type": "array", "items": {"type": "string", "minLength": 1}}

_SHAPES: dict[ValueKind, dict[str, Any]] = {
    ValueKind.SWITCH: {"type": "boolean"},
    ValueKind.WHOLE: {"type": "integer"},
    ValueKind.NUMBER: {"type": "number"},
    ValueKind.TEXT: _TEXT,
    ValueKind.PATH: {"type": "string", "minLength": 1},
    ValueKind.SECRET: _TEXT,
    ValueKind.TEXTS: _TEXTS,
    ValueKind.NAMES: {"anyOf": [_TEXT, _TEXTS]},
    ValueKind.PATHS: _TEXTS,
    ValueKind.SECRETS: {"type": "object", "additionalProperties": _TEXT},
    ValueKind.LISTS: {"type": "object", "additionalProperties": _TEXTS},
    ValueKind.OBJECT: {"type": "object"},
}


def json_schema() -> dict[str, Any]:
    schema = _table(Settings)
    properties = schema["properties"]
    del properties["home"]  # the environment alone sets it
    for row in rows_of(Settings).values():
        if row.at:
            above, _, name = row.at.partition(".")
            properties[above].setdefault("properties", {})[name] = properties.pop(row.name)
    properties["$schema"] = _TEXT
    head = {"$schema": "http://json-schema.org/draft-07/schema#", "title": "llmc settings"}
    return {**head, **schema}


def _table(cls: type) -> dict[str, Any]:
    rows = rows_of(cls)
    listed = {name: _shape(row) for name, row in rows.items() if row.kind is not ValueKind.REST}
    is_open = any(row.kind is ValueKind.REST for row in rows.values())
    required = [name for name, row in rows.items() if row.required]
    shape: dict[str, Any] = {"type": "object", "properties": listed, "additionalProperties": is_open}
    return {**shape, "required": required} if required else shape


def _shape(row: SettingRow) -> dict[str, Any]:
    if row.of is not None:
        return {"description": row.doc, **_compound(row, row.of)}
    limits = {"minimum": row.low, "maximum": row.high, "enum": list(row.choices) or None}
    shape = {"description": row.doc, **_SHAPES[row.kind]}
    shape.update({name: value for name, value in limits.items() if value is not None})
    return {**shape, "default": default} if (default := _default(row)) is not None else shape


def _compound(row: SettingRow, of: type) -> dict[str, Any]:
    inner = _table(of)
    if row.kind is ValueKind.ENTRIES:
        return {"type": "object", "additionalProperties": inner}
    if row.kind is ValueKind.TABLES:
        return {"type": "array", "items": {"anyOf": [_TEXT, inner]} if row.short else inner}
    return inner


def _default(row: SettingRow) -> Any:
    if row.required or row.kind in (ValueKind.SECRET, ValueKind.SECRETS):
        return None
    if isinstance(row.default, tuple):
        return list(row.default)
    return str(row.default) if isinstance(row.default, Path) else row.default
