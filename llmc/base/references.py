"""Places written as text: `path`, `path:line`, `path:line:col`, `path:10-40`, `path::symbol`, and names that begin with
a module (`echo.deliver` in `src/echo.ts`, `pkg.a.f` in `pkg/a/__init__.py`).

This module only splits text; callers that have the index or the file check whether a place exists.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = [
    "LineReference",
    "PathRange",
    "cited_places",
    "is_module",
    "module_splits",
    "parse_range",
    "parse_reference",
    "without_receiver_type",
]

_REFERENCE = re.compile(r"(?P<path>[^:\n]+)(?::(?P<line>\d{1,9})(?::\d{1,9})?)?")
_RANGE = re.compile(r"(?P<path>.+?)(?:::(?P<symbol>[^:].*)|:(?P<start>\d+)(?:-(?P<end>\d*))?)?", re.DOTALL)
_NAMED = re.compile(r"(?P<path>[^:#\n]+\.\w{1,5})[:#](?P<symbol>[A-Za-z_$#][\w.$#]*)")
_GO_RECEIVER = re.compile(r"(?<![\w)])\(\*?(\w+)\)\.")
_CITED = re.compile(r"(?<![\w/.-])(/?[\w.-]+(?:/[\w.-]+)*\.\w+:\d+)")
# Files that are the module of their folder.
PACKAGE_FILES = frozenset({"__init__", "index", "mod"})


class LineReference(NamedTuple):
    """`line` is 0 for a whole file."""

    path: str
    line: int


class PathRange(NamedTuple):
    """`start` is 0 without a range; `end` is 0 for the end of the file; `symbol` is empty if none is given."""

    path: str
    start: int = 0
    end: int = 0
    symbol: str = ""


def parse_reference(text: str) -> LineReference | None:
    """`path`, `path:line` or `path:line:col`; None for anything else."""
    match = _REFERENCE.fullmatch(text)
    return LineReference(match["path"], int(match["line"] or 0)) if match else None


def parse_range(text: str) -> PathRange | None:
    """`path`, `path:10`, `path:10-40`, `path:10-`, or a symbol after `::`, `:` or `#`; None for an empty text."""
    if named := _NAMED.fullmatch(text.strip()):
        return PathRange(named["path"], symbol=named["symbol"])
    match = _RANGE.fullmatch(text.strip())
    if match is None:
        return None
    start = int(match["start"] or 0)
    end = int(match["end"] or 0) if match["end"] is not None else start
    return PathRange(match["path"], start, end, without_receiver_type(match["symbol"] or ""))


def without_receiver_type(name: str) -> str:
    """`Disk.Save` of `(*Disk).Save`, as Go's documentation and stack traces have it."""
    return _GO_RECEIVER.sub(r"\1.", name)


def cited_places(text: str) -> list[str]:
    """Every `path:line` in a string."""
    return _CITED.findall(text)


def module_splits(parts: Sequence[str]) -> Iterator[tuple[str, str]]:
    """(module as a path, name in it) for each way to divide a qualified name, the longest module first."""
    for at in range(len(parts) - 1, 0, -1):
        yield "/".join(parts[:at]), ".".join(parts[at:])


def is_module(path: str, module: str) -> bool:
    folder, _, file = f"/{path}".rpartition("/")
    stem = file.partition(".")[0]
    own = folder if stem in PACKAGE_FILES else f"{folder}/{stem}"
    return own.endswith(f"/{module}")
