"""Parses diagnostics of compilers, type checkers and linters: gcc, clang, tsc, mypy, ruff, eslint, javac, rustc ...

`FORMS` are the one-line formats; `arrows` parses diagnostics with the place on the next line (rustc, ruff), `stylish`
those with the file above (eslint).
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from llmc.envelope.logs.problem import LogLines, LogProblem, LogReport, is_foreign, one_line

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["MARKERS", "read"]

MARKERS: Final = ("error", "warning", " --> ", ".go:", ": undefined reference", ".py:")

_PATH: Final = r"(?P<path>(?:[A-Za-z]:)?[^\s:()'\"<>|]+\.\w+)"
_LINE: Final = r":(?P<line>\d+)(?::\d+)?"
_FLAGGED: Final = r"(?P<why>.+?)(?: \[(?P<code>-W[\w=+-]+)\])?$"
_RULE: Final = r"(?P<code>[A-Z]+\d+|invalid-syntax:?)"
FORMS: Final = tuple(
    (runner, re.compile(form))
    for runner, form in (
        ("tsc", _PATH + r"\((?P<line>\d+),\d+\): (?P<grade>error|warning) (?P<code>TS\d+): (?P<why>.+)$"),
        ("tsc", _PATH + r":(?P<line>\d+):\d+ - (?P<grade>error|warning) (?P<code>TS\d+): (?P<why>.+)$"),
        ("mypy", r"(?P<path>\S+\.pyi?)" + _LINE + r": (?P<grade>error): (?P<why>.+?)(?:  \[(?P<code>[\w-]+)\])?$"),
        # Old versions of Gradle write the task name directly before javac's line.
        ("compiler", r"(?::\w+(?=/))?" + _PATH + _LINE + r": (?P<grade>(?:fatal )?error|warning): " + _FLAGGED),
        ("linker", _PATH + r":(?P<line>)\(\.\w+\S*\): (?P<why>(?:undefined|multiple) .+)$"),
        ("ruff", r"(?P<path>\S+\.(?:pyi?|ipynb)):(?P<line>\d+):\d+: " + _RULE + r" (?:\[\*\] )?(?P<why>.+)$"),
        ("go", r"(?:vet: )?(?P<path>\S+\.go):(?P<line>\d+):\d+: (?P<why>.+)$"),
        ("maven", r"\[(?P<grade>ERROR|WARNING)\] (?P<path>/\S+\.\w+):\[(?P<line>\d+),\d+\] (?P<why>.+)$"),
        ("make", r"(?P<name>g?make(?:\[\d+\])?): \*\*\* (?P<why>.+)$"),
    )
)  # fmt: skip
MYPY: Final = 2  # index of its row above
_USED: Final = re.compile(_PATH + r":(?P<line>\d+):\d+: +required from here$")
_LABEL: Final = re.compile(r" *\|[ |]*\^+ (?P<label>\S.*)$")
_ARROW: Final = re.compile(r"\s*--> (?P<path>.+?):(?P<line>\d+):\d+$")
_GRADED: Final = re.compile(r"(?P<grade>error|warning)(?:\[(?P<code>\w+)\])?: (?P<why>.+)$")
_CODED: Final = re.compile(r"(?P<code>[A-Z]+\d+|invalid-syntax:?) (?:\[\*\] )?(?P<why>.+)$")
_STYLISH_FILE: Final = re.compile(r"(?P<path>(?:/|\w:\\|\.{0,2}[\w@-]).*\.\w+)$")
_STYLISH: Final = re.compile(r"\s+(?P<line>\d+):\d+\s+(?P<grade>error|warning)\s+(?P<why>.+?)(?:\s{2,}(?P<code>\S+))?$")


def read(log: LogLines) -> LogReport | None:
    found = [*one_line_each(log.lines), *arrows(log.lines), *stylish(log.lines)]
    if not found:
        return None
    found.sort(key=lambda each: each[1].first)
    problems = list({(one.path, one.line, one.name, one.why): one for _, one in found}.values())
    real = [one for one in problems if one.path] or problems
    runners = dict.fromkeys(runner for runner, one in found if one.path or real is problems)
    errors, warnings = sum(not one.warning for one in real), sum(one.warning for one in real)
    words = [
        f"{errors} error{'s' * (errors != 1)}" * bool(errors),
        f"{warnings} warning{'s' * (warnings != 1)}" * bool(warnings),
    ]
    real.sort(key=lambda one: one.warning)
    return LogReport(", ".join(runners), ", ".join(word for word in words if word), tuple(real))


def one_line_each(lines: Sequence[str]) -> Iterator[tuple[str, LogProblem]]:
    for at, line in enumerate(lines):
        if ":" not in line:
            continue
        for runner, form in FORMS:
            match = form.match(line)
            if match:
                fields = match.groupdict()
                if runner == "mypy" and not fields["code"]:
                    fields = unwrap(lines, at, fields)
                yield runner, relocate(lines, at, problem_of(fields, at, excerpt_end(lines, at)))
                break


def unwrap(lines: Sequence[str], at: int, fields: dict[str, str | None]) -> dict[str, str | None]:
    """Join a message that `mypy --pretty` wrapped at the terminal's width."""
    below = lines[at + 1] if at + 1 < len(lines) else ""
    if not below or below.startswith((" ", "Found ")) or FORMS[MYPY][1].match(below):
        return fields
    why, _, code = f"{fields['why']} {below}".rstrip("]").rpartition("[")
    return {**fields, "why": why.rstrip(), "code": code} if below.endswith("]") else fields


def relocate(lines: Sequence[str], at: int, problem: LogProblem) -> LogProblem:
    """For an error in a library template, use the place in the project where the template is used."""
    if not is_foreign(problem.path) and not problem.path.startswith("/usr/include/"):
        return problem
    for line in reversed(lines[max(0, at - MAX_EXCERPT) : at]):
        used = _USED.match(line)
        if used:
            place = f"{problem.path}:{problem.line}"
            return replace(problem, path=used["path"], line=int(used["line"]), raised=place)
        if ": error: " in line:
            break
    return problem


def excerpt_end(lines: Sequence[str], at: int) -> int:
    """The end of the indented excerpt below a diagnostic."""
    end = at + 1
    while end < len(lines) and end < at + MAX_EXCERPT and lines[end].startswith((" ", "\t")):
        end += 1
    return end


MAX_EXCERPT: Final = 30


def problem_of(fields: dict[str, str | None], at: int, end: int) -> LogProblem:
    warning = "warning" in (fields.get("grade") or "").lower()
    name = (fields.get("code") or fields.get("name") or "").rstrip(":")
    why = one_line([fields["why"] or ""])
    return LogProblem(
        name, why, fields.get("path") or "", int(fields.get("line") or 0), "", at + 1, end, warning=warning
    )


def arrows(lines: Sequence[str]) -> Iterator[tuple[str, LogProblem]]:
    for at, line in enumerate(lines):
        place = _ARROW.match(line)
        above = lines[at - 1] if at else ""
        match = (_GRADED.match(above) or _CODED.match(above)) if place else None
        if place and match:
            end = next((each for each in range(at, len(lines)) if not lines[each].strip()), len(lines))
            label = next((found["label"] for each in lines[at:end] if (found := _LABEL.match(each))), "")
            why = f"{match['why']}: {label}" if label and match.re is _GRADED else match["why"]
            fields = {**match.groupdict(), "path": place["path"], "line": place["line"], "why": why}
            yield "rustc" if match.re is _GRADED else "ruff", problem_of(fields, at - 1, end)


def stylish(lines: Sequence[str]) -> Iterator[tuple[str, LogProblem]]:
    path = ""
    for at, line in enumerate(lines):
        match = _STYLISH.match(line)
        if match and path:
            yield "eslint", problem_of({**match.groupdict(), "path": path}, at, at + 1)
        elif not line.startswith(" "):
            found = _STYLISH_FILE.match(line)
            path = found["path"] if found else ""
