"""One writer for a store, across processes.

The kernel keeps the lock (`flock`), so a killed writer leaves none behind; the file only says who holds it.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import time
from typing import TYPE_CHECKING

from llmc.base.errors import StoreError

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["WriterLock"]

RETRY_SECONDS = 0.02


class WriterLock:
    """Taken in the constructor, or StoreError says who holds it. `wait` seconds are allowed for the other to finish."""

    def __init__(self, path: Path, wait: float = 0.0) -> None:
        self._path = path
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        deadline = time.monotonic() + wait
        while not self._try():
            if time.monotonic() >= deadline:
                os.close(self._file)
                raise _held(path)
            time.sleep(RETRY_SECONDS)
        os.ftruncate(self._file, 0)
        with contextlib.suppress(OSError):  # a full disk must not keep a writer from making room
            os.pwrite(self._file, json.dumps({"pid": os.getpid()}).encode(), 0)

    def _try(self) -> bool:
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def release(self) -> None:
        if self._file >= 0:
            os.close(self._file)
            self._file = -1


def _held(path: Path) -> StoreError:
    try:
        pid = int(json.loads(path.read_bytes())["pid"])
    except (OSError, ValueError, KeyError, TypeError):
        pid = 0
    return StoreError(
        "another process is writing this index",
        reason=f"process {pid} holds its lock" if pid else "its lock is held",
        hint="It is released when that process ends.",
        pid=pid,
    )
