"""Signals to process groups: programs are started in a group of their own, which is killed as a whole."""

from __future__ import annotations

import contextlib
import os
import signal

__all__ = ["signal_group"]


def signal_group(pid: int, number: int = signal.SIGKILL) -> None:
    """Send a signal to the process group led by `pid`; does nothing if the group is gone or not ours."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, number)
