"""A daemon of its own for a measurement: commands as a user types them, and what they cost in it and in the client.

CPU is user and system time, children included. The kernel counts it in steps of 10 ms, so what takes less is repeated.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import threading
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil

from llmc.base.home import Home
from llmc.client.daemon_client import Caller

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from llmc.client.daemon_client import DaemonConnection

__all__ = ["Daemon", "Usage", "children_cpu", "first_line"]

# A reply may arrive before the daemon has released the memory used for it.
SETTLE_SECONDS = 0.2
SAMPLE_SECONDS = 0.02
# What a user types; `python -m llmc` takes 4 ms longer to start.
PROGRAM = str(Path(sys.executable).with_name("llmc"))


@dataclass
class Daemon:
    """Commands run in the first of the roots, and see all of them."""

    home: Path
    roots: list[Path] = field(default_factory=list)

    @property
    def environ(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("LLMC_")}
        return {**kept, "LLMC_HOME": str(self.home), "XDG_CONFIG_HOME": str(self.home)}

    def command(self, *arguments: str) -> list[str]:
        roots = [word for root in self.roots for word in ("--root", str(root))]
        return [PROGRAM, *roots, *arguments]

    def run(self, *arguments: str) -> str:
        return subprocess.run(
            self.command(*arguments), cwd=self.roots[0], env=self.environ, capture_output=True, text=True, check=True
        ).stdout

    def status(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.run("status", "--json"))
        return found

    @cached_property
    def process(self) -> psutil.Process:
        return psutil.Process(self.status()["daemon"]["pid"])

    def cpu(self) -> float:
        return sum(self.process.cpu_times()[:4])

    def spent(self, act: Callable[[], object]) -> float:
        """CPU seconds of daemon and clients."""
        before = self.cpu() + children_cpu()
        act()
        time.sleep(SETTLE_SECONDS)
        return self.cpu() + children_cpu() - before

    def anonymous_mb(self) -> float:
        """Memory without mapped files, which the kernel may drop."""
        rows = Path(f"/proc/{self.process.pid}/smaps_rollup").read_text().splitlines()
        return sum(int(row.split()[1]) for row in rows if row.startswith("Anonymous:")) / 1024

    @contextmanager
    def connected(self) -> Iterator[DaemonConnection]:
        """A client that stays connected, like an MCP client."""
        flags = [f"roots={json.dumps([str(root) for root in self.roots])}"]
        caller = Caller(Home(str(self.home)), self.environ, cwd=str(self.roots[0]), flags=flags)
        with caller.connect() as connection:
            yield connection

    def stop(self) -> None:
        subprocess.run([PROGRAM, "stop"], env=self.environ, capture_output=True, check=False)


class Usage:
    """CPU and peak memory of a process with its descendants, and of the daemon of `home`, sampled."""

    def __init__(self, home: Path | None = None) -> None:
        self._home = str(home) if home else ""
        self._seen: dict[tuple[int, float], float] = {}
        self.peak = 0

    @property
    def cpu(self) -> float:
        return sum(self._seen.values())

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Sampled while the caller waits for commands to end."""
        ended = threading.Event()

        def sample() -> None:
            while not ended.wait(SAMPLE_SECONDS):
                self.look()

        thread = threading.Thread(target=sample, daemon=True)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()

    def look(self, pid: int | None = None) -> None:
        total = 0
        for process in self._processes(pid):
            with suppress(psutil.Error):
                total += process.memory_info().rss
                self._seen[process.pid, process.create_time()] = sum(process.cpu_times()[:2])
        self.peak = max(self.peak, total)

    def _processes(self, pid: int | None) -> list[psutil.Process]:
        found: list[psutil.Process] = []
        if pid is not None:
            with suppress(psutil.Error):
                top = psutil.Process(pid)
                found = [top, *top.children(recursive=True)]
        known = {process.pid for process in found}
        if self._home:
            found += [one for one in psutil.process_iter() if one.pid not in known and self._is_daemon(one)]
        return found

    def _is_daemon(self, process: psutil.Process) -> bool:
        with suppress(psutil.Error):
            return process.environ().get("LLMC_HOME") == self._home
        return False


def children_cpu() -> float:
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    return spent.ru_utime + spent.ru_stime


def first_line(command: Sequence[str], cwd: Path, environ: dict[str, str]) -> tuple[float, int]:
    """(seconds until the first line, number of lines) of a command whose output is read as it arrives."""
    began = time.monotonic()
    with subprocess.Popen(command, cwd=cwd, env=environ, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        lines = process.stdout.readline().count(b"\n")
        seconds = time.monotonic() - began
        while piece := process.stdout.read(1 << 20):
            lines += piece.count(b"\n")
    return seconds, lines
