"""Opening a path beneath a folder, so that no symbolic link and no race can lead out of it.

Two openers with one behaviour: `by_kernel` asks Linux to resolve the whole path beneath the folder (`openat2`), and
`by_component` walks it one name at a time without following links, for kernels and sandboxes that lack the call and
for other systems. `pick` says which one works here. What may be opened and how it is read is left to `door`.

Both raise the kernel's own errors: ELOOP for a link that is not followed, EXDEV for one that leads out.
"""

from __future__ import annotations

import ctypes
import errno
import functools
import os
import sys
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["READ", "Opener", "by_component", "by_kernel", "pick"]

# A FIFO opened this way returns at once instead of waiting for its other end, and a terminal does not become ours.
READ = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY

_NO_MAGICLINKS, _NO_SYMLINKS, _BENEATH = 0x02, 0x04, 0x08
_OPENAT2 = 437  # the same on every Linux architecture but alpha
_TRIES = 32  # EAGAIN: a rename raced with a `..` in a link; 13 of 30,000 opens against 4 renaming processes, none twice
_LINKS = 40  # as many links in one path as the kernel follows

# Enough to pass through a folder, where the system has such a thing (Linux): searchable need not mean readable.
_PASS = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class Opener(Protocol):
    """Opens `path`, which is relative, not empty and without `..`, beneath the folder `at`."""

    def __call__(self, at: int, path: bytes, flags: int, *, follow: bool = False) -> int: ...


@functools.cache
def pick() -> Opener:
    """The kernel's way where it works. EPERM is what an older container sandbox answers to calls it does not know."""
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
    """One name at a time; `..` inside a link goes back along the folders that were passed, never past the first."""
    passed: list[int] = []
    todo = path.split(b"/")[::-1]
    links = 0
    try:
        while todo:
            name, here = todo.pop(), passed[-1] if passed else at
            if name == b"..":
                _back(passed)
            elif name not in (b"", b"."):
                target = _step(here, name, _PASS if todo else flags | os.O_NOFOLLOW, passed)
                if target is not None:
                    links += 1
                    todo += _through(target, links, follow=follow)
                elif not todo:
                    return passed.pop()
        return os.open(b".", flags | os.O_NOFOLLOW, dir_fd=passed[-1] if passed else at)
    finally:
        for fd in passed:
            os.close(fd)


def _step(here: int, name: bytes, flags: int, passed: list[int]) -> bytes | None:
    """Open `name` onto the pile, or give the target of the link that it is."""
    try:
        passed.append(os.open(name, flags, dir_fd=here))
    except OSError as error:
        if error.errno not in (errno.ELOOP, errno.ENOTDIR, errno.EMLINK):
            raise
        try:
            return os.readlink(name, dir_fd=here)
        except OSError:  # no link after all, or not any more
            raise error from None
    return None


def _through(target: bytes, links: int, *, follow: bool) -> list[bytes]:
    if not follow or links > _LINKS:
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
    if target.startswith(b"/"):
        raise OSError(errno.EXDEV, os.strerror(errno.EXDEV))
    return target.split(b"/")[::-1]


def _back(passed: list[int]) -> None:
    if not passed:
        raise OSError(errno.EXDEV, os.strerror(errno.EXDEV))
    os.close(passed.pop())
