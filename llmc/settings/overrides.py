"""Reads the layers of environment variables (`LLMC_INDEX_HIDDEN=false`) and flags (`index.hidden=false`).

Both are converted to a table with `OverrideText` values, and `SettingsLayer` reads them like a file. The name of a
variable is that of its setting in capitals with `_` for every dot. Entries have arbitrary names, so their variables are
recognised by the parts before and after that name. An unknown name in a known section is refused; other `LLMC_…`
variables belong to other programs, and only a likely misspelling is mentioned.

`PRUNER_URL` and `PRUNER_TIMEOUT_MS`, which other pruners use, are read too: an invalid timeout is replaced by a valid
one with a notice, and an empty URL means that there is no endpoint.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from llmc.settings.fields import settings_of, walk
from llmc.settings.layer import Key, OverrideText, SettingsLayer
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


def pruner_variables(env: Mapping[str, str]) -> Iterator[tuple[str, str, str, str]]:
    """(variable, key, value as text, notice) for each of the pruners' variables that is set."""
    if PRUNER_URL in env:
        yield PRUNER_URL, "envelope.pruner_url", env[PRUNER_URL].strip(), ""
    if PRUNER_TIMEOUT in env:
        usable, notice = timeout_ms(env[PRUNER_TIMEOUT])
        yield PRUNER_TIMEOUT, "envelope.pruner_timeout_ms", str(usable), notice


def timeout_ms(text: str) -> tuple[int, str]:
    """The milliseconds in a string, clamped to the bounds, and a warning if they were changed."""
    try:
        meant = int(text.strip())
    except ValueError:
        return USUAL_MS, f"is not a whole number; {USUAL_MS} is used"
    usable = max(LOWEST_MS, min(HIGHEST_MS, meant))
    notice = "" if usable == meant else f"{meant} is not within {LOWEST_MS} to {HIGHEST_MS}; {usable} is used"
    return usable, notice


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
        elif text:  # shells often unset a variable by making it empty
            _note(layer, key, SettingSource("environment", name))
            _insert(table, key, OverrideText((text,), split_paths=True))
    for name, dotted, text, notice in pruner_variables(context.env):
        source, key = SettingSource("environment", name), tuple(dotted.split("."))
        if _insert(table, key, OverrideText((text,), split_paths=False)):
            _note(layer, key, source)
        if notice:
            notices.append(SettingsProblem(source, "", notice))
    layer.read(table)
    return layer, notices


@cache
def _variables() -> dict[str, Key]:
    """variable → key of every plain setting; cached, since this took three quarters of the time to read settings."""
    names = [*OLD_NAMES, *(each.name for each in walk(Settings) if _is_plain(each.name))]
    return {variable(name): tuple(name.split(".")) for name in names}


def read_flags(flags: Sequence[str], context: ValueContext) -> SettingsLayer:
    """The layer of all flags; the items of a list may be given one by one, under the same key."""
    layer, given = SettingsLayer(SettingSource("flag"), context), dict[Key, tuple[str, ...]]()
    for flag in flags:
        name, equals, text = flag.partition("=")
        source = SettingSource("flag", f"--set {name.strip()}")
        if not equals:
            layer.problems.append(SettingsProblem(source, "", "a flag has the form KEY=VALUE"))
            continue
        key: Key = tuple(name.strip().split("."))
        _note(layer, key, source)
        given[key] = (*given.get(key, ()), text)
    table: dict[str, Any] = {}
    for key, texts in given.items():
        if not _insert(table, key, OverrideText(texts, split_paths=False)):
            layer.report(key, "is set both as a whole and in parts", "use only one of them")
    layer.read(table)
    return layer


def _note(layer: SettingsLayer, key: Key, source: SettingSource) -> None:
    for end in range(1, len(key) + 1):
        layer.places.setdefault(key[:end], source)


def _insert(table: dict[str, Any], key: Key, value: OverrideText) -> bool:
    for part in key[:-1]:
        inner = table.setdefault(str(part), {})
        if not isinstance(inner, dict):
            return False
        table = inner
    return table.setdefault(str(key[-1]), value) is value


def _is_plain(name: str) -> bool:
    return "*" not in name and "[" not in name


def _entry_key(name: str, entries: Collection[Key]) -> Key | None:
    """`LLMC_PROVIDERS_LOCAL_API_KEY` is `providers.local.api_key`, or the key of an entry such as `Local`."""
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
        notices.append(SettingsProblem(source, "", "is not a setting and has no effect", hint))
