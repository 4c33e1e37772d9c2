"""Problems in the settings: file, line, key, reason, and a hint such as the nearest valid name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from llmc.base.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["SettingSource", "SettingsProblem", "WrongValueError", "as_error", "describe_type", "nearest", "shown"]

_LONG = 10**40
_SHOWN = 60  # enough to recognise a value, too little to fill a terminal


@dataclass(frozen=True, slots=True)
class SettingSource:
    """Where a value came from: a layer, and in it a file and line, a variable or a flag."""

    layer: str  # default, user, workspace, file, environment, flag
    name: str = ""
    line: int = 0

    def __str__(self) -> str:
        return f"{self.name}:{self.line}" if self.line else self.name or self.layer


@dataclass(frozen=True, slots=True)
class SettingsProblem:
    """An error, or (as a notice) something that was ignored.

    `entry` is the persona, delegate or server that is skipped because of it; all other settings apply.
    """

    source: SettingSource
    key: str
    reason: str
    hint: str = ""
    entry: str = ""

    def __str__(self) -> str:
        parts = (shown(self.source, 400), shown(self.key, _SHOWN * 2), self.reason)
        text = ": ".join(part for part in parts if part)
        skipped = f"{shown(self.entry, _SHOWN * 2)} is skipped" if self.entry else ""
        return "; ".join(part for part in (text, self.hint, skipped) if part)

    def as_dict(self) -> dict[str, object]:
        file = {"file": self.source.name, "line": self.source.line}
        return {**file, "key": self.key, "reason": self.reason, "hint": self.hint, "skipped": self.entry}


class WrongValueError(ValueError):
    """A value that its setting does not accept. Raised and caught inside this package."""


def shown(value: object, width: int = _SHOWN) -> str:
    """A value or key of an untrusted file, safe for a terminal."""
    if isinstance(value, int) and abs(value) > _LONG:
        return "a number of more than 40 digits"  # Python refuses to print an integer of thousands of digits
    text = repr(value) if isinstance(value, dict | list) else str(value)
    text = "".join(each if each.isprintable() else repr(each)[1:-1] for each in text[: width + 1])
    return text if len(text) <= width else text[: width - 1] + "…"


def describe_type(value: object) -> str:
    """The type of a value, without the value: a secret may have been written in the place of a table."""
    names = {
        str: "a string",
        bool: "true or false",
        int: "a number",
        float: "a number",
        list: "a list",
        dict: "a table",
    }
    return names.get(type(value), "null" if value is None else "a date or time")


def nearest(name: str, names: Iterable[str]) -> str:
    """The most similar valid name, or an empty string."""
    import difflib  # noqa: PLC0415 - only needed when something is wrong

    lowered = {each.lower(): each for each in names}
    found = difflib.get_close_matches(name.lower(), lowered, n=1, cutoff=0.6)
    return lowered[found[0]] if found else ""


def as_error(problems: Sequence[SettingsProblem]) -> ConfigError:
    first = problems[0]
    place = {"file": first.source.name, "key": first.key}
    if len(problems) == 1:
        head = ": ".join(part for part in (shown(first.source, 400), shown(first.key, _SHOWN * 2)) if part)
        return ConfigError(head, reason=first.reason, hint=first.hint, line=first.source.line, problems=1, **place)
    listed = "".join(f"\n  {each}" for each in problems)
    head = f"{len(problems)} problems in the settings{listed}"
    return ConfigError(head, line=first.source.line, problems=len(problems), **place)
