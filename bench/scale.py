"""How does the cost of building, saving and asking grow with the number of files and of roots?

    python -m bench.scale --tree DIR [DIR …] [--sizes 1000,10000,100000] [--roots 1,4,12] [--json FILE]

The corpus is a sample of real files from all the trees, each cut at two kilobytes so that 100,000 of them are built in
minutes, and repeated with a line of its own if there are too few: what is measured grows with files, chunks and terms,
and those are real. Every size has the same questions, asked of a daemon by a client that stays connected. Roots have
1,000 files each and are asked all at once.

CPU is that of the daemon and its children, since wall times are those of a machine: of the whole build, of one save
until it is indexed, and the mean of the questions. Memory is what the daemon holds after the questions, without mapped
files. `describe` turns the figures into sentences.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
import tempfile
import time
from hashlib import blake2b
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench import trees
from bench.daemon import Daemon

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["UNITS", "describe"]

QUESTIONS: dict[str, list[dict[str, str]]] = {
    "search": [
        {"query": query}
        for query in ("how are leases renewed", "NewController", "parse quantity string", "retry with backoff", "cache")
    ],
    "grep": [{"pattern": pattern} for pattern in ("leaderElection", "def test_\\w+cache", "(?i)unauthorized", "TODO")],
}
UNITS = {
    "build": "CPU s",
    "save": "CPU ms",
    "search": "CPU ms",
    "grep": "CPU ms",
    "memory": "MB",
    "disk": "MB",
}
CLIP_BYTES = 2_000
FILES_PER_ROOT = 1_000
LAPS = 10
SAVES = 4
# Longer than indexing a save takes on a busy machine.
SAVE_SECONDS = 2.0


def sample(sources: Sequence[Path]) -> list[tuple[Path, str]]:
    """(file, its path in the corpus), in an order independent of folders: each size is a fair part."""
    files = [
        (path, f"{tree.name}/{path.relative_to(tree)}")
        for tree in sources
        for path in tree.rglob("*")
        if ".git" not in path.parts and path.is_file() and not path.is_symlink()
    ]
    return sorted(files, key=lambda file: blake2b(os.fsencode(file[1]), digest_size=8).digest())


def grow(target: Path, files: Sequence[tuple[Path, str]], start: int, end: int) -> None:
    """Files `start` to `end` of an endless corpus: after the last one it starts over, each file with a line of its
    own."""
    for number in range(start, end):
        source, name = files[number % len(files)]
        lap = number // len(files)
        place = target / (f"again{lap}/{name}" if lap else name)
        place.parent.mkdir(parents=True, exist_ok=True)
        data = source.read_bytes()[:CLIP_BYTES]
        clipped = data[: data.rfind(b"\n") + 1] or data
        place.write_bytes(clipped + (f"lap {lap}\n".encode() if lap else b""))


def by_files(files: Sequence[tuple[Path, str]], sizes: Sequence[int]) -> Iterator[dict[str, float]]:
    """One growing index: every size is measured on the way, and no file is indexed twice."""
    with tempfile.TemporaryDirectory(prefix="llmc-scale-", ignore_cleanup_errors=True) as folder:
        tree = Path(folder) / "tree"
        tree.mkdir()
        daemon = Daemon(Path(folder) / "home", [tree])
        try:
            built = 0.0
            for before, size in pairwise((0, *sizes)):
                grow(tree, files, before, size)
                built += daemon.spent(lambda: daemon.run("index", "--once"))
                yield {"files": size, "build": built, **asked(daemon)}
        finally:
            daemon.stop()


def by_roots(files: Sequence[tuple[Path, str]], numbers: Sequence[int]) -> Iterator[dict[str, float]]:
    with tempfile.TemporaryDirectory(prefix="llmc-scale-", ignore_cleanup_errors=True) as folder:
        daemon = Daemon(Path(folder) / "home")
        try:
            built = 0.0
            for number in numbers:
                while len(daemon.roots) < number:
                    at = FILES_PER_ROOT * len(daemon.roots)
                    daemon.roots.append(Path(folder) / f"root{len(daemon.roots)}")
                    grow(daemon.roots[-1], files, at, at + FILES_PER_ROOT)
                built += daemon.spent(lambda: daemon.run("index", "--once"))
                yield {"roots": number, "build": built, **asked(daemon)}
        finally:
            daemon.stop()


def asked(daemon: Daemon) -> dict[str, float]:
    row: dict[str, float] = {}
    with daemon.connected() as connection:
        for name, questions in QUESTIONS.items():
            calls: list[dict[str, Any]] = [{"name": name, "args": question} for question in questions]
            for call in calls:  # the first time loads data that stays loaded
                connection.call("tool", call)
            before = daemon.cpu()
            for lap in range(LAPS):
                for call in calls:
                    # Another budget makes another reply: an equal one would come from the cache.
                    connection.call("tool", {**call, "args": {**call["args"], "budget": 1_000 + lap}})
            row[name] = 1000 * (daemon.cpu() - before) / (LAPS * len(calls))
    row["save"] = 1000 * saved(daemon)
    row["memory"] = daemon.anonymous_mb()
    stores = daemon.status()["stores"]
    sizes = [store[f"{kind}_bytes"] for store in stores for kind in ("catalog", "keyword", "vector")]
    row |= {"disk": sum(sizes) / 1e6, "text": sum(store["text_bytes"] for store in stores) / 1e6}
    return row


def saved(daemon: Daemon) -> float:
    """CPU seconds of one save; an earlier one has loaded the libraries."""
    target = daemon.roots[-1] / "llmc_bench_save.py"
    before = daemon.cpu()
    for number in range(SAVES + 1):
        if number == 1:
            before = daemon.cpu()
        target.write_text(f"def saved_{number}():\n    return {number}\n")
        time.sleep(SAVE_SECONDS)
    spent = daemon.cpu() - before
    target.unlink()
    return spent / SAVES


def describe(rows: Sequence[dict[str, float]], of: str) -> Iterator[str]:
    """`search: 100 × the files, 3.1 × the CPU ms (power 0.25)`, a sentence for each figure."""
    first, last = rows[0], rows[-1]
    times = last[of] / first[of]
    for name, unit in UNITS.items():
        growth = last[name] / max(first[name], 0.1)
        power = math.log(max(growth, 1e-3)) / math.log(times) if times > 1 else 0.0
        kind = "hardly grows" if power < 0.15 else "grows more slowly than" if power < 0.85 else "grows in step with"
        kind += "" if power < 0.15 else f" the {of}" if power < 1.15 else f" the {of} or faster"
        yield (
            f"{name} {kind}: {first[name]:,.3g} {unit} with {first[of]:,.0f} {of}, "
            f"{last[name]:,.3g} with {last[of]:,.0f} (power {power:.2f})"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tree", type=Path, nargs="+", help="large repositories (default: Django's source archive)")
    parser.add_argument("--sizes", default="1000,4000,16000", help="numbers of files")
    parser.add_argument("--roots", default="1,4,12", help="numbers of roots")
    parser.add_argument("--json", type=Path, help="write the figures here")
    arguments = parser.parse_args()
    files = sample([tree.resolve() for tree in arguments.tree or [trees.sdist("django", "5.2.7")]])
    found: dict[str, Any] = {"files": [], "roots": [], "growth": []}
    for of, text, measure in (("files", arguments.sizes, by_files), ("roots", arguments.roots, by_roots)):
        for row in measure(files, [int(number) for number in text.split(",")]):
            found[of].append(row)
            print("  ".join(f"{name} {value:,.1f}" for name, value in row.items()), file=sys.stderr, flush=True)
        found["growth"] += describe(found[of], of)
        if arguments.json:
            arguments.json.write_text(json.dumps(found, indent=1) + "\n")
    print("\n".join(found["growth"]))


if __name__ == "__main__":
    main()
