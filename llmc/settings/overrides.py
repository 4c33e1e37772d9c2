"""The layers that are text: variables (`LLMC_INDEX_HIDDEN=false`) and flags (`index.hidden=false`).

Both become a table like that of a file, with `GivenText` values, and are read by the same `SettingsLayer`. A variable's
name is the setting's in capitals with `_` for every dot. The names of entries are free, so those variables are
recognised by what precedes and follows the name. An unknown name in a known section is refused; other `LLMC_…`
variables belong to other programs, and only a likely misspelling is mentioned.

`PRUNER_URL` and `PRUNER_TIMEOUT_MS`, which other pruners use, are read as well: an invalid timeout is replaced by a
valid one with a notice, and an empty URL means that there is no endpoint.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from llmc.settings.fields import settings_of, walk
from llmc.settings.layer import GivenText, Key, SettingsLayer
from llmc.settings.problems import SettingSource, SettingsProblem, nearest
from llmc.settings.renamed import OLD_NAMES
from llmc.settings.sections import Settings
from llmc.settings.types import Kind

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from llmc.settings.types import ValueContext

__all__ = [
    "CONFIG_VARIABLE",
    "PRUNER_TIMEOUT",
    "PRUNER_URL",
    "read_environment",
    "read_flags",
    "timeout_ms",
    "variable",
]

PRUNER_URL = "PRUNER_URL"
PRUNER_TIMEOUT = "PRUNER_TIMEOUT_MS"
USUAL_MS, LOWEST_MS, HIGHEST_MS = 30_000, 100, 300_000
PREFIX = "LLMC_"
CONFIG_VARIABLE = "LLMC_CONFIG"
HOME_VARIABLE = "LLMC_HOME"  # read by llmc.base.home, which the thin client has too


def foreign(env: Mapping[str, str]) -> Iterator[tuple[str, str, str, str]]:
    """(variable, key, text of its value, what to say) of each that is there."""
    if PRUNER_URL in env:
        yield PRUNER_URL, "envelope.pruner_url", env[PRUNER_URL].strip(), ""
    if PRUNER_TIMEOUT in env:
        usable, said = timeout_ms(env[PRUNER_TIMEOUT])
        yield PRUNER_TIMEOUT, "envelope.pruner_timeout_ms", str(usable), said


def timeout_ms(text: str) -> tuple[int, str]:
    """The milliseconds in a string, clamped to the bounds, and a warning if they were changed."""
    try:
        meant = int(text.strip())
    except ValueError:
        return USUAL_MS, f"is not a whole number; {USUAL_MS} is used"
    usable = max(LOWEST_MS, min(HIGHEST_MS, meant))
    said = "" if usable == meant else f"{meant} is not within {LOWEST_MS} to {HIGHEST_MS}; {usable} is used"
    return usable, said


def variable(key: str) -> str:
    """The variable that sets a key."""
    return PREFIX + key.upper().replace(".", "_").replace("-", "_")


def read_environment(context: ValueContext, entries: Collection[Key]) -> tuple[SettingsLayer, list[SettingsProblem]]:
    """The layer of all variables, and notices. `entries` are the named tables in the files."""
    layer, notices = SettingsLayer(SettingSource("environment"), context), list[SettingsProblem]()
    plain = _variables()
    table: dict[str, Any] = {}
    for name, text in sorted(context.env.items()):
        if not name.startswith(PREFIX) or name in (CONFIG_VARIABLE, HOME_VARIABLE):
            continue
        key = plain.get(name) or _entry_key(name, entries)
        if key is None:
            _unknown(name, plain, layer, notices)
        elif text:  # an empty variable is how a shell unsets one
            _note(layer, key, SettingSource("environment", name))
            _insert(table, key, GivenText((text,), split_paths=True))
    for name, dotted, text, said in foreign(context.env):
        source, key = SettingSource("environment", name), tuple(dotted.split("."))
        if _insert(table, key, GivenText((text,), split_paths=False)):
            _note(layer, key, source)
        if said:
            notices.append(SettingsProblem(source, "", said))
    layer.read(table)
    return layer, notices


@cache
def _variables() -> dict[str, Key]:
    """Of every plain setting. The daemon reads settings at each call, and this took three quarters of the time."""
    names = [*OLD_NAMES, *(each.name for each in walk(Settings) if _is_plain(each.name))]
    return {variable(name): tuple(name.split(".")) for name in names}


def read_flags(flags: Sequence[str], context: ValueContext) -> SettingsLayer:
    """The layer of all flags; the items of a list may be given one by one, under the same key."""
    layer, given = SettingsLayer(SettingSource("flag"), context), dict[Key, tuple[str, ...]]()
    for flag in flags:
        name, equals, text = flag.partition("=")
        source = SettingSource("flag", f"--set {name.strip()}")
        if not equals:
            layer.problems.append(SettingsProblem(source, "", "a flag is KEY=VALUE"))
            continue
        key: Key = tuple(name.strip().split("."))
        _note(layer, key, source)
        given[key] = (*given.get(key, ()), text)
    table: dict[str, Any] = {}
    for key, texts in given.items():
        if not _insert(table, key, GivenText(texts, split_paths=False)):
            layer.report(key, "is given both as a whole and in parts", "give one of them")
    layer.read(table)
    return layer


def _note(layer: SettingsLayer, key: Key, source: SettingSource) -> None:
    for end in range(1, len(key) + 1):
        layer.places.setdefault(key[:end], source)


def _insert(table: dict[str, Any], key: Key, value: GivenText) -> bool:
    for part in key[:-1]:
        inner = table.setdefault(str(part), {})
        if not isinstance(inner, dict):
            return False
        table = inner
    return table.setdefault(str(key[-1]), value) is value


def _is_plain(name: str) -> bool:
    return "*" not in name and "[" not in name


def _entry_key(name: str, entries: Collection[Key]) -> Key | None:
    """`LLMC_PROVIDERS_LOCAL_API_KEY` is `providers.local.api_key`, or that of an entry spelled like `local`."""
    for above, last in _entry_settings():
        start, end = variable(above) + "_", f"_{last.upper()}"
        if name.startswith(start) and name.endswith(end):
            spelling = name[len(start) : -len(end)]
            return (*_named(spelling, tuple(above.split(".")), entries), last) if spelling else None
    return None


@cache
def _entry_settings() -> list[tuple[str, str]]:
    """(table, key) of every setting of an entry, the longest name first, since one may end like another."""
    found = [each.name for each in walk(Settings) if ".*." in each.name and _is_plain(each.name.replace("*", ""))]
    parts = [name.partition(".*.") for name in sorted(found, key=len, reverse=True)]
    return [(above, last) for above, _, last in parts]


def _named(spelling: str, above: Key, entries: Collection[Key]) -> Key:
    same = (key for key in entries if key[:-1] == above and variable(str(key[-1])) == PREFIX + spelling)
    return next(same, (*above, spelling.lower()))


def _unknown(name: str, plain: Collection[str], layer: SettingsLayer, notices: list[SettingsProblem]) -> None:
    tables = [each.name for each in settings_of(Settings).values() if each.kind in (Kind.SECTION, Kind.ENTRIES)]
    close = nearest(name, plain)
    hint = f"did you mean {close}?" if close else ""
    source = SettingSource("environment", name)
    if any(name.startswith(variable(section) + "_") for section in tables):
        layer.problems.append(SettingsProblem(source, "", "no such setting", hint))
    elif close and abs(len(close) - len(name)) <= 1:
        notices.append(SettingsProblem(source, "", "is not a setting, and is not used", hint))
