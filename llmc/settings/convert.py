"""One value against its row: what a file holds, or what a variable or flag says, becomes a typed value or is refused.

Two steps: `RawValue` turns the text of a variable or flag into what a file would hold; `convert` checks that against
the row. Tables that hold further rows (entries, lists of tables) are the business of `check`.
"""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from llmc.settings.locations import user_folder
from llmc.settings.problems import WrongValueError, form, nearest, shown
from llmc.settings.record import FrozenRecord, record
from llmc.settings.rows import SettingRow, ValueKind
from llmc.settings.secret import Secret, expand

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["RawValue", "ValueContext", "absolute", "convert"]

_TRUE = frozenset({"1", "true", "yes", "on"})
_FALSE = frozenset({"0", "false", "no", "off"})
_LISTS = frozenset({ValueKind.TEXTS, ValueKind.NAMES, ValueKind.PATHS, ValueKind.TABLES})


@record
class ValueContext(FrozenRecord):
    """What values are relative to: the folder for paths, the environment for `${VAR}` and `~`."""

    folder: Path
    env: Mapping[str, str]


def convert(row: SettingRow, raw: Any, ground: ValueContext) -> object:
    """The typed value, or WrongValueError with the reason."""
    value = _BY_KIND[row.kind](raw, ground)
    if isinstance(value, str) and row.choices:
        _check_choice(row, value)
    if row.required and value in ("", {}, ()):
        raise WrongValueError("must not be empty")
    if isinstance(value, int | float) and not isinstance(value, bool):
        _check_bounds(row, value)
    return value


@record
class RawValue(FrozenRecord):
    """A value that a variable or flag gave as text. A flag may come several times, and each adds to a list.

    A variable holds several paths as PATH does; a flag holds one, which may have any character in it.
    """

    texts: tuple[str, ...]
    split_paths: bool

    def raw(self, row: SettingRow) -> object:
        """What a file would hold; `convert` has the last word."""
        parts = [_from_text(row, text, split_paths=self.split_paths) for text in self.texts]
        if all(isinstance(part, list) for part in parts):
            return [item for part in parts if isinstance(part, list) for item in part]
        return parts[-1]


def _from_text(row: SettingRow, text: str, *, split_paths: bool) -> object:
    if row.kind in (ValueKind.TEXT, ValueKind.PATH, ValueKind.SECRET):
        return text
    if row.kind is ValueKind.SWITCH:
        return True if text.lower() in _TRUE else False if text.lower() in _FALSE else text
    if row.kind in (ValueKind.WHOLE, ValueKind.NUMBER):
        return _number(row, text)
    return _compound(row, text, split_paths=split_paths)


def absolute(text: str, ground: ValueContext) -> Path:
    """The real path, which need not exist; `~` is the home folder of the environment that was passed in."""
    if "\0" in text:
        raise WrongValueError("a path cannot hold a NUL character")
    if text == "~" or text.startswith("~/"):
        text = f"{user_folder(ground.env)}{text[1:]}"
    return Path(os.path.realpath(ground.folder / text))


def _number(row: SettingRow, text: str) -> object:
    try:
        return int(text) if row.kind is ValueKind.WHOLE else float(text)
    except ValueError:
        return text


def _compound(row: SettingRow, text: str, *, split_paths: bool) -> object:
    if text.lstrip().startswith(("[", "{")):
        import json  # noqa: PLC0415 - seldom needed

        try:
            return json.loads(text)
        except (ValueError, RecursionError):
            pass  # a pattern such as `[ab]*.py` is no JSON, and is a list of one
    if row.kind not in _LISTS:
        return text
    words = row.kind in (ValueKind.TEXTS, ValueKind.NAMES)
    if not words and not split_paths:
        return [text]
    separator = "," if words else os.pathsep
    return [part.strip() for part in text.split(separator) if part.strip()]


def _check_choice(row: SettingRow, value: str) -> None:
    if value in row.choices:
        return
    meant = nearest(value, row.choices)
    offered = f"; did you mean {meant}?" if meant else ""
    raise WrongValueError(f'must be one of {", ".join(row.choices)}, not "{shown(value)}"{offered}')


def _check_bounds(row: SettingRow, value: float) -> None:
    if value != value or value in (math.inf, -math.inf):  # noqa: PLR0124 - isfinite() cannot take a huge int
        raise WrongValueError("must be a finite number")
    if row.low is not None and value < row.low:
        raise WrongValueError(f"must be at least {row.low:,}, not {shown(value)}")
    if row.high is not None and value > row.high:
        raise WrongValueError(f"must be at most {row.high:,}, not {shown(value)}")


def _wrong(kind: ValueKind, raw: object) -> WrongValueError:
    if kind in (ValueKind.SECRET, ValueKind.SECRETS):
        return WrongValueError(f"must be {kind}")
    said = f'"{shown(raw)}"' if isinstance(raw, str) else shown(raw) if isinstance(raw, int | float) else form(raw)
    return WrongValueError(f"must be {kind}, not {said}")


def _switch(raw: Any, _: ValueContext) -> bool:
    if not isinstance(raw, bool):
        raise _wrong(ValueKind.SWITCH, raw)
    return raw


def _whole(raw: Any, _: ValueContext) -> int:
    if not isinstance(raw, int) or isinstance(raw, bool):
        raise _wrong(ValueKind.WHOLE, raw)
    return raw


def _real(raw: Any, _: ValueContext) -> float:
    if not isinstance(raw, int | float) or isinstance(raw, bool):
        raise _wrong(ValueKind.NUMBER, raw)
    try:
        return float(raw)
    except OverflowError:
        return math.inf


def _text(raw: Any, _: ValueContext) -> str:
    if not isinstance(raw, str):
        raise _wrong(ValueKind.TEXT, raw)
    if "\0" in raw:
        raise WrongValueError("a text cannot hold a NUL character")
    return raw


def _path(raw: Any, ground: ValueContext) -> Path:
    if not isinstance(raw, str) or not raw:
        raise _wrong(ValueKind.PATH, raw)
    return absolute(raw, ground)


def _secret(raw: Any, ground: ValueContext) -> Secret:
    if not isinstance(raw, str) or "\0" in raw:
        raise _wrong(ValueKind.SECRET, raw)
    return expand(raw, ground.env)


def _texts(raw: Any, _: ValueContext) -> tuple[str, ...]:
    if not isinstance(raw, list) or not all(isinstance(each, str) for each in raw):
        raise _wrong(ValueKind.TEXTS, raw)
    if any(not each or "\0" in each for each in raw):
        raise WrongValueError("holds an empty text or a NUL character")
    return tuple(raw)


def _names(raw: Any, ground: ValueContext) -> tuple[str, ...]:
    return _texts([raw] if isinstance(raw, str) else raw, ground)


def _paths(raw: Any, ground: ValueContext) -> tuple[str, ...]:
    return tuple(str(absolute(each, ground)) for each in _texts(raw, ground))


def _table(kind: ValueKind, raw: Any) -> dict[str, Any]:
    if not isinstance(raw, dict):
        raise _wrong(kind, raw)
    return raw


def _secrets(raw: Any, ground: ValueContext) -> Mapping[str, Secret]:
    return {name: _secret(each, ground) for name, each in _table(ValueKind.SECRETS, raw).items()}


def _lists(raw: Any, ground: ValueContext) -> Mapping[str, tuple[str, ...]]:
    return {name: _texts(each, ground) for name, each in _table(ValueKind.LISTS, raw).items()}


def _object(raw: Any, _: ValueContext) -> Mapping[str, object]:
    return _table(ValueKind.OBJECT, raw)


_BY_KIND: dict[ValueKind, Callable[[Any, ValueContext], object]] = {
    ValueKind.SWITCH: _switch,
    ValueKind.WHOLE: _whole,
    ValueKind.NUMBER: _real,
    ValueKind.TEXT: _text,
    ValueKind.PATH: _path,
    ValueKind.SECRET: _secret,
    ValueKind.TEXTS: _texts,
    ValueKind.NAMES: _names,
    ValueKind.PATHS: _paths,
    ValueKind.SECRETS: _secrets,
    ValueKind.LISTS: _lists,
    ValueKind.OBJECT: _object,
}
