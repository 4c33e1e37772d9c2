"""Parses jest (`● suite › test`) and vitest (`FAIL file > suite > test`)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from llmc.envelope.logs.problem import LogLines, LogProblem, LogReport, StackFrame, is_foreign, one_line

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["JEST", "VITEST", "read_jest", "read_vitest"]

JEST: Final = ("\nTest Suites: ", "\n  ● ")
VITEST: Final = ("⎯⎯", "\n Test Files ")

_FILE: Final = re.compile(r"\s*(?:FAIL|PASS)\s+(?:\|?[\w@/-]+\|\s+)?(?P<path>\S+\.\w+)(?: \(.*\))?$")
_BULLET: Final = re.compile(r"  ● (?P<name>.+)$")
_TOTAL: Final = re.compile(r"Tests: +(.+)$")
_AT: Final = re.compile(r"\s+at (?:(?P<function>.*?) \()?(?P<path>[^()\s]+):(?P<line>\d+):\d+\)?$")
_MATCHER: Final = re.compile(r"expect\(.*?\)((?:\.\w+)*\.\w+)\(")
_VALUE: Final = re.compile(r"(Expected|Received)[\w ]*: +(.+)$")
_CHANGED: Final = re.compile(r"[-+] {2,}(\S.*)$")
_POINTED: Final = re.compile(r"> *(\d+) \|")

_FAIL: Final = re.compile(r"\s*FAIL\s+(?:\|[^|]+\|\s+)?(?P<path>\S+?)(?: > (?P<name>.+)| \[ .* \])?$")
_WHERE: Final = re.compile(r"\s*❯ (?:(?P<function>.+) )?(?P<path>\S+?):(?P<line>\d+):\d+$")
_TESTS: Final = re.compile(r"\s+Tests +(.+?)(?: \(\d+\))?$")
_ENDS: Final = re.compile(r"\s*⎯{3,}")
SHOWN_CHANGES: Final = 4


def read_jest(log: LogLines) -> LogReport | None:
    lines = log.lines
    starts = [at for at, line in enumerate(lines) if _BULLET.match(line)]
    verdict = next((match[1] for line in reversed(lines) if (match := _TOTAL.match(line))), "")
    if not (starts or verdict):
        return None
    problems: dict[tuple[str, str], LogProblem] = {}
    for at in starts:
        end = body_end(lines, at)
        path = file_above(lines, at)
        name = lines[at][4:]
        # A long run repeats all failures at the end.
        if name != "Console" and (path, name) not in problems:
            problems[path, name] = jest_problem(lines, at, end, path)
    return LogReport("jest", verdict, tuple(problems.values()))


def body_end(lines: Sequence[str], start: int) -> int:
    for at in range(start + 1, len(lines)):
        if _BULLET.match(lines[at]) or _FILE.match(lines[at]) or lines[at].startswith(("Test Suites:", "Summary of")):
            return at
    return len(lines)


def file_above(lines: Sequence[str], at: int) -> str:
    return next((match["path"] for line in reversed(lines[:at]) if (match := _FILE.match(line))), "")


def jest_problem(lines: Sequence[str], start: int, end: int, path: str) -> LogProblem:
    body = [line.strip() for line in lines[start + 1 : end]]
    frames = [
        StackFrame(match["path"], int(match["line"]))
        for line in lines[start + 1 : end]
        if (match := _AT.match(line)) and not is_foreign(match["path"])
    ]
    own = next((frame for frame in frames if path.endswith(frame.path) or frame.path.endswith(path)), None)
    pointed = next((int(match[1]) for line in body if (match := _POINTED.match(line))), 0)
    line = own.line if own else 0 if frames else pointed
    raised = frames[0].place if frames and frames[0] != own else ""
    return LogProblem(lines[start][4:], jest_reason(body), path, line, raised, start + 1, end)


def jest_reason(body: Sequence[str]) -> str:
    """The matcher with the expected and received values, or the first line."""
    first = next((line for line in body if line), "")
    values = [f"{match[1]}: {match[2]}" for line in body if (match := _VALUE.match(line))]
    if not values and first.startswith("expect("):
        values = [" ".join(line.rstrip(",").split()) for line in body if _CHANGED.match(line)][:SHOWN_CHANGES]
    matcher = _MATCHER.match(first)
    headline = matcher[1] if matcher and values else first
    return one_line([headline, ", ".join(values)], ": " if matcher else " ")


def read_vitest(log: LogLines) -> LogReport | None:
    lines = log.lines
    verdict = next((match[1].replace(" | ", ", ") for line in reversed(lines) if (match := _TESTS.match(line))), "")
    heads = [at for at, line in enumerate(lines) if _FAIL.match(line)]
    if not (heads or verdict):
        return None
    return LogReport("vitest", verdict, tuple(vitest_problem(lines, at) for at in heads))


def vitest_problem(lines: Sequence[str], start: int) -> LogProblem:
    match = _FAIL.match(lines[start])
    assert match is not None
    path = match["path"]
    end = next((at for at in range(start + 1, len(lines)) if _ENDS.match(lines[at])), len(lines))
    # Tests that failed for the same reason are listed together, with the reason below the last of them.
    body = [line.strip() for line in lines[start + 1 : end] if not _FAIL.match(line)]
    frames = [StackFrame(found["path"], int(found["line"])) for line in body if (found := _WHERE.match(line))]
    own = next((frame for frame in frames if frame.path == path), None)
    raised = frames[0].place if frames and frames[0] != own else ""
    why = one_line([next((line for line in body if line), "").removeprefix("AssertionError: ")])
    return LogProblem(match["name"] or path, why, path, own.line if own else 0, raised, start + 1, end)
