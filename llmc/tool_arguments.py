"""The arguments of a tool, and the one place where what a client sends is checked: types, sizes, characters.

Whatever passes here is safe to hand to the file system, SQLite, ripgrep and the keyword store. The limits are the
user's (`limits.*`); lengths are checked before anything looks at the content.
"""

from __future__ import annotations

import json
import math
import os
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, Literal

from llmc.base.errors import QueryError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from llmc.settings import LimitSettings

__all__ = ["FOCUS", "Argument", "check_names", "check_required", "checked"]

# No count of lines, files or tokens is larger, and none overflows a 64-bit integer of another library.
LARGEST = 1_000_000_000
# A name in a message.
LONGEST_NAME = 80

Text = Literal["name", "path", "pattern", "glob", "free", "foreign"]


@dataclass(frozen=True, slots=True)
class Argument:
    """`text` says what a string may be. A `name` or `path`, and a `pattern` or `glob`, are bounded by the settings and
    have no NUL; a path and a glob may name a file whose name is not UTF-8. `free` text, such as a pasted error message,
    is as long as a request may be. `foreign` text belongs to a tool of another server and is passed on as it is, like
    its integers, which have no bounds (`low` and `high` are None)."""

    name: str
    kind: str  # string, integer, number, boolean, strings, object, value (whatever JSON has)
    help: str
    required: bool = False
    text: Text = "name"
    low: int | None = 0
    high: int | None = LARGEST


# Every tool takes it, since every one returns text.
FOCUS = Argument(
    "context_focus_question",
    "string",
    "Keep only what answers this question; the rest is behind a handle.",
    text="free",
)


def check_names(tool: str, args: Mapping[str, Any], known: Mapping[str, Argument]) -> None:
    for name in args:
        if name not in known:
            near = get_close_matches(name, known, 1) if len(name) <= LONGEST_NAME else []
            hint = f"Did you mean {near[0]}?" if near else f"{tool} takes {', '.join(known)}."
            raise QueryError(f"{tool} has no argument {name[:LONGEST_NAME]!r}", hint=hint)


def check_required(tool: str, args: Mapping[str, Any], arguments: Iterable[Argument]) -> None:
    for argument in arguments:
        if argument.required and args.get(argument.name) in (None, "", [], ()):
            raise QueryError(f"{tool} needs {argument.name!r}", hint=argument.help)


def checked(tool: str, argument: Argument, value: Any, limits: LimitSettings) -> Any:
    """Models send "5" for 5, "true" for true and JSON in a string; anything else of the wrong type is refused."""
    made = CONVERSIONS[argument.kind](value)
    if made is None:
        raise QueryError(f"{argument.name!r} of {tool} must be {ARTICLES[argument.kind]}", hint=argument.help)
    if isinstance(made, str) and argument.kind == "string":
        return checked_text(tool, argument, made, limits)
    if isinstance(made, list) and argument.kind == "strings":
        if len(made) > limits.max_list_items:
            raise over(f"{argument.name!r} of {tool} has {len(made):,} values", limits.max_list_items, "max_list_items")
        return [checked_text(tool, argument, one, limits) for one in made]
    if isinstance(made, int) and argument.kind == "integer":
        check_range(tool, argument, made)
    return made


def checked_text(tool: str, argument: Argument, value: str, limits: LimitSettings) -> str:
    if argument.text == "foreign":
        return value
    if argument.text == "free":
        return encodable(value.replace("\0", " "))
    setting = "max_pattern_chars" if argument.text in {"pattern", "glob"} else "max_query_chars"
    most: int = getattr(limits, setting)
    if len(value) > most:
        raise over(f"{argument.name!r} of {tool} has {len(value):,} characters", most, setting)
    if "\0" in value:
        raise QueryError(f"{argument.name!r} of {tool} holds a NUL character", hint="Leave it out.")
    return file_name(value) if argument.text in {"path", "glob"} else encodable(value)


def over(message: str, most: int, setting: str) -> QueryError:
    return QueryError(message, reason=f"the limit is {most:,}", hint=f"Shorten it, or raise limits.{setting}.")


def check_range(tool: str, argument: Argument, value: int) -> None:
    low, high = argument.low, argument.high
    if low is not None and value < low:
        raise QueryError(f"{argument.name!r} of {tool} must be at least {low}", hint=argument.help)
    if high is not None and value > high:
        raise QueryError(f"{argument.name!r} of {tool} must be at most {high:,}", hint=argument.help)


def encodable(text: str) -> str:
    """Half of a surrogate pair, as broken JSON has it, stands for no character."""
    return text if text.isascii() else text.encode("utf-8", "surrogatepass").decode("utf-8", "replace")


def file_name(text: str) -> str:
    """A name that is not UTF-8 travels as the surrogates of `os.fsdecode`; any other surrogate is no name."""
    try:
        os.fsencode(text)
    except UnicodeEncodeError:
        return encodable(text)
    return text


def as_text(value: Any) -> str | None:
    try:
        return str(value) if isinstance(value, str | int | float) and not isinstance(value, bool) else None
    except ValueError:  # an integer of more digits than Python writes
        return None


def as_number(value: Any) -> int | None:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    try:
        made = int(value)
    except (ValueError, OverflowError):
        return None
    return None if isinstance(value, float) and value != made else made


def as_real(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    try:
        made = value if isinstance(value, int) else float(value)
    except ValueError:
        return None
    return made if isinstance(made, int) or math.isfinite(made) else None


def as_flag(value: Any) -> bool | None:
    said = value.lower() if isinstance(value, str) else value
    return FLAGS.get(said) if isinstance(said, str | int | bool) else None


FLAGS: dict[str | int | bool, bool] = {
    **dict.fromkeys(("true", "1", "yes", 1), True),
    **dict.fromkeys(("false", "0", "no", 0), False),
}


def as_texts(value: Any) -> list[str] | None:
    listed = parsed(value, "[")
    if isinstance(listed, list | tuple) and all(isinstance(one, str) for one in listed):
        return list(listed)
    return [value] if isinstance(value, str) else None


def as_object(value: Any) -> dict[str, Any] | None:
    found = parsed(value, "{")
    return found if isinstance(found, dict) else None


def parsed(value: Any, opening: str) -> Any:
    """A string that holds JSON of the wanted shape, as that; any other value as it is."""
    if not isinstance(value, str) or not value.lstrip().startswith(opening):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value


ARTICLES = {
    "string": "a string",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "strings": "a list of strings",
    "object": "an object",
    "value": "a value",
}
CONVERSIONS: dict[str, Callable[[Any], Any]] = {
    "string": as_text,
    "integer": as_number,
    "number": as_real,
    "boolean": as_flag,
    "strings": as_texts,
    "object": as_object,
    "value": lambda value: value,
}
