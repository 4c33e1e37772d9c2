"""File access inside a root: the only module that opens, lists and stats files of a root.

A `RootFs` keeps the root's folder open and resolves every path beneath it, so that neither `..` nor a symbolic link nor
a race that swaps one in can lead outside (`openat` does the resolving). Symbolic links are not followed: their targets
inside the root are available under their own paths. A caller may pass `follow=True` for a link that the user named; a
link that leads outside is refused even then. FIFOs, sockets and devices are refused without waiting for them, and so
are files on the denylist, for every caller. The indexer decides which other files to read, and `text` decodes them.

Hard links: one inode can have many names, and none of them is the original. A hard link inside the root is therefore a
file of the root and is served. Creating one requires write access to the root and, if the kernel protects hard links,
to the file too, so its creator could also have copied the file.

If a root is deleted and created again, the next call opens the new folder and increases `generation`. While the root
does not exist, calls raise RootError.
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

from llmc.base import openat, paths
from llmc.base.denylist import Denylist, hint_for
from llmc.base.errors import NotFoundError, OutsideError, ReadError, RootError
from llmc.base.model import Stamp

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

__all__ = ["DirectoryEntry", "FileKind", "ReadError", "ReadRefusal", "RootFs", "StatResult", "settled", "stamp_of"]

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_PASS = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_CLOEXEC
_MISSING = (errno.ENOENT, errno.ENOTDIR)
_RESOURCE_ERRORS = (errno.EMFILE, errno.ENFILE, errno.ENOMEM)  # shortages of this process, not errors of the file

# Old kernels count time in ticks of up to 10 ms and give two writes in one tick the same stamp.
_TICK_NS = 20_000_000


class FileKind(StrEnum):
    FILE = "file"
    FOLDER = "folder"
    LINK = "link"
    OTHER = "other"  # FIFO, socket, device


class ReadRefusal(StrEnum):
    """Why the content of an existing path is not returned."""

    LINK = "symbolic link"
    FOLDER = "folder"
    SPECIAL = "not a regular file"
    DENIED = "permission denied"
    DENYLIST = "on the denylist"
    TOO_LARGE = "too large"
    UNSTABLE = "changed during the read"
    IO = "cannot be read"


def _refused(path: str, refusal: ReadRefusal, *, reason: str = "", hint: str = "") -> ReadError:
    message = f"cannot read {paths.shown(path)}"
    return ReadError(message, reason=reason or refusal.value, hint=hint, path=path, refusal=refusal)


_REFUSALS = {
    errno.ELOOP: ReadRefusal.LINK,
    errno.EACCES: ReadRefusal.DENIED,
    errno.EPERM: ReadRefusal.DENIED,
    errno.ENXIO: ReadRefusal.SPECIAL,  # raised by opening a socket
    errno.ENODEV: ReadRefusal.SPECIAL,
    errno.EAGAIN: ReadRefusal.UNSTABLE,  # parent folders keep being renamed
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
    """Access to one root. Thread-safe: closing it, or reopening a new root, does not break reads in progress."""

    is_virtual = False  # whether the files exist only here, and not on the disk under `path`

    def __init__(self, path: str, *, opener: openat.Opener | None = None, denylist: Denylist | None = None) -> None:
        self.path = os.path.realpath(path)
        self.denylist = denylist or Denylist()
        self.generation = 0
        self._open = opener or openat.pick()
        self._lock = threading.Lock()
        self._handle: _RootHandle | None = _open_root(self.path, self._open)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._handle = None

    def refusal(self, path: str, *, is_folder: bool = False) -> ReadError | None:
        """The error that the denylist causes for this path; None if the path may be read."""
        reason = self.denylist.reason(path, is_folder=is_folder)
        return _refused(path, ReadRefusal.DENYLIST, reason=reason, hint=hint_for(reason, path)) if reason else None

    def read(self, path: str, limit: int, *, follow: bool = False, walking: bool = False) -> tuple[bytes, Stamp]:
        """The whole content and its stamp. A file that changes meanwhile is read once more, then refused.

        `walking`: this is one of thousands of reads, so it does not check whether the root is still the same folder.
        """
        fd = self._file(path, self._handle if walking else None, follow=follow)
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
        raise _refused(path, ReadRefusal.UNSTABLE, hint="Try again when the file is no longer being written.")

    def expect(self, paths: Iterable[str]) -> None:
        """Announce files that will be read one by one. If reads are network requests, the first one fetches them all;
        for files on a disk this does nothing."""

    def head(self, path: str, size: int, *, follow: bool = False) -> bytes:
        """The first `size` bytes, or fewer if the file is shorter."""
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

        Used in walks of many folders: only a call for the root itself checks whether it is still the same folder.
        """
        handle = self._handle if folder else None
        return self._open_beneath(folder, _FOLDER, handle)

    def stat(self, path: str) -> StatResult | None:
        """The entry at the path itself; None if there is none, or if a parent is a link."""
        try:
            name = paths.on_disk(path).rpartition(b"/")[2] if path else b"."
            fd = self._open_beneath(path.rpartition("/")[0], _PASS)
        except NotFoundError:
            return None
        except ReadError as error:
            if error.refusal is ReadRefusal.LINK:
                return None
            raise
        try:
            status = os.stat(name, dir_fd=fd, follow_symlinks=False)
        except OSError as error:
            return None if error.errno in _MISSING else _refuse(error, path)
        finally:
            os.close(fd)
        return StatResult(_kind_of(status.st_mode), stamp_of(status))

    def list(self, folder: str) -> list[DirectoryEntry]:
        """The entries of the folder, sorted by name; entries deleted meanwhile may be missing."""
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
        """The root-relative path for `typed` in the folder `cwd`; OutsideError if it is outside this root."""
        return paths.relative(typed, cwd, self.path)

    def _file(self, path: str, handle: _RootHandle | None = None, *, follow: bool = False) -> int:
        """A descriptor of a file that the denylist allows under its own name and, if links are followed, under the name
        of their target."""
        if (refusal := self.refusal(path)) is not None:
            raise refusal
        fd = self._open_beneath(path, openat.READ, handle, follow=follow)
        if follow and (reason := self.denylist.reason(self._name_of(fd, path))):
            os.close(fd)
            raise _refused(path, ReadRefusal.DENYLIST, reason=f"it is a link, and {reason}")
        return fd

    def _name_of(self, fd: int, path: str) -> str:
        """The real path of an open file in this root, as the kernel reports it."""
        try:
            real = os.readlink(f"/proc/self/fd/{fd}")  # noqa: PTH115 - not a path in a root
        except OSError:  # not Linux
            real = os.path.realpath(f"{self.path}/{path}")
        return paths.inside(real, self.path) or path

    def _open_beneath(self, path: str, flags: int, handle: _RootHandle | None = None, *, follow: bool = False) -> int:
        handle = handle or self._root()  # the local variable keeps the descriptor open during the call
        try:
            return self._open(handle.fd, paths.on_disk(path) if path else b".", flags, follow=follow)
        except OSError as error:
            _refuse(error, path)

    def _root(self) -> _RootHandle:
        handle = self._handle
        if handle is None:
            raise RootError("this root is closed", path=self.path)
        try:
            now = os.stat(self.path)  # noqa: PTH116 - creating a Path costs as much as the call
        except OSError as error:
            raise _no_root(self.path, error) from None
        return handle if handle.is_at(now) else self._reopen(handle)

    def _reopen(self, stale: _RootHandle) -> _RootHandle:
        with self._lock:
            if self._handle is stale:
                self._handle = _open_root(self.path, self._open)
                self.generation += 1
            return self._handle or stale


class _RootHandle:
    """An open folder, closed with the last reference, so that concurrent readers can still use it.

    While it is open, its inode cannot be reused for another folder, so device and inode reliably identify the root.
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


def _open_root(path: str, opener: openat.Opener) -> _RootHandle:
    top = os.open("/", _PASS)
    try:
        return _RootHandle(opener(top, os.fsencode(path).lstrip(b"/") or b".", _FOLDER))
    except OSError as error:
        raise _no_root(path, error) from None
    finally:
        os.close(top)


def _no_root(path: str, error: OSError) -> RootError:
    hint = "Create the folder again, or remove it from the roots."
    return RootError("this root cannot be read", reason=error.strerror or "it does not exist", hint=hint, path=path)


def _refuse(error: OSError, path: str) -> NoReturn:
    if error.errno in _RESOURCE_ERRORS:
        raise error
    if error.errno in _MISSING:
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
    """Request one byte more than expected to detect a file that grew. If the expected number is read, no second call
    is needed, because the stamp reveals later growth."""
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
    """Whether any write from now on will change this stamp; if not, equal stamps prove nothing yet."""
    return time.time_ns() - stamp.ctime_ns > _TICK_NS
