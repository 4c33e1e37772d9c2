"""The result of reading a program's output: problems, each with name, reason and place. Finds places in a log, and
Python tracebacks.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["LogLines", "LogProblem", "LogReport", "StackFrame", "clip", "is_foreign", "one_line", "tracebacks"]

_FRAME: Final = re.compile(r'\s*File "(?P<path>[^"]+)", line (?P<line>\d+)(?:, in (?P<function>.+))?$')
# Frames of interpreters, libraries and test runners, which are not part of the user's project.
_FOREIGN: Final = re.compile(
    r"site-packages/|dist-packages/|node_modules/|/lib/python\d|/usr/lib/|/usr/local/go/|/rustc/|\.cargo/registry/"
    r"|^node:|^internal/|<frozen |/pkg/mod/|/vendor/|jdk\.internal|java\.base"
)
LONGEST_WHY: Final = 300


@dataclass(frozen=True, slots=True)
class LogLines:
    """The lines of an output as a terminal would show them; `text` is all of them, for fast searches."""

    lines: tuple[str, ...]
    text: str

    @classmethod
    def of(cls, lines: list[str] | tuple[str, ...]) -> LogLines:
        return cls(tuple(lines), "\n".join(lines))


@dataclass(frozen=True, slots=True)
class LogProblem:
    """A failed test, or a diagnostic of a compiler or linter.

    `path` and `line` are its place as the program reported it; `raised` is where the error was raised, if that is
    elsewhere. `first` and `last` are its lines in the output, from 1.
    """

    name: str
    why: str
    path: str = ""
    line: int = 0
    raised: str = ""
    first: int = 0
    last: int = 0
    warning: bool = False


@dataclass(frozen=True, slots=True)
class LogReport:
    """The problems of one program; `verdict` is its own summary line, or a count."""

    runner: str
    verdict: str
    problems: tuple[LogProblem, ...] = ()


@dataclass(frozen=True, slots=True)
class StackFrame:
    path: str
    line: int
    function: str = ""

    @property
    def place(self) -> str:
        return f"{self.path}:{self.line}"


@dataclass(frozen=True, slots=True)
class Traceback:
    """A Python traceback; `why` is the line of the exception."""

    frames: tuple[StackFrame, ...]
    why: str
    first: int
    last: int


def is_foreign(path: str) -> bool:
    return _FOREIGN.search(path) is not None


def tracebacks(lines: Sequence[str], start: int = 0, end: int | None = None) -> list[Traceback]:
    """Every traceback between two lines, in order; each part of a chain separately."""
    found: list[Traceback] = []
    at, end = start, len(lines) if end is None else end
    while at < end:
        if lines[at].lstrip().startswith("Traceback (most recent call last)"):
            found.append(_traceback(lines, at, end))
            at = found[-1].last
        at += 1
    return found


def _traceback(lines: Sequence[str], start: int, end: int) -> Traceback:
    indent = len(lines[start]) - len(lines[start].lstrip())
    frames: list[StackFrame] = []
    at = start + 1
    while at < end:
        match = _FRAME.match(lines[at])
        if match:
            frames.append(StackFrame(match["path"], int(match["line"]), match["function"] or ""))
        elif lines[at].strip() and len(lines[at]) - len(lines[at].lstrip()) <= indent:
            break
        at += 1
    why = lines[at].strip() if at < end else ""
    if why.endswith(":") and at + 1 < end:
        why = f"{why} {lines[at + 1].strip()}"
    return Traceback(tuple(frames), why, start, min(at, end - 1))


def one_line(parts: Sequence[str], separator: str = " ") -> str:
    return clip(separator.join(text for text in (" ".join(part.split()) for part in parts) if text))


def clip(text: str, longest: int = LONGEST_WHY) -> str:
    """Truncate a line; the handle gives access to all of it."""
    return text if len(text) <= longest else f"{text[:longest].rstrip()}…"
