"""Parses unittest and runners based on it (Django's): a rule of `=`, FAIL or ERROR with a name, a traceback."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from llmc.envelope.logs.problem import LogLines, LogProblem, LogReport, StackFrame, is_foreign, one_line, tracebacks
from llmc.envelope.logs.pytest import plain

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["MARKERS", "read"]

MARKERS: Final = ("\nRan ", "=" * 70 + "\nFAIL: ", "=" * 70 + "\nERROR: ")

_RULE: Final = "=" * 70
_HEAD: Final = re.compile(
    r"(FAIL|ERROR|UNEXPECTED SUCCESS): (?P<method>.+?)(?: \((?P<dotted>[\w.]+)\))?(?P<more> [(\[].*)?$"
)
_RAN: Final = re.compile(r"Ran \d+ tests? in [\d.]+s$")
_RESULT: Final = re.compile(r"(FAILED|OK)( \(.*\))?$")


def read(log: LogLines) -> LogReport | None:
    heads = [
        at for at in range(1, len(log.lines)) if log.lines[at - 1].startswith(_RULE) and _HEAD.match(log.lines[at])
    ]
    verdict = " · ".join(verdicts(log.lines))
    if not (heads or verdict):
        return None
    ends = [*(head - 1 for head in heads[1:]), end_of(log.lines, heads[-1]) if heads else 0]
    problems = [problem_of(log.lines, head, end) for head, end in zip(heads, ends, strict=True)] if heads else []
    return LogReport("unittest", verdict, tuple(problems))


def verdicts(lines: Sequence[str]) -> Iterator[str]:
    for at in range(len(lines) - 1, -1, -1):
        if _RAN.match(lines[at]):
            yield lines[at]
            yield from (line for line in lines[at + 1 : at + 4] if _RESULT.match(line))
            return


def end_of(lines: Sequence[str], head: int) -> int:
    for at in range(head + 2, len(lines)):
        if lines[at].startswith((_RULE, "-" * 70)) and at > head + 3:
            return at
    return len(lines)


def problem_of(lines: Sequence[str], head: int, end: int) -> LogProblem:
    match = _HEAD.match(lines[head])
    assert match is not None
    name, method = name_of(match)
    found = tracebacks(lines, head, end)
    if not found:
        why = "unexpected success" if match[1].startswith("UNEXPECTED") else one_line(lines[head + 2 : end])
        return LogProblem(name, why, first=head + 1, last=end)
    last = found[-1]
    own = [frame for frame in last.frames if not is_foreign(frame.path)] or list(last.frames)
    place = place_of(own, method)
    raised = own[-1].place if own and own[-1] != place else ""
    why = one_line([plain(last.why)])
    if place is None:
        return LogProblem(name, why, first=head + 1, last=end)
    return LogProblem(name, why, place.path, place.line, raised, head + 1, end)


def name_of(match: re.Match[str]) -> tuple[str, str]:
    """(`Class.method (share=2)`, `method`); Python 3.11 repeats the method at the end of the dotted name."""
    method, dotted, more = match["method"], match["dotted"] or "", match["more"] or ""
    if "_FailedTest" in dotted or not dotted:
        return method + more, method
    owner = dotted.removesuffix(f".{method}").rpartition(".")[2]
    return f"{owner}.{method}{more}", method


def place_of(frames: Sequence[StackFrame], method: str) -> StackFrame | None:
    """The place in the test: its own last frame, or the first frame of the project."""
    own = [frame for frame in frames if frame.function == method]
    return own[-1] if own else frames[0] if frames else None
