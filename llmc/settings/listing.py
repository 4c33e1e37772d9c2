"""The settings as a list of keys: the effective values and where they come from, with secrets masked."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from llmc.settings.fields import settings_of
from llmc.settings.problems import SettingSource, SettingsProblem
from llmc.settings.secret import Secret
from llmc.settings.types import Kind, SettingsModel

if TYPE_CHECKING:
    from collections.abc import Iterator

    from llmc.settings.loader import Loaded

__all__ = ["ListedSetting", "listing", "unset_secrets"]

DEFAULT = SettingSource("default")


@dataclass(frozen=True, slots=True)
class ListedSetting:
    """One key and its effective value, as JSON and with secrets masked."""

    key: str
    value: Any
    source: SettingSource


def listing(loaded: Loaded) -> list[ListedSetting]:
    """Every key, in the order of the models."""
    found = _leaves(loaded.settings, "")
    return [ListedSetting(key, _plain(value), loaded.sources.get(key, DEFAULT)) for key, value in found]


def unset_secrets(loaded: Loaded) -> list[SettingsProblem]:
    """Secrets whose variable is not set: no problem until the value is needed."""
    return [
        SettingsProblem(loaded.sources.get(key, DEFAULT), key, f"the environment has no {', '.join(secret.missing)}")
        for key, value in _leaves(loaded.settings, "")
        for secret in (value.values() if isinstance(value, dict) else (value,))
        if isinstance(secret, Secret) and secret.missing
    ]


def _leaves(table: SettingsModel, prefix: str) -> Iterator[tuple[str, Any]]:
    for name, setting in settings_of(type(table)).items():
        key, value = f"{prefix}{setting.at or name}", getattr(table, name)
        if setting.kind is Kind.SECTION:
            yield from _leaves(value, f"{key}.")
        elif setting.kind is Kind.ENTRIES:
            for entry, inner in value.items():
                yield from _leaves(inner, f"{key}.{entry}.")
        else:
            yield key, value
    for name, value in (table.model_extra or {}).items():
        yield f"{prefix}{name}", value


def _plain(value: Any) -> Any:
    if isinstance(value, Secret | Path):
        return str(value)
    if isinstance(value, tuple):
        return [_plain(each) for each in value]
    if isinstance(value, dict):
        return {name: _plain(each) for name, each in value.items()}
    if isinstance(value, SettingsModel):
        return {name: _plain(each) for name, each in value}
    return value
