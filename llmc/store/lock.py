"""One writer for a store, across processes.

The kernel keeps the lock (`flock`), so a killed writer leaves none behind; the file only names its holder. A process
that waits for the lock holds the lock of a second file: a writer that stays open between saves notices that and
releases its own.
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

__all__ = ["LOCK_FILES", "WriterLock"]

LOCK_FILES = ("lock", "lock.queue")
RETRY_SECONDS = 0.02


class WriterLock:
    """Acquired in the constructor, after up to `wait` seconds; StoreError names the process that still holds it."""

    def __init__(self, folder: Path, wait: float = 0.0) -> None:
        self._path, self._queue_path = (folder / name for name in LOCK_FILES)
        self._file = _open(self._path)
        self._queue = -1
        try:
            self._queue = _open(self._queue_path)
            self._take(time.monotonic() + wait)
        except BaseException:
            self.release()
            raise
        os.ftruncate(self._file, 0)
        with contextlib.suppress(OSError):  # a writer must be able to free space on a full disk
            os.pwrite(self._file, json.dumps({"pid": os.getpid()}).encode(), 0)

    def _take(self, deadline: float) -> None:
        """Acquire the lock; the queue has one place, so two waiting processes are served in order."""
        waiting = [self._queue, self._file]
        while waiting:
            if _try(waiting[0]):
                waiting.pop(0)
            elif time.monotonic() >= deadline:
                raise _locked_error(self._path)
            else:
                time.sleep(RETRY_SECONDS)
        fcntl.flock(self._queue, fcntl.LOCK_UN)

    def is_awaited(self) -> bool:
        """Whether another writer waits for this one."""
        if not _try(self._queue):
            return True
        fcntl.flock(self._queue, fcntl.LOCK_UN)
        return False

    def is_in_place(self) -> bool:
        """Whether the file is still there: another process may have removed the whole store."""
        try:
            return os.path.samestat(os.fstat(self._file), self._path.stat())
        except FileNotFoundError:
            return False

    def release(self) -> None:
        for file in (self._file, self._queue):
            if file >= 0:
                os.close(file)
        self._file = self._queue = -1


def _open(path: Path) -> int:
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)


def _try(file: int) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _locked_error(path: Path) -> StoreError:
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
