"""Creates and empties a store, and checks whether this version of llmc can use it."""

from __future__ import annotations

import shutil
from contextlib import closing
from typing import TYPE_CHECKING

from llmc.base.errors import StoreError
from llmc.store.catalog.schema import check_version, connect, create, refuse_newer, version_on_disk
from llmc.store.integrity.checksums import Checksums
from llmc.store.integrity.inspection import KEYWORD_INDEXES, check_main_file
from llmc.store.integrity.main_file import MAIN, SEAL
from llmc.store.integrity.native_errors import corrupt, guard
from llmc.store.integrity.pinned_file import crc_of_main
from llmc.store.keywords.keyword_store import TantivyKeywords
from llmc.store.lock import LOCK_FILES

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["check_usable", "make"]


def make(folder: Path, *, rebuild: bool) -> None:
    """Create an empty store if there is none, or if `rebuild` is set. The caller holds the lock."""
    main = folder / MAIN
    if rebuild:
        empty(folder)
    sealed = (folder / SEAL).exists()
    if sealed and not main.exists():
        raise corrupt("the index does not check out", "its catalog is missing", folder)
    if not sealed and version_on_disk(main) is None:  # the seal is the last thing that is made
        empty(folder)
        with guard(folder, "making the index"):
            for name in KEYWORD_INDEXES:
                (folder / name).mkdir()
            TantivyKeywords(folder).close()
            new = folder / f"{MAIN}.new"
            with closing(connect(new, write=True)) as db:
                create(db)
            new.rename(main)  # a half-written catalog is never visible
            Checksums(0, crc_of_main(main)).write(folder / SEAL)


def empty(folder: Path) -> None:
    """Everything but the locks. What a newer llmc wrote stays."""
    main = folder / MAIN
    with guard(folder, "emptying the index"):
        refuse_newer(main)
        for path in folder.iterdir():
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            elif path.name not in LOCK_FILES:
                path.unlink()


def check_usable(folder: Path) -> None:
    """StoreError when there is nothing, CorruptStoreError when it is damaged or old, NewerFormatError when it is too
    new."""
    main = folder / MAIN
    if not main.exists() and not (folder / SEAL).exists():
        raise StoreError("there is no index yet", hint="Create one with `llmc index`.", folder=str(folder))
    sealed = check_main_file(folder)
    with guard(folder, "opening the catalog"), closing(connect(main)) as db:
        check_version(db)
        if not sealed and db.execute("PRAGMA integrity_check").fetchall() != [("ok",)]:
            raise corrupt("the index does not check out", "the catalog is malformed", folder)
