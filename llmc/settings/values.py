"""One value against its setting: pydantic validates it; its errors become sentences that name the remedy.

`GivenText` holds what a variable or flag gave as text and turns it into what a file would hold.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from llmc.settings.problems import WrongValueError, describe_type, nearest, shown
from llmc.settings.types import Kind

if TYPE_CHECKING:
    from collections.abc import Callable

    from pydantic_core import ErrorDetails

    from llmc.settings.fields import SettingField
    from llmc.settings.types import ValueContext

__all__ = ["GivenText", "explain", "validate"]

_LISTS = frozenset({Kind.TEXTS, Kind.NAMES, Kind.PATHS, Kind.TABLES})
_COMPOUND = _LISTS | {Kind.SECRETS, Kind.LISTS, Kind.OBJECT, Kind.ENTRIES, Kind.SECTION}
_HIDDEN = frozenset({Kind.SECRET, Kind.SECRETS})
_OWN_MESSAGES = frozenset({"nul", "path_type", "inconsistent"})


@dataclass(frozen=True, slots=True)
class GivenText:
    """A value that a variable or flag gave as text. A flag may be repeated, and each adds to a list.

    A variable holds several paths as PATH does; a flag holds one, which may contain any character.
    """

    texts: tuple[str, ...]
    split_paths: bool

    def raw(self, kind: Kind) -> Any:
        parts = [_from_text(kind, text, split_paths=self.split_paths) for text in self.texts]
        if all(isinstance(part, list) for part in parts):
            return [item for part in parts for item in part]
        return parts[-1]


def validate(setting: SettingField, raw: Any, context: ValueContext) -> object:
    """The typed value, or WrongValueError with the reason. Text may be "5" for 5 or "off" for false."""
    from_text = isinstance(raw, GivenText)
    raw = raw.raw(setting.kind) if from_text else raw
    try:
        return setting.adapter.validate_python(raw, strict=False if from_text else None, context=context)
    except ValidationError as error:
        raise WrongValueError(explain(setting, error.errors(include_url=False)[0], raw)) from None


def explain(setting: SettingField, error: ErrorDetails, raw: Any) -> str:
    """The end of the sentence "index.workers …"."""
    kind, found, context = error["type"], error["input"], error.get("ctx", {})
    if setting.kind in _HIDDEN:
        return f"must be {setting.kind}"
    if kind == "float_type" and type(found) is int:  # one with thousands of digits
        kind = "finite_number"
    reasons: dict[str, Callable[[], str]] = {
        **dict.fromkeys(_OWN_MESSAGES, lambda: error["msg"]),
        "literal_error": lambda: _choice(setting, raw),
        "greater_than_equal": lambda: f"must be at least {context['ge']:,}, not {shown(found)}",
        "less_than_equal": lambda: f"must be at most {context['le']:,}, not {shown(found)}",
        "string_too_short": lambda: "must not contain an empty string" if error["loc"] else "must not be empty",
        "too_short": lambda: "must not be empty",
        "finite_number": lambda: "must be a finite number",
    }
    return reasons.get(kind, lambda: f"must be {setting.kind}, not {_quoted(raw)}")()


def _choice(setting: SettingField, raw: Any) -> str:
    meant = nearest(raw, setting.choices) if isinstance(raw, str) else ""
    offered = f"; did you mean {meant}?" if meant else ""
    return f"must be one of {', '.join(filter(None, setting.choices))}, not {_quoted(raw)}{offered}"


def _quoted(raw: object) -> str:
    if isinstance(raw, str):
        return f'"{shown(raw)}"'
    return shown(raw) if isinstance(raw, int | float) else describe_type(raw)


def _from_text(kind: Kind, text: str, *, split_paths: bool) -> Any:
    if kind not in _COMPOUND:
        return text.strip() if kind in (Kind.SWITCH, Kind.WHOLE, Kind.NUMBER) else text
    if text.lstrip().startswith(("[", "{")):
        import json  # noqa: PLC0415 - rarely needed

        try:
            return json.loads(text)
        except (ValueError, RecursionError):
            pass  # a pattern such as `[ab]*.py` is not JSON, and is a list of one
    if kind not in _LISTS:
        return text
    words = kind in (Kind.TEXTS, Kind.NAMES)
    if not words and not split_paths:
        return [text]
    separator = "," if words else os.pathsep
    return [part.strip() for part in text.split(separator) if part.strip()]
