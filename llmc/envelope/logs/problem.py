"""The result of reading a program's output: problems, each with name, reason and place."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["LogLines", "LogProblem", "LogReport"]


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
