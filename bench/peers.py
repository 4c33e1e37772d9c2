"""Other tools on the same tree: how long do they take to make it searchable?

They live in an environment of their own, made on the first run and kept outside of the repository: their dependencies
must not meet ours. What cannot be loaded offline (their models) is left out on their side only: we embed, they do not.
"""

from __future__ import annotations

import os
import resource
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile

from bench import trees

__all__ = ["Cost", "chunkhound", "environment", "semble"]

PINNED = ("semble==0.7.0", "chunkhound==6.1.0")
# Longer than any of them needs on an idle machine.
SECONDS = 1_800


@dataclass(frozen=True, slots=True)
class Cost:
    """`problem` says why there are no figures."""

    seconds: float = 0.0
    cpu_seconds: float = 0.0
    problem: str = ""


def environment(python: str = "") -> Path:
    """The folder with the programs of an environment that has the peers: the named Python's, or our own."""
    if python:
        return Path(python).parent
    target = trees.cache() / "peers"
    programs = target / "bin"
    if not (target / "ready").exists():
        shutil.rmtree(target, ignore_errors=True)
        subprocess.run([sys.executable, "-m", "venv", str(target)], check=True)
        subprocess.run([str(programs / "python"), "-m", "pip", "install", "--quiet", *PINNED], check=True)
        (target / "ready").touch()
    return programs


def semble(programs: Path, tree: Path) -> Cost:
    """Its own chunking and BM25 index; its own clock, which leaves out the start of Python and its imports."""
    runner = Path(__file__).with_name("semble_runner.py")
    cost, said = run([str(programs / "python"), str(runner), str(tree)], tree)
    return cost if cost.problem else Cost(float(said.split()[-1]), cost.cpu_seconds)


def chunkhound(programs: Path, tree: Path) -> Cost:
    """Its command, as a user types it, into a database elsewhere; without embeddings, on a copy of the tree that is a
    repository, since it asks git what to index."""
    with TemporaryDirectory(prefix="llmc-peer-") as folder:
        copy = Path(folder) / "tree"
        shutil.copytree(tree, copy, symlinks=True, ignore=shutil.ignore_patterns(".git"))
        trees.commit(copy)
        options = ["--no-embeddings", "--database-provider", "lancedb", "--db", f"{folder}/database"]
        return run([str(programs / "chunkhound"), "index", *options, str(copy)], copy)[0]


def run(command: list[str], cwd: Path) -> tuple[Cost, str]:
    """Into a file and not a pipe: processes that a peer leaves behind hold a pipe open. They end with it."""
    before, started = used(), time.monotonic()
    clean = {name: value for name, value in os.environ.items() if not name.startswith("LLMC_")}
    with TemporaryFile("w+") as output:
        with subprocess.Popen(
            command, cwd=cwd, env=clean, stdout=output, stderr=subprocess.STDOUT, start_new_session=True
        ) as process:
            try:
                code = process.wait(SECONDS)
            except subprocess.TimeoutExpired:
                code = -signal.SIGKILL
            seconds = time.monotonic() - started
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
        output.seek(0)
        said = output.read()
    if code:
        return Cost(problem=f"{(said.strip().splitlines() or ['it said nothing'])[-1]} (exit code {code})"), ""
    return Cost(seconds, used() - before), said


def used() -> float:
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    return spent.ru_utime + spent.ru_stime
