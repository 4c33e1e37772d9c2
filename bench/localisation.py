"""Does a pasted issue lead to the files of its fix? SWE-bench Lite, asked with the whole text, at the base commit.

    python -m bench.localisation DATA --mirror DIR [--sample N] [--half dev|held] [--off NAME …] [--json]

DATA is a JSON Lines file with `id`, `repo`, `commit`, `text`, `files` and the `published` rankings of other systems on
the same instances. `--mirror` holds one git directory for each repository, `owner+name/repo`. The measure is strict: an
instance counts at k only if every file of its fix is among the first k. Fair because the tree under test is the base
commit's files without git metadata, so that nothing later can be seen, and because published rankings are scored by
the same function on the same instances. Development and held-back instances are of different repositories.

Trees and stores are kept below `--cache`, one for each commit, made from its predecessor's; a run that was stopped
goes on where it was.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from dataclasses import dataclass
from hashlib import blake2b
from math import comb
from pathlib import Path
from statistics import fmean, median
from typing import TYPE_CHECKING, Any

from bench.checkouts import indexed_at, write_tree
from bench.quality import bundled
from bench.trees import cache
from llmc.retrieval.search import SearchRequest, search

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from llmc.embed import Embedder
    from llmc.retrieval.view import View

__all__ = ["DEPTHS", "Instance", "Localised", "accuracy", "instances", "localise", "paired", "sample", "views"]

DEPTHS = (1, 5, 10)
# Repositories whose instances never guide a choice of weights; about two fifths of those that are public.
HELD_BACK = frozenset({"sympy/sympy", "sphinx-doc/sphinx", "pylint-dev/pylint", "pydata/xarray"})


@dataclass(frozen=True, slots=True)
class Instance:
    id: str
    repo: str
    commit: str
    text: str
    files: frozenset[str]
    published: dict[str, list[str]]

    @property
    def half(self) -> str:
        return "held" if self.repo in HELD_BACK else "dev"


@dataclass(frozen=True, slots=True)
class Localised:
    instance: Instance
    paths: tuple[str, ...]
    seconds: float


def instances(data: Path) -> list[Instance]:
    rows: list[dict[str, Any]] = [json.loads(line) for line in data.read_text("utf-8").splitlines()]
    return [
        Instance(
            row["id"], row["repo"], row["commit"], row["text"], frozenset(row["files"]), row.get("published") or {}
        )
        for row in rows
    ]


def sample(known: Sequence[Instance], most: int | None) -> list[Instance]:
    """At most this many of each repository, always the same ones."""
    found: dict[str, list[Instance]] = {}
    for one in sorted(known, key=lambda one: blake2b(one.id.encode()).hexdigest()):
        found.setdefault(one.repo, []).append(one)
    return [one for group in found.values() for one in group[:most]]


def views(
    wanted: Iterable[Instance], mirror: Path, kept: Path, embedder: Embedder | None
) -> Iterator[tuple[Instance, View]]:
    """Each instance with its indexed tree; instances of a repository in order of their numbers, roughly that of their
    commits."""
    last: dict[str, tuple[Path, Path]] = {}
    for one in sorted(wanted, key=lambda one: (one.repo, int(one.id.rpartition("-")[2]))):
        name = one.repo.replace("/", "+")
        folder = kept / name / one.commit[:12]
        tree_before, store_before = last.get(name, (None, None))
        tree = write_tree((str(mirror / name / "repo"), one.commit), folder / "tree", tree_before)
        store = folder / (f"store-{embedder.name}" if embedder else "store").replace("/", "_")
        yield one, indexed_at(tree, store, embedder, label=name, start=store_before)
        last[name] = tree, store


def localise(instance: Instance, view: View, off: frozenset[str] = frozenset()) -> Localised:
    began = time.perf_counter()
    result = search([view], SearchRequest(instance.text, limit=max(DEPTHS), off=off))
    return Localised(instance, tuple(file.path for file in result.files), time.perf_counter() - began)


def accuracy(found: Sequence[tuple[Instance, Sequence[str]]]) -> dict[str, float]:
    return {f"acc@{k}": fmean(one.files <= set(paths[:k]) for one, paths in found) for k in DEPTHS} if found else {}


def paired(found: Sequence[tuple[Instance, Sequence[str]]], system: str) -> dict[str, list[float]]:
    """At each depth: how many instances only llmc has, how many only the other system, and the probability of so uneven
    a split if both were as good (exact sign test)."""
    rows = {}
    for k in DEPTHS:
        ours = [one.files <= set(paths[:k]) for one, paths in found]
        theirs = [one.files <= set(one.published.get(system, [])[:k]) for one, _ in found]
        won = sum(a and not b for a, b in zip(ours, theirs, strict=True))
        lost = sum(b and not a for a, b in zip(ours, theirs, strict=True))
        tail = sum(comb(won + lost, i) for i in range(min(won, lost) + 1)) / 2 ** (won + lost)
        rows[f"@{k}"] = [won, lost, round(min(1.0, 2 * tail), 4)]
    return rows


def report(done: Sequence[Localised]) -> dict[str, Any]:
    systems = sorted({name for one in done for name in one.instance.published})
    groups = {"all": done}
    groups |= {half: [one for one in done if one.instance.half == half] for half in ("dev", "held")}
    groups |= {repo: [one for one in done if one.instance.repo == repo] for repo in {one.instance.repo for one in done}}
    return {
        name: {
            "instances": len(group),
            "llmc": accuracy([(one.instance, one.paths) for one in group]),
            **{
                system: accuracy([(one.instance, one.instance.published.get(system, [])) for one in group])
                for system in systems
            },
            "paired": {system: paired([(one.instance, one.paths) for one in group], system) for system in systems},
            "ms p50": round(1000 * median(one.seconds for one in group), 1),
        }
        for name, group in groups.items()
        if group
    }


def show(found: dict[str, Any]) -> None:
    for name, group in found.items():
        print(f"{name}: {group['instances']} instances, {group['ms p50']} ms p50")
        for system, row in group.items():
            if isinstance(row, dict) and row and system != "paired":
                print(f"  {system:24} " + " ".join(f"{key} {value:.3f}" for key, value in row.items()))
        for system, row in group["paired"].items():
            print(f"  only llmc, only {system}, p: {row}")


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m bench.localisation", description=__doc__.split("\n", maxsplit=1)[0]
    )
    parser.add_argument("data", type=Path)
    parser.add_argument("--mirror", type=Path, required=True, help="git directories, owner+name/repo")
    parser.add_argument("--cache", type=Path, default=cache() / "localisation", help="trees and stores")
    parser.add_argument("--sample", type=int, help="at most so many instances of each repository")
    parser.add_argument("--half", choices=("dev", "held"))
    parser.add_argument("--off", nargs="*", default=[], help="signals to switch off, or `vectors`")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    known = instances(given.data)
    here = [one for one in known if (given.mirror / one.repo.replace("/", "+")).is_dir()]
    for repo in sorted({one.repo for one in known} - {one.repo for one in here}):
        print(f"{repo} is left out: it is not in {given.mirror}", file=sys.stderr)
    wanted = [one for one in sample(here, given.sample) if given.half in {None, one.half}]
    done = [
        localise(one, view, frozenset(given.off)) for one, view in views(wanted, given.mirror, given.cache, bundled())
    ]
    found = report(done)
    if given.json:
        print(json.dumps(found, indent=1))
    else:
        show(found)


if __name__ == "__main__":
    main()
