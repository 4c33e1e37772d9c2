"""Runs a command plan: starts the supervisor, collects its output, and stops it on timeout or cancellation."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from llmc.base.errors import QueryError
from llmc.base.process import read_output, signal_group
from llmc.extend.shell.capture import Capture, Captured

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

__all__ = ["CommandOutcome", "CommandPlan", "run"]

SUPERVISOR: Final = str(Path(__file__).with_name("supervisor.py"))
PIECE: Final = 1 << 16
QUIET_SECONDS: Final = 0.1
# The supervisor enforces the time limit itself; this is the margin before it is killed.
GRACE_SECONDS: Final = 10.0


@dataclass(frozen=True, slots=True)
class CommandPlan:
    """`pipelines` as parsed and hardened; `fence`: only `readable` and `writable` paths are accessible."""

    pipelines: tuple[Mapping[str, Any], ...]
    cwd: str
    environ: Mapping[str, str]
    seconds: float
    limit: int
    fence: bool = True
    readable: Sequence[str] = ()
    writable: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class CommandOutcome:
    """`code` is None if the command was stopped; `left` is the number of leftover processes that were killed."""

    output: Captured
    code: int | None
    signal: int = 0
    stopped: str = ""
    left: int = 0
    fenced: bool = False
    seconds: float = 0.0


def run(plan: CommandPlan, cancelled: Callable[[], bool] = lambda: False) -> CommandOutcome:
    started = time.monotonic()
    report, written = os.pipe()
    try:
        process = start(plan, written)
    finally:
        os.close(written)
    try:
        output = collect_output(process, plan, cancelled)
        raw_report = os.read(report, PIECE)
    finally:
        os.close(report)
        end(process)
    outcome: dict[str, Any] = json.loads(raw_report) if raw_report else {"code": None, "stopped": "killed"}
    if outcome.get("problem"):
        name = Path(outcome.get("program") or "").name or "the program"
        hint = "Check that it is installed and in the PATH of the daemon." if outcome["code"] == NOT_FOUND else ""
        raise QueryError(f"{name} could not be started", reason=outcome["problem"], hint=hint)
    return CommandOutcome(
        output,
        outcome["code"],
        outcome.get("signal", 0),
        outcome.get("stopped", ""),
        outcome.get("left", 0),
        outcome.get("fenced", False),
        time.monotonic() - started,
    )


NOT_FOUND: Final = 127


def start(plan: CommandPlan, report: int) -> subprocess.Popen[bytes]:
    """Start the supervisor. -I -S ignore the environment and site-packages, so it starts in 15 ms."""
    process = subprocess.Popen(
        [sys.executable, "-I", "-S", SUPERVISOR],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=dict(plan.environ),
        cwd="/",
        pass_fds=(report,),
        start_new_session=True,
    )
    assert process.stdin is not None
    raw_report = {
        "pipelines": plan.pipelines,
        "cwd": plan.cwd,
        "seconds": plan.seconds,
        "fence": plan.fence,
        "readable": list(plan.readable),
        "writable": list(plan.writable),
        "report": report,
        "parent": os.getpid(),
    }
    with contextlib.suppress(BrokenPipeError), process.stdin as pipe:
        pipe.write(json.dumps(raw_report).encode())
    return process


def collect_output(process: subprocess.Popen[bytes], plan: CommandPlan, cancelled: Callable[[], bool]) -> Captured:
    """Read until the supervisor closes its output, after all processes below it have ended."""
    assert process.stdout is not None
    capture = Capture(plan.limit)
    deadline = time.monotonic() + plan.seconds + GRACE_SECONDS
    stopping = False

    def proceed() -> bool:
        nonlocal stopping
        if cancelled() and not stopping:
            stopping = True
            process.send_signal(signal.SIGTERM)
        return time.monotonic() < deadline

    read_output(process, {process.stdout.fileno(): capture.add}, proceed=proceed, quiet=QUIET_SECONDS)
    process.stdout.close()
    return capture.done()


def end(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(1.0)
    # The supervisor may have been killed: kill what is left of its process group.
    signal_group(process.pid)
    process.wait()
