"""Opens a path beneath a folder, so that no symbolic link and no race can lead outside.

There are two implementations with the same behaviour: `by_kernel` lets Linux resolve the whole path beneath the folder
(`openat2`); `by_component` opens one name at a time without following links, for kernels and sandboxes without that
call and for other systems. `pick` chooses the one that works. `root_fs` decides what may be opened and how it is read.
Both raise the kernel's errors: ELOOP for a link that is not followed, EXDEV for one that leads outside.

Watchers list and watch folders through `open_root` and `open_below`, not through a `RootFs`: that keeps the root's
folder open, and the kernel does not report the removal of a folder that is held open.
"""

from __future__ import annotations

import ctypes
import errno
import functools
import os
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from llmc.base.model import Root

__all__ = ["READ", "Opener", "by_component", "by_kernel", "identity", "open_below", "open_root", "pick"]

# Opening a FIFO does not wait for its other end, and a terminal does not become the controlling terminal.
READ = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY

_NO_MAGICLINKS, _NO_SYMLINKS, _BENEATH = 0x02, 0x04, 0x08
_OPENAT2 = 437  # the same on every Linux architecture but alpha
_TRIES = 32  # EAGAIN: a rename raced with a `..` in a link; 13 of 30,000 opens against 4 renaming processes, none twice
_LINKS = 40  # as many links in one path as the kernel follows

# Enough to traverse a folder, if the system supports it (Linux): a searchable folder need not be readable.
_PASS = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC


class Opener(Protocol):
    """Opens `path`, which is relative, not empty and without `..`, beneath the folder `at`."""

    def __call__(self, at: int, path: bytes, flags: int, *, follow: bool = False) -> int: ...


@functools.cache
def pick() -> Opener:
    """`by_kernel` if it works. Older container sandboxes return EPERM for calls that they do not know."""
    if not sys.platform.startswith("linux"):
        return by_component
    here = os.open("/", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.close(by_kernel(here, b".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC))
    except OSError:
        return by_component
    finally:
        os.close(here)
    return by_kernel


class _How(ctypes.Structure):
    _fields_ = (("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64))


@functools.cache
def _how(flags: int, *, follow: bool) -> _How:
    return _How(flags, 0, _BENEATH | _NO_MAGICLINKS | (0 if follow else _NO_SYMLINKS))


@functools.cache
def _syscall() -> Callable[..., int]:
    call = ctypes.CDLL(None, use_errno=True).syscall
    call.restype = ctypes.c_long
    call.argtypes = (ctypes.c_long, ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p, ctypes.c_size_t)
    return call


_HOW_BYTES = ctypes.sizeof(_How)


def by_kernel(at: int, path: bytes, flags: int, *, follow: bool = False) -> int:
    how, call = ctypes.byref(_how(flags, follow=follow)), _syscall()
    for _ in range(_TRIES):
        fd = call(_OPENAT2, at, path, how, _HOW_BYTES)
        if fd >= 0:
            return fd
        code = ctypes.get_errno()
        if code not in (errno.EAGAIN, errno.EINTR):
            break
    raise OSError(code, os.strerror(code))


def by_component(at: int, path: bytes, flags: int, *, follow: bool = False) -> int:
    """Open one name at a time; `..` inside a link returns along the opened folders, never beyond the first."""
    opened: list[int] = []
    todo = path.split(b"/")[::-1]
    links = 0
    try:
        while todo:
            name, here = todo.pop(), opened[-1] if opened else at
            if name == b"..":
                _back(opened)
            elif name not in (b"", b"."):
                target = _step(here, name, _PASS if todo else flags | os.O_NOFOLLOW, opened)
                if target is not None:
                    links += 1
                    todo += _link_parts(target, links, follow=follow)
                elif not todo:
                    return opened.pop()
        return os.open(b".", flags | os.O_NOFOLLOW, dir_fd=opened[-1] if opened else at)
    finally:
        for fd in opened:
            os.close(fd)


def _step(here: int, name: bytes, flags: int, opened: list[int]) -> bytes | None:
    """Open `name` and append it to `opened`, or return the target if it is a link."""
    try:
        opened.append(os.open(name, flags, dir_fd=here))
    except OSError as error:
        if error.errno not in (errno.ELOOP, errno.ENOTDIR, errno.EMLINK):
            raise
        try:
            return os.readlink(name, dir_fd=here)
        except OSError:  # not a link, or no longer one
            raise error from None
    return None


def _link_parts(target: bytes, links: int, *, follow: bool) -> list[bytes]:
    if not follow or links > _LINKS:
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
    if target.startswith(b"/"):
        raise OSError(errno.EXDEV, os.strerror(errno.EXDEV))
    return target.split(b"/")[::-1]


def _back(opened: list[int]) -> None:
    if not opened:
        raise OSError(errno.EXDEV, os.strerror(errno.EXDEV))
    os.close(opened.pop())


def identity(root: Root) -> tuple[int, int] | None:
    """Device and inode of the folder at the root's path; None when no folder there can be listed and entered."""
    try:
        with open_root(root) as fd:
            found = os.fstat(fd)
    except OSError:
        return None
    return found.st_dev, found.st_ino


@contextmanager
def open_root(root: Root) -> Iterator[int]:
    """The folder at the root's path now, so that a root that was deleted and created again is found. Keep it briefly.

    The final `.` requires permission to enter the folder as well: without it nothing below can be read.
    """
    top = os.open(f"{root.path}/.", _FOLDER)
    try:
        yield top
    finally:
        os.close(top)


def open_below(top: int, path: str) -> int:
    return pick()(top, os.fsencode(path) + b"/.", _FOLDER)
