"""A whole table against its rows: every unknown key and wrong value of a file is found in one go.

A `TableCheck` is one layer while it is read: a file, the environment, the flags. It gathers typed values by their path,
and problems. Which layer wins and which may say what is decided in `load`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from llmc.settings.convert import RawValue, ValueContext, convert
from llmc.settings.problems import SettingSource, SettingsProblem, WrongValueError, form, nearest
from llmc.settings.record import FrozenRecord, record
from llmc.settings.rows import SettingRow, ValueKind, rows_of, walk
from llmc.settings.sections import Settings

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["CheckedValue", "Key", "TableCheck", "dotted"]

Key = tuple[str | int, ...]

# The seeds' JSON calls the delegates `tools`, in a list; an editor's schema hint stands beside the settings.
_ALIASES = {"tools": "delegates"}
_IGNORED = frozenset({"$schema"})
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")  # it becomes part of a tool's name, a URL, a variable


@record
class CheckedValue(FrozenRecord):
    """A checked value. None stands for "this entry exists"; its own keys carry the values."""

    value: object
    source: SettingSource
    personal: bool


def dotted(key: Key) -> str:
    text = ""
    for part in key:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text


@dataclass(slots=True)
class TableCheck:
    """One layer being read."""

    source: SettingSource
    ground: ValueContext
    places: dict[Key, SettingSource] = field(default_factory=dict)
    values: dict[Key, CheckedValue] = field(default_factory=dict)
    problems: list[SettingsProblem] = field(default_factory=list)

    def take(self, table: Mapping[str, Any]) -> None:
        """Read a whole document."""
        self._section(Settings, {key: each for key, each in table.items() if key not in _IGNORED}, ())

    def put(self, row: SettingRow, raw: Any, key: Key, *, personal: bool) -> None:
        """Read one value; `personal` if a section above it says so."""
        personal = personal or row.personal
        raw = raw.raw(row) if isinstance(raw, RawValue) else raw
        if key == ("home",):
            self.blame(key, "is set by the environment alone", "LLMC_HOME=PATH")
        elif row.kind is ValueKind.SECTION:
            assert row.of is not None
            self._section(row.of, raw, key, personal=personal)
        elif row.kind is ValueKind.ENTRIES:
            self._entries(row, raw, key, personal=personal)
        else:
            self._leaf(row, raw, key, personal=personal)

    def blame(self, key: Key, reason: str, hint: str = "") -> None:
        self.problems.append(SettingsProblem(self.place(key), dotted(key), reason, hint))

    def place(self, key: Key) -> SettingSource:
        """Where the key stands, or the nearest table around it."""
        around = (self.places[key[:end]] for end in range(len(key), 0, -1) if key[:end] in self.places)
        return next(around, self.source)

    def _section(self, cls: type, table: Any, key: Key, *, personal: bool = False) -> None:
        if not isinstance(table, dict):
            self.blame(key, f"must be a table, not {form(table)}")
            return
        for name, row in self._matched(cls, table, key).items():
            self._rename((*key, name), (*key, row.name))
            self.put(row, table[name], (*key, row.name), personal=personal)

    def _rename(self, old: Key, new: Key) -> None:
        """Values go by their right names; the places were noted by the names in the file."""
        if old != new:
            moved = {(*new, *key[len(old) :]): each for key, each in self.places.items() if key[: len(old)] == old}
            self.places.update(moved)

    def _matched(self, cls: type, table: dict[str, Any], key: Key) -> dict[str, SettingRow]:
        """The row of each key of a table as it is spelt there; what has none is a problem."""
        rows, seen, matched = rows_of(cls), dict[str, str](), dict[str, SettingRow]()
        for name in table:
            right = _canonical(name, rows)
            if right is None:
                self.blame((*key, name), "no such setting", _meant(name, rows, key))
            elif right in seen:
                self.blame((*key, name), f"is {seen[right]} under another spelling", "give it once")
            else:
                seen[right], matched[name] = name, rows[right]
        return matched

    def _entries(self, row: SettingRow, raw: Any, key: Key, *, personal: bool) -> None:
        assert row.of is not None
        raw = self._by_name(raw, key) if isinstance(raw, list) else raw
        if not isinstance(raw, dict):
            self.blame(key, f"must be {ValueKind.ENTRIES}, not {form(raw)}")
            return
        for name, table in raw.items():
            nested = _nested(key, name)
            if nested is not None:
                self.put(nested, table, (*key, name), personal=personal)
            elif not _NAME.fullmatch(name):
                self.blame((*key, name), "a name is made of letters, digits, dots, dashes and underscores")
            elif not isinstance(table, dict):
                self.blame((*key, name), f"must be a table, as in [{dotted(key)}.NAME], not {form(table)}")
            else:
                self._entry(row.of, table, (*key, name), personal=personal)

    def _by_name(self, raw: list[Any], key: Key) -> dict[str, Any]:
        """The seeds also write entries as a list of tables that hold their own names."""
        found: dict[str, Any] = {}
        for place, table in enumerate(raw):
            name = table.get("name") if isinstance(table, dict) else None
            if not isinstance(name, str) or not name or name in found:
                self.blame((*key, place), "must be a table with a name of its own")
            else:
                self._rename((*key, place), (*key, name))
                found[name] = {part: each for part, each in table.items() if part != "name"}
        return found

    def _entry(self, cls: type, table: dict[str, Any], key: Key, *, personal: bool) -> None:
        """One named table. It is live even when empty, so that an entry with all defaults is one."""
        named = rows_of(cls)
        spare = next((row for row in named.values() if row.kind is ValueKind.REST), None)
        if spare is not None:
            further = {name: each for name, each in table.items() if _canonical(name, named) is None}
            table = {name: each for name, each in table.items() if name not in further}
            self.values[(*key, spare.name)] = CheckedValue(further, self.place(key), personal)
        self.values.setdefault(key, CheckedValue(None, self.place(key), personal))
        self._section(cls, table, key, personal=personal)

    def _leaf(self, row: SettingRow, raw: Any, key: Key, *, personal: bool) -> None:
        try:
            value = self._tables(row, raw, key) if row.kind is ValueKind.TABLES else convert(row, raw, self.ground)
        except WrongValueError as wrong:
            self.blame(key, str(wrong))
            return
        self.values[key] = CheckedValue(value, self.place(key), personal)

    def _tables(self, row: SettingRow, raw: Any, key: Key) -> tuple[object, ...]:
        if not isinstance(raw, list):
            raise WrongValueError(f"must be {ValueKind.TABLES}, not {form(raw)}")
        made = (self._one(row, each, (*key, place)) for place, each in enumerate(raw))
        return tuple(each for each in made if each is not None)

    def _one(self, row: SettingRow, raw: Any, key: Key) -> object | None:
        assert row.of is not None
        if isinstance(raw, str) and row.short:
            raw = {row.short: raw}
        inner = TableCheck(self.source, self.ground, self.places)
        inner._section(row.of, raw, key)
        given = {str(path[-1]): each.value for path, each in inner.values.items()}
        inner.require(row.of, set(given), key)
        self.problems += inner.problems
        return None if inner.problems else row.of(**given)

    def require(self, cls: type, given: set[str], key: Key) -> None:
        for row in rows_of(cls).values():
            wrong = any(problem.key.startswith(dotted((*key, row.name))) for problem in self.problems)
            if row.required and row.name not in given and not wrong:
                self.blame(key, f"{row.name} is missing", row.doc)


def _canonical(name: str, rows: Mapping[str, SettingRow]) -> str | None:
    """The row's name for a key: as it is, in the seeds' camelCase, or by an alias."""
    snake = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()
    found = next((each for each in (name, snake, _ALIASES.get(name, "")) if each in rows), None)
    return None if found is None or rows[found].kind is ValueKind.REST or rows[found].at else found


def _nested(key: Key, name: str) -> SettingRow | None:
    """`agents.script` stands among the names of `agents`, and is a table of entries of its own."""
    wanted = dotted((*key, name))
    return next((row for row in rows_of(Settings).values() if row.at == wanted), None)


def _meant(name: str, rows: Mapping[str, SettingRow], key: Key) -> str:
    here = nearest(name, [each for each, row in rows.items() if row.kind is not ValueKind.REST])
    if here:
        return f"did you mean {dotted((*key, here))}?"
    last = name.rpartition(".")[2]
    elsewhere = [row.name for row in walk(Settings) if row.name.rpartition(".")[2] == last]
    return f"did you mean {elsewhere[0]}?" if elsewhere else f"known here: {', '.join(rows)}"
