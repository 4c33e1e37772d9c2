"""The door: the one place where the program opens, lists and stats what lies inside a root.

A `RootFs` holds the root's folder and resolves every path beneath it, so that neither `..` nor a symbolic link nor a
race that swaps one in can lead out (`beneath` does the resolving). Symbolic links are not followed: what they point to
inside the root is there under its own path. A caller that was asked for one by name may pass `follow=True`; a link
that leads out is refused then too. FIFOs, sockets and devices are refused without waiting for them, and so is what the
denylist names, whoever asks and however the path was written. Which other files are wanted is left to the indexer, what
their bytes mean to `text`.

Hard links: one inode has many names and nothing tells which came first, so a hard link inside the root *is* a file of
the root and is served. To make one takes write access to the root and, where the kernel protects hard links, to the
file too: it opens nothing that its maker could not have copied in.

A root that is deleted and made again is noticed at the next call: the door then holds the new folder and `generation`
has grown. While there is none, calls raise RootError.
"""

from __future__ import annotations

import errno
import os
import stat
import threading
import time
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, NoReturn, Self

from llmc.base import openat as beneath
from llmc.base import paths
from llmc.base.denylist import Denylist, hint_for
from llmc.base.errors import NotFoundError, OutsideError, ReadError, RootError
from llmc.base.model import Stamp

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["DirectoryEntry", "FileKind", "ReadError", "ReadRefusal", "RootFs", "StatResult", "settled", "stamp_of"]

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_PASS = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_CLOEXEC
_NOTHING = (errno.ENOENT, errno.ENOTDIR)
_OURS = (errno.EMFILE, errno.ENFILE, errno.ENOMEM)  # says nothing of the file, which must not be taken for a bad one

# Old kernels keep time in ticks of up to 10 ms and give two writes in one tick the same stamp.
_TICK_NS = 20_000_000


class FileKind(StrEnum):
    FILE = "file"
    FOLDER = "folder"
    LINK = "link"
    OTHER = "other"  # FIFO, socket, device


class ReadRefusal(StrEnum):
    """Why the door did not give the content of something that is there."""

    LINK = "symbolic link"
    FOLDER = "folder"
    SPECIAL = "not a regular file"
    DENIED = "permission denied"
    DENYLIST = "on the denylist"
    TOO_LARGE = "too large"
    UNSTABLE = "changes while it is read"
    IO = "cannot be read"


def _refused(path: str, refusal: ReadRefusal, *, reason: str = "", hint: str = "") -> ReadError:
    message = f"cannot read {paths.shown(path)}"
    return ReadError(message, reason=reason or refusal.value, hint=hint, path=path, refusal=refusal)


_REFUSALS = {
    errno.ELOOP: ReadRefusal.LINK,
    errno.EACCES: ReadRefusal.DENIED,
    errno.EPERM: ReadRefusal.DENIED,
    errno.ENXIO: ReadRefusal.SPECIAL,  # what opening a socket says
    errno.ENODEV: ReadRefusal.SPECIAL,
    errno.EAGAIN: ReadRefusal.UNSTABLE,  # folders on the way are being renamed without end
}


@dataclass(frozen=True, slots=True)
class StatResult:
    kind: FileKind
    stamp: Stamp


@dataclass(frozen=True, slots=True)
class DirectoryEntry:
    name: str
    kind: FileKind


class RootFs:
    """The way into one root, for any number of threads. Closing it, or finding a new root, breaks nobody's read."""

    def __init__(self, path: str, *, opener: beneath.Opener | None = None, denylist: Denylist | None = None) -> None:
        self.path = os.path.realpath(path)
        self.denylist = denylist or Denylist()
        self.generation = 0
        self._open = opener or beneath.pick()
        self._lock = threading.Lock()
        self._held: _Held | None = _hold(self.path, self._open)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._held = None

    def refusal(self, path: str, *, is_folder: bool = False) -> ReadError | None:
        """The error that reading this path would raise because of the denylist; None if it may be read."""
        reason = self.denylist.reason(path, is_folder=is_folder)
        return _refused(path, ReadRefusal.DENYLIST, reason=reason, hint=hint_for(reason, path)) if reason else None

    def read(self, path: str, limit: int, *, follow: bool = False, walking: bool = False) -> tuple[bytes, Stamp]:
        """The whole content and the stamp it had. A file that changes meanwhile is read once more, then refused.

        `walking`: one of thousands, so that it is not looked anew whether the root is still the same folder.
        """
        fd = self._file(path, self._held if walking else None, follow=follow)
        try:
            status = _regular(fd, path)
            for _ in range(2):
                before = stamp_of(status)
                if before.size > limit:
                    raise _refused(path, ReadRefusal.TOO_LARGE, reason=f"{before.size:,} bytes, over {limit:,}")
                data = _read_whole(fd, before.size)
                status = os.fstat(fd)
                if len(data) == before.size and stamp_of(status) == before:
                    return data, before
                os.lseek(fd, 0, os.SEEK_SET)
        except OSError as error:
            _refuse(error, path)
        finally:
            os.close(fd)
        raise _refused(path, ReadRefusal.UNSTABLE, hint="Ask again when whoever writes it is done.")

    def head(self, path: str, size: int, *, follow: bool = False) -> bytes:
        """The first `size` bytes, fewer if there are not so many."""
        fd = self.open(path, follow=follow)
        try:
            return _read_up_to(fd, size)
        except OSError as error:
            _refuse(error, path)
        finally:
            os.close(fd)

    def open(self, path: str, *, follow: bool = False) -> int:
        """A descriptor of a regular file, to read or to map. The caller closes it."""
        fd = self._file(path, follow=follow)
        try:
            _regular(fd, path)
        except BaseException:
            os.close(fd)
            raise
        return fd

    def open_folder(self, folder: str) -> int:
        """A descriptor of a folder ("" is the root) for `os.scandir`. The caller closes it.

        Made for walks of many folders: only for the root itself it is seen whether that is still the same folder.
        """
        held = self._held if folder else None
        return self._beneath(folder, _FOLDER, held)

    def stat(self, path: str) -> StatResult | None:
        """What is at the path itself; None when there is nothing, or only by way of a link."""
        try:
            name = paths.on_disk(path).rpartition(b"/")[2] if path else b"."
            fd = self._beneath(path.rpartition("/")[0], _PASS)
        except NotFoundError:
            return None
        except ReadError as error:
            if error.refusal is ReadRefusal.LINK:
                return None
            raise
        try:
            status = os.stat(name, dir_fd=fd, follow_symlinks=False)
        except OSError as error:
            return None if error.errno in _NOTHING else _refuse(error, path)
        finally:
            os.close(fd)
        return StatResult(_kind_of(status.st_mode), stamp_of(status))

    def list(self, folder: str) -> list[DirectoryEntry]:
        """What lies in the folder, by name; what vanishes meanwhile may be missing."""
        fd = self.open_folder(folder)
        try:
            with os.scandir(fd) as entries:
                return sorted(
                    (DirectoryEntry(entry.name, _kind_of_entry(entry)) for entry in entries), key=lambda e: e.name
                )
        except OSError as error:
            _refuse(error, folder)
        finally:
            os.close(fd)

    def relative(self, typed: str, cwd: str) -> str:
        """The path in this root that a user means by `typed` in the folder `cwd`; OutsideError if there is none."""
        return paths.relative(typed, cwd, self.path)

    def _file(self, path: str, held: _Held | None = None, *, follow: bool = False) -> int:
        """A descriptor for the content of a path that the denylist lets through, under its own name and, if links are
        followed, under the name that they lead to."""
        if (refusal := self.refusal(path)) is not None:
            raise refusal
        fd = self._beneath(path, beneath.READ, held, follow=follow)
        if follow and (reason := self.denylist.reason(self._name_of(fd, path))):
            os.close(fd)
            raise _refused(path, ReadRefusal.DENYLIST, reason=f"it is a link, and {reason}")
        return fd

    def _name_of(self, fd: int, path: str) -> str:
        """The path in this root under which the kernel knows an open file; a link has another name."""
        try:
            real = os.readlink(f"/proc/self/fd/{fd}")  # noqa: PTH115 - no path of ours
        except OSError:  # not Linux
            real = os.path.realpath(f"{self.path}/{path}")
        return paths.inside(real, self.path) or path

    def _beneath(self, path: str, flags: int, held: _Held | None = None, *, follow: bool = False) -> int:
        held = held or self._root()  # the local name keeps the descriptor open until the call is done
        try:
            return self._open(held.fd, paths.on_disk(path) if path else b".", flags, follow=follow)
        except OSError as error:
            _refuse(error, path)

    def _root(self) -> _Held:
        held = self._held
        if held is None:
            raise RootError("this root is closed", path=self.path)
        try:
            now = os.stat(self.path)  # noqa: PTH116 - making a Path costs as much as the call
        except OSError as error:
            raise _no_root(self.path, error) from None
        return held if held.is_at(now) else self._hold_again(held)

    def _hold_again(self, stale: _Held) -> _Held:
        with self._lock:
            if self._held is stale:
                self._held = _hold(self.path, self._open)
                self.generation += 1
            return self._held or stale


class _Held:
    """An open folder, closed with the last reference: a reader that has just taken it can still use it.

    While it is open its inode cannot be given to another folder, so device and inode tell a new root for certain.
    """

    __slots__ = ("_id", "fd")

    def __init__(self, fd: int) -> None:
        self.fd = fd
        status = os.fstat(fd)
        self._id = (status.st_dev, status.st_ino)

    def __del__(self, close: Callable[[int], None] = os.close) -> None:
        close(self.fd)

    def is_at(self, status: os.stat_result) -> bool:
        return (status.st_dev, status.st_ino) == self._id


def _hold(path: str, opener: beneath.Opener) -> _Held:
    top = os.open("/", _PASS)
    try:
        return _Held(opener(top, os.fsencode(path).lstrip(b"/") or b".", _FOLDER))
    except OSError as error:
        raise _no_root(path, error) from None
    finally:
        os.close(top)


def _no_root(path: str, error: OSError) -> RootError:
    hint = "Make it again, or remove it from the roots."
    return RootError("this root cannot be read", reason=error.strerror or "gone", hint=hint, path=path)


def _refuse(error: OSError, path: str) -> NoReturn:
    if error.errno in _OURS:
        raise error
    if error.errno in _NOTHING:
        reason = "it or a part of it is not a folder" if error.errno == errno.ENOTDIR else ""
        raise NotFoundError(f"{paths.shown(path)} does not exist", reason=reason, path=path) from None
    if error.errno == errno.EXDEV:
        raise OutsideError(f"{paths.shown(path)} is a link that leads out of the root", path=path) from None
    refusal = _REFUSALS.get(error.errno or 0, ReadRefusal.IO)
    raise _refused(path, refusal, reason=(error.strerror or "").lower() if refusal is ReadRefusal.IO else "") from None


def _regular(fd: int, path: str) -> os.stat_result:
    status = os.fstat(fd)
    if stat.S_ISREG(status.st_mode):
        return status
    raise _refused(path, ReadRefusal.FOLDER if stat.S_ISDIR(status.st_mode) else ReadRefusal.SPECIAL)


def _read_whole(fd: int, size: int) -> bytes:
    """A byte more is asked for, so that a file that grew is seen. As many as expected need no second call: whether
    more came is what the stamp says."""
    data = os.read(fd, size + 1)
    return data if len(data) >= size else data + _read_up_to(fd, size + 1 - len(data))


def _read_up_to(fd: int, size: int) -> bytes:
    data = os.read(fd, size)
    if not data or len(data) == size:
        return data
    pieces = [data]
    left = size - len(data)
    while left and (piece := os.read(fd, left)):
        pieces.append(piece)
        left -= len(piece)
    return b"".join(pieces)


def _kind_of(mode: int) -> FileKind:
    if stat.S_ISREG(mode):
        return FileKind.FILE
    if stat.S_ISDIR(mode):
        return FileKind.FOLDER
    return FileKind.LINK if stat.S_ISLNK(mode) else FileKind.OTHER


def _kind_of_entry(entry: os.DirEntry[str]) -> FileKind:
    if entry.is_file(follow_symlinks=False):
        return FileKind.FILE
    if entry.is_dir(follow_symlinks=False):
        return FileKind.FOLDER
    return FileKind.LINK if entry.is_symlink() else FileKind.OTHER


def stamp_of(status: os.stat_result) -> Stamp:
    return Stamp(status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino)


def settled(stamp: Stamp) -> bool:
    """Whether any write from now on is bound to change this stamp; if not, equal stamps prove nothing yet."""
    return time.time_ns() - stamp.ctime_ns > _TICK_NS
