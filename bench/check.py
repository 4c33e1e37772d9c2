"""Has anything become worse? Token and quality figures against `baseline.json`: they do not depend on the machine.

    python -m bench.check [--quick] [--fresh] [--write]

It fails when definitions or frame grow, when evidence is lost, when the ranking falls or a first reply has the answer
less often, and names the figure. `--quick` leaves out what needs the network: the workload's repositories and the
golden packages. Indexes are kept for as long as no file of llmc changes; `--fresh` builds them again. `--write` takes
today's figures as the new baseline, for a change that is wanted; the diff of that file is then part of its review.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

from bench import logs, trees
from bench.checkouts import indexed_at
from bench.fixed import DEMO, PROFILES, counted
from bench.ground import ground
from bench.homes import HOMES, fingerprint, home_of
from bench.judged import GOLDEN, demo, golden
from bench.quality import ask, bundled, ndcg
from bench.session import Length, opened, play, settle
from bench.tasks import TUNED
from llmc.settings import Server, Settings
from llmc.tool_schema import definition_of, described
from llmc.tools.profiles import instructions_of, listed

if TYPE_CHECKING:
    from bench.judged import Corpus
    from llmc.embed import Embedder

__all__ = ["BASELINE", "compare", "figures"]

BASELINE = Path(__file__).with_name("baseline.json")
CALLS = 60
AT_ONCE = 2  # parts; none is timed
# Handles are drawn again for each store, and a name of five letters is two to four tokens.
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


Part = Callable[[], Iterator[tuple[str, float]]]


def figures(*, quick: bool) -> dict[str, float]:
    """By name: `definitions lean`, `frame demo session`, `evidence django llmc`, `ndcg golden`. The first word selects
    the rule."""
    parts: list[Part] = [definitions, frame, of_logs, demo_ranking]
    if not quick:
        parts = [quoted, workload, golden_ranking, *parts]  # the longest first
    with ProcessPoolExecutor(AT_ONCE, mp_context=get_context("spawn")) as pool:
        return {name: value for found in pool.map(measured, parts) for name, value in found.items()}


def measured(part: Part) -> dict[str, float]:
    print(f"  {part.__name__}", file=sys.stderr, flush=True)
    return dict(part())


def definitions() -> Iterator[tuple[str, float]]:
    for profile in PROFILES[:-1]:  # the last is another server's contract, word for word
        settings = Settings(server=Server.model_validate({"profile": profile}))
        shown = definition_of if profile == "lean" else described
        entries = [shown(one).as_dict() for one in listed(settings)]
        yield f"definitions {profile}", counted(entries, instructions_of(profile))["fixed"]


def frame() -> Iterator[tuple[str, float]]:
    """A session on the demo workspace: llmc's own tokens relative to those of the content."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder, opened(Path(folder) / "home") as service:
        tree = Path(folder) / "demo"
        shutil.copytree(DEMO, tree)
        flags = ("embedder.kind=hash",)
        settle(service, tree, flags)
        told = play(service, tree, Length(CALLS, "calls"), *flags, settled=True)
    ours = sum(one.frame for one in told)
    yield "frame demo session, %", round(100 * ours / (sum(one.tokens for one in told) - ours), 3)


def of_logs() -> Iterator[tuple[str, float]]:
    for runner in logs.RUNNERS:
        one = logs.measure(runner)
        yield f"missing failures {runner}", one.missing
        yield f"log tokens {runner}", one.tokens


def demo_ranking() -> Iterator[tuple[str, float]]:
    corpus = demo(GOLDEN.parent / "demo")
    yield "ndcg demo", mean_ndcg([corpus], None)


def golden_ranking() -> Iterator[tuple[str, float]]:
    yield "ndcg golden", mean_ndcg(golden(trees.cache() / "packages"), bundled())


def mean_ndcg(corpora: list[Corpus], embedder: Embedder | None) -> float:
    scores: list[float] = []
    for corpus in corpora:
        with home_of(corpus.folder) as home:
            view = indexed_at(corpus.folder, home.with_name("store"), embedder, label=corpus.name)
            scores += map(ndcg, ask(corpus, view))
    return round(fmean(scores), 4)


def quoted() -> Iterator[tuple[str, float]]:
    """How often a first reply contains the answer."""
    from bench.excerpts import measure

    for name, found in measure(trees.cache() / "packages").items():
        yield f"answered {name}, %", round(100 * found["answered"], 1)


def workload() -> Iterator[tuple[str, float]]:
    """Our own scripts, without tests that require Django's runner, and without the held-out set: a guarded figure soon
    becomes a tuned one."""
    from bench.actors import ACTORS, LlmcInProcess
    from bench.tasks import tasks
    from bench.workload import run

    for name in TUNED:
        here = ground(name)
        wanted = [task for task in tasks(name) if task.ground == name]
        with home_of(here.folder) as home, opened(home) as service:
            actor = LlmcInProcess(service, here)
            settle(service, here.folder, actor.client.flags)
            for script in ("llmc", "llmc untrained"):
                print(f"    {name}: {script}", file=sys.stderr, flush=True)
                rows = [run(script, actor, task, here, show=False) for task in wanted if ACTORS[script] in task.scripts]
                yield f"evidence {name} {script}", sum(row.found for row in rows)
                yield f"first {name} {script}", sum(row.first == row.evidence for row in rows)
                yield f"tokens {name} {script}", sum(row.tokens for row in rows)


@contextmanager
def kept_indexes(*, fresh: bool) -> Iterator[None]:
    """Indexes of other versions of llmc are removed."""
    if fresh:
        with tempfile.TemporaryDirectory(prefix="llmc-bench-", ignore_cleanup_errors=True) as empty:
            os.environ[HOMES] = empty
            yield
        return
    folder = trees.cache() / "check" / fingerprint()
    for other in set(folder.parent.glob("*")) - {folder}:
        shutil.rmtree(other, ignore_errors=True)
    os.environ[HOMES] = str(folder)
    yield


def compare(now: dict[str, float], before: dict[str, float]) -> list[str]:
    """Figures that became worse, or that the baseline does not have."""
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
    parser.add_argument("--fresh", action="store_true", help="build all indexes again")
    parser.add_argument("--write", action="store_true", help="take today's figures as the baseline")
    given = parser.parse_args()
    with kept_indexes(fresh=given.fresh):
        now = figures(quick=given.quick)
    before: dict[str, Any] = json.loads(BASELINE.read_text("utf-8")) if BASELINE.exists() else {}
    if given.write:
        BASELINE.write_text(json.dumps({**before, **now}, indent=1) + "\n", "utf-8")
        return 0
    spent = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    print(f"{sum(one.ru_utime + one.ru_stime for one in spent):.0f} s of CPU", file=sys.stderr)
    for name, value in now.items():
        print(f"{name:36} {value:>10g}   baseline {before.get(name, '-')}")
    worse = compare(now, before)
    for one in worse:
        print(f"worse: {one}", file=sys.stderr)
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main())
