"""One daemon for a home: a lock that the kernel releases however its holder ends.

The lock file is never removed (removing it would let two holders exist); its text says who holds it. No process ever
has to clean up after another: an unheld lock is free whatever its text says. Standard library only, as clients read it.
"""

# os.stat: clients import this module, and pathlib would cost them 5 ms.
# ruff: noqa: PTH116

from __future__ import annotations

import fcntl
import json
import os
import time
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from llmc.base.errors import DaemonError, DaemonRunningError

if TYPE_CHECKING:
    from types import TracebackType

    from llmc.base.home import Home

__all__ = ["DaemonLock", "Owner", "read_owner"]


class Owner(NamedTuple):
    """Who holds the lock."""

    pid: int
    version: str
    build: int
    started: float  # seconds since the epoch
    command: str
    foreground: bool

    def describe(self) -> str:
        since = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(self.started))
        return f"pid {self.pid}, llmc {self.version}, since {since}, {self.command}"


class DaemonLock:
    """Held from `acquire` until `release` or the end of the process."""

    def __init__(self, home: Home) -> None:
        self._home = home
        self._fd = -1

    def acquire(self, owner: Owner) -> None:
        fd = _open(self._home.lock)
        if not _take(fd):
            os.close(fd)
            raise _running(self._home)
        self._fd = fd
        os.ftruncate(fd, 0)
        os.pwrite(fd, json.dumps(owner._asdict()).encode() + b"\n", 0)

    def is_ours(self) -> bool:
        """False when the home was removed or replaced: then another daemon may own a new lock at the same path."""
        try:
            there = os.stat(self._home.lock)
        except OSError:
            return False
        here = os.fstat(self._fd)
        return (there.st_dev, there.st_ino) == (here.st_dev, here.st_ino)

    def release(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()


def read_owner(home: Home) -> Owner | None:
    """Who holds the lock of this home, or None when it is free."""
    try:
        fd = os.open(home.lock, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return _parse(os.pread(fd, 4096, 0))
    else:
        return None
    finally:
        os.close(fd)


def _take(fd: int) -> bool:
    """Several tries: `read_owner` of a client may hold the lock for some microseconds while it looks."""
    for _ in range(10):
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(0.005)
        else:
            return True
    return False


def _open(path: str) -> int:
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except OSError as error:
        raise DaemonError(
            f"cannot open {path}",
            reason=error.strerror or str(error),
            hint="Set LLMC_HOME to a folder that you may write, or run the command with --no-daemon.",
        ) from error


def _parse(text: bytes) -> Owner:
    """A holder that has not written its name yet is still a holder."""
    try:
        fields: dict[str, Any] = json.loads(text)
        return Owner(**fields)
    except (ValueError, TypeError):
        return Owner(0, "?", 0, time.time(), "starting", foreground=False)


def _running(home: Home) -> DaemonRunningError:
    owner = read_owner(home) or _parse(b"")
    return DaemonRunningError(
        "another daemon owns this home",
        reason=owner.describe(),
        hint="Commands use it as it is; `llmc stop` ends it.",
        pid=owner.pid,
        home=home.path,
    )
