"""Does a research report name the right place, in few tokens, at once?

    python -m bench.research [--cache DIR] [--repository NAME] [--big DIR] [--misses] [--json]

60 questions of our own (`data/research/questions.tsv`: where, how, example) over three pinned packages, each judged by
the line ranges that answer it, written down from the packages before anything was tuned. Django and fastify were looked
at while the roles were made; scrapy was not. A question counts as right by file when one of the first three references
of the synthesis is in a wanted file, by line when one of them lies within a wanted range. A reference is invented when
its file or line does not exist.

The price of not having it is a script that does what an agent with grep does: one `rg -n` for each telling word, of
which it reads at most 100 lines, then the files that have most of the words, whole, until the right one was read or
five were. It is kinder than life: the script knows when to stop.

`--big` times the questions of the largest set against another root, of which no answer is judged.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, quantiles
from typing import TYPE_CHECKING

from bench.homes import home_of
from bench.packages import read_list, unpacked
from llmc.answers.research import envelope_of, open_session, research
from llmc.answers.research.question import understand
from llmc.envelope import fit, render
from llmc.envelope.tokens import count
from llmc.retrieval.grep import ripgrep
from llmc.settings import Settings
from llmc.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["Judged", "judged", "main"]

DATA = Path(__file__).parent.parent / "data" / "research"
FIRST = 3
BUDGET = 900
GREP_LINES = 100
READ_FILES = 5
LONGEST_FILE = 64_000  # characters; an agent's read tool truncates lines there


@dataclass(frozen=True, slots=True)
class Judged:
    repository: str
    kind: str
    text: str
    wanted: tuple[tuple[str, int, int], ...]


@dataclass(frozen=True, slots=True)
class Measured:
    question: Judged
    file: bool
    line: bool
    invented: int
    cpu: float
    tokens: int
    scanned: int
    first: tuple[str, ...]


def judged(path: Path = DATA / "questions.tsv") -> list[Judged]:
    rows = (line.split("\t") for line in path.read_text("utf-8").splitlines() if line and not line.startswith("#"))
    return [Judged(name, kind, text, tuple(map(wanted, places.split()))) for name, kind, text, places in rows]


def wanted(text: str) -> tuple[str, int, int]:
    path, _, lines = text.rpartition(":")
    start, _, end = lines.partition("-")
    return path, int(start), int(end)


def measure(workspace: Workspace, folder: Path, question: Judged) -> Measured:
    began = time.process_time()
    report = research(open_session(workspace, question.text))
    cpu = time.process_time() - began
    envelope = envelope_of("research_codebase", report, {})
    fitted = fit(envelope, BUDGET)
    text = render(fitted.envelope, fitted.shown, fitted.total, "h0000" if fitted.rest else "", fitted.left)
    value = report.synthesis.value
    references = value.references if value else ()
    first = [split(reference) for reference in references[:FIRST]]
    files = {path for path, _, _ in question.wanted}
    return Measured(
        question,
        file=any(path in files for path, _ in first),
        line=any(
            path == right and start <= line <= end for path, line in first for right, start, end in question.wanted
        ),
        invented=sum(not exists(folder, *split(reference)) for reference in references),
        cpu=cpu,
        tokens=count(text),
        scanned=scan_tokens(folder, question),
        first=tuple(references[:FIRST]),
    )


def split(reference: str) -> tuple[str, int]:
    path, _, line = reference.rpartition(":")
    return (path, int(line)) if path and line.isdecimal() else (reference, 0)


def exists(folder: Path, path: str, line: int) -> bool:
    file = folder / path
    return file.is_file() and line <= file.read_bytes().count(b"\n") + 1


def scan_tokens(folder: Path, question: Judged) -> int:
    """The tokens of the grep and read script until it has read the right file."""
    program = ripgrep.program() or "rg"
    spent, hits = 0, Counter[str]()
    for word in understand(question.text).keywords:
        found = subprocess.run(
            [program, "--no-config", "-n", "-i", "--no-heading", "--sort=path", "-M", "300", word, "."],
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
        ).stdout.splitlines()
        spent += count("\n".join(found[:GREP_LINES]))
        hits.update({line.split(":", 1)[0].removeprefix("./") for line in found})
    for path, _ in hits.most_common(READ_FILES):
        spent += count((folder / path).read_text("utf-8", "replace")[:LONGEST_FILE])
        if path in {right for right, _, _ in question.wanted}:
            break
    return spent


def ask_all(folder: Path, questions: Sequence[Judged], home: Path) -> list[Measured]:
    with Workspace.open(str(folder), home=str(home), settings=Settings(), watch=True) as workspace:
        workspace.index()
        research(open_session(workspace, questions[0].text))  # what a daemon has long done: models read, caches warm
        return [measure(workspace, folder, question) for question in questions]


def timed(folder: Path, home: Path, questions: Iterable[Judged]) -> dict[str, float]:
    with Workspace.open(str(folder), home=str(home), settings=Settings(), watch=True) as workspace:
        workspace.index()
        taken = []
        for question in questions:
            started, busy = time.perf_counter(), time.process_time()
            research(open_session(workspace, question.text))
            taken.append((time.perf_counter() - started, time.process_time() - busy))
        walls, busies = zip(*taken[1:], strict=True)
        return {**spread(walls), **spread(busies, "cpu ms")}


def summary(measured: Sequence[Measured]) -> dict[str, float]:
    return {
        "questions": len(measured),
        "file@3": fmean(one.file for one in measured),
        "line@3": fmean(one.line for one in measured),
        "invented": sum(one.invented for one in measured),
        "tokens": fmean(one.tokens for one in measured),
        "most tokens": max(one.tokens for one in measured),
        "scan / report": sum(one.scanned for one in measured) / sum(one.tokens for one in measured),
        **spread([one.cpu for one in measured], "cpu ms"),
    }


def spread(seconds: Sequence[float], unit: str = "ms") -> dict[str, float]:
    cuts = quantiles(seconds, n=20, method="inclusive")
    return {f"p50 {unit}": 1000 * cuts[9], f"p95 {unit}": 1000 * cuts[18]}


def show(name: str, figures: dict[str, float]) -> None:
    print(
        f"{name:10}",
        "  ".join(f"{key} {value:.3g}" if value < 1000 else f"{key} {value:.0f}" for key, value in figures.items()),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cache", type=Path, default=Path("build/corpora"))
    parser.add_argument("--repository", action="append")
    parser.add_argument("--big", type=Path)
    parser.add_argument("--misses", action="store_true")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    results: dict[str, dict[str, float]] = {}
    everything: list[Measured] = []
    for package in read_list(DATA / "packages.tsv"):
        if given.repository and package.name not in given.repository:
            continue
        questions = [one for one in judged() if one.repository == package.name]
        folder = unpacked(package, given.cache)
        with home_of(folder) as home:
            measured = ask_all(folder, questions, home)
        everything += measured
        results[package.name] = summary(measured)
        for one in measured:
            if given.misses and not (one.file and one.line):
                print("file" if not one.file else "line", one.question.text, *one.first, sep="\n    ")
    results["all"] = summary(everything)
    if given.big:
        with home_of(given.big) as home:
            results["big"] = timed(given.big, home, judged())
    if given.json:
        print(json.dumps(results, indent=1))
    else:
        for name, figures in results.items():
            show(name, figures)


if __name__ == "__main__":
    main()
