"""Parses pytest: the sections ERRORS and FAILURES have places and reasons, the short summary lists the tests.

Supports all traceback styles (`--tb`), xdist and interrupted runs. The reasons in the summary are cut to the terminal's
width, so they are used only if there is no section.
"""

from __future__ import annotations

import re
from collections import defaultdict, deque
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from llmc.envelope.logs.problem import LogLines, LogProblem, LogReport, StackFrame, is_foreign, one_line, tracebacks

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["MARKERS", "read"]

MARKERS: Final = (" short test summary info ", "= FAILURES =", "= ERRORS =", "test session starts", "no tests ran")

_SECTION: Final = re.compile(r"=+ (FAILURES|ERRORS) =+$")
_RULE: Final = re.compile(r"(=+|!+) .* \1$")
_TITLE: Final = re.compile(r"_+ (\S.*?) _+$")
_DASHES: Final = re.compile(r"(_ )+_?$")
_PLACE: Final = re.compile(r"(?P<path>(?:/|\.{0,2}[\w.@+-])[^:\n]*?\.\w+):(?P<line>\d+): ?(?P<rest>.*)$")
_SUMMARY: Final = re.compile(r"(FAILED|ERROR) (?P<id>\S+?(?:::\S.*?)?)(?: - (?P<why>.*))?$")
_PROGRESS: Final = re.compile(
    r"(?:\[gw\d+\] \[ *\d+%\] (?:FAILED|ERROR) )(?P<a>\S+::.+?)\s*$|(?P<b>\S+::.+?) (?:FAILED|ERROR)\b"
)
_VERDICT: Final = re.compile(r"=*\s*((?:\d+ [a-z]+(?:, )?)+ in [\d.]+s|no tests ran in [\d.]+s)(?: \([\d:]+\))?\s*=*$")
_CAPTURED: Final = re.compile(r"-+ Captured .* -+$")


@dataclass(frozen=True, slots=True)
class PytestEntry:
    """The text below one title of a section; `first` and `last` are indexes."""

    title: str
    first: int
    last: int


def read(log: LogLines) -> LogReport | None:
    lines = log.lines
    entries = list(sections(lines))
    listed = list(summary(lines))
    verdict = next((match[1] for line in reversed(lines) if (match := _VERDICT.match(line))), "")
    if not (entries or listed or verdict):
        return None
    detailed = {id(entry): problem_of(lines, entry) for entry in entries}
    problems = matched(entries, detailed, listed) if listed else list(detailed.values())
    problems += crashed(lines)
    if any(match["rest"] for match in plain_places(lines)):
        problems = with_lines(problems, plain_places(lines))
    return LogReport("pytest", verdict, tuple(problems))


def sections(lines: Sequence[str]) -> Iterator[PytestEntry]:
    inside, title, first = False, "", 0
    for at, line in enumerate(lines):
        begins = _SECTION.match(line)
        heading = _TITLE.match(line) if inside and not _DASHES.match(line) else None
        if (begins or heading or (inside and _RULE.match(line))) and title:
            yield PytestEntry(title, first, at - 1)
            title = ""
        if begins:
            inside = True
        elif heading:
            title, first = heading[1], at
        elif inside and _RULE.match(line):
            inside = False
    if title:
        yield PytestEntry(title, first, len(lines) - 1)


def problem_of(lines: Sequence[str], entry: PytestEntry) -> LogProblem:
    name = re.sub(r"^ERROR (?:at \w+ of|collecting) ", "", entry.title)
    end = next((at for at in range(entry.first, entry.last) if _CAPTURED.match(lines[at])), entry.last + 1)
    why, frames = reason(lines, entry.first, end), list(frames_of(lines, entry.first, end))
    own = [frame for frame in frames if not is_foreign(frame.path)] or frames
    function = re.sub(r"\[.*", "", name.rpartition(".")[2])
    place = next((frame for frame in own if frame.function == function), own[0] if own else None)
    raised = own[-1].place if own and own[-1] is not place else ""
    if place is None:
        return LogProblem(name, why, first=entry.first + 1, last=entry.last + 1)
    return LogProblem(name, why, place.path, place.line, raised, entry.first + 1, entry.last + 1)


def reason(lines: Sequence[str], start: int, end: int) -> str:
    """The first line of the last block marked E, or the exception of the last traceback."""
    last = next((at for at in range(end - 1, start, -1) if lines[at].startswith("E ")), None)
    if last is None:
        found = tracebacks(lines, start, end)
        return one_line([plain(found[-1].why)]) if found else ""
    first = last
    while lines[first - 1].startswith("E"):
        first -= 1
    block = [lines[at][1:].strip() for at in range(first, last + 1)]
    texts = [plain(text) for text in block if text]
    more = texts[1:2] if texts and texts[0].endswith(":") else []
    return one_line(texts[:1] + more)


def plain(why: str) -> str:
    """Without the prefix of an assertion error, since a listed test has failed."""
    return re.sub(r"^AssertionError: (?=\S)", "", why)


def frames_of(lines: Sequence[str], start: int, end: int) -> Iterator[StackFrame]:
    for at in range(start, end):
        match = None if lines[at].startswith(("E ", "    ", ">")) else _PLACE.match(lines[at])
        if match:
            rest = match["rest"]
            yield StackFrame(match["path"], int(match["line"]), rest[3:] if rest.startswith("in ") else "")
    for each in tracebacks(lines, start, end)[-1:]:
        yield from each.frames


def summary(lines: Sequence[str]) -> Iterator[LogProblem]:
    """FAILED and ERROR lines of the short summary, or of the progress output if the run was interrupted."""
    begin = next((at for at, line in enumerate(lines) if " short test summary info " in line), None)
    for at in range(begin or 0, len(lines)):
        if begin is not None:
            match = _SUMMARY.match(lines[at])
            if match:
                yield named(match["id"], match["why"] or "", at)
        elif (progress := _PROGRESS.match(lines[at])) is not None:
            yield named(progress["a"] or progress["b"], "", at)


def named(identifier: str, why: str, at: int) -> LogProblem:
    path, _, inner = identifier.partition("::")
    return LogProblem(inner.replace("::", ".") or path, one_line([plain(why)]), path, first=at + 1, last=at + 1)


def matched(entries: list[PytestEntry], detailed: dict[int, LogProblem], listed: list[LogProblem]) -> list[LogProblem]:
    """Match each line of the summary with its section, by name and in order."""
    waiting: defaultdict[str, deque[LogProblem]] = defaultdict(deque)
    for entry in entries:
        waiting[detailed[id(entry)].name].append(detailed[id(entry)])
    problems = []
    for one in listed:
        more = waiting[one.name].popleft() if waiting[one.name] else None
        if more is None:
            problems.append(one)
            continue
        here = more.line if same_file(more.path, one.path) else 0
        raised = more.raised if here or not more.path else f"{more.path}:{more.line}"
        why = more.why or one.why
        problems.append(replace(more, path=one.path, line=here, raised=raised, why=why))
    return problems


def same_file(path: str, listed: str) -> bool:
    return path == listed or path.endswith(f"/{listed}") or listed.endswith(f"/{path}")


def plain_places(lines: Sequence[str]) -> list[re.Match[str]]:
    """`--tb=line`: one line per failure, in order and without titles."""
    inside, found = False, []
    for line in lines:
        begins = _SECTION.match(line)
        if begins or _RULE.match(line):
            inside = begins is not None and begins[1] == "FAILURES"
        elif inside and _TITLE.match(line):
            return []
        elif inside and (match := _PLACE.match(line)) and match["rest"]:
            found.append(match)
    return found


def with_lines(problems: list[LogProblem], places: list[re.Match[str]]) -> list[LogProblem]:
    failures = [at for at, one in enumerate(problems) if not one.line and not one.raised]
    if len(failures) < len(places):
        return problems
    for at, place in zip(failures, places, strict=False):
        one, why = problems[at], one_line([plain(place["rest"])])
        if same_file(place["path"], one.path):
            problems[at] = replace(one, line=int(place["line"]), why=why)
        else:
            problems[at] = replace(one, raised=f"{place['path']}:{place['line']}", why=why)
    return problems


def crashed(lines: Sequence[str]) -> list[LogProblem]:
    """Internal errors of pytest."""
    inner = [at for at, line in enumerate(lines) if line.startswith("INTERNALERROR>")]
    if not inner:
        return []
    return [LogProblem("INTERNALERROR", one_line([lines[inner[-1]][15:]]), first=inner[0] + 1, last=inner[-1] + 1)]
