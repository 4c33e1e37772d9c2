"""Parses Maven's surefire and Gradle: a class, a method, an exception, and the frame of the test class."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from llmc.envelope.logs.problem import LogLines, LogProblem, LogReport, one_line

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["GRADLE", "MAVEN", "read_gradle", "read_maven"]

MAVEN: Final = ("[ERROR] Tests run:", "<<< FAILURE!", "<<< ERROR!", "[INFO] BUILD ")
GRADLE: Final = (" FAILED\n", "BUILD SUCCESSFUL", "BUILD FAILED", "> Task :")

_SUREFIRE: Final = re.compile(
    r"(?:\[ERROR\] )?(?P<name>[\w.$]+(?:\([\w.$]+\))?|[\w.$]+\.\S.*?)\s+(?:-- )?Time elapsed: .*<<< (?:FAILURE|ERROR)!"
)
_TOTAL: Final = re.compile(r"(?:\[\w+\] )?(Tests run: \d+, Failures: \d+, Errors: \d+, Skipped: \d+)$")
_BUILD: Final = re.compile(r"\[INFO\] (BUILD (?:FAILURE|SUCCESS))$")
_GOAL: Final = re.compile(r"\[ERROR\] (?P<why>Failed to execute goal .+)$")
_GRADLE: Final = re.compile(r"(?P<class>[\w.$]+)(?: > (?P<rest>.+?))? > (?P<method>\S.*?) FAILED$")
_COUNT: Final = re.compile(r"(\d+ tests? completed, .+)$")
_OUTCOME: Final = re.compile(r"(BUILD (?:SUCCESSFUL|FAILED))\b")
_WENT_WRONG: Final = "* What went wrong:"
_AT: Final = re.compile(
    r"\s*at (?:(?P<where>[\w.$/<>@-]+)\()?(?P<file>[\w$]+\.(?:java|kt|groovy|scala)):(?P<line>\d+)\)?"
)
_STACK: Final = re.compile(r"\s*at |\s*\.\.\. \d+ more|\s*Caused by: ")
_BRIEF: Final = re.compile(r"\s+(?P<why>[\w.$]+) at (?P<file>[\w$]+\.\w+):(?P<line>\d+)$")
_ASSERTED: Final = re.compile(
    r"(?:java\.lang\.|org\.\S+\.|junit\.\S+\.)?(?:AssertionError|AssertionFailedError|ComparisonFailure): "
)
_RUNNERS: Final = ("org.junit", "junit.", "java.", "jdk.", "app//org.junit")


def read_maven(log: LogLines) -> LogReport | None:
    lines = log.lines
    heads = [at for at, line in enumerate(lines) if _SUREFIRE.match(line)]
    verdict = next((match[1] for line in reversed(lines) if (match := _TOTAL.match(line))), "")
    verdict = verdict or next((match[1] for line in reversed(lines) if (match := _BUILD.match(line))), "")
    problems = [surefire(lines, at) for at in heads]
    # If Maven could not start the tests, it prints one long sentence.
    failed = () if heads else ((at, match) for at, line in enumerate(lines) if (match := _GOAL.match(line)))
    problems += [LogProblem("", one_line([match["why"]]), first=at + 1, last=at + 1) for at, match in failed]
    return LogReport("maven", verdict, tuple(problems)) if problems or verdict else None


def surefire(lines: Sequence[str], at: int) -> LogProblem:
    match = _SUREFIRE.match(lines[at])
    assert match is not None
    older = re.fullmatch(r"(?P<method>.+)\((?P<class>[\w.$]+)\)", match["name"])  # totalAdds(shop.PriceTest)
    owner, method = (older["class"], older["method"]) if older else match["name"].rpartition(".")[::2]
    return traced(lines, at, owner, method)


def traced(lines: Sequence[str], at: int, owner: str, method: str) -> LogProblem:
    """The exception below a heading, and the frame of the test class in its stack."""
    end = at + 1
    while end < len(lines) and lines[end].strip() and not (end > at + 1 and _SUREFIRE.match(lines[end])):
        end += 1
    body = lines[at + 1 : end]
    brief = _BRIEF.match(body[0]) if body else None
    message = [brief["why"]] if brief else [line for line in body if not _STACK.match(line)]
    frames = [(match["where"] or "", match["file"], match["line"]) for line in body if (match := _AT.match(line))]
    if brief:
        frames = [("", brief["file"], brief["line"])]
    simple = owner.rpartition(".")[2].partition("$")[0]
    own = next((each for each in frames if each[1].partition(".")[0] == simple), None)
    name, why = f"{simple}.{method}", one_line([_ASSERTED.sub("", line.strip()) for line in message[:2]])
    if own is None:
        return LogProblem(name, why, first=at + 1, last=end)
    first = next((each for each in frames if not each[0].startswith(_RUNNERS)), own)
    raised = f"{first[1]}:{first[2]}" if first != own else ""
    return LogProblem(name, why, path_of(owner, own[1]), int(own[2]), raised, at + 1, end)


def path_of(owner: str, file: str) -> str:
    """`shop.PriceTest` in PriceTest.java → shop/PriceTest.java, as far as the log contains it."""
    package = owner.rpartition(".")[0].replace(".", "/")
    return f"{package}/{file}" if package else file


def read_gradle(log: LogLines) -> LogReport | None:
    lines = log.lines
    heads = [at for at, line in enumerate(lines) if _GRADLE.match(line) and not line.startswith(("> Task", ":"))]
    verdict = next((match[1] for line in reversed(lines) if (match := _COUNT.match(line))), "")
    verdict = verdict or next((match[1] for line in reversed(lines) if (match := _OUTCOME.match(line))), "")
    problems = []
    for at in heads:
        match = _GRADLE.match(lines[at])
        assert match is not None
        problems.append(traced(lines, at, match["class"], match["method"].removesuffix("()")))
    if not heads:
        problems = [
            LogProblem("", one_line(lines[at + 1 : at + 3]), first=at + 1, last=at + 3)
            for at, line in enumerate(lines)
            if line == _WENT_WRONG
        ]
    return LogReport("gradle", verdict, tuple(problems)) if problems or verdict else None
