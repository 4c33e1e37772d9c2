"""The settings as a list of keys: what is in force and who said so. Nothing hidden comes out of here."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from llmc.settings.problems import SettingSource, SettingsProblem
from llmc.settings.record import FrozenRecord, record
from llmc.settings.rows import ValueKind, rows_of
from llmc.settings.secret import Secret

if TYPE_CHECKING:
    from collections.abc import Iterator

    from llmc.settings.load import Loaded

__all__ = ["ListedSetting", "listing", "unset_secrets"]

DEFAULT = SettingSource("default")


@record
class ListedSetting(FrozenRecord):
    """One key in force. `value` is what JSON can hold, with secrets masked."""

    key: str
    value: Any
    source: SettingSource


def listing(loaded: Loaded) -> list[ListedSetting]:
    """Every key in force, in the order of the rows."""
    found = _leaves(loaded.settings, "")
    return [ListedSetting(key, _plain(value), loaded.sources.get(key, DEFAULT)) for key, value in found]


def unset_secrets(loaded: Loaded) -> list[SettingsProblem]:
    """Secrets whose variable is not set. No problem yet: it becomes one when somebody needs the value."""
    return [
        SettingsProblem(loaded.sources.get(key, DEFAULT), key, f"the environment has no {', '.join(secret.missing)}")
        for key, value in _leaves(loaded.settings, "")
        for secret in (value.values() if isinstance(value, dict) else (value,))
        if isinstance(secret, Secret) and secret.missing
    ]


def _leaves(table: Any, prefix: str) -> Iterator[tuple[str, Any]]:
    cls: type = type(table)
    for name, row in rows_of(cls).items():
        key, value = f"{prefix}{row.at or name}", getattr(table, name)
        if row.kind is ValueKind.SECTION:
            yield from _leaves(value, f"{key}.")
        elif row.kind is ValueKind.ENTRIES:
            for entry, inner in value.items():
                yield from _leaves(inner, f"{key}.{entry}.")
        else:
            yield key, value


def _plain(value: Any) -> Any:
    if isinstance(value, Secret | Path):
        return str(value)
    if isinstance(value, tuple):
        return [_plain(each) for each in value]
    if isinstance(value, dict):
        return {name: _plain(each) for name, each in value.items()}
    if isinstance(value, FrozenRecord):
        return {name: _plain(each) for name, each in vars(value).items()}
    return value
