"""The tasks of the workload: the question, the evidence that the answer must contain, and each actor's script.

`django.toml` describes the fields. Evidence is a list of patterns, created here if the tree itself determines it:
every line that matches (`lines`), every failed test with its first reason (`failures`).
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bench.ground import Ground

__all__ = ["FILES", "HELD_OUT", "LATER", "TUNED", "Task", "evidence_of", "failed_tests", "tasks"]

TUNED = ("django", "pydantic-core", "rxjs")
LATER = ("sqlalchemy", "eslint")  # held out until their misses were looked at; nothing was tuned by their figures
HELD_OUT = ("uwsgi",)  # written before llmc saw it; nothing may be tuned while looking at it
FILES = (*TUNED, *LATER, *HELD_OUT)
KNOWN = 40  # characters of a line by which it is recognised
REASON = 24
FAILED = re.compile(r"^(?:FAIL|ERROR): (\w+) \(([\w.]+)\)", re.MULTILINE)
SAID = re.compile(r"^\w*(?:Error|Exception): (.*)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Task:
    """`scripts` by actor's key; an actor without one has no tool for the task. `text`: the task requests a text as
    such."""

    repository: str
    ground: str
    id: str
    kind: str
    text: bool
    goal: str
    whole: bool
    evidence: tuple[str, ...]
    lines: dict[str, str]
    failures: str
    scripts: dict[str, list[dict[str, Any]]]


def tasks(repository: str) -> list[Task]:
    table = tomllib.loads(Path(__file__).with_name(f"{repository}.toml").read_text("utf-8"))
    return [task_of(repository, row) for row in table["task"]]


def task_of(repository: str, row: dict[str, Any]) -> Task:
    named = {"id", "kind", "asks", "goal", "ground", "whole", "evidence", "lines", "failures"}
    return Task(
        repository,
        row.get("ground", repository),
        row["id"],
        row["kind"],
        row.get("asks") == "text",
        row["goal"],
        row.get("whole", row["kind"] == "B"),
        tuple(row.get("evidence", ())),
        row.get("lines", {}),
        row.get("failures", ""),
        {name: script for name, script in row.items() if name not in named},
    )


def evidence_of(task: Task, ground: Ground) -> tuple[str, ...]:
    found = list(task.evidence)
    if task.lines:
        found += lines_of(ground.folder, task.lines["pattern"], task.lines["glob"])
    if task.failures:
        modules = ("utils_tests", "pagination") if " of " in task.failures else ()
        found += failed_tests((ground.folder / "tests.log").read_text("utf-8"), modules)
    return tuple(dict.fromkeys(found))


def lines_of(folder: Path, pattern: str, glob: str) -> Iterator[str]:
    """Each matching line, identified by its marker and the text after it."""
    wanted = re.compile(pattern)
    for path in sorted(folder.rglob(glob)):
        for line in path.read_text("utf-8", "replace").split("\n") if path.is_file() else ():
            if (match := wanted.search(line)) and (marker := re.search(r"\b(TODO|FIXME|XXX)\b", match[0])):
                yield re.escape(match[0][marker.start() :][:KNOWN].rstrip())


def failed_tests(log: str, modules: tuple[str, ...] = ()) -> list[str]:
    """The name of every failed test, and the reason of its first failure."""
    reasons: dict[str, str] = {}
    for match in FAILED.finditer(log):
        if not modules or match[2].startswith(modules):
            said = SAID.search(log, match.end())
            reasons.setdefault(match[2], re.escape(said[1][:REASON].rstrip()) if said else "")
    names = [rf"\b{name.rsplit('.', 1)[-1]}\b" for name in reasons]
    return [*names, *filter(None, reasons.values())]
