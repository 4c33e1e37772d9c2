"""Running programs: their output is read until a deadline or cancellation, and whole process groups are ended.

Programs are started in a process group of their own (`start_new_session`), which is signalled as a whole, so that
nothing that they started remains.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["end_group", "read_output", "signal_group"]

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
