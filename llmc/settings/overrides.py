"""The layers that are texts: variables (`LLMC_INDEX_HIDDEN=false`) and flags (`index.hidden=false`).

Both become a table like that of a file, with `RawValue` texts for values, and are read by the same `TableCheck`. A
variable's name is the setting's in capitals with `_` for every dot. The names of entries are free, so those variables
are found by what stands before and after the name. An unknown name in a known section is refused; other `LLMC_…`
variables belong to somebody else, and only a likely slip of the pen is said.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from llmc.settings.check import Key, TableCheck
from llmc.settings.compat_env import foreign
from llmc.settings.convert import RawValue
from llmc.settings.problems import SettingSource, SettingsProblem, nearest
from llmc.settings.rows import ValueKind, rows_of, walk
from llmc.settings.sections import Settings

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from llmc.settings.convert import ValueContext

__all__ = ["CONFIG_VARIABLE", "read_environment", "read_flags", "variable"]

PREFIX = "LLMC_"
CONFIG_VARIABLE = "LLMC_CONFIG"
HOME_VARIABLE = "LLMC_HOME"  # read by llmc.base.home, which the thin client has too


def variable(key: str) -> str:
    """The variable that sets a key."""
    return PREFIX + key.upper().replace(".", "_").replace("-", "_")


def read_environment(ground: ValueContext, entries: Collection[Key]) -> tuple[TableCheck, list[SettingsProblem]]:
    """The sheet of all variables, and notices. `entries` are the named tables that the files have."""
    sheet, notices = TableCheck(SettingSource("environment"), ground), list[SettingsProblem]()
    plain = _variables()
    table: dict[str, Any] = {}
    for name, text in sorted(ground.env.items()):
        if not name.startswith(PREFIX) or name in (CONFIG_VARIABLE, HOME_VARIABLE):
            continue
        key = plain.get(name) or _entry_key(name, entries)
        if key is None:
            _unknown(name, plain, sheet, notices)
        elif text:  # an empty variable is how a shell unsets one
            _note(sheet, key, SettingSource("environment", name))
            _insert(table, key, RawValue((text,), split_paths=True))
    for name, dotted, text, said in foreign(ground.env):
        source, key = SettingSource("environment", name), tuple(dotted.split("."))
        if _insert(table, key, RawValue((text,), split_paths=False)):
            _note(sheet, key, source)
        if said:
            notices.append(SettingsProblem(source, "", said))
    sheet.take(table)
    return sheet, notices


@cache
def _variables() -> dict[str, Key]:
    """Of every plain setting. The daemon reads settings at each call, and this was three quarters of it."""
    return {variable(row.name): tuple(row.name.split(".")) for row in walk(Settings) if _is_plain(row.name)}


def read_flags(flags: Sequence[str], ground: ValueContext) -> TableCheck:
    """The sheet of all flags; the items of a list may come one by one, under the same key."""
    sheet, given = TableCheck(SettingSource("flag"), ground), dict[Key, tuple[str, ...]]()
    for flag in flags:
        name, equals, text = flag.partition("=")
        source = SettingSource("flag", f"--set {name.strip()}")
        if not equals:
            sheet.problems.append(SettingsProblem(source, "", "a flag is KEY=VALUE"))
            continue
        key: Key = tuple(name.strip().split("."))
        _note(sheet, key, source)
        given[key] = (*given.get(key, ()), text)
    table: dict[str, Any] = {}
    for key, texts in given.items():
        if not _insert(table, key, RawValue(texts, split_paths=False)):
            sheet.blame(key, "is given both as a whole and in parts", "give one of them")
    sheet.take(table)
    return sheet


def _note(sheet: TableCheck, key: Key, source: SettingSource) -> None:
    for end in range(1, len(key) + 1):
        sheet.places.setdefault(key[:end], source)


def _insert(table: dict[str, Any], key: Key, value: RawValue) -> bool:
    for part in key[:-1]:
        inner = table.setdefault(str(part), {})
        if not isinstance(inner, dict):
            return False
        table = inner
    return table.setdefault(str(key[-1]), value) is value


def _is_plain(name: str) -> bool:
    return "*" not in name and "[" not in name


def _entry_key(name: str, entries: Collection[Key]) -> Key | None:
    """`LLMC_PROVIDERS_LOCAL_API_KEY` is `providers.local.api_key`, or that of the entry that is spelt like `local`."""
    rows = [row for row in walk(Settings) if ".*." in row.name and _is_plain(row.name.replace("*", ""))]
    for row in sorted(rows, key=lambda row: -len(row.name)):
        above, _, last = row.name.partition(".*.")
        start, end = variable(above) + "_", f"_{last.upper()}"
        if row.kind is not ValueKind.REST and name.startswith(start) and name.endswith(end):
            spelt = name[len(start) : -len(end)]
            return (*_named(spelt, tuple(above.split(".")), entries), last) if spelt else None
    return None


def _named(spelt: str, above: Key, entries: Collection[Key]) -> Key:
    same = (key for key in entries if key[:-1] == above and variable(str(key[-1])) == PREFIX + spelt)
    return next(same, (*above, spelt.lower()))


def _unknown(name: str, plain: Collection[str], sheet: TableCheck, notices: list[SettingsProblem]) -> None:
    sections = [row.name for row in rows_of(Settings).values() if row.kind in (ValueKind.SECTION, ValueKind.ENTRIES)]
    close = nearest(name, plain)
    hint = f"did you mean {close}?" if close else ""
    source = SettingSource("environment", name)
    if any(name.startswith(variable(section) + "_") for section in sections):
        sheet.problems.append(SettingsProblem(source, "", "no such setting", hint))
    elif close and abs(len(close) - len(name)) <= 1:
        notices.append(SettingsProblem(source, "", "is not a setting, and is not used", hint))
