"""Settings are rows: name, type, default, one sentence, bounds.

A section is a frozen dataclass whose fields are made by `row`, `section`, `entries`, `tables` or `rest`; the field's
name and annotation are the setting's name and type, and the `SettingRow` beside it says the rest. Defaults, checks, the
JSON schema and the reference page all come from here, so that no setting can be documented otherwise than it works.
What the rows *are* stands in `sections` and `entries`.
"""

from __future__ import annotations

from dataclasses import field, fields, is_dataclass
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

from llmc.settings.record import FrozenRecord, record
from llmc.settings.secret import Secret

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["SettingRow", "ValueKind", "entries", "rest", "row", "rows_of", "section", "tables", "walk"]

T = TypeVar("T")


class ValueKind(StrEnum):
    """The shapes that a value may have; each reads as the end of "must be …"."""

    SWITCH = "true or false"
    WHOLE = "a whole number"
    NUMBER = "a number"
    TEXT = "a text"
    PATH = "a path"
    SECRET = "a text (hidden)"  # noqa: S105 - a description
    TEXTS = "a list of texts"
    NAMES = "a list of texts, or one"
    PATHS = "a list of paths"
    SECRETS = "a table of texts (hidden)"
    LISTS = "a table of lists of texts"
    OBJECT = "a table"
    SECTION = "a section"
    ENTRIES = "a table of named entries"
    TABLES = "a list of tables"
    REST = "any further key"


_BY_DEFAULT: dict[type, ValueKind] = {
    bool: ValueKind.SWITCH,
    int: ValueKind.WHOLE,
    float: ValueKind.NUMBER,
    str: ValueKind.TEXT,
    tuple: ValueKind.TEXTS,
    Secret: ValueKind.SECRET,
}


@record
class SettingRow(FrozenRecord):
    """One setting. `personal`: a workspace file may not set it, since whoever writes that file may be a stranger."""

    name: str
    kind: ValueKind
    doc: str
    default: object = None
    low: float | None = None
    high: float | None = None
    choices: tuple[str, ...] = ()
    required: bool = False
    personal: bool = False
    of: type | None = None  # the dataclass of a section, of an entry, or of one table in a list
    at: str = ""  # where it stands in a file, if not under its own name
    short: str = ""  # in a list of tables: the key that a plain text stands for


def row(
    default: T,
    doc: str,
    *,
    low: float | None = None,
    high: float | None = None,
    choices: tuple[str, ...] = (),
    required: bool = False,
    personal: bool = False,
    kind: ValueKind | None = None,
) -> T:
    made = SettingRow(
        "", kind or _kind_of(default), doc, default, low=low, high=high, choices=choices, required=required,
        personal=personal,
    )  # fmt: skip
    if isinstance(default, dict):
        return cast("T", field(default_factory=dict, metadata={"row": made}))
    return field(default=default, metadata={"row": made})


def section(of: type[T], *, personal: bool = False) -> T:
    made = SettingRow("", ValueKind.SECTION, _sentence(of), personal=personal, of=of)
    return field(default_factory=of, metadata={"row": made})


def entries(of: type[T], *, at: str = "", personal: bool = False) -> Mapping[str, T]:
    made = SettingRow("", ValueKind.ENTRIES, _sentence(of), {}, personal=personal, of=of, at=at)
    return cast("Mapping[str, T]", field(default_factory=dict, metadata={"row": made}))


def tables(of: type[T], *, short: str = "", personal: bool = False) -> tuple[T, ...]:
    made = SettingRow("", ValueKind.TABLES, _sentence(of), (), personal=personal, of=of, short=short)
    return field(default=(), metadata={"row": made})


def rest(doc: str) -> Mapping[str, object]:
    """Collect the keys that the dataclass does not name."""
    made = SettingRow("", ValueKind.REST, doc, {})
    return cast("Mapping[str, object]", field(default_factory=dict, metadata={"row": made}))


@cache
def rows_of(cls: type) -> dict[str, SettingRow]:
    """The rows of one section, in order, with their names filled in."""
    assert is_dataclass(cls)
    found = ((each.name, each.metadata["row"]) for each in fields(cls))
    return {name: _named(name, made) for name, made in found}


def walk(cls: type, prefix: str = "", *, personal: bool = False) -> Iterator[SettingRow]:
    """Every row below a section with its dotted name: `index.hidden`, `mcps.*.command`, `roots[].path`."""
    for name, made in rows_of(cls).items():
        here = _named(f"{prefix}{made.at or name}", made, personal=personal or made.personal)
        if made.kind is not ValueKind.SECTION:
            yield here
        if made.of is not None:
            ending = {ValueKind.ENTRIES: ".*.", ValueKind.TABLES: "[]."}.get(made.kind, ".")
            yield from walk(made.of, here.name + ending, personal=here.personal)


def _named(name: str, made: SettingRow, *, personal: bool | None = None) -> SettingRow:
    values: dict[str, Any] = {each.name: getattr(made, each.name) for each in fields(SettingRow)}
    return SettingRow(**{**values, "name": name, "personal": made.personal if personal is None else personal})


def _kind_of(default: object) -> ValueKind:
    return ValueKind.PATH if isinstance(default, Path) else _BY_DEFAULT[type(default)]


def _sentence(of: type) -> str:
    return (of.__doc__ or "").strip()
