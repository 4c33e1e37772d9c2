"""What is wrong with the settings, said so that it can be mended: file, line, key, reason, the nearest right name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmc.base.errors import ConfigError
from llmc.settings.record import FrozenRecord, record

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["SettingSource", "SettingsProblem", "WrongValueError", "as_error", "form", "nearest", "shown"]

_LONG = 10**40
_SHOWN = 60  # enough to recognise a value, too little to fill a terminal


@record
class SettingSource(FrozenRecord):
    """Where a value came from: a layer, and in it a file and line, a variable or a flag."""

    layer: str  # default, user, workspace, file, environment, flag
    name: str = ""
    line: int = 0

    def __str__(self) -> str:
        return f"{self.name}:{self.line}" if self.line else self.name or self.layer


@record
class SettingsProblem(FrozenRecord):
    """One thing that is wrong, or (as a notice) one that was passed by."""

    source: SettingSource
    key: str
    reason: str
    hint: str = ""

    def __str__(self) -> str:
        parts = (shown(self.source, 400), shown(self.key, _SHOWN * 2), self.reason)
        text = ": ".join(part for part in parts if part)
        return f"{text}; {self.hint}" if self.hint else text

    def as_dict(self) -> dict[str, object]:
        file = {"file": self.source.name, "line": self.source.line}
        return {**file, "key": self.key, "reason": self.reason, "hint": self.hint}


class WrongValueError(ValueError):
    """Raised and caught inside this package: a value that its row does not take."""


def shown(value: object, width: int = _SHOWN) -> str:
    """A value or key of a file that a stranger may have written, safe for a terminal."""
    if isinstance(value, int) and abs(value) > _LONG:
        return "a number without end"  # Python refuses to print an integer of thousands of digits
    text = repr(value) if isinstance(value, dict | list) else str(value)
    text = "".join(each if each.isprintable() else repr(each)[1:-1] for each in text[: width + 1])
    return text if len(text) <= width else text[: width - 1] + "…"


def form(value: object) -> str:
    """What kind of value it is, without the value: in the place of a table somebody may have put a key."""
    names = {str: "a text", bool: "true or false", int: "a number", float: "a number", list: "a list", dict: "a table"}
    return names.get(type(value), "null" if value is None else "a date or time")


def nearest(name: str, names: Iterable[str]) -> str:
    """The right name that was probably meant, or nothing."""
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
    told = "".join(f"\n  {each}" for each in problems)
    head = f"{len(problems)} problems in the settings{told}"
    return ConfigError(head, line=first.source.line, problems=len(problems), **place)
