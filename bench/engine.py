"""Does the engine keep its promises on a large tree? Latency, start, saves, idling, size, and vectors at 200,000 rows.

    python -m bench.engine --tree DIR [--home DIR] [--rows 200000] [--json FILE]
    python -m bench.engine --summary RUN      (from RUN/raw/engine.json)

Each question is one function; its docstring says why it is fair. An index in `--home` is used again.
CPU of the daemon is given beside wall times, since a busy machine makes every wall time longer. Memory under load is
measured by `bench.memory`, a full build by `bench.indexing`.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import psutil

from bench.daemon import Daemon
from bench.indexing import Bench, save_to_searchable
from bench.memory import Measured, vocabulary
from bench.server import PYTHON, Peer, percentile
from llmc.base.home import Home
from llmc.client.daemon_client import Caller
from llmc.embed import open_embedder
from llmc.settings import EmbedderSettings
from llmc.store.values import Embedding
from llmc.store.vectors import VectorIndex, engine

QUESTIONS = (
    "how are leases renewed by the leader elector",
    "where does the scheduler decide which node a pod runs on",
    "evict pods when a node is under memory pressure",
    "how is an admission webhook called and its timeout handled",
    "garbage collection of orphaned dependents",
    "rolling update of a deployment max surge and max unavailable",
    "convert between internal and versioned API objects",
    "retry with exponential backoff when the server is unavailable",
    "parse a resource quantity string",
    "where are service account tokens signed",
    "validate a custom resource definition schema",
    "watch cache resource version too old",
    "read the configuration file and merge contexts",
    "rotate client certificates before they expire",
    "the object has been modified; please apply your changes to the latest version and try again",
    'unable to recognize "deploy.yaml": no matches for kind "Deployment" in version "extensions/v1beta1"',
)
NEAREST = 200
# Measurement → goal on a quiet machine.
GOALS = {
    "search_cpu_ms": "",
    "search_p50_ms": "≤ 15",
    "search_p95_ms": "≤ 40",
    "search_best_tenth_ms": "",
    "calls_cpu_ms": "",
    "calls_p50_ms": "≤ 30",
    "save_p50_seconds": "≤ .5",
    "save_p95_seconds": "≤ 1",
    "cold_start_seconds": "≤ 2.5",
    "cold_start_daemon_cpu_seconds": "",
    "index_to_text": "≤ 1.3",
    "idle_rss_mb": "≤ 400",
    "idle_anonymous_mb": "",
    "idle_cpu_percent": "≤ .1",
    "vector_p50_ms": "≤ 15",
    "vector_cpu_ms": "",
    "vector_recall_at_200": "≥ .98",
}


def questions(tree: Path, seed: int = 1, count: int = 120) -> list[str]:
    """Questions in a user's words, names, and words of names of the tree; no two are the same."""
    chance = random.Random(seed)
    names = vocabulary(tree, seed)[1]
    found = list(QUESTIONS)
    while len(found) < count:
        name, other = chance.sample(names, 2)
        words = re.sub(r"(?<=[a-z])(?=[A-Z])|_", " ", f"{name} {other}").lower()
        found.append(chance.choice((f"how does {words} work", words, words, name)))
    chance.shuffle(found)
    return found


class Engine:
    def __init__(self, tree: Path, home: Path) -> None:
        self.tree, self.home = tree, home
        self.environ = {**os.environ, "LLMC_HOME": str(home), "XDG_CONFIG_HOME": str(home), "LLMC_ROOTS": str(tree)}
        self.caller = Caller(Home(str(home)), self.environ, cwd=str(tree), flags=[f"roots={tree}"])
        self.figures: dict[str, Any] = {}

    def llmc(self, *words: str) -> str:
        command = [*PYTHON, "-m", "llmc", *words]
        return subprocess.run(
            command, env=self.environ, cwd=self.tree, check=True, capture_output=True, text=True
        ).stdout

    def note(self, **figures: Any) -> None:
        self.figures.update(figures)
        for name, value in figures.items():
            print(f"{name:<34} {value:.4g}" if isinstance(value, float) else f"{name:<34} {value}", flush=True)

    def status(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.llmc("status", "--json"))
        return found

    def daemon(self) -> psutil.Process:
        return psutil.Process(self.status()["daemon"]["pid"])

    def size(self) -> None:
        """Size on disk relative to the indexed text."""
        (store,) = self.status()["stores"]
        disk = store["catalog_bytes"] + store["keyword_bytes"] + store["vector_bytes"]
        self.note(files=self.status()["roots"][0]["indexed"], chunks=store["chunks"])
        self.note(text_mb=store["text_bytes"] / 1e6, index_to_text=disk / store["text_bytes"])

    def cold_start(self, times: int = 5) -> None:
        """From `llmc search` without a daemon to its answer: the command, the daemon and opening the index."""
        seconds, cpu = [], []
        for number in range(times):
            self.llmc("stop", "--quiet")
            began = time.perf_counter()
            self.llmc("search", f"{QUESTIONS[number]} first")
            seconds.append(time.perf_counter() - began)
            cpu.append(sum(self.daemon().cpu_times()[:2]))
        self.note(cold_start_seconds=min(seconds), cold_start_median=statistics.median(seconds))
        self.note(cold_start_daemon_cpu_seconds=min(cpu))

    def searches(self, asked: list[str]) -> None:
        """Each question once, over stdio like an MCP client: relay, socket, SDK, search, redaction, JSON. The first
        twelve warm the daemon up. CPU is that of the daemon over all of them."""
        peer = Peer([*PYTHON, "-m", "llmc", "serve"], self.environ, str(self.tree))
        peer.greet()
        with self.caller.connect() as connection:
            connection.call("index", {"once": True})  # vectors are loaded too
        for query in asked[:12]:
            peer.call("search", {"query": query})
        process = self.daemon()
        before = sum(process.cpu_times()[:2])
        taken = [peer.call("search", {"query": query}) for query in asked[12:]]
        cpu = 1000 * (sum(process.cpu_times()[:2]) - before) / len(taken)
        peer.close()
        self.note(search_cpu_ms=cpu, search_p50_ms=statistics.median(taken), search_p95_ms=percentile(taken, 95))
        self.note(search_best_tenth_ms=percentile(taken, 10), searches=len(taken))

    def idle(self, rest: float = 75.0, seconds: float = 60.0) -> None:
        """Memory of all processes and CPU while idle, after the daemon has released what it can."""
        process = self.daemon()
        time.sleep(rest)
        before = sum(process.cpu_times()[:2])
        time.sleep(seconds)
        self.note(idle_cpu_percent=100 * (sum(process.cpu_times()[:2]) - before) / seconds)
        self.note(**{f"idle_{name}": value for name, value in Measured(self.home).memory().items()})

    def saves(self) -> None:
        bench = Bench(Daemon(self.home, [self.tree]))
        save_to_searchable(bench, saves=20)
        self.figures.update(bench.figures)

    def vectors(self, rows: int) -> None:
        """Real vectors of this index, with small random changes where there are too few. Recall is against the exact
        cosine of the same half-precision rows; the answers are those of `VectorIndex`, which every search uses."""
        database = next(self.home.glob("stores/*/vectors"))
        name = next(database.glob("*.lance")).stem
        table = engine.run(engine.connect(database).open_table(name))
        stored = engine.run(table.query().select(["vector"]).to_arrow())
        real = stored["vector"].combine_chunks().flatten().to_numpy().reshape(stored.num_rows, -1).astype(np.float32)
        chance = np.random.default_rng(1)
        more = real[chance.integers(0, len(real), max(0, rows - len(real)))]
        more = more + chance.normal(0, 0.02, more.shape).astype(np.float32)
        every = np.concatenate([real, more])[:rows]
        every = (every / np.linalg.norm(every, axis=1, keepdims=True)).astype(np.float16)
        embedder = open_embedder(EmbedderSettings())
        asked = [embedder.embed_query(query) for query in questions(self.tree, 7, 60)]
        with tempfile.TemporaryDirectory(prefix="llmc-bench-") as folder:
            index = VectorIndex(Path(folder), Embedding(1, "bench", every.shape[1]))
            for start in range(0, rows, 50):
                index.add(start + 1, every[start : start + 50].astype(np.float32))
            index.commit()
            index.optimize()
            index.search(asked[0], NEAREST)
            found, cpu, wall = [], [], []
            for query in asked:
                before, began = time.process_time(), time.perf_counter()
                hits = index.search(query, NEAREST)
                wall.append(1000 * (time.perf_counter() - began))
                cpu.append(1000 * (time.process_time() - before))
                found.append({(hit.doc - 1) + hit.ordinal for hit in hits})
            index.close()
        exact = [set(np.argsort(-(every.astype(np.float32) @ query))[:NEAREST].tolist()) for query in asked]
        recall = statistics.fmean(len(got & best) / NEAREST for got, best in zip(found, exact, strict=True))
        self.note(vector_rows=rows, vector_recall_at_200=recall, vector_cpu_ms=statistics.median(cpu))
        self.note(vector_p50_ms=statistics.median(wall), vector_p95_ms=percentile(wall, 95))

    def graph(self, count: int = 40) -> None:
        """`calls NAME --depth 2`, each name once, in a daemon that has answered other calls before."""
        names = [name for name in vocabulary(self.tree, 3)[1][: 4 * count] if name[0].isupper()][:count]
        process, taken = self.daemon(), []
        with self.caller.connect() as connection:
            connection.call("tool", {"name": "calls", "args": {"name": names[0], "depth": 2}})
            before = sum(process.cpu_times()[:2])
            for name in names[1:]:
                began = time.perf_counter()
                connection.call("tool", {"name": "calls", "args": {"name": name, "depth": 2}})
                taken.append(1000 * (time.perf_counter() - began))
        cpu = 1000 * (sum(process.cpu_times()[:2]) - before) / len(taken)
        self.note(calls_cpu_ms=cpu, calls_p50_ms=statistics.median(taken), calls_p95_ms=percentile(taken, 95))


def summary(figures: dict[str, Any]) -> str:
    """A table of the figures beside their goals."""
    rows = [f"| {name} | {figures[name]:.4g} | {goal} |" for name, goal in GOALS.items() if name in figures]
    facts = ", ".join(f"{name} {figures[name]:,.6g}" for name in ("files", "chunks", "load_average") if name in figures)
    return (
        "\n".join([f"# The engine on a large tree\n\n{facts}\n", "| | measured | goal |", "|---|---|---|", *rows])
        + "\n"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tree", type=Path, help="a large repository")
    parser.add_argument("--summary", type=Path, metavar="RUN", help="write summary.md of a run that was measured")
    parser.add_argument("--home", type=Path, help="an index to use again; a temporary one otherwise")
    parser.add_argument("--rows", type=int, default=200_000, help="of the table of vectors")
    parser.add_argument("--json", type=Path, help="write the figures here")
    options = parser.parse_args()
    if options.summary:
        figures = json.loads((options.summary / "raw" / "engine.json").read_text())
        (options.summary / "summary.md").write_text(summary(figures))
        return
    if not options.tree:
        parser.error("give --tree or --summary")
    with tempfile.TemporaryDirectory(prefix="llmc-bench-") as folder:
        bench = Engine(options.tree.resolve(), (options.home or Path(folder)).resolve())
        bench.llmc("index", "--once", "--quiet")
        bench.note(load_average=os.getloadavg()[1], processors=os.cpu_count(), python=sys.version.split()[0])
        bench.size()
        bench.cold_start()
        bench.searches(questions(bench.tree))
        bench.graph()
        bench.saves()
        bench.idle()
        bench.llmc("stop", "--quiet")
        bench.vectors(options.rows)
    if options.json:
        options.json.write_text(json.dumps(bench.figures, indent=1) + "\n")


if __name__ == "__main__":
    main()
