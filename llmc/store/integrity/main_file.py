"""The catalog's main file: read without disturbing SQLite's locks, and sealed so that it is readable after any crash.

SQLite's locks are POSIX locks, which belong to a process and a file: closing *any* descriptor of the file drops them
all, and then another process may clean up a file that is in use. So every read of that file outside SQLite, for its
checksum or header, goes through a descriptor that is closed after the last store of this process.

SQLite changes the file only when it checkpoints: when asked, and when its last connection closes. So the seal says
"open" before and holds the new checksum after. Readers connect read-only and cannot checkpoint; the writer's lock is
held here.
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

__all__ = ["MAIN", "SEAL", "close_sealed", "crc_of_main", "head_of_main", "hold", "let_go", "seal"]

READ_BYTES = 1 << 20
MAIN, SEAL, LOG = "catalog.db", "seal", "catalog.db-wal"
# Reading the whole main file for its checksum is too expensive for every save, so the log may grow to this size first.
# When a writer closes, the limit is lower.
CHECKPOINT_BYTES = 4 << 20
CLOSING_BYTES = 256 << 10


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


def seal(folder: Path, ledger: CatalogWriter, generation: int, reached: Callable[[str], None]) -> None:
    """After a batch: note its generation, and now and then bring the main file up to date."""
    with guard(folder, "sealing the index"):
        previous = Checksums.read(folder / SEAL)
        if previous is not None and (folder / LOG).stat().st_size <= CHECKPOINT_BYTES:
            Checksums(generation, previous.catalog).write(folder / SEAL)
            return
        Checksums(generation, None).write(folder / SEAL)
        reached("unsealed")
        with suppress(StoreFullError):  # the batch is in the log, and safe there
            ledger.checkpoint()
        reached("checkpointed")
        Checksums(generation, crc_of_main(folder / MAIN, again=True)).write(folder / SEAL)


def close_sealed(folder: Path, ledger: CatalogWriter, generation: int, reached: Callable[[str], None]) -> None:
    """The connection is closed in any case: on a full disk the log just stays."""
    with guard(folder, "closing the index"):
        previous, before = Checksums.read(folder / SEAL), signature(folder / MAIN)
        try:
            Checksums(generation, None).write(folder / SEAL)
            reached("unsealed")
            if (folder / LOG).stat().st_size > CLOSING_BYTES:
                with suppress(StoreFullError):
                    ledger.checkpoint()
        finally:
            ledger.close()
        reached("closed")
        kept = previous.catalog if previous is not None and signature(folder / MAIN) == before else None
        Checksums(generation, kept or crc_of_main(folder / MAIN, again=True)).write(folder / SEAL)
