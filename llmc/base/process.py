"""Running programs: their output is read until a deadline or cancellation, and whole process groups are ended.

Programs of the user are started in a process group of their own (`start_new_session`), which is signalled as a whole,
so that none of their child processes remain. Our own helpers start no other processes and are killed alone.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

__all__ = ["end_group", "kill", "killed_at", "read_output", "signal_group"]

PIECE = 1 << 16
# How often a reader checks whether it should stop.
LOOK_SECONDS = 0.1


def signal_group(pid: int, number: int = signal.SIGKILL) -> None:
    """Send a signal to the process group led by `pid`; does nothing if the group is gone or not ours."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, number)


def end_group(process: subprocess.Popen[bytes], grace: float) -> None:
    """Terminate the process group, and kill what is left of it after `grace` seconds."""
    signal_group(process.pid, signal.SIGTERM)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(grace)
    signal_group(process.pid)
    process.wait()


def kill(process: subprocess.Popen[bytes]) -> int:
    """Kill the process if it is still running, close its pipes, wait for it and return its exit code."""
    process.kill()
    for pipe in (process.stdin, process.stdout, process.stderr):
        if pipe is not None:
            with contextlib.suppress(OSError):  # the reader of unwritten data is gone
                pipe.close()
    return process.wait()


@contextmanager
def killed_at(process: subprocess.Popen[bytes], deadline: Callable[[], float]) -> Iterator[threading.Event]:
    """Kill the process at the deadline, a time on the monotonic clock that may change meanwhile, or when the block
    ends. The event is set if the deadline passed."""
    done, late = threading.Event(), threading.Event()

    def watch() -> None:
        while not done.wait(max(0.0, deadline() - time.monotonic())):
            if deadline() <= time.monotonic():
                late.set()
                process.kill()
                return

    threading.Thread(target=watch, name="llmc-deadline", daemon=True).start()
    try:
        yield late
    finally:
        done.set()
        kill(process)


def read_output(
    process: subprocess.Popen[bytes],
    sinks: Mapping[int, Callable[[bytes], object]],
    *,
    proceed: Callable[[], bool] = lambda: True,
    quiet: float = float("inf"),
    linger: float = float("inf"),
) -> bool:
    """Pass what arrives at each descriptor to its sink until all are closed; whether they were.

    `proceed` is called at least ten times a second and ends the reading when it is false. A process that left the group
    may hold a descriptor open: after the program has ended, reading ends when nothing arrived for `quiet` seconds, and
    at the latest after `linger` seconds.
    """
    ended = last = float("inf")
    with selectors.DefaultSelector() as selector:
        for fd in sinks:
            selector.register(fd, selectors.EVENT_READ)
        while selector.get_map():
            if not proceed():
                return False
            for key, _ in selector.select(LOOK_SECONDS):
                last = time.monotonic()
                piece = os.read(key.fd, PIECE)
                if piece:
                    sinks[key.fd](piece)
                else:
                    selector.unregister(key.fd)
            now = time.monotonic()
            if ended == float("inf") and process.poll() is not None:
                ended = last = now
            if (now > ended and now - last > quiet) or now - ended > linger:
                return not selector.get_map()
    return True
