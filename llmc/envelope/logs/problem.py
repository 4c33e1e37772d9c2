"""What a reader finds in the output of a program: problems, each with its name, its reason and its place."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["LogLines", "LogProblem", "LogReport"]


@dataclass(frozen=True, slots=True)
class LogLines:
    """The lines of an output as a terminal would show them; `text` is the same, for looking up a marker quickly."""

    lines: tuple[str, ...]
    text: str

    @classmethod
    def of(cls, lines: list[str] | tuple[str, ...]) -> LogLines:
        return cls(tuple(lines), "\n".join(lines))


@dataclass(frozen=True, slots=True)
class LogProblem:
    """One failing test or one complaint of a compiler or linter.

    `path` and `line` are its place as the program named it, `raised` is where the error came from when that is
    elsewhere. `first` and `last` are the lines of the output, from 1, that tell all of it.
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
    """What one program had to say; `verdict` is its own last word, or a count where it has none."""

    runner: str
    verdict: str
    problems: tuple[LogProblem, ...] = ()
