"""Summarizes the output of unknown programs: tracebacks, lines that mention an error, repetition collapsed.

It shows only lines of the output, with their numbers.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from llmc.envelope.logs.problem import LogLines, LogProblem, LogReport, clip, is_foreign, one_line, tracebacks

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["KeptLine", "errors", "folded", "read_tracebacks"]

# Clear error messages first, then words that may only be part of a sentence.
_LOUD: Final = re.compile(
    r"(?i)^\W*(?:error|fatal|panic|exception|err!)\b|\b(?:error|fatal|exception):|\b\w+(?:Error|Exception)\b"
    r"|\bsegmentation fault\b|\bpermission denied\b|\bno such file or directory\b|\bout of memory\b|\bcore dumped\b"
    r"|^Caused by: |\bcommand not found\b"
)
_QUIET: Final = re.compile(
    r"(?i)\b(?:failed|failure|error|cannot|could not|unable to|aborted|killed|timed? ?out|undefined)\b"
)
# "0 errors", "no failures", names of files and flags such as errors.py and --fail-fast.
_HARMLESS: Final = re.compile(
    r"(?i)\b(?:0|no|without) (?:\w+ )?(?:errors?|failures?|failed)\b|\b(?:errors?|failures?)[./(]"
    r"|--[\w-]*(?:error|fail)|-Werror"
)
# Every line that matches the patterns above contains one of these, and searching for them is ten times as fast.
_HINT: Final = re.compile(
    "err|fatal|panic|exception|fault|denied|no such|memory|dumped|caused|not found|fail|cannot|could not|unable|abort"
    "|killed|timed|time|undefined"
)
_NUMBERS: Final = re.compile(r"0x[0-9a-fA-F]+|[0-9a-f]{12,}|\d+(?:[.,:]\d+)*")
_WORD: Final = re.compile(r"[^\W\d_]{3}")
MOST_ERRORS: Final = 12
MOST_CHECKED: Final = 2_000  # characters of a line that are checked
FEWEST_ALIKE: Final = 4


@dataclass(frozen=True, slots=True)
class KeptLine:
    """A line of the output and its number, from 1; the first of several similar lines gives the number of the
    others."""

    number: int
    text: str


def read_tracebacks(log: LogLines) -> LogReport | None:
    """Exceptions of Python programs outside tests."""
    problems: list[LogProblem] = []
    for each in tracebacks(log.lines):
        own = [frame for frame in each.frames if not is_foreign(frame.path)] or list(each.frames)
        frame = own[-1] if own else None
        problem = LogProblem(
            "",
            one_line([each.why]),
            frame.path if frame else "",
            frame.line if frame else 0,
            "",
            each.first + 1,
            each.last + 1,
        )
        if problem.why and (problem.why, problem.path, problem.line) not in {(p.why, p.path, p.line) for p in problems}:
            problems.append(problem)
    return LogReport("python", "", tuple(problems)) if problems else None


def errors(lines: Sequence[str]) -> list[int]:
    """Indexes of the lines that mention an error, each kind once: clear messages, or else possible ones."""
    for pattern in (_LOUD, _QUIET):
        found: dict[str, int] = {}
        first = dict(zip(reversed(lines), range(len(lines) - 1, -1, -1), strict=True))  # text → first index
        for line, at in reversed(first.items()):
            text = line[:MOST_CHECKED]
            if not _HINT.search(text.lower()):
                continue
            if pattern.search(text) and not _HARMLESS.search(text):
                found.setdefault(shape(text), at)
        if found:
            places = list(found.values())
            half = MOST_ERRORS // 2
            return places if len(places) <= MOST_ERRORS else places[:half] + places[-half:]
    return []


def shape(line: str) -> str:
    """The line with numbers replaced, to recognize similar lines; a line of numbers only is returned unchanged."""
    kind = _NUMBERS.sub("#", line).strip()
    return kind if _WORD.search(kind) else line


def folded(lines: Sequence[str], start: int, end: int) -> list[KeptLine]:
    """The lines from index `start` to `end`; runs of similar lines become one line with their number."""
    return list(_folded(lines, start, end))


def _folded(lines: Sequence[str], start: int, end: int) -> Iterator[KeptLine]:
    at = start
    while at < end:
        kind, run = shape(lines[at][:MOST_CHECKED]), at + 1
        while run < end and shape(lines[run][:MOST_CHECKED]) == kind:
            run += 1
        if run - at >= FEWEST_ALIKE:
            alike = "the same" if all(line == lines[at] for line in lines[at:run]) else "like it"
            yield KeptLine(
                at + 1,
                clip(lines[at]) + (f" … {run - at - 1:,} more {alike}" if kind else f" … {run - at:,} empty lines"),
            )
        else:
            yield from (KeptLine(each + 1, clip(lines[each])) for each in range(at, run))
        at = run
