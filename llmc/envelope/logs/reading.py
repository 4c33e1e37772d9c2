"""Chooses the readers for an output. Several may apply, since a build compiles, lints and tests in one run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from llmc.envelope.logs import diagnostics, golang, javascript, jvm, pytest, rust, unittest
from llmc.envelope.logs.generic import read_tracebacks
from llmc.envelope.logs.problem import LogLines, LogProblem, LogReport

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["READERS", "LogReader", "read"]


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
