"""Parses cargo test: `---- name stdout ----` and a panic with its place. `diagnostics` parses compiler errors."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from llmc.envelope.logs.problem import LogLines, LogProblem, LogReport, one_line

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["MARKERS", "read"]

MARKERS: Final = ("\ntest result: ", " stdout ----\n")

_ENTRY: Final = re.compile(r"---- (?P<name>.+?) stdout ----$")
_RESULT: Final = re.compile(
    r"test result: \w+\. (?P<passed>\d+) passed; (?P<failed>\d+) failed; (?P<ignored>\d+) ignored"
)
_FAILED: Final = re.compile(r"test (?P<name>.+?)(?: - should panic)? \.\.\. FAILED$")
_PANIC: Final = re.compile(r"thread '.*' (?:\(\d+\) )?panicked at (?P<place>[^',]+):(?P<line>\d+):\d+:$")
_OLD_PANIC: Final = re.compile(r"thread '.*' panicked at '(?P<why>.*)', (?P<place>.+):(?P<line>\d+):\d+$")
_QUIET: Final = re.compile(r"note: test did not panic as expected at (?P<place>.+):(?P<line>\d+):\d+$")
_AT: Final = re.compile(r"\s+at (?:\./)?(?P<path>\S+?):(?P<line>\d+):\d+$")
_STOPS: Final = ("stack backtrace:", "note: ", "failures:")


def read(log: LogLines) -> LogReport | None:
    lines = log.lines
    results = [match for line in lines if (match := _RESULT.match(line))]
    entries = [at for at, line in enumerate(lines) if _ENTRY.match(line)]
    failed = [at for at, line in enumerate(lines) if _FAILED.match(line)]
    if not (results or entries or failed):
        return None
    totals = {word: sum(int(match[word]) for match in results) for word in ("failed", "passed", "ignored")}
    verdict = ", ".join(f"{total} {word}" for word, total in totals.items() if total)
    problems = [problem_of(lines, at, end_of(lines, at)) for at in entries]
    reported = {problem.name for problem in problems}
    problems += [
        LogProblem(match["name"], "", first=at + 1, last=at + 1)
        for at in failed
        if (match := _FAILED.match(lines[at])) and match["name"] not in reported
    ]
    return LogReport("cargo test", verdict, tuple(problems))


def end_of(lines: Sequence[str], start: int) -> int:
    for at in range(start + 1, len(lines)):
        if _ENTRY.match(lines[at]) or lines[at] == "failures:":
            return at
    return len(lines)


def problem_of(lines: Sequence[str], start: int, end: int) -> LogProblem:
    entry = _ENTRY.match(lines[start])
    assert entry is not None
    name = entry["name"]
    for at in range(start + 1, end):
        panic = _PANIC.match(lines[at]) or _OLD_PANIC.match(lines[at])
        quiet = _QUIET.match(lines[at])
        if panic:
            why = panic.groupdict().get("why") or reason(lines, at + 1, end)
            path, line, raised = place_of(lines, at, end, name, panic)
            return LogProblem(name, one_line([why]), path, line, raised, start + 1, end)
        if quiet:
            why = "test did not panic as expected"
            return LogProblem(name, why, quiet["place"], int(quiet["line"]), "", start + 1, end)
    body = [line for line in lines[start + 1 : end] if line.strip()]
    return LogProblem(name, one_line(body[:2]), first=start + 1, last=end)


def reason(lines: Sequence[str], start: int, end: int) -> str:
    message = []
    for line in lines[start:end]:
        if not line.strip() or line.startswith(_STOPS):
            break
        message.append(line)
    return one_line(message, "; ")


def place_of(lines: Sequence[str], start: int, end: int, name: str, panic: re.Match[str]) -> tuple[str, int, str]:
    """(path, line, raised): the line of the test if the backtrace has it, else the place of the panic."""
    there, number = panic["place"], int(panic["line"])
    for at in range(start, end - 1):
        if lines[at].rstrip().endswith(f"::{name}") and (own := _AT.match(lines[at + 1])):
            place = (own["path"], int(own["line"]))
            return (*place, "" if place == (there, number) else f"{there}:{number}")
    return there, number, ""
