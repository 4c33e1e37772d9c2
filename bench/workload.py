"""How many tokens until the answer is there? 40 tasks on three repositories, 24 on two that were held out at
first and 9 on one that is held out, done for real by every actor.

    python -m bench.workload [--repository NAME …] [--actor NAME …] [--task ID …] [--show] [--json FILE]

A script stops when all evidence is in what was returned, unless the task asks for everything. Fair because the same
evidence is looked for in every actor's replies; because it stops at the right moment for all of them, which an agent
would not; because ours are counted with everything that they return, notes and handles included; and because every
task begins a new session for us. Tokens are the text of the replies, `asked` the calls' own. Two ways of counting:
`A` asks for an answer, `B` for content, of which llmc returns a map first; B is shown and never part of a claim. Of A
some ask for a text as such (`asks = "text"`: the goal says read it, or show it), which nobody can give for less than
it is long; they count, and are shown apart besides. What is held out (`bench.tasks.HELD_OUT`), and what was until it
had been looked at (`LATER`), have tables of their own: llmc was made while looking at the others.
"""

from __future__ import annotations

import argparse
import json
import re
import statistics
import sys
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.actors import ACTORS, OF_PEERS, open_actor
from bench.ground import ground
from bench.servers import CannotRun, are_allowed
from bench.stdio import ServerError
from bench.tasks import FILES, HELD_OUT, LATER, evidence_of, tasks
from llmc.envelope.tokens import count

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from bench.actors import Actor, CallRecord
    from bench.ground import Ground
    from bench.tasks import Task

__all__ = ["OURS", "Row", "apart", "figures", "measure", "summary", "tables"]

OURS = "llmc"


@dataclass(frozen=True, slots=True)
class Row:
    """`found` of `evidence` patterns; `first` is how many of them were in the first reply. `text`: the task requests a
    text."""

    repository: str
    task: str
    kind: str
    actor: str
    calls: int
    tokens: int
    asked: int
    seconds: float
    evidence: int
    found: int
    first: int
    problem: str = ""
    text: bool = False

    @property
    def whole(self) -> bool:
        return self.found == self.evidence


def measure(repositories: Sequence[str], actors: Sequence[str], only: Sequence[str], *, show: bool) -> list[Row]:
    wanted = [task for name in repositories for task in tasks(name) if not only or task.id in only]
    rows = []
    for place in dict.fromkeys(task.ground for task in wanted):
        try:
            here = ground(place)
        except (OSError, ValueError, LookupError) as error:
            print(f"  {place} cannot be made: {error}", file=sys.stderr)
            continue
        rows += at_ground(here, [task for task in wanted if task.ground == place], actors, show=show)
    return rows


def actors_here() -> list[str]:
    return [name for name in ACTORS if are_allowed() or name not in OF_PEERS]


def at_ground(here: Ground, wanted: Sequence[Task], actors: Sequence[str], *, show: bool) -> list[Row]:
    """One scratch folder for all: the second script of llmc finds the index of the first."""
    with tempfile.TemporaryDirectory(prefix="llmc-bench-", ignore_cleanup_errors=True) as scratch:
        rows = []
        for actor in actors:
            print(f"  {here.name}: {actor}", file=sys.stderr, flush=True)
            rows += with_actor(actor, here, wanted, Path(scratch), show=show)
        return rows


def with_actor(name: str, here: Ground, wanted: Sequence[Task], scratch: Path, *, show: bool) -> list[Row]:
    able = [task for task in wanted if ACTORS[name] in task.scripts]
    try:
        with open_actor(name, here, scratch) as actor:
            return [run(name, actor, task, here, show=show) for task in able]
    except (CannotRun, ServerError) as error:
        told = str(error)
        return [Row(task.repository, task.id, task.kind, name, 0, 0, 0, 0.0, 1, 0, 0, told, task.text) for task in able]


def run(name: str, actor: Actor, task: Task, here: Ground, *, show: bool) -> Row:
    evidence = evidence_of(task, here)
    said: list[CallRecord] = []
    problem = ""
    actor.forget()
    try:
        for step in task.scripts[ACTORS[name]]:
            for one in actor.do(step):
                said.append(one)
                if show:
                    print(f"\n### {name} · {task.id} · {one.asked}\n{one.text}")
                if not task.whole and held(evidence, said) == len(evidence):
                    return row_of(name, task, evidence, said)
    except (ServerError, OSError, LookupError) as error:
        problem = str(error) or type(error).__name__
    return row_of(name, task, evidence, said, problem)


def held(evidence: Iterable[str], said: Iterable[CallRecord]) -> int:
    text = "\n".join(one.text for one in said)
    return sum(re.search(pattern, text) is not None for pattern in evidence)


def row_of(name: str, task: Task, evidence: tuple[str, ...], said: list[CallRecord], problem: str = "") -> Row:
    return Row(
        task.repository,
        task.id,
        task.kind,
        name,
        len(said),
        sum(count(one.text) for one in said),
        sum(count(one.asked) for one in said),
        round(sum(one.seconds for one in said), 3),
        len(evidence),
        held(evidence, said),
        held(evidence, said[:1]),
        problem,
        task.text,
    )


def tables(rows: Sequence[Row]) -> dict[str, dict[str, dict[str, Any]]]:
    """Figures for `A`, `A later`, `A held out` and `B`, if there are any."""
    return {name: found for name, part in parts(rows).items() if (found := figures(part, name[0]))}


def apart(rows: Sequence[Row]) -> dict[str, dict[str, dict[str, dict[str, Any]]]]:
    """The tables of A again, separately for tasks that request a `text` as such and the `others`."""
    return {
        name: {
            "text": figures([row for row in part if row.text]),
            "others": figures([row for row in part if not row.text]),
        }
        for name, part in parts(rows).items()
        if name != "B" and any(row.text for row in part)
    }


def parts(rows: Sequence[Row]) -> dict[str, list[Row]]:
    return {
        "A": [row for row in rows if row.repository not in (*LATER, *HELD_OUT)],
        "A later": [row for row in rows if row.repository in LATER],
        "A held out": [row for row in rows if row.repository in HELD_OUT],
        "B": list(rows),
    }


def figures(rows: Sequence[Row], kind: str = "A") -> dict[str, dict[str, Any]]:
    """For each actor over the tasks of a kind; ratios only over tasks that both the actor and llmc did."""
    ours = {(row.repository, row.task): row for row in rows if row.actor == OURS and row.kind == kind}
    found: dict[str, dict[str, Any]] = {}
    for actor in dict.fromkeys(row.actor for row in rows):
        done = [row for row in rows if row.actor == actor and row.kind == kind and row.calls]
        if done:
            found[actor] = summary(done, [ours[key] for row in done if (key := (row.repository, row.task)) in ours])
    return found


def summary(done: Sequence[Row], ours: Sequence[Row]) -> dict[str, Any]:
    result: dict[str, Any] = {
        "tasks": len(done),
        "calls": sum(row.calls for row in done),
        "tokens": sum(row.tokens for row in done),
        "asked": sum(row.asked for row in done),
        "median": statistics.median(row.tokens for row in done),
        "seconds": round(sum(row.seconds for row in done), 1),
        "recall": sum(row.found for row in done) / sum(row.evidence for row in done),
        "answered": sum(row.whole for row in done) / len(done),
        "in the first reply": sum(row.first == row.evidence for row in done) / len(done),
    }
    if len(ours) == len(done):
        largest = max(range(len(done)), key=lambda number: done[number].tokens)
        rest = [number for number in range(len(done)) if number != largest]
        mine = [max(1, row.tokens) for row in ours]
        result["to llmc"] = result["tokens"] / sum(mine)
        result["to llmc, arguments too"] = (result["tokens"] + result["asked"]) / sum(r.tokens + r.asked for r in ours)
        result["largest task"] = done[largest].task
        if rest:
            theirs, ourselves = sum(done[number].tokens for number in rest), sum(mine[number] for number in rest)
            result["to llmc without it"] = theirs / ourselves
        result["median of ratios"] = statistics.median(row.tokens / mine[n] for n, row in enumerate(done))
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repository", action="append", choices=FILES)
    parser.add_argument("--actor", action="append", choices=ACTORS)
    parser.add_argument("--task", action="append", default=[])
    parser.add_argument("--show", action="store_true", help="print every reply")
    parser.add_argument("--json", type=Path, help="write the rows here")
    given = parser.parse_args()
    rows = measure(given.repository or FILES, given.actor or actors_here(), given.task, show=given.show)
    for row in rows:
        state = row.problem or ("" if row.whole else f"only {row.found} of {row.evidence}")
        first = "1st" if row.first == row.evidence else "   "
        print(f"{row.task:20} {row.actor:26} {row.calls:3} calls {row.tokens:8,} tokens {first} {state}")
    for name, actors in tables(rows).items():
        for actor, one in actors.items():
            print(
                name, actor, {key: round(value, 2) if isinstance(value, float) else value for key, value in one.items()}
            )
    if given.json:
        given.json.write_text(json.dumps([asdict(row) for row in rows], indent=1) + "\n")


if __name__ == "__main__":
    main()
