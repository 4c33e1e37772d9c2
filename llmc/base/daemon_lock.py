"""One daemon per home folder: a lock that the kernel releases however its holder ends.

The lock file is never removed, since that would allow two holders; its text identifies the holder. No process has to
clean up after another: a lock that is not held is free whatever its text says. Standard library only, since clients
import it.
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
    """The process that holds the lock."""

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
        """False if the home was removed or replaced: another daemon may then own a new lock at the same path."""
        try:
            current = os.stat(self._home.lock)
        except OSError:
            return False
        own = os.fstat(self._fd)
        return (current.st_dev, current.st_ino) == (own.st_dev, own.st_ino)

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
    """The holder of this home's lock, or None if it is free."""
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
    """Retries a few times: a client's `read_owner` may hold the lock for some microseconds."""
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
            hint="Set LLMC_HOME to a writable folder, or use --no-daemon.",
        ) from error


def _parse(text: bytes) -> Owner:
    """The owner in the file; a placeholder if the holder has not written it yet."""
    try:
        fields: dict[str, Any] = json.loads(text)
        return Owner(**fields)
    except (ValueError, TypeError):
        return Owner(0, "?", 0, time.time(), "starting", foreground=False)


def _running(home: Home) -> DaemonRunningError:
    owner = read_owner(home) or _parse(b"")
    return DaemonRunningError(
        "another daemon uses this home folder",
        reason=owner.describe(),
        hint="Commands can use that daemon; `llmc stop` stops it.",
        pid=owner.pid,
        home=home.path,
    )
