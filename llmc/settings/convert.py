"""One value against its row: what a file holds, or what a variable or flag says, becomes a typed value or is refused.

Two steps: `Given` turns the text of a variable or flag into what a file would hold; `convert` checks that against the
row. Tables that hold further rows (entries, lists of tables) are the business of `check`.
"""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from llmc.settings.places import user_folder
from llmc.settings.problems import WrongValueError, form, nearest, shown
from llmc.settings.record import Record, record
from llmc.settings.rows import Kind, Row
from llmc.settings.secret import Secret, expand

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["Given", "Ground", "absolute", "convert"]

_TRUE = frozenset({"1", "true", "yes", "on"})
_FALSE = frozenset({"0", "false", "no", "off"})
_LISTS = frozenset({Kind.TEXTS, Kind.NAMES, Kind.PATHS, Kind.TABLES})


@record
class Ground(Record):
    """What values are relative to: the folder for paths, the environment for `${VAR}` and `~`."""

    folder: Path
    env: Mapping[str, str]


def convert(row: Row, raw: Any, ground: Ground) -> object:
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
class Given(Record):
    """A value that a variable or flag gave as text. A flag may come several times, and each adds to a list.

    A variable holds several paths as PATH does; a flag holds one, which may have any character in it.
    """

    texts: tuple[str, ...]
    split_paths: bool

    def raw(self, row: Row) -> object:
        """What a file would hold; `convert` has the last word."""
        parts = [_from_text(row, text, split_paths=self.split_paths) for text in self.texts]
        if all(isinstance(part, list) for part in parts):
            return [item for part in parts if isinstance(part, list) for item in part]
        return parts[-1]


def _from_text(row: Row, text: str, *, split_paths: bool) -> object:
    if row.kind in (Kind.TEXT, Kind.PATH, Kind.SECRET):
        return text
    if row.kind is Kind.SWITCH:
        return True if text.lower() in _TRUE else False if text.lower() in _FALSE else text
    if row.kind in (Kind.WHOLE, Kind.NUMBER):
        return _number(row, text)
    return _compound(row, text, split_paths=split_paths)


def absolute(text: str, ground: Ground) -> Path:
    """The real path, which need not exist; `~` is the home folder of the environment that was passed in."""
    if "\0" in text:
        raise WrongValueError("a path cannot hold a NUL character")
    if text == "~" or text.startswith("~/"):
        text = f"{user_folder(ground.env)}{text[1:]}"
    return Path(os.path.realpath(ground.folder / text))


def _number(row: Row, text: str) -> object:
    try:
        return int(text) if row.kind is Kind.WHOLE else float(text)
    except ValueError:
        return text


def _compound(row: Row, text: str, *, split_paths: bool) -> object:
    if text.lstrip().startswith(("[", "{")):
        import json  # noqa: PLC0415 - seldom needed

        try:
            return json.loads(text)
        except (ValueError, RecursionError):
            pass  # a pattern such as `[ab]*.py` is no JSON, and is a list of one
    if row.kind not in _LISTS:
        return text
    words = row.kind in (Kind.TEXTS, Kind.NAMES)
    if not words and not split_paths:
        return [text]
    separator = "," if words else os.pathsep
    return [part.strip() for part in text.split(separator) if part.strip()]


def _check_choice(row: Row, value: str) -> None:
    if value in row.choices:
        return
    meant = nearest(value, row.choices)
    offered = f"; did you mean {meant}?" if meant else ""
    raise WrongValueError(f'must be one of {", ".join(row.choices)}, not "{shown(value)}"{offered}')


def _check_bounds(row: Row, value: float) -> None:
    if value != value or value in (math.inf, -math.inf):  # noqa: PLR0124 - isfinite() cannot take a huge int
        raise WrongValueError("must be a finite number")
    if row.low is not None and value < row.low:
        raise WrongValueError(f"must be at least {row.low:,}, not {shown(value)}")
    if row.high is not None and value > row.high:
        raise WrongValueError(f"must be at most {row.high:,}, not {shown(value)}")


def _wrong(kind: Kind, raw: object) -> WrongValueError:
    if kind in (Kind.SECRET, Kind.SECRETS):
        return WrongValueError(f"must be {kind}")
    said = f'"{shown(raw)}"' if isinstance(raw, str) else shown(raw) if isinstance(raw, int | float) else form(raw)
    return WrongValueError(f"must be {kind}, not {said}")


def _switch(raw: Any, _: Ground) -> bool:
    if not isinstance(raw, bool):
        raise _wrong(Kind.SWITCH, raw)
    return raw


def _whole(raw: Any, _: Ground) -> int:
    if not isinstance(raw, int) or isinstance(raw, bool):
        raise _wrong(Kind.WHOLE, raw)
    return raw


def _real(raw: Any, _: Ground) -> float:
    if not isinstance(raw, int | float) or isinstance(raw, bool):
        raise _wrong(Kind.NUMBER, raw)
    try:
        return float(raw)
    except OverflowError:
        return math.inf


def _text(raw: Any, _: Ground) -> str:
    if not isinstance(raw, str):
        raise _wrong(Kind.TEXT, raw)
    if "\0" in raw:
        raise WrongValueError("a text cannot hold a NUL character")
    return raw


def _path(raw: Any, ground: Ground) -> Path:
    if not isinstance(raw, str) or not raw:
        raise _wrong(Kind.PATH, raw)
    return absolute(raw, ground)


def _secret(raw: Any, ground: Ground) -> Secret:
    if not isinstance(raw, str) or "\0" in raw:
        raise _wrong(Kind.SECRET, raw)
    return expand(raw, ground.env)


def _texts(raw: Any, _: Ground) -> tuple[str, ...]:
    if not isinstance(raw, list) or not all(isinstance(each, str) for each in raw):
        raise _wrong(Kind.TEXTS, raw)
    if any(not each or "\0" in each for each in raw):
        raise WrongValueError("holds an empty text or a NUL character")
    return tuple(raw)


def _names(raw: Any, ground: Ground) -> tuple[str, ...]:
    return _texts([raw] if isinstance(raw, str) else raw, ground)


def _paths(raw: Any, ground: Ground) -> tuple[str, ...]:
    return tuple(str(absolute(each, ground)) for each in _texts(raw, ground))


def _table(kind: Kind, raw: Any) -> dict[str, Any]:
    if not isinstance(raw, dict):
        raise _wrong(kind, raw)
    return raw


def _secrets(raw: Any, ground: Ground) -> Mapping[str, Secret]:
    return {name: _secret(each, ground) for name, each in _table(Kind.SECRETS, raw).items()}


def _lists(raw: Any, ground: Ground) -> Mapping[str, tuple[str, ...]]:
    return {name: _texts(each, ground) for name, each in _table(Kind.LISTS, raw).items()}


def _object(raw: Any, _: Ground) -> Mapping[str, object]:
    return _table(Kind.OBJECT, raw)


_BY_KIND: dict[Kind, Callable[[Any, Ground], object]] = {
    Kind.SWITCH: _switch,
    Kind.WHOLE: _whole,
    Kind.NUMBER: _real,
    Kind.TEXT: _text,
    Kind.PATH: _path,
    Kind.SECRET: _secret,
    Kind.TEXTS: _texts,
    Kind.NAMES: _names,
    Kind.PATHS: _paths,
    Kind.SECRETS: _secrets,
    Kind.LISTS: _lists,
    Kind.OBJECT: _object,
}
