"""Keeps the catalog's main file open for reading while this process may have it open in SQLite.

SQLite's locks are POSIX locks, which belong to a process and a file: closing *any* descriptor of the file drops them
all, and then another process may tidy up under our feet. So every read of that file outside SQLite, for its checksum or
header, happens here, through a descriptor that is closed after the last store of this process.
"""

from __future__ import annotations

import os
import threading
import zlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from llmc.store.integrity.checksums import Signature, signature
from llmc.store.values import Extent

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["crc_of_main", "head_of_main", "hold", "let_go"]

READ_BYTES = 1 << 20


@dataclass(slots=True)
class PinnedFile:
    """One path: how many stores use it, and a descriptor for each file that was there (a rebuild replaces the file)."""

    users: int = 0
    files: dict[tuple[int, int], int] = field(default_factory=dict)
    read: tuple[Signature, Extent] | None = None


_held: dict[str, PinnedFile] = {}
_lock = threading.Lock()


def hold(path: Path) -> None:
    """Before the first connection. Each `hold` needs its `let_go`, after the last one."""
    with _lock:
        _held.setdefault(str(path), PinnedFile()).users += 1


def let_go(path: Path) -> None:
    with _lock:
        held = _held[str(path)]
        held.users -= 1
        if not held.users:
            del _held[str(path)]
            for file in held.files.values():
                os.close(file)


def descriptor(path: Path) -> int:
    found = path.stat()
    with _lock:
        files = _held[str(path)].files
        place = (found.st_dev, found.st_ino)
        if place not in files:
            files[place] = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        return files[place]


def crc_of_main(path: Path, *, again: bool = False) -> Extent:
    """As it was when it was last read, unless it has changed since. The clock of file systems is coarse: where the
    answer is about to be written down, or to be called damage, read it `again`."""
    now, held = signature(path), _held[str(path)]
    if held.read is not None and held.read[0] == now and not again:
        return held.read[1]
    file, size, crc = descriptor(path), 0, 0
    while data := os.pread(file, READ_BYTES, size):
        size, crc = size + len(data), zlib.crc32(data, crc)
    extent = Extent(path.name, size, crc)
    held.read = (now, extent)
    return extent


def head_of_main(path: Path, size: int) -> bytes:
    return os.pread(descriptor(path), size, 0)
