"""Is the answer to a question about a repository in the reply, and does its confidence say so?

    python -m bench.answers --repos DIR [--set NAME] [--half NAME] [--repository NAME] [--misses] [--show] [--json]

Six sets in `data/research`, each written from the code and committed before the pipeline answered it:
`answers.jsonl` (flask, celery, fastify) was looked at while the pipeline was built, `answers-heldout.jsonl` (miniflux,
just) afterwards, then `answers-unseen.jsonl` (navidrome, paperless, verdaccio), `answers-fresh.jsonl` (caddy,
streamlink), `answers-blind.jsonl` (HikariCP, uptime-kuma) and `answers-untouched.jsonl` (mealie, vikunja). Rows of the
last four are in halves: the misses of half `a` may be looked at to find classes of failures, those of half `b` are only
counted. Of the last set half `a` is mealie and half `b` is vikunja, so that no file of a counted row is looked at.
`--repos` has one checkout for each repository, named `NAME` or `NAME-revision`; `repositories.tsv` lists the revisions.

A row is right if the text of the reply, at its default budget, has one alternative of each group of its `truth` and
nothing of its `never`. An alternative is a place (`path:first-last`) that the reply must cite, or text that it must
contain; a partly right answer is wrong. Where a row has `only` (callers, lists), the reply may cite no other code. The
tool is `research_codebase` unless the row names another.
"""

from __future__ import annotations

import argparse
import json
import re
import time
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean, quantiles
from typing import TYPE_CHECKING, Any

from bench.tool_calls import answer
from bench.trees import cache
from llmc.base.languages import role_of
from llmc.envelope.handles import Handles
from llmc.envelope.tokens import count
from llmc.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from llmc.envelope.reply import Reply

__all__ = ["JudgedQuestion", "Outcome", "cited", "is_right", "questions", "summary"]

TOOL = "research_codebase"
DATA = Path(__file__).parent.parent / "data" / "research"
SETS = {
    "development": "answers.jsonl",
    "heldout": "answers-heldout.jsonl",
    "unseen": "answers-unseen.jsonl",
    "fresh": "answers-fresh.jsonl",
    "blind": "answers-blind.jsonl",
    "untouched": "answers-untouched.jsonl",
}
# A longer cited range names a file rather than a place.
LONGEST_RANGE = 80
_PLACE = re.compile(r"(?P<path>[\w./@+-]+):(?P<start>\d+)(?:-(?P<end>\d+))?")
_CITED = re.compile(r"(?<![\w./-])(?P<path>[\w.@+/-]*\w):(?P<lines>\d+(?:-\d+)?(?:, ?\d+(?:-\d+)?)*)")
_ROW = re.compile(r"\s*(\d+)(?:-(\d+))?\b")
_CONFIDENCE = re.compile(r"confidence (\w+)")


@dataclass(frozen=True, slots=True)
class JudgedQuestion:
    repository: str
    type: str
    question: str
    truth: tuple[tuple[str, ...], ...]
    never: tuple[str, ...] = ()
    only: tuple[str, ...] = ()
    tool: str = TOOL
    half: str = ""


@dataclass(frozen=True, slots=True)
class Outcome:
    question: JudgedQuestion
    right: bool
    confidence: str
    tokens: int
    seconds: float
    cpu: float
    text: str = field(repr=False, default="")


def questions(path: Path) -> list[JudgedQuestion]:
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    return [
        JudgedQuestion(
            row["repository"],
            row["type"],
            row["question"],
            tuple(map(tuple, row["truth"])),
            tuple(row.get("never", ())),
            tuple(row.get("only", ())),
            row.get("tool", TOOL),
            row.get("half", ""),
        )
        for row in rows
    ]


def cited(text: str) -> Iterator[tuple[str, int, int]]:
    """(path, first line, last line) of every place in a reply: `path:line`, or numbered rows below a path."""
    path = ""
    for line in text.split("\n"):
        if match := _ROW.match(line):
            if path:
                yield path, int(match[1]), int(match[2] or match[1])
        elif "/" in line.split(" ")[0] or "." in line.split(" ")[0]:
            path = line.split(" ")[0].rstrip(":")
        for found in _CITED.finditer(line):
            path = found["path"] if line.lstrip().startswith(found[0]) else path
            for part in found["lines"].split(","):
                first, _, last = part.strip().partition("-")
                yield found["path"], int(first), int(last or first)


def is_right(judged: JudgedQuestion, text: str) -> bool:
    plain = _plain(text)
    places = list(cited(text))
    groups = all(any(_holds(one, plain, places) for one in group) for group in judged.truth)
    return groups and not any(_plain(one) in plain for one in judged.never) and not _others(judged, places)


def _others(judged: JudgedQuestion, places: Iterable[tuple[str, int, int]]) -> list[tuple[str, int, int]]:
    """Cited code that is neither in the truth nor listed as acceptable; citing tests and documents is fine."""
    allowed = [*judged.only, *(one for group in judged.truth for one in group)]
    code = [place for place in places if role_of(place[0]) == "code" and "." in place[0]]
    return [place for place in code if not any(_holds(one, "", [place]) for one in allowed)] if judged.only else []


def _holds(wanted: str, plain: str, places: Iterable[tuple[str, int, int]]) -> bool:
    match = _PLACE.fullmatch(wanted)
    if match is None:
        return bool(plain) and _plain(wanted) in plain
    first, last = int(match["start"]), int(match["end"] or match["start"])
    return any(
        path == match["path"] and start <= last and end >= first and (first <= start or end - start <= LONGEST_RANGE)
        for path, start, end in places
    )


def _plain(text: str) -> str:
    return " ".join(text.lower().split())


def confidence_of(reply: Reply) -> str:
    match = _CONFIDENCE.search(reply.text)
    return match[1].removesuffix("ium") if match else "none"


def ask_all(folder: Path, asked: Sequence[JudgedQuestion], home: Path) -> list[Outcome]:
    with Workspace.open(str(folder), home=str(home), watch=True) as workspace:
        workspace.index()
        workspace.wait_for_vectors()
        handles = Handles(str(home / "handles"))
        answer(workspace, handles, TOOL, {"question": "where is the entry point?"})  # warms the caches
        found = [ask(workspace, handles, one) for one in asked]
        handles.close()
        return found


def ask(workspace: Workspace, handles: Handles, judged: JudgedQuestion) -> Outcome:
    started, busy = time.perf_counter(), time.process_time()
    reply = answer(workspace, handles, judged.tool, {"question": judged.question})
    seconds, cpu = time.perf_counter() - started, time.process_time() - busy
    right = is_right(judged, reply.text)
    return Outcome(judged, right, confidence_of(reply), count(reply.text), seconds, cpu, reply.text)


def summary(outcomes: Sequence[Outcome]) -> dict[str, float]:
    wrong = [one for one in outcomes if not one.right]
    return {
        "questions": len(outcomes),
        "right": round(fmean(one.right for one in outcomes), 3),
        "wrong with high": sum(one.confidence == "high" for one in wrong),
        "wrong with med": sum(one.confidence == "med" for one in wrong),
        "tokens": round(fmean(one.tokens for one in outcomes)),
        "p50 ms": round(1000 * _cut([one.seconds for one in outcomes], 9)),
        "p95 ms": round(1000 * _cut([one.seconds for one in outcomes], 18)),
        "p50 cpu ms": round(1000 * _cut([one.cpu for one in outcomes], 9)),
    }


def _cut(values: Sequence[float], at: int) -> float:
    return quantiles(values, n=20, method="inclusive")[at] if len(values) > 1 else values[0]


def checkout(repos: Path, name: str) -> Path | None:
    """The folder `NAME`, or `NAME-revision` with any prefix of the listed revision."""
    rows = (line.split("\t") for line in (DATA / "repositories.tsv").read_text("utf-8").splitlines())
    revision = next(row[2] for row in rows if row[0] == name)
    found = (folder for folder in repos.glob(f"{name}-*") if revision.startswith(folder.name.removeprefix(f"{name}-")))
    return repos / name if (repos / name).is_dir() else next(found, None)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.answers", description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--repos", type=Path, required=True)
    parser.add_argument("--set", choices=SETS, default="development", dest="judged", help="which questions")
    parser.add_argument("--half", choices=("a", "b"), help="one half of a set that has halves")
    parser.add_argument("--repository", action="append")
    parser.add_argument("--type", action="append")
    parser.add_argument("--cache", type=Path, default=cache() / "answers", help="where the indexes are kept")
    parser.add_argument("--misses", action="store_true", help="print the questions that were answered wrongly")
    parser.add_argument("--show", action="store_true", help="print every reply")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    asked = [one for one in questions(DATA / SETS[given.judged]) if given.half in (None, one.half)]
    asked = [one for one in asked if not given.type or one.type in given.type]
    outcomes: list[Outcome] = []
    for name in given.repository or dict.fromkeys(one.repository for one in asked):
        folder = checkout(given.repos, name)
        rows = [one for one in asked if one.repository == name]
        if folder is not None and rows:
            outcomes += ask_all(folder, rows, given.cache / folder.name)
    for one in outcomes:
        if one.question.half != "b" and (given.show or (given.misses and not one.right)):
            print(f"{'right' if one.right else 'WRONG'} {one.question.repository} {one.question.type}", end=" ")
            print(f"{one.tokens} tokens {1000 * one.seconds:.0f} ms: {one.question.question}\n{one.text}\n")
    found: dict[str, Any] = {"all": summary(outcomes)}
    for key in ("half", "repository", "type"):
        names = dict.fromkeys(filter(None, (getattr(one.question, key) for one in outcomes)))
        found |= {name: summary([one for one in outcomes if getattr(one.question, key) == name]) for name in names}
    if given.json:
        print(json.dumps(found, indent=1))
        return
    for name, row in found.items():
        print(f"{name:14} " + "  ".join(f"{key} {value:g}" for key, value in row.items()))


if __name__ == "__main__":
    main()
