"""The arguments of a tool, and the validation of their strings: sizes, characters.

`tool_model` checks names, types and ranges first. Arguments that pass both are safe for the file system, SQLite,
ripgrep and the keyword store. The limits are the user's (`limits.*`); a length is checked before the content.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from llmc.base.errors import QueryError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from llmc.settings import LimitSettings

__all__ = ["ALL", "BUDGET", "FOCUS", "SCOPE", "Argument", "with_checked_texts"]

# No count of lines, files or tokens is larger, and none overflows a 64-bit integer of another library.
LARGEST = 1_000_000_000

Text = Literal["name", "path", "pattern", "glob", "free", "foreign"]


@dataclass(frozen=True, slots=True)
class Argument:
    """`tool_model` turns it into a pydantic field; `low` and `high` bound an integer.

    `text` is the kind of a string. A `name` or `path`, and a `pattern` or `glob`, are bounded by the settings and
    have no NUL; a path and a glob may name a file whose name is not UTF-8. `free` text, such as a pasted error message,
    is as long as a request may be. `foreign` text belongs to a tool of another server and is passed on as it is, like
    its integers, which have no bounds (`low` and `high` are None)."""

    name: str
    kind: str  # string, integer, number, boolean, strings, object, value (any JSON value)
    help: str
    required: bool = False
    text: Text = "name"
    may_be_empty: bool = False  # an empty string counts as given
    low: int | None = 0
    high: int | None = LARGEST
    parts: tuple[Argument, ...] = ()  # the fields of an object, where they are known


BUDGET = Argument("budget", "integer", "Token budget of the reply.")
ALL = Argument("all", "boolean", "Return everything, without a budget.")
# An argument of every tool, since all return text.
FOCUS = Argument(
    "context_focus_question",
    "string",
    "Keep only what answers this question; the rest is behind a handle.",
    text="free",
)


# Arguments of every built-in tool, for servers of a shared index, where several repositories are open.
SCOPE = (
    Argument("repo", "strings", "Only these repositories, by name or pattern (team/*)."),
    Argument("ref", "strings", "At these refs of published repositories instead of their default one."),
)


def with_checked_texts(
    tool: str, arguments: Iterable[Argument], given: Mapping[str, Any], limits: LimitSettings
) -> dict[str, Any]:
    """The arguments with validated strings; QueryError names an invalid one."""
    known = {argument.name: argument for argument in arguments}
    return {
        name: checked(tool, known[name], value, limits) if name in known else value for name, value in given.items()
    }


def checked(tool: str, argument: Argument, value: Any, limits: LimitSettings) -> Any:
    if argument.kind == "string":
        return checked_text(tool, argument, value, limits)
    if argument.kind == "strings":
        if len(value) > limits.max_list_items:
            raise over(
                f"{argument.name!r} of {tool} has {len(value):,} values", limits.max_list_items, "max_list_items"
            )
        return [checked_text(tool, argument, one, limits) for one in value]
    return value


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
        raise QueryError(f"{argument.name!r} of {tool} contains a NUL character", hint="Remove it.")
    return file_name(value) if argument.text in {"path", "glob"} else encodable(value)


def over(message: str, most: int, setting: str) -> QueryError:
    return QueryError(message, reason=f"the limit is {most:,}", hint=f"Shorten it, or raise limits.{setting}.")


def encodable(text: str) -> str:
    """Replace lone surrogates, which broken JSON may contain."""
    return text if text.isascii() else text.encode("utf-8", "surrogatepass").decode("utf-8", "replace")


def file_name(text: str) -> str:
    """Keep the surrogates of `os.fsdecode`, which encode names that are not UTF-8; replace other ones."""
    try:
        os.fsencode(text)
    except UnicodeEncodeError:
        return encodable(text)
    return text
