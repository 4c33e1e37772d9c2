"""The settings as a list and as a schema, for `llmc config`.

The list has the effective values and where they come from, with secrets masked. The JSON schema is for editors and for
programs that write settings. pydantic generates it; this module keeps it to draft-07, which the TOML and JSON
extensions of the common editors understand, and describes files as they are written: `agents.script` inside `agents`,
`tools.script` inside `tools`, a string for a root, no `home`.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, TypeAdapter
from pydantic.json_schema import GenerateJsonSchema

from llmc.settings.fields import settings_of
from llmc.settings.problems import SettingSource, SettingsProblem
from llmc.settings.secret import Secret
from llmc.settings.sections import Settings
from llmc.settings.types import Kind, SettingsModel

if TYPE_CHECKING:
    from collections.abc import Iterator

    from llmc.settings.loader import Loaded

__all__ = ["ListedSetting", "json_schema", "listing", "unset_secrets"]

DEFAULT = SettingSource("default")
_STRING: dict[str, Any] = {"type": "string"}


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
    """Secrets whose variable is not set, which is an error only when the value is needed."""
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


class _Generator(GenerateJsonSchema):
    """Omits titles, which would repeat the property names, and the defaults of secrets."""

    def field_title_should_be_set(self, schema: Any) -> bool:  # noqa: ARG002 - pydantic's signature
        return False

    def encode_default(self, dft: Any) -> Any:
        return dft.model_dump(mode="json") if isinstance(dft, BaseModel) else super().encode_default(dft)


def json_schema() -> dict[str, Any]:
    schema = TypeAdapter(Settings).json_schema(schema_generator=_Generator, ref_template="#/definitions/{model}")
    definitions = schema.pop("$defs")
    for each in definitions.values():
        each.pop("title", None)
    properties = schema["properties"]
    del properties["home"]  # only the environment sets it
    for name, setting in settings_of(Settings).items():
        if setting.shorthand:
            properties[name]["items"] = {"anyOf": [_STRING, properties[name]["items"]]}
        if setting.at:
            above, _, key = setting.at.partition(".")
            properties.setdefault(above, {}).setdefault("properties", {})[key] = properties.pop(name)
    properties["$schema"] = _STRING
    head = {"$schema": "http://json-schema.org/draft-07/schema#", "title": "llmc settings"}
    return {**head, **schema, "definitions": definitions}
