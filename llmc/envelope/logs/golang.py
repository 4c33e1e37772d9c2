"""Parses go test: messages follow `--- FAIL`, or precede it with `-v`; the package is named afterwards."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from llmc.envelope.logs.problem import LogLines, LogProblem, LogReport, StackFrame, is_foreign, one_line

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["MARKERS", "read"]

MARKERS: Final = ("--- FAIL: ", "\nFAIL\t", "\nok  \t", "\npanic: ")

_FAIL: Final = re.compile(r"(?P<indent> *)--- FAIL: (?P<name>\S+) \(")
_RESULT: Final = re.compile(r" *--- (?:PASS|SKIP|BENCH): ")
_RUN: Final = re.compile(r"=== (?:RUN|CONT|NAME|PAUSE) +(?P<name>\S+)$")
_MESSAGE: Final = re.compile(r"(?P<indent> +)(?P<file>[\w.-]+\.go):(?P<line>\d+): ?(?P<text>.*)$")
_PACKAGE: Final = re.compile(r"(?P<word>FAIL|ok  )\t(?P<package>\S+)(?:\t|\s+\[|$)")
_FRAME: Final = re.compile(r"\t(?P<path>/?\S+\.go):(?P<line>\d+)(?: \+0x[0-9a-f]+)?$")
MOST_MESSAGES: Final = 3


@dataclass(slots=True)
class Test:
    name: str
    first: int
    last: int
    messages: list[tuple[str, int, str]] = field(default_factory=list)  # file, line, text
    panic: str = ""
    frames: list[StackFrame] = field(default_factory=list)


def read(log: LogLines) -> LogReport | None:
    lines = log.lines
    packages = [match for line in lines if (match := _PACKAGE.match(line))]
    failed = tests(lines)
    if not (packages or failed):
        return None
    bad = sum(match["word"] == "FAIL" for match in packages)
    good = len(packages) - bad
    words = [f"{bad} package{'s' * (bad != 1)} failed" * bool(bad), f"{good} ok" * bool(good)]
    return LogReport("go test", ", ".join(word for word in words if word), tuple(failed))


def tests(lines: Sequence[str]) -> list[LogProblem]:
    found: list[LogProblem] = []
    open_: dict[str, Test] = {}
    early: defaultdict[str, list[tuple[str, int, str]]] = defaultdict(list)
    began: dict[str, int] = {}  # with -v, a problem starts where the test began
    current, depth = "", 0
    for at, line in enumerate(lines):
        if (run := _RUN.match(line)) is not None:
            current, depth = run["name"], 0
            began.setdefault(current, at)
        elif (fail := _FAIL.match(line)) is not None:
            current, depth = fail["name"], len(fail["indent"]) + 1
            open_[current] = Test(current, began.get(current, at) + 1, at + 1, early.pop(current, []))
        elif _RESULT.match(line):
            current = ""
        elif (package := _PACKAGE.match(line)) is not None:
            found += closed(open_, package["package"])
            open_, current = {}, ""
            early.clear()
            began.clear()
        elif line.startswith("panic: ") or (line.startswith("\t") and not line.startswith("\tpanic: ")):
            take_panic(open_, current, line, at)
        elif current:
            take_message(open_[current].messages if current in open_ else early[current], line)
            if current in open_ and line.strip() and len(line) - len(line.lstrip()) >= depth:
                open_[current].last = at + 1
    return found + closed(open_, "")


def take_message(messages: list[tuple[str, int, str]], line: str) -> None:
    match = _MESSAGE.match(line)
    if match:
        messages.append((match["file"], int(match["line"]), match["text"]))
    elif messages and line.startswith("        "):
        file, number, text = messages[-1]
        messages[-1] = (file, number, one_line([text, line]))


def take_panic(open_: dict[str, Test], current: str, line: str, at: int) -> None:
    test = open_.get(current) or (next(iter(open_.values())) if len(open_) == 1 else None)
    if test is None and line.startswith("panic: "):
        test = open_[current or "panic"] = Test(current or "panic", at + 1, at + 1)
    if test is None:
        return
    test.last = at + 1
    frame = _FRAME.match(line)
    if line.startswith("panic: ") and not test.panic:
        test.panic = line.removesuffix(" [recovered]").removesuffix(" [recovered, repanicked]")
    elif frame and not is_foreign(frame["path"]):
        test.frames.append(StackFrame(frame["path"], int(frame["line"])))


def closed(tests_: dict[str, Test], package: str) -> list[LogProblem]:
    """Skip tests that failed only because a subtest failed."""
    parents = {name.rpartition("/")[0] for name in tests_ if "/" in name}
    wanted = [test for test in tests_.values() if test.messages or test.panic or test.name not in parents]
    return [problem_of(test, package) for test in wanted]


def problem_of(test: Test, package: str) -> LogProblem:
    file, line, _ = test.messages[-1] if test.messages else ("", 0, "")
    path = f"{package}/{file}" if package and file else file
    texts = [text for *_, text in test.messages[-MOST_MESSAGES:]]
    problem = LogProblem(test.name, one_line([*texts, test.panic], "; "), path, line, "", test.first, test.last)
    if not test.panic or not test.frames:
        return problem
    own = next((frame for frame in test.frames if frame.path.endswith("_test.go")), test.frames[0])
    raised = test.frames[0].place if test.frames[0] != own else ""
    return replace(problem, path=own.path, line=own.line, raised=raised)
