"""Summarizes an output as groups of an envelope: failed tests or changes by file, or its beginning and end.

    exit 1 · pytest · 2 failed, 310 passed in 4.51s
    tests/test_price.py
     7 test_total_adds_all_lines: assert 11 == 12
     15 test_rebate_takes_a_tenth: assert 90.0 == 91
    +5,188 lines → h4k2

The number at the start of a line is the line in the group's file. An item's `start` and `end` are lines of the output,
so opening it shows the traceback. The caller stores the whole output and reports what is left out. Several readers may
apply to one output, since a build compiles, lints and tests in one run.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from llmc.envelope.envelope import Group, Item, Row
from llmc.envelope.logs import diagnostics, git, golang, javascript, jvm, pytest, rust, unittest
from llmc.envelope.logs.generic import errors, folded, read_tracebacks
from llmc.envelope.logs.problem import LogLines, LogProblem, LogReport, clip
from llmc.envelope.render import group_line, row_lines
from llmc.envelope.tokens import count_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

__all__ = ["READERS", "Summary", "read", "summarise"]

# Programs that print file contents or lists, where a line that looks like a diagnostic is not one.
PLAIN: Final = frozenset({
    *("cat", "head", "tail", "grep", "egrep", "fgrep", "rg", "ag", "find", "fd", "ls", "tree", "echo", "printf"),
    *("sed", "awk", "cut", "sort", "uniq", "wc", "jq", "less", "more", "git"),
})  # fmt: skip
GIT: Final = {"log": git.read_log, "show": git.read_log, "diff": git.read_changes, "status": git.read_status}
# A summary of 16 failures has at most 600 tokens; with more failures, the reasons are cut further.
GOAL: Final = 520
CLIPS: Final = (300, 180, 120, 80, 50)
LONGEST_NAME: Final = 160
MAX_COUNTED: Final = 600
START_LINES, END_LINES = 6, 14
AROUND_BEFORE, AROUND_AFTER = 1, 2


@dataclass(frozen=True, slots=True)
class LogReader:
    """`markers`: the reader is skipped unless the output contains one of them."""

    name: str
    markers: tuple[str, ...]
    read: Callable[[LogLines], LogReport | None]


READERS: Final = (
    LogReader("pytest", pytest.MARKERS, pytest.read),
    LogReader("unittest", unittest.MARKERS, unittest.read),
    LogReader("jest", javascript.JEST, javascript.read_jest),
    LogReader("vitest", javascript.VITEST, javascript.read_vitest),
    LogReader("go test", golang.MARKERS, golang.read),
    LogReader("cargo test", rust.MARKERS, rust.read),
    LogReader("maven", jvm.MAVEN, jvm.read_maven),
    LogReader("gradle", jvm.GRADLE, jvm.read_gradle),
    LogReader("diagnostics", diagnostics.MARKERS, diagnostics.read),
    LogReader("python", ("Traceback (most recent call last)",), read_tracebacks),
)


def read(lines: Sequence[str]) -> LogReport | None:
    """The problems of all readers that recognize the output, in its order; None if none does."""
    log = LogLines.of(tuple(lines))
    reports = [
        report
        for reader in READERS
        if any(marker in log.text for marker in reader.markers) and (report := reader.read(log)) is not None
    ]
    if not reports:
        return None
    tests = [report for report in reports if report.runner not in WEAK]
    ranges = [(each.first, each.last) for report in tests for each in report.problems]
    kept = [report if report in tests else outside(report, ranges) for report in reports]
    kept = [report for report in kept if report.problems or report.runner not in WEAK]
    problems = sorted((one for report in kept for one in report.problems), key=lambda one: (one.warning, one.first))
    verdict = " · ".join(dict.fromkeys(report.verdict for report in kept if report.verdict))
    return (
        LogReport(" + ".join(dict.fromkeys(report.runner for report in kept)), verdict, tuple(problems))
        if kept
        else None
    )


# A traceback inside the output of a failed test belongs to that test.
WEAK: Final = frozenset({"python"})


def outside(report: LogReport, ranges: Sequence[tuple[int, int]]) -> LogReport:
    kept: list[LogProblem] = [
        one for one in report.problems if not any(first <= one.first <= last for first, last in ranges)
    ]
    return LogReport(report.runner, report.verdict if kept else "", tuple(kept))


@dataclass(frozen=True, slots=True)
class Summary:
    """`whole`: every line of the output is in the groups. `words` summarize it."""

    words: tuple[str, ...]
    groups: tuple[Group, ...]
    whole: bool = False
    in_order: bool = False
    report: LogReport | None = None


def summarise(
    lines: Sequence[str],
    *,
    command: Sequence[str] = (),
    exit_code: int | None = None,
    relative: Callable[[str], str] = lambda path: path,
    budget: int = 1_200,
) -> Summary:
    """`relative` converts a path in the log to a path in the root."""
    program = command[0].rpartition("/")[2] if command else ""
    if program == "git":
        compact = summarise_git(lines, command)
        if compact is not None:
            return compact
    whole = cost_of_all(lines)
    report = None if program in PLAIN else read(lines)
    if report is not None and (report.problems or exit_code in (0, None)):
        summary = summarise_report(report, relative)
        return summary if whole > min(budget, max(SMALL, cost(summary.groups))) else show_all(lines, report)
    if whole <= budget:
        return show_all(lines, report)
    return both_ends(lines, report, failed=exit_code not in (0, None))


# An output with fewer tokens is shown unchanged.
SMALL: Final = 60


def cost_of_all(lines: Sequence[str]) -> float:
    return sum(count_line(f" {line}") for line in lines) if len(lines) <= MAX_COUNTED else float("inf")


def cost(groups: Iterable[Group]) -> int:
    lines = ([group_line(group), *(line for item in group.items for line in row_lines(item.rows))] for group in groups)
    return sum(count_line(line) for group in lines for line in group)


def show_all(lines: Sequence[str], report: LogReport | None = None) -> Summary:
    rows = tuple(Row(line) for line in lines)
    words = tuple(word for word in (report.runner, report.verdict) if word) if report else ()
    groups = (Group("", (Item(rows, start=1, end=len(lines)),)),) if rows else ()
    return Summary(() if rows else (*words, "no output"), groups, whole=True, in_order=True, report=report)


def summarise_git(lines: Sequence[str], command: Sequence[str]) -> Summary | None:
    """Summarize git's subcommands, if the output has git's default format."""
    words = [word for word in command[1:] if not word.startswith("-")]
    reader = next((GIT[word] for word in words if word in GIT), None)
    found = reader(lines) if reader else None
    if found is None and reader is git.read_log:
        found = git.read_changes(lines)
    if found is None:
        return None
    return Summary((found.found,), found.groups, in_order=found.in_order)


def summarise_report(report: LogReport, relative: Callable[[str], str]) -> Summary:
    words = tuple(word for word in (report.runner, report.verdict) if word)
    for longest in CLIPS:
        groups = by_file(report.problems, relative, longest)
        if cost(groups) <= GOAL:
            break
    else:
        groups = by_file(report.problems, relative, CLIPS[2] if len(report.problems) > MANY else CLIPS[-1])
    return Summary(words, groups, in_order=True, report=report)


# More failures than this do not fit anyway, so those that fit get longer reasons.
MANY: Final = 40


def by_file(problems: Sequence[LogProblem], relative: Callable[[str], str], longest: int) -> tuple[Group, ...]:
    files: dict[str, list[Item]] = {
        "": []
    }  # problems without a place come first, since below a title they would seem to belong to that file
    previous = ""
    for alike in subtests(problems):
        path = relative(alike[0].path) if alike[0].path else ""
        listed = files.setdefault(path, [])
        for problem in alike[:SUBTESTS]:
            row = Row(problem_text(problem, path, relative, longest, previous), problem.line or None)
            listed.append(Item((row,), start=problem.first, end=problem.last))
            previous = test_of(problem)
        if more := alike[SUBTESTS:]:
            note = Row(f"and {len(more)} more of {previous}", alike[0].line or None)
            listed.append(Item((note,), start=more[0].first, end=more[-1].last))
    return tuple(Group(path, tuple(items)) for path, items in files.items() if items)


# A test may fail for many parameters; three examples are enough.
SUBTESTS: Final = 3


def subtests(problems: Sequence[LogProblem]) -> list[list[LogProblem]]:
    """The problems in order, grouped by test and line if they differ only in their parameters."""
    alike: dict[object, list[LogProblem]] = {}
    for number, problem in enumerate(problems):
        test = test_of(problem)
        alike.setdefault((problem.path, problem.line, test) if test else number, []).append(problem)
    return list(alike.values())


def test_of(problem: LogProblem) -> str:
    """The test of a problem with parameters, such as `test_x (n=1)`; empty for other problems."""
    test, _, parameters = problem.name.partition(" (")
    return test if parameters.endswith(")") and "=" in parameters and " " not in test else ""


def problem_text(
    problem: LogProblem, path: str, relative: Callable[[str], str], longest: int, previous: str = ""
) -> str:
    """A subtest of the `previous` test shows only its parameters."""
    name = clip(problem.name, LONGEST_NAME) if problem.name != path else ""
    name = name.removeprefix(f"{previous} ") if previous else name
    grade = "warning " if problem.warning else ""
    why = clip(problem.why, longest)
    text = grade + (f"{name}: {why}" if name and why else name or why)
    if not problem.raised:
        return text
    file, _, line = problem.raised.rpartition(":")
    there = relative(file)
    return f"{text} (line {line})" if there == path else f"{text} ({there}:{line})"


def both_ends(lines: Sequence[str], report: LogReport | None, *, failed: bool) -> Summary:
    """The lines that mention an error if the command failed, then the end and the beginning of the output."""
    total = len(lines)
    end = max(0, total - END_LINES)
    start = min(START_LINES, end)
    groups: list[Group] = []
    if failed:
        found = [at for at in errors(lines) if start <= at < end]
        if found:
            groups.append(Group("errors", tuple(around(lines, at, start, end) for at in found)))
    tail = folded(lines, tail_start(lines, end), total)
    groups.append(Group("end", tuple(Item((Row(one.text, one.number),), start=one.number) for one in tail)))
    head = folded(lines, 0, start)
    if head:
        groups.append(Group("start", tuple(Item((Row(one.text, one.number),), start=one.number) for one in head)))
    words = tuple(word for word in (report.runner, report.verdict) if word) if report else ()
    return Summary((*words, git.plural(total, "line")), tuple(groups), in_order=True, report=report)


def tail_start(lines: Sequence[str], end: int) -> int:
    """Move the start of the tail up by the number of blank lines at the end."""
    last = len(lines)
    while last > end and not lines[last - 1].strip():
        last -= 1
    return max(0, end - (len(lines) - last))


def around(lines: Sequence[str], at: int, start: int, end: int) -> Item:
    first, last = max(start, at - AROUND_BEFORE), min(end, at + AROUND_AFTER + 1)
    rows = tuple(Row(clip(lines[each]), each + 1, context=each != at) for each in range(first, last))
    return Item(rows, start=at + 1, end=at + 1)
