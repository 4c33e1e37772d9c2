"""How fast does a folder become searchable, and what does it cost to keep it so?

    python -m bench.indexing [--tree DIR] [--json FILE]

Each question is one function; its docstring says why the comparison is fair. Figures are ratios to a named baseline
in the same run wherever there is one: the machine is shared. `bench.peers` compares with other tools.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import statistics
import subprocess
import tempfile
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench import trees
from bench.daemon import Daemon, Usage

DJANGO = ("django", "5.2.7")


@dataclass
class Bench:
    daemon: Daemon
    figures: dict[str, Any] = field(default_factory=dict)

    @property
    def tree(self) -> Path:
        return self.daemon.roots[0]

    @property
    def scratch(self) -> Path:
        return self.daemon.home.parent

    def index(self, tree: Path | None = None) -> None:
        Daemon(self.daemon.home, [tree or self.tree]).run("index", "--once")

    def note(self, **figures: Any) -> None:
        self.figures.update(figures)
        for name, value in figures.items():
            print(f"{name:<34} {value:.4g}" if isinstance(value, float) else f"{name:<34} {value}", flush=True)


def full_build(bench: Bench) -> None:
    """From nothing to everything searchable, vectors included, by the command that a user types; the daemon starts
    too."""
    usage = Usage(bench.daemon.home)
    started = time.monotonic()
    with usage.watching():
        bench.index()
    seconds = time.monotonic() - started
    status = bench.daemon.status()
    root, store = status["roots"][0], status["stores"][0]
    disk = store["catalog_bytes"] + store["keyword_bytes"] + store["vector_bytes"]
    bench.note(
        files=root["indexed"],
        text_mb=store["text_bytes"] / 1e6,
        chunks=store["chunks"],
        build_seconds=seconds,
        build_cpu_seconds=usage.cpu,
        build_files_per_second=root["indexed"] / seconds,
        build_mb_per_second=store["text_bytes"] / 1e6 / seconds,
        build_peak_rss_mb=usage.peak / 1e6,
        disk_to_text=disk / store["text_bytes"],
        **stages(bench),
    )


def stages(bench: Bench) -> dict[str, float]:
    """CPU seconds by stage, from the worker's log."""
    lines = (bench.daemon.home / "logs" / "daemon.log").read_text("utf-8").splitlines()
    told = [json.loads(line) for line in lines if '"cpu_seconds"' in line]
    return {f"build_cpu_{name}": seconds for name, seconds in told[-1]["cpu_seconds"].items()} if told else {}


def nothing_changed(bench: Bench) -> None:
    """`llmc index --once` again, against `git status` on the same tree; both walk and stat every file."""
    copy = bench.scratch / "git"
    shutil.copytree(bench.tree, copy, symlinks=True, ignore=shutil.ignore_patterns(".git"))
    trees.commit(copy)
    git = best(lambda: subprocess.run(["git", "status", "--porcelain"], cwd=copy, check=True, capture_output=True))
    again = best(bench.index)
    bench.note(git_status_seconds=git, again_seconds=again, again_to_git_status=again / git)


def second_work_tree(bench: Bench) -> None:
    """The first and the second work tree of one repository, each with `llmc index --once` and a warm daemon."""
    main, second = bench.scratch / "git", bench.scratch / "second"
    subprocess.run(["git", "worktree", "add", "-q", str(second)], cwd=main, check=True, capture_output=True)
    first = timed(lambda: bench.index(main))
    other = timed(lambda: bench.index(second))
    bench.note(first_tree_seconds=first, second_tree_seconds=other, first_to_second=first / other)


def save_to_searchable(bench: Bench, saves: int = 40) -> None:
    """From the end of a save until `status` reports it committed, with a unique word, through the warm daemon."""
    target = bench.tree / "llmc_bench_save.py"
    seconds = []
    try:
        with bench.daemon.connected() as connection:
            for number in range(saves):
                word = f"zq{number}x{random.randrange(1 << 30)}"
                target.write_text(f"def {word}():\n    return {number}\n")
                started = time.monotonic()
                while not hits(connection, word):
                    pass
                seconds.append(time.monotonic() - started)
                time.sleep(0.2)
    finally:
        target.unlink(missing_ok=True)
    seconds.sort()
    bench.note(save_p50_seconds=statistics.median(seconds), save_p95_seconds=seconds[int(len(seconds) * 0.95)])


def hits(connection: Any, word: str) -> bool:
    reply = connection.call("tool", {"name": "refs", "args": {"name": word}})
    return not reply["error"] and bool(reply["data"].get("definitions"))


def idle(bench: Bench, seconds: float = 30.0) -> None:
    """CPU and memory of the daemon without calls and changes."""
    time.sleep(2)
    before = bench.daemon.cpu()
    time.sleep(seconds)
    used = bench.daemon.cpu() - before
    resident = bench.daemon.process.memory_info().rss / 1e6
    bench.note(idle_cpu_percent=100 * used / seconds, idle_rss_mb=resident)


def queries_while_building(bench: Bench, queries: int = 60) -> None:
    """The same queries on one tree, idle and while another tree of the same size is built by the same daemon."""
    words = ["request", "cache backend", "how are passwords hashed", "QuerySet.filter", "migration autodetector"]
    quiet = latencies(bench, words, queries)
    other = bench.scratch / "other"
    shutil.copytree(bench.tree, other, symlinks=True)
    for path in other.rglob("*.py"):
        with path.open("ab") as file:
            file.write(b"\n# another\n")
    builder = threading.Thread(target=bench.index, args=(other,))
    builder.start()
    time.sleep(1.5)
    busy = latencies(bench, words, queries)
    finished_early = not builder.is_alive()
    builder.join()
    bench.note(
        query_idle_p95_ms=1000 * p95(quiet),
        query_building_p95_ms=1000 * p95(busy),
        query_building_to_idle=p95(busy) / p95(quiet),
        building_ended_before_the_queries=finished_early,
    )


def latencies(bench: Bench, words: list[str], queries: int) -> list[float]:
    def ask(number: int) -> float:
        params = {"name": "search", "args": {"query": words[number % len(words)]}}
        return timed(lambda: connection.call("tool", params))

    with bench.daemon.connected() as connection:
        return [ask(number) for number in range(queries)]


def p95(values: list[float]) -> float:
    return sorted(values)[int(len(values) * 0.95)]


def timed(act: Any) -> float:
    started = time.monotonic()
    act()
    return time.monotonic() - started


def best(act: Any, times: int = 5) -> float:
    return min(timed(act) for _ in range(times))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tree", type=Path, help="what to index (default: a pinned source archive of Django)")
    parser.add_argument("--json", type=Path, help="write the figures here")
    arguments = parser.parse_args()
    tree = (arguments.tree or trees.sdist(*DJANGO)).resolve()
    with tempfile.TemporaryDirectory(prefix="llmc-bench-") as folder:
        work = Path(folder) / "tree"
        shutil.copytree(tree, work, symlinks=True)
        bench = Bench(Daemon(Path(folder) / "home", [work]))
        try:
            full_build(bench)
            nothing_changed(bench)
            second_work_tree(bench)
            save_to_searchable(bench)
            queries_while_building(bench)
            idle(bench)
        finally:
            bench.daemon.stop()
    if arguments.json:
        arguments.json.write_text(json.dumps(bench.figures, indent=1) + "\n")


if __name__ == "__main__":
    main()
