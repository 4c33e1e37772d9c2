"""The catalog's main file: checkpointed, closed and sealed in an order that keeps it readable after a crash at any
point.

SQLite changes that file only when it checkpoints: when asked, and when its last connection closes. So the seal says
"open" before and holds the new checksum after. Readers connect read-only and cannot checkpoint; the writer's lock is
held here.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from llmc.base.errors import StoreFullError
from llmc.store.integrity.checksums import Checksums, signature
from llmc.store.integrity.native_errors import guard
from llmc.store.integrity.pinned_file import crc_of_main

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from llmc.store.catalog.writer import CatalogWriter

__all__ = ["MAIN", "SEAL", "close_sealed", "seal"]

MAIN, SEAL, LOG = "catalog.db", "seal", "catalog.db-wal"
# Reading the whole main file for its checksum is too expensive for every save, so the log may grow to this size first.
# When a writer closes, the limit is lower.
CHECKPOINT_BYTES = 4 << 20
CLOSING_BYTES = 256 << 10


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
