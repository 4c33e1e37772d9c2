"""One inotify instance: add, remove, wait, count, read. `emitter` interprets the events.

The system calls and constants are watchdog's (`watchdog.observers.inotify_c`). Its reader on top of them, `InotifyFD`,
is not used: it hides how many bytes a batch had (which the barrier needs), addresses folders by path (a rename or link
could put a watch outside the root), registers -1 without an error for a folder that may not be read, and takes 2.4
times the CPU for each event. See decision 30.
"""

from __future__ import annotations

import array
import ctypes
import fcntl
import os
import select
import struct
import termios
from pathlib import Path
from typing import TYPE_CHECKING

from watchdog.observers.inotify_c import (
    InotifyConstants,
    Mask,
    WatchDescriptor,
    inotify_add_watch,
    inotify_init,
    inotify_rm_watch,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["DELETE", "FOLDER_MASK", "GIT_MASK", "ROOT_MASK", "Inotify", "events"]

IN = InotifyConstants
# As plain numbers: a class attribute would be looked up for every event.
MOVED_FROM, DELETE, DELETE_SELF, MOVE_SELF = IN.IN_MOVED_FROM, IN.IN_DELETE, IN.IN_DELETE_SELF, IN.IN_MOVE_SELF
UNMOUNT, OVERFLOW, IGNORED, ISDIR = IN.IN_UNMOUNT, IN.IN_Q_OVERFLOW, IN.IN_IGNORED, IN.IN_ISDIR

# No OPEN and no CLOSE_NOWRITE: reading a tree would fill the queue (16,384 events) with events that change nothing.
FOLDER_MASK = (
    IN.IN_MODIFY | IN.IN_ATTRIB | IN.IN_CLOSE_WRITE | IN.IN_MOVE | IN.IN_CREATE | IN.IN_DELETE | IN.IN_EXCL_UNLINK
)
# Below a root the parent's events report what happens to a folder itself; the root's parent is not watched.
ROOT_MASK = FOLDER_MASK | DELETE_SELF | MOVE_SELF
# git writes HEAD.lock and index.lock and renames them; CREATE is for `info`, which holds an ignore file. Everything
# else in .git is noise.
GIT_MASK = IN.IN_MOVED_TO | IN.IN_CREATE

_BUFFER = 256 * 1024  # some 6,000 events: create, modify and close of a file mostly arrive in one batch
_HEADER = struct.Struct("iIII")


def _checked(result: int) -> int:
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return result


class Inotify:
    def __init__(self) -> None:
        self._fd = _checked(inotify_init())
        os.set_inheritable(self._fd, False)
        os.set_blocking(self._fd, False)
        try:
            self._wake = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        except OSError:
            os.close(self._fd)
            raise
        self._poll = select.poll()
        self._poll.register(self._fd, select.POLLIN)
        self._poll.register(self._wake, select.POLLIN)
        self._poll_wake = select.poll()
        self._poll_wake.register(self._wake, select.POLLIN)
        self._pending = array.array("i", [0])

    def add(self, folder: int, mask: int) -> int:
        """Watch the open folder; a folder that is watched already returns the same number again."""
        flags = Mask(mask | IN.IN_ONLYDIR | IN.IN_MASK_ADD)
        return _checked(inotify_add_watch(self._fd, b"/proc/self/fd/%d" % folder, flags))

    def remove(self, wd: int) -> None:
        """Remove a watch. The kernel sends an IGNORED event for each; thousands at once would overflow the queue."""
        inotify_rm_watch(self._fd, WatchDescriptor(wd))  # EINVAL: the kernel has removed it already

    def wake(self) -> None:
        os.eventfd_write(self._wake, 1)

    def wait(self, seconds: float | None) -> None:
        """Wait until there are events, another thread calls `wake`, or the time is over."""
        for fd, _ in self._poll.poll(None if seconds is None else seconds * 1000):
            if fd == self._wake:
                os.eventfd_read(self._wake)

    def linger(self, seconds: float) -> None:
        """Let more events arrive, until another thread calls `wake` or the time is over."""
        self._poll_wake.poll(seconds * 1000)

    def pending(self) -> int:
        """How many bytes of events are waiting to be read."""
        fcntl.ioctl(self._fd, termios.FIONREAD, self._pending)
        return self._pending[0]

    def read(self) -> bytes:
        try:
            return os.read(self._fd, _BUFFER)
        except BlockingIOError:
            return b""

    def limit(self) -> int:
        """How many watches the user may have now, or 0 when that is unknown."""
        try:
            return int(Path("/proc/sys/fs/inotify/max_user_watches").read_text(encoding="ascii"))
        except (OSError, ValueError):
            return 0

    def close(self) -> None:
        os.close(self._fd)
        os.close(self._wake)
        self._fd = self._wake = -1  # a late call gets an error instead of another file's descriptor


def events(buffer: bytes) -> Iterator[tuple[int, int, bytes]]:
    """(watch, mask, name), the name with its padding of NUL bytes.

    `InotifyFD` strips every name and builds an object for each event; most events only repeat a name.
    """
    at, end, header = 0, len(buffer), _HEADER.unpack_from
    while at < end:
        wd, mask, _, length = header(buffer, at)
        start = at + 16
        at = start + length
        yield wd, mask, buffer[start:at]
