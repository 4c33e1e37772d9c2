"""Has anything become worse? Token and quality figures against `baseline.json`: they do not depend on the machine.

    python -m bench.check [--quick] [--write]

It fails when definitions or frame grow, when evidence is lost, when the ranking falls or a first reply has the answer
less often, and names the figure.
`--quick` leaves out what needs the network: the workload's repositories and the golden packages. `--write` takes
today's figures as the new baseline, for a change that is wanted; the diff of that file is then part of its review.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench import logs
from bench.corpus import indexed
from bench.fixed import DEMO, PROFILES, counted
from bench.judged import GOLDEN, demo, golden
from bench.quality import ask, bundled, ndcg
from bench.session import Length, opened, play, settle
from bench.tasks import TUNED
from llmc.settings import Server, Settings
from llmc.tool_schema import definition_of, described
from llmc.tools.profiles import instructions_of, listed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["BASELINE", "compare", "figures"]

BASELINE = Path(__file__).with_name("baseline.json")
CALLS = 60
# Handles are drawn anew for each store, and a name of five letters is two to four tokens.
SLACK = 0.05


@dataclass(frozen=True, slots=True)
class Rule:
    """`slack` is how much worse, as a share, is still the same."""

    better: str  # less or more
    slack: float = 0.0

    def worse(self, now: float, before: float) -> bool:
        room = abs(before) * self.slack + 1e-9
        return now > before + room if self.better == "less" else now < before - room


RULES = {
    "definitions": Rule("less"),
    "frame": Rule("less", SLACK),
    "missing": Rule("less"),
    "log tokens": Rule("less", SLACK),
    "evidence": Rule("more"),
    "first": Rule("more"),
    "tokens": Rule("less", SLACK),
    "ndcg": Rule("more", 0.005),
    "answered": Rule("more", 0.01),
}


def figures(*, quick: bool) -> dict[str, float]:
    """By name: `definitions lean`, `frame demo session`, `evidence django llmc`, `ndcg golden`. The first word has a
    rule."""
    parts: list[Callable[[], Iterator[tuple[str, float]]]] = [definitions, frame, of_logs, demo_ranking]
    if not quick:
        parts += [workload, golden_ranking, quoted]
    found: dict[str, float] = {}
    for part in parts:
        print(f"  {part.__name__}", file=sys.stderr, flush=True)
        found.update(part())
    return found


def definitions() -> Iterator[tuple[str, float]]:
    for profile in PROFILES[:-1]:  # the last is another server's contract, word for word
        settings = Settings(server=Server.model_validate({"profile": profile}))
        shown = definition_of if profile == "lean" else described
        entries = [shown(one).as_dict() for one in listed(settings)]
        yield f"definitions {profile}", counted(entries, instructions_of(profile))["fixed"]


def frame() -> Iterator[tuple[str, float]]:
    """A session on the demo workspace: what is ours as a share of what is not."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder, opened(Path(folder)) as service:
        tree = Path(folder) / "demo"
        shutil.copytree(DEMO, tree)
        flags = ("embedder.kind=hash",)
        settle(service, tree, flags)
        told = play(service, tree, Length(CALLS, "calls"), *flags)
    ours = sum(one.frame for one in told)
    yield "frame demo session, %", round(100 * ours / (sum(one.tokens for one in told) - ours), 3)


def of_logs() -> Iterator[tuple[str, float]]:
    for runner in logs.RUNNERS:
        one = logs.measure(runner)
        yield f"missing failures {runner}", one.missing
        yield f"log tokens {runner}", one.tokens


def demo_ranking() -> Iterator[tuple[str, float]]:
    with tempfile.TemporaryDirectory() as stores:
        corpus = demo(GOLDEN.parent / "demo")
        answers = ask(corpus, indexed(corpus.folder, Path(stores), None))
        yield "ndcg demo", round(sum(map(ndcg, answers)) / len(answers), 4)


def golden_ranking() -> Iterator[tuple[str, float]]:
    from bench import trees

    with tempfile.TemporaryDirectory() as stores:
        embedder = bundled()
        answers = [
            answer
            for corpus in golden(trees.cache() / "packages")
            for answer in ask(corpus, indexed(corpus.folder, Path(stores), embedder))
        ]
        yield "ndcg golden", round(sum(map(ndcg, answers)) / len(answers), 4)


def quoted() -> Iterator[tuple[str, float]]:
    """How often a first reply has the answer."""
    from bench import trees
    from bench.excerpts import measure

    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as scratch:
        for name, found in measure(trees.cache() / "packages", Path(scratch)).items():
            yield f"answered {name}, %", round(100 * found["answered"], 1)


def workload() -> Iterator[tuple[str, float]]:
    """Our own scripts, without the tests that Django's runner would have to run first, and without the held-out set:
    what a guard watches is soon tuned for."""
    from bench.tasks import tasks
    from bench.workload import measure

    for name in TUNED:
        wanted = [task.id for task in tasks(name) if task.ground == name]
        measured = measure([name], ("llmc", "llmc untrained"), wanted, show=False)
        for actor in dict.fromkeys(row.actor for row in measured):
            rows = [row for row in measured if row.actor == actor]
            yield f"evidence {name} {actor}", sum(row.found for row in rows)
            yield f"first {name} {actor}", sum(row.first == row.evidence for row in rows)
            yield f"tokens {name} {actor}", sum(row.tokens for row in rows)


def compare(now: dict[str, float], before: dict[str, float]) -> list[str]:
    """What became worse, or was never noted."""
    told = []
    for name, value in now.items():
        rule = next(rule for word, rule in RULES.items() if name.startswith(word))
        if name not in before:
            told.append(f"{name}: {value:g}, and the baseline has none")
        elif rule.worse(value, before[name]):
            told.append(f"{name}: {value:g}, was {before[name]:g}")
    return told


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="only what needs no network")
    parser.add_argument("--write", action="store_true", help="take today's figures as the baseline")
    given = parser.parse_args()
    now = figures(quick=given.quick)
    before: dict[str, Any] = json.loads(BASELINE.read_text("utf-8")) if BASELINE.exists() else {}
    if given.write:
        BASELINE.write_text(json.dumps({**before, **now}, indent=1) + "\n", "utf-8")
        return 0
    for name, value in now.items():
        print(f"{name:36} {value:>10g}   baseline {before.get(name, '-')}")
    worse = compare(now, before)
    for one in worse:
        print(f"worse: {one}", file=sys.stderr)
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main())
