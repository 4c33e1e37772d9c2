"""One inotify instance of the kernel: add, remove, wait, read. What the events mean is `sorting`'s business.

Own calls instead of watchdog's `InotifyFD`, which is sound but takes away what the never-miss design needs: the end of
a batch (so that a barrier needs no cookie file), folders named by descriptor (so that no race or link puts a watch
outside the root), an error for a folder that may not be read (it registers descriptor -1 and stays silent),
close-on-exec, and half of the time for each event (309,000 events/s against 740,000 on the same burst).
"""

from __future__ import annotations

import array
import ctypes
import errno
import fcntl
import os
import select
import struct
import termios
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["Inotify", "is_limit", "limit_hint"]

MODIFY, ATTRIB, CLOSE_WRITE = 0x2, 0x4, 0x8
MOVED_FROM, MOVED_TO, CREATE, DELETE = 0x40, 0x80, 0x100, 0x200
DELETE_SELF, MOVE_SELF = 0x400, 0x800
UNMOUNT, OVERFLOW, IGNORED, ISDIR = 0x2000, 0x4000, 0x8000, 0x4000_0000
_ONLYDIR, _EXCL_UNLINK, _MASK_ADD = 0x0100_0000, 0x0400_0000, 0x2000_0000

# No OPEN, no CLOSE_NOWRITE: reading a tree would fill the queue (16,384 events) with what changes nothing.
FOLDER = MODIFY | ATTRIB | CLOSE_WRITE | MOVED_FROM | MOVED_TO | CREATE | DELETE | _EXCL_UNLINK
# Below a root the parent's events tell of the folder itself; above it nobody is watched.
TOP = FOLDER | DELETE_SELF | MOVE_SELF
# git writes HEAD.lock and index.lock and renames them; CREATE is for `info`, which holds an ignore file. The rest of
# what happens in .git is noise.
GIT = MOVED_TO | CREATE

_BUFFER = 256 * 1024  # some 6,000 events: a file's create, modify and close mostly fall into one batch
_HEADER = struct.Struct("iIII")
_LIMITS = {errno.ENOSPC, errno.EMFILE, errno.ENFILE, errno.ENOMEM}


def is_limit(error: OSError) -> bool:
    """Out of watches, descriptors or memory, as opposed to a folder that is gone or closed to us."""
    return error.errno in _LIMITS


def limit_hint(error: OSError) -> str:
    """What ran out, and the setting that gives more of it."""
    if error.errno == errno.ENOSPC:
        return "out of inotify watches; raise them with: sysctl fs.inotify.max_user_watches=1048576"
    if error.errno == errno.EMFILE:
        return "out of inotify instances or open files; raise them with: sysctl fs.inotify.max_user_instances=512"
    return f"the system has no room for more watches ({error.strerror})"


def _call(name: str, *kinds: type) -> Callable[..., int]:
    function = ctypes.CDLL(None, use_errno=True)[name]
    function.argtypes = kinds
    return function


def _checked(result: int) -> int:
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return result


class Inotify:
    def __init__(self) -> None:
        self._add = _call("inotify_add_watch", ctypes.c_int, ctypes.c_char_p, ctypes.c_uint32)
        self._remove = _call("inotify_rm_watch", ctypes.c_int, ctypes.c_int)
        self._fd = _checked(_call("inotify_init1", ctypes.c_int)(os.O_CLOEXEC | os.O_NONBLOCK))
        self._wake = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        self._poll = select.poll()
        self._poll.register(self._fd, select.POLLIN)
        self._poll.register(self._wake, select.POLLIN)
        self._poll_wake = select.poll()
        self._poll_wake.register(self._wake, select.POLLIN)
        self._pending = array.array("i", [0])

    def add(self, folder: int, mask: int) -> int:
        """Watch the open folder; the same number comes back for a folder that is watched already."""
        return _checked(self._add(self._fd, b"/proc/self/fd/%d" % folder, mask | _ONLYDIR | _MASK_ADD))

    def remove(self, wd: int) -> None:
        """The kernel answers with an IGNORED event for each: thousands at once would overflow the queue."""
        self._remove(self._fd, wd)  # EINVAL: the kernel removed it first, which is as good

    def wake(self) -> None:
        os.eventfd_write(self._wake, 1)

    def wait(self, seconds: float | None) -> None:
        """Until there are events, somebody calls `wake`, or the time is over."""
        for fd, _ in self._poll.poll(None if seconds is None else seconds * 1000):
            if fd == self._wake:
                os.eventfd_read(self._wake)

    def linger(self, seconds: float) -> None:
        """Let more events gather, until somebody calls `wake` or the time is over."""
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
        """How many watches the user may have now, or 0 when that cannot be known."""
        try:
            return int(Path("/proc/sys/fs/inotify/max_user_watches").read_text(encoding="ascii"))
        except (OSError, ValueError):
            return 0

    def close(self) -> None:
        os.close(self._fd)
        os.close(self._wake)
        self._fd = self._wake = -1  # a late call meets an error and not somebody else's file


def events(buffer: bytes) -> Iterator[tuple[int, int, bytes]]:
    """(watch, mask, name), the name with its padding of NUL bytes."""
    at, end, header = 0, len(buffer), _HEADER.unpack_from
    while at < end:
        wd, mask, _, length = header(buffer, at)
        start = at + 16
        at = start + length
        yield wd, mask, buffer[start:at]
