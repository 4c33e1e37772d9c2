"""Checks the store: completely when it is opened or has changed, by file stamps before each answer.

`checksums` knows what an intact file is. This module decides when to check and what a difference means: a writer in
another process may be between two steps, and then the files are ahead of the catalog. Only a difference that persists
while the catalog does not change is damage.
"""

from __future__ import annotations

import time
from contextlib import suppress
from typing import TYPE_CHECKING

from llmc.base.errors import CorruptStoreError
from llmc.store.catalog.schema import refuse_newer
from llmc.store.integrity.checksums import Checksums, check_files, check_moving, live_files, signature
from llmc.store.integrity.main_file import MAIN, SEAL
from llmc.store.integrity.native_errors import corrupt, guard
from llmc.store.integrity.pinned_file import crc_of_main

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from llmc.store.catalog.reader import Catalog
    from llmc.store.integrity.checksums import Signature
    from llmc.store.values import Moment

__all__ = ["KEYWORD_INDEXES", "Inspector", "check_main_file"]

KEYWORD_INDEXES = ("chunks", "files")
# A writer passes from one sound state to the next within milliseconds of its commit's end.
ATTEMPTS = 20
PAUSE_SECONDS = 0.05


def check_main_file(folder: Path) -> bool:
    """Is the catalog's main file what its seal says? False when no seal can tell. A newer format is left alone."""
    path, main = folder / SEAL, folder / MAIN
    with guard(folder, "reading the catalog"):
        seal = Checksums.read(path)
        sealed = None if seal is None else seal.catalog
        sound = None if sealed is None else crc_of_main(main) == sealed or crc_of_main(main, again=True) == sealed
        if sound is not False or Checksums.read(path) != seal:  # a writer has just written it again
            refuse_newer(main)
            return bool(sound)
    raise corrupt("the index does not check out", "the catalog differs from its checksum", folder)


class Inspector:
    def __init__(self, folder: Path, catalog: Catalog) -> None:
        self._folder = folder
        self._catalog = catalog
        self._seen: dict[str, Signature] = {}

    def inspect(self) -> Moment:
        """The moment that the files on disk belong to, every one of them checked; CorruptStoreError if there is
        none."""
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
                raise corrupt("the index does not check out", "the catalog has lost what it knew", self._folder)
        self._seen = seen

    def _files(self, moment: Moment) -> Iterator[Path]:
        for name in KEYWORD_INDEXES:
            folder = self._folder / name
            names = live_files(folder) if moment.moving else list(moment.manifests.get(name, {}))
            yield from (folder / name for name in names)

    def unchanged(self) -> bool:
        """Sizes, times and inodes are as they were when the checksums held: some 100 µs for a hundred files."""
        with suppress(OSError):
            return all(signature(path) == seen for path, seen in self._seen.items())
        return False
