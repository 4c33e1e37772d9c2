"""The catalog's main file: read without disturbing SQLite's locks, and sealed so that it is readable after any crash.

SQLite's locks are POSIX locks, which belong to a process and a file: closing *any* descriptor of the file drops them
all, and then another process may clean up a file that is in use. So every read of that file outside SQLite, for its
checksum or header, goes through a descriptor that is closed after the last store of this process.

SQLite changes the file only at a checkpoint: on request, and when its last connection closes. The seal therefore has no
checksum during a checkpoint and the new one afterwards. Readers connect read-only and cannot checkpoint. Callers of
`seal` and `close_sealed` hold the writer's lock.
"""

from __future__ import annotations

import os
import threading
import zlib
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from llmc.base.errors import StoreFullError
from llmc.store.integrity.checksums import Checksums, Signature, signature
from llmc.store.integrity.native_errors import guard
from llmc.store.values import Extent

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from llmc.store.catalog.writer import CatalogWriter

__all__ = ["MAIN", "SEAL", "close_sealed", "crc_of_main", "head_of_main", "pin", "seal", "unpin"]

READ_BYTES = 1 << 20
MAIN, SEAL, LOG = "catalog.db", "seal", "catalog.db-wal"
# Reading the whole main file for its checksum is too expensive for every save, so the log may grow to this size first.
# When a writer closes, the limit is lower.
CHECKPOINT_BYTES = 4 << 20
CLOSING_BYTES = 256 << 10


@dataclass(slots=True)
class PinnedFile:
    """One path: the number of stores that use it, and a descriptor for each file seen there (a rebuild replaces it)."""

    users: int = 0
    files: dict[tuple[int, int], int] = field(default_factory=dict)
    read: tuple[Signature, Extent] | None = None


_pinned: dict[str, PinnedFile] = {}
_lock = threading.Lock()


def pin(path: Path) -> None:
    """Call before the first connection; each `pin` needs an `unpin` after the last connection is closed."""
    with _lock:
        _pinned.setdefault(str(path), PinnedFile()).users += 1


def unpin(path: Path) -> None:
    with _lock:
        pinned = _pinned[str(path)]
        pinned.users -= 1
        if not pinned.users:
            del _pinned[str(path)]
            for file in pinned.files.values():
                os.close(file)


def descriptor(path: Path) -> int:
    found = path.stat()
    with _lock:
        files = _pinned[str(path)].files
        place = (found.st_dev, found.st_ino)
        if place not in files:
            files[place] = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        return files[place]


def crc_of_main(path: Path, *, again: bool = False) -> Extent:
    """The checksum, cached while the stamp is unchanged. File times are coarse, so pass `again` to read the file before
    recording the checksum or reporting damage."""
    now, pinned = signature(path), _pinned[str(path)]
    if pinned.read is not None and pinned.read[0] == now and not again:
        return pinned.read[1]
    file, size, crc = descriptor(path), 0, 0
    while data := os.pread(file, READ_BYTES, size):
        size, crc = size + len(data), zlib.crc32(data, crc)
    extent = Extent(path.name, size, crc)
    pinned.read = (now, extent)
    return extent


def head_of_main(path: Path, size: int) -> bytes:
    return os.pread(descriptor(path), size, 0)


def seal(folder: Path, catalog_writer: CatalogWriter, generation: int, reached: Callable[[str], None]) -> None:
    """After a batch: record its generation, and checkpoint if the log has grown large."""
    with guard(folder, "sealing the index"):
        previous = Checksums.read(folder / SEAL)
        if previous is not None and (folder / LOG).stat().st_size <= CHECKPOINT_BYTES:
            Checksums(generation, previous.catalog).write(folder / SEAL)
            return
        Checksums(generation, None).write(folder / SEAL)
        reached("unsealed")
        with suppress(StoreFullError):  # the batch is in the log, and safe there
            catalog_writer.checkpoint()
        reached("checkpointed")
        Checksums(generation, crc_of_main(folder / MAIN, again=True)).write(folder / SEAL)


def close_sealed(folder: Path, catalog_writer: CatalogWriter, generation: int, reached: Callable[[str], None]) -> None:
    """Checkpoint, close the connection and write the seal. On a full disk only the checkpoint is skipped."""
    with guard(folder, "closing the index"):
        previous, before = Checksums.read(folder / SEAL), signature(folder / MAIN)
        try:
            Checksums(generation, None).write(folder / SEAL)
            reached("unsealed")
            if (folder / LOG).stat().st_size > CLOSING_BYTES:
                with suppress(StoreFullError):
                    catalog_writer.checkpoint()
        finally:
            catalog_writer.close()
        reached("closed")
        kept = previous.catalog if previous is not None and signature(folder / MAIN) == before else None
        Checksums(generation, kept or crc_of_main(folder / MAIN, again=True)).write(folder / SEAL)
