"""How much memory does a busy daemon take, and how much of it does it give back?

    python -m bench.memory TREE [TREE …] [--home DIR] [--calls 1500] [--idle 75] [--seed 1] [--json FILE]

A daemon over all the trees, asked one call after the other, each with other names and words of the files: search, grep,
read, refs, calls, callers, outline, find and context, as agents mix them, the tree changing from call to call. Nothing
is asked twice, so kept replies do not help. Memory is that of every process of the home: resident, and without pages of
files (which the system takes back when it needs memory). It is measured when all roots are open, on the way, after the
last call, and after the daemon was left alone; `llmc status` reports what it keeps. Fair: real repositories, default
settings, and the last figure is of the process that answered.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import psutil

from llmc.base.home import Home
from llmc.client.daemon_client import Caller

NAME = re.compile(
    r"^\s*(?:pub |export |async |static )*(?:def|class|function|func|fn|type|interface) (\w{5,})", re.MULTILINE
)
SOURCES = {".py", ".ts", ".go", ".rs", ".java", ".js", ".rb", ".php"}
SAMPLES = 8
# Per hundred calls. Many of them are graph tools, which cache most.
MIX = {"search": 30, "grep": 22, "read": 14, "refs": 8, "callers": 8, "calls": 6, "outline": 5, "find": 4, "context": 3}


def vocabulary(tree: Path, seed: int) -> tuple[list[str], list[str]]:
    """(paths, names that they define), in an order of their own."""
    files = sorted(path for path in tree.rglob("*") if path.suffix in SOURCES and ".git" not in path.parts)
    chance = random.Random(seed)
    chance.shuffle(files)
    texts = {str(path.relative_to(tree)): path.read_text("utf-8", "replace") for path in files[:2_000]}
    names = sorted({name for text in texts.values() for name in NAME.findall(text)})
    chance.shuffle(names)
    return list(texts), names


def question(chance: random.Random, paths: list[str], names: list[str]) -> tuple[str, dict[str, Any]]:
    name, other, path = chance.choice(names), chance.choice(names), chance.choice(paths)
    words = re.sub(r"(?<=[a-z])(?=[A-Z])|_", " ", f"{name} {other}").lower()
    tool = chance.choices(list(MIX), list(MIX.values()))[0]
    args: dict[str, dict[str, Any]] = {
        "search": {"query": chance.choice((f"how does {words} work", words, name))},
        "grep": {"pattern": chance.choice((name, rf"\b{name[:5]}\w+\("))},
        "read": {"target": chance.choice((path, name, f"{path}:1-80"))},
        "outline": {"path": path},
        "find": {"name": name[:6]},
        "context": {"query": words},
    }
    return tool, args.get(tool, {"name": name})


class Measured:
    """The processes of one home."""

    def __init__(self, home: Path) -> None:
        self._home = str(home)

    def memory(self) -> dict[str, float]:
        """MB over all processes."""
        rss = private = 0
        for process in psutil.process_iter():
            try:
                if process.environ().get("LLMC_HOME") == self._home and "llmc" in " ".join(process.cmdline()):
                    found = process.memory_info()
                    rss, private = rss + found.rss, private + found.rss - found.shared
            except psutil.Error:
                continue
        return {"rss_mb": round(rss / 1e6, 1), "anonymous_mb": round(private / 1e6, 1)}


def measure(trees: list[Path], home: Path, calls: int, idle: float, seed: int) -> dict[str, Any]:
    environ = {**os.environ, "LLMC_HOME": str(home), "XDG_CONFIG_HOME": str(home)}
    measured = Measured(home)

    def caller(tree: Path) -> Caller:
        return Caller(Home(str(home)), environ, cwd=str(tree), flags=[f"roots={tree}"])

    def llmc(*words: str, cwd: Path) -> None:
        command = [sys.executable, "-P", "-m", "llmc", *words]
        subprocess.run(command, cwd=cwd, env={**environ, "LLMC_ROOTS": str(cwd)}, check=True, capture_output=True)

    samples: list[dict[str, Any]] = []
    with ExitStack() as stack:
        for tree in trees:
            llmc("index", "--once", "--quiet", cwd=tree)
        llmc("stop", "--quiet", cwd=trees[0])  # memory used for building does not count here
        connections = [stack.enter_context(caller(tree).connect()) for tree in trees]
        asked = [vocabulary(tree, seed) for tree in trees]
        chance = random.Random(seed)

        def sample(when: str) -> None:
            kept = connections[0].call("status")["memory"]
            samples.append({"when": when, **measured.memory(), "kept": kept})
            print(samples[-1], flush=True)

        for connection, tree in zip(connections, trees, strict=True):
            connection.call("index", {"once": True})
            connection.call("tool", {"name": "search", "args": {"query": f"main entry of {tree.name}"}})
        sample("open")
        failed = 0
        for number in range(1, calls + 1):
            at = chance.randrange(len(trees))
            name, args = question(chance, *asked[at])
            reply = connections[at].call("tool", {"name": name, "args": args, "data": False})
            failed += reply["error"] == "internal_error"
            if number % max(1, calls // SAMPLES) == 0:
                sample(f"{number} calls")
        if idle:
            time.sleep(idle)
            sample(f"{idle:g} s idle")
    llmc("stop", "--quiet", cwd=trees[0])
    peak = max(samples, key=lambda one: one["rss_mb"])
    ends = {"open": samples[0], "peak": peak, "after": samples[-2] if idle else samples[-1], "idle": samples[-1]}
    figures = {f"{name}_{key}": one[key] for name, one in ends.items() for key in ("rss_mb", "anonymous_mb")}
    return {"roots": [tree.name for tree in trees], "calls": calls, "failed": failed, **figures, "samples": samples}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trees", type=Path, nargs="+", metavar="TREE")
    parser.add_argument("--home", type=Path, help="an index to use again; a temporary one otherwise")
    parser.add_argument("--calls", type=int, default=1_500)
    parser.add_argument("--idle", type=float, default=75.0, help="seconds to leave the daemon alone at the end")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=Path, help="write the figures here")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="llmc-bench-") as folder:
        home = (options.home or Path(folder)).resolve()
        trees = [tree.resolve() for tree in options.trees]
        figures = measure(trees, home, options.calls, options.idle, options.seed)
    if options.json:
        options.json.write_text(json.dumps(figures, indent=1) + "\n")


if __name__ == "__main__":
    main()
