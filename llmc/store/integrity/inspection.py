"""Checks a store: completely when it is opened or has changed, by file stamps before each answer. Also creates stores.

`checksums` checks single files. This module decides when to check and what a difference means: while a writer in
another process is between two steps, the files are ahead of the catalog. Only a difference that persists while the
catalog does not change is damage.
"""

from __future__ import annotations

import shutil
import time
from contextlib import closing, suppress
from typing import TYPE_CHECKING

from llmc.base.errors import CorruptStoreError, StoreError
from llmc.store.catalog.schema import check_version, connect, create, refuse_newer, version_on_disk
from llmc.store.integrity.checksums import Checksums, check_files, check_moving, live_files, signature
from llmc.store.integrity.main_file import MAIN, SEAL, crc_of_main
from llmc.store.integrity.native_errors import corrupt, guard
from llmc.store.keywords.keyword_store import TantivyKeywords
from llmc.store.lock import LOCK_FILES

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from llmc.store.catalog.reader import Catalog
    from llmc.store.integrity.checksums import Signature
    from llmc.store.values import Moment

__all__ = ["KEYWORD_INDEXES", "Inspector", "check_main_file", "check_usable", "make"]

KEYWORD_INDEXES = ("chunks", "files")
# A writer completes a commit within milliseconds, and the store is consistent again.
ATTEMPTS = 20
PAUSE_SECONDS = 0.05


def check_main_file(folder: Path) -> bool:
    """Check the catalog's main file against its seal; False if there is no usable seal. A newer format is not
    checked."""
    path, main = folder / SEAL, folder / MAIN
    with guard(folder, "reading the catalog"):
        seal = Checksums.read(path)
        sealed = None if seal is None else seal.catalog
        sound = None if sealed is None else crc_of_main(main) == sealed or crc_of_main(main, again=True) == sealed
        if sound is not False or Checksums.read(path) != seal:  # a writer has just written it again
            refuse_newer(main)
            return bool(sound)
    raise corrupt("the index is damaged", "the catalog differs from its checksum", folder)


class Inspector:
    def __init__(self, folder: Path, catalog: Catalog) -> None:
        self._folder = folder
        self._catalog = catalog
        self._seen: dict[str, Signature] = {}

    def inspect(self) -> Moment:
        """Check every file and return the catalog's state that they belong to; CorruptStoreError if there is none."""
        for attempt in range(ATTEMPTS):
            with guard(self._folder, "checking the index"):
                main = signature(self._folder / MAIN)
                check_main_file(self._folder)
                moment = self._catalog.moment()
            try:
                self._check(moment)
            except CorruptStoreError:
                if attempt == ATTEMPTS - 1 or (not moment.moving and self._catalog.moment() == moment):
                    raise
                time.sleep(PAUSE_SECONDS)
                continue
            self._seen[str(self._folder / MAIN)] = main
            return moment
        raise AssertionError

    def _check(self, moment: Moment) -> None:
        with guard(self._folder, "checking the index", ValueError, KeyError, TypeError):  # of tantivy's own list
            seen = {str(path): signature(path) for path in self._files(moment)}
            for name in KEYWORD_INDEXES:
                check = check_moving if moment.moving else check_files
                check(self._folder / name, moment.manifests.get(name, {}))
            lost = Checksums.read(self._folder / SEAL)
            if lost is not None and lost.generation > self._catalog.generation():
                raise corrupt("the index is damaged", "the catalog has lost its latest changes", self._folder)
        self._seen = seen

    def _files(self, moment: Moment) -> Iterator[Path]:
        for name in KEYWORD_INDEXES:
            folder = self._folder / name
            names = live_files(folder) if moment.moving else list(moment.manifests.get(name, {}))
            yield from (folder / name for name in names)

    def unchanged(self) -> bool:
        """Whether sizes, times and inodes are those of the last successful check; some 100 µs for a hundred files."""
        with suppress(OSError):
            return all(signature(path) == seen for path, seen in self._seen.items())
        return False


def make(folder: Path, *, rebuild: bool) -> None:
    """Create an empty store if there is none, or if `rebuild` is set. The caller holds the lock."""
    main = folder / MAIN
    if rebuild:
        empty(folder)
    sealed = (folder / SEAL).exists()
    if sealed and not main.exists():
        raise corrupt("the index is damaged", "its catalog is missing", folder)
    if not sealed and version_on_disk(main) is None:  # the seal is created last
        empty(folder)
        with guard(folder, "creating the index"):
            for name in KEYWORD_INDEXES:
                (folder / name).mkdir()
            TantivyKeywords(folder).close()
            new = folder / f"{MAIN}.new"
            with closing(connect(new, write=True)) as db:
                create(db)
            new.rename(main)  # a half-written catalog is never visible
            Checksums(0, crc_of_main(main)).write(folder / SEAL)


def empty(folder: Path) -> None:
    """Remove everything but the lock files. A store that a newer llmc wrote is not touched."""
    main = folder / MAIN
    with guard(folder, "emptying the index"):
        refuse_newer(main)
        for path in folder.iterdir():
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            elif path.name not in LOCK_FILES:
                path.unlink()


def check_usable(folder: Path) -> None:
    """StoreError if there is no store, CorruptStoreError if it is damaged or too old, NewerFormatError if it is too
    new."""
    main = folder / MAIN
    if not main.exists() and not (folder / SEAL).exists():
        raise StoreError("there is no index yet", hint="Create one with `llmc index`.", folder=str(folder))
    sealed = check_main_file(folder)
    with guard(folder, "opening the catalog"), closing(connect(main)) as db:
        check_version(db)
        if not sealed and db.execute("PRAGMA integrity_check").fetchall() != [("ok",)]:
            raise corrupt("the index is damaged", "the catalog is malformed", folder)
