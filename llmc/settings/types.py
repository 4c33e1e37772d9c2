"""The types of settings: pydantic types with the checks that every string, path and secret needs.

`Kind` is the name of a type in messages and on the reference page. The markers (`UserOnly`, `At`, `Shorthand`) say how
a field is read from a file. Paths and secrets depend on where a value was written: `ValueContext` carries that into
the validators.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, Strict, ValidationInfo
from pydantic_core import PydanticCustomError

from llmc.settings.locations import user_folder
from llmc.settings.secret import Secret

__all__ = [
    "At",
    "FolderPaths",
    "Kind",
    "Names",
    "Object",
    "Secrets",
    "SettingPath",
    "SettingsModel",
    "Shorthand",
    "Text",
    "TextLists",
    "Texts",
    "UserOnly",
    "ValueContext",
    "absolute",
    "inconsistent",
]


class Kind(StrEnum):
    """The kinds of values; each completes the message "must be …"."""

    SWITCH = "true or false"
    WHOLE = "a whole number"
    NUMBER = "a number"
    TEXT = "a string"
    PATH = "a path"
    SECRET = "a string (hidden)"  # noqa: S105 - a description
    TEXTS = "a list of strings"
    NAMES = "a string or a list of strings"
    PATHS = "a list of paths"
    SECRETS = "a table of strings (hidden)"
    LISTS = "a table of lists of strings"
    OBJECT = "a table"
    SECTION = "a section"
    ENTRIES = "a table of named entries"
    TABLES = "a list of tables"


class SettingsModel(BaseModel):
    """A table of settings. Strict, because `hidden = "no"` in a file is a mistake; text from variables and flags is
    validated leniently. Validators are built when a table is first used: that halves the time to import them."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, defer_build=True, allow_inf_nan=False)


@dataclass(frozen=True, slots=True)
class UserOnly:
    """Marks a setting that a workspace file may not set, since that file may have come with a clone."""


@dataclass(frozen=True, slots=True)
class At:
    """Where a table is in a file, if not under the field's own name."""

    key: str


@dataclass(frozen=True, slots=True)
class Shorthand:
    """In a list of tables: the key that a plain string sets."""

    key: str


@dataclass(frozen=True, slots=True)
class ValueContext:
    """The folder that paths are relative to, and the environment for `${VAR}` and `~`. `resolved` collects the real
    paths, since links may change."""

    folder: Path
    env: Mapping[str, str]
    resolved: dict[str, str] = field(default_factory=dict, compare=False)


def absolute(text: str, context: ValueContext) -> Path:
    """The real path, which need not exist; `~` is the home folder of the environment that was passed in."""
    if text == "~" or text.startswith("~/"):
        text = f"{user_folder(context.env)}{text[1:]}"
    path = str(context.folder / text)
    context.resolved[path] = real = os.path.realpath(path)
    return Path(real)


def inconsistent(field: str, reason: str, hint: str = "") -> PydanticCustomError:
    """The error of a model validator for values that are valid individually but inconsistent."""
    return PydanticCustomError("inconsistent", "{reason}", {"field": field, "reason": reason, "hint": hint})


def _without_nul(text: str) -> str:
    if "\0" in text:
        raise PydanticCustomError("nul", "must not contain a NUL character")
    return text


def _path(raw: Any, info: ValidationInfo) -> Any:
    if not isinstance(raw, str):
        return raw
    if not raw:
        raise PydanticCustomError("path_type", 'must be a path, not ""')
    _without_nul(raw)
    return absolute(raw, info.context) if isinstance(info.context, ValueContext) else Path(raw)


def _path_text(raw: Any, info: ValidationInfo) -> Any:
    return str(_path(raw, info)) if isinstance(raw, str) else raw


def _listed(raw: Any) -> Any:
    return [raw] if isinstance(raw, str) else raw


Text = Annotated[str, AfterValidator(_without_nul), Kind.TEXT]
SettingPath = Annotated[Path, BeforeValidator(_path, json_schema_input_type=str), Kind.PATH]
# Strict(False): a file holds lists, never tuples.
Texts = Annotated[tuple[Annotated[Text, Field(min_length=1)], ...], Strict(False), Kind.TEXTS]
Names = Annotated[Texts, BeforeValidator(_listed, json_schema_input_type=str | list[str]), Kind.NAMES]
FolderPaths = Annotated[
    tuple[Annotated[str, BeforeValidator(_path_text, json_schema_input_type=str)], ...], Strict(False), Kind.PATHS
]
Secrets = Annotated[Mapping[str, Secret], Kind.SECRETS]
TextLists = Annotated[Mapping[str, Texts], Kind.LISTS]
Object = Annotated[Mapping[str, object], Kind.OBJECT]
