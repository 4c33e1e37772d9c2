"""Running a plan: start the warden, read what comes, stop it when the time is over or nobody waits any more."""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from llmc.base.errors import QueryError
from llmc.extend.shell.capture import Capture, Captured

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

__all__ = ["CommandOutcome", "CommandPlan", "run"]

WARDEN: Final = str(Path(__file__).with_name("supervisor.py"))
PIECE: Final = 1 << 16
LOOK_SECONDS: Final = 0.1
# The warden keeps the time itself; this is for one that does not.
GRACE_SECONDS: Final = 10.0


@dataclass(frozen=True, slots=True)
class CommandPlan:
    """`pipelines` as `line` reads them, hardened by `policy`; `fence`: nothing but `readable` and `writable`."""

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
    """`code` is None when the command was stopped; `left` processes were still running and have been ended."""

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
        output = listen(process, plan, cancelled)
        said = os.read(report, PIECE)
    finally:
        os.close(report)
        end(process)
    told: dict[str, Any] = json.loads(said) if said else {"code": None, "stopped": "killed"}
    if told.get("problem"):
        name = Path(told.get("program") or "").name or "the program"
        hint = "Is it installed, and in the PATH of the daemon?" if told["code"] == NOT_FOUND else ""
        raise QueryError(f"{name} could not be started", reason=told["problem"], hint=hint)
    return CommandOutcome(
        output,
        told["code"],
        told.get("signal", 0),
        told.get("stopped", ""),
        told.get("left", 0),
        told.get("fenced", False),
        time.monotonic() - started,
    )


NOT_FOUND: Final = 127


def start(plan: CommandPlan, report: int) -> subprocess.Popen[bytes]:
    """-I -S: nothing of the environment or of site-packages takes part, and it starts in 15 ms."""
    process = subprocess.Popen(
        [sys.executable, "-I", "-S", WARDEN],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=dict(plan.environ),
        cwd="/",
        pass_fds=(report,),
        start_new_session=True,
    )
    assert process.stdin is not None
    said = {
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
        pipe.write(json.dumps(said).encode())
    return process


def listen(process: subprocess.Popen[bytes], plan: CommandPlan, cancelled: Callable[[], bool]) -> Captured:
    """Until the warden has closed its output, which it does when all below it has ended."""
    assert process.stdout is not None
    capture = Capture(plan.limit)
    deadline = time.monotonic() + plan.seconds + GRACE_SECONDS
    told = ended = False
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        while time.monotonic() < deadline:
            if cancelled() and not told:
                told = True
                process.send_signal(signal.SIGTERM)
            if selector.select(LOOK_SECONDS):
                piece = os.read(process.stdout.fileno(), PIECE)
                if not piece:
                    break
                capture.add(piece)
            elif ended:
                break
            else:
                # What it wrote last may have come after the look above: there is one more.
                ended = process.poll() is not None
    process.stdout.close()
    return capture.done()


def end(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(1.0)
    # Also after a warden that somebody ended: what is left of its group goes with it.
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
