"""The catalog, keyword index and vector tables of a store on disk, loaded in the state that the catalog describes.

Readers and the writer both use them. A damaged catalog or keyword index raises; a damaged vector table only sets
`VectorIndex.damage`, and the next writer creates it again.
"""

from __future__ import annotations

import time
from contextlib import suppress
from typing import TYPE_CHECKING

from llmc.base.errors import CorruptStoreError
from llmc.store.catalog.reader import Catalog
from llmc.store.integrity.checksums import check_files, signature
from llmc.store.integrity.inspection import ATTEMPTS, PAUSE_SECONDS, Inspector
from llmc.store.integrity.main_file import MAIN
from llmc.store.integrity.native_errors import corrupt, guard
from llmc.store.keywords.keyword_store import TantivyKeywords
from llmc.store.values import Embedding
from llmc.store.vectors import VectorIndex

if TYPE_CHECKING:
    from pathlib import Path

    from llmc.store.integrity.checksums import Signature

__all__ = ["Parts"]

NO_EMBEDDING = Embedding(0, "", 1)


class Parts:
    """`embedder` (name, dimension) is the one for new vectors. `target` is its entry in the catalog, or the answering
    embedder until it has one."""

    def __init__(self, folder: Path, embedder: tuple[str | None, int]) -> None:
        self.folder = folder
        self.embedder = embedder
        self.catalog = Catalog(folder / MAIN)
        self._inspector = Inspector(folder, self.catalog)
        self._tables: dict[Embedding, VectorIndex] = {}
        self._seen: dict[str, Signature] = {}  # the files of the vector tables when they were last checked
        try:
            self.moment = self._inspector.inspect()
            self.keywords = TantivyKeywords(folder)
            self._check_vectors()
        except BaseException:
            self.catalog.close()
            raise

    def load(self) -> None:
        """Check everything, then read what was committed."""
        moment = self._inspector.inspect()
        self.keywords.reload()
        self.moment = moment
        self._check_vectors()

    def is_current(self) -> bool:
        return (
            self.catalog.generation() == self.moment.generation
            and self._inspector.unchanged()
            and self._vectors_unchanged()
        )

    # --- vectors

    def _check_vectors(self) -> None:
        self._seen = {}
        for embedding in self.moment.embeddings.values():
            table = self.table(embedding)
            table.damage = self._damage_of(embedding)
            table.reload(self.moment.table_files(embedding))

    def _damage_of(self, embedding: Embedding) -> str:
        """How the table's files differ from those in the catalog; empty if they do not. A writer in another process may
        be replacing them, so only a difference that persists while the catalog does not change is damage."""
        for attempt in range(ATTEMPTS):
            moment = self.moment if attempt == 0 else self.catalog.moment()
            files = moment.table_files(embedding)
            folder = self.folder / embedding.store
            seen: dict[str, Signature] = {}
            try:
                with guard(self.folder, "checking the vectors"):
                    if files and not folder.exists():
                        raise corrupt("the index is damaged", "the vector table is missing", self.folder)
                    with suppress(FileNotFoundError):  # `check_files` names it
                        seen = {str(folder / name): signature(folder / name) for name in files}
                    check_files(folder, files)
            except CorruptStoreError as error:
                if self.catalog.moment().table_files(embedding) == files:
                    return error.reason or error.message
                time.sleep(PAUSE_SECONDS)
                continue
            self._seen |= seen
            return ""
        return "its files keep changing"

    def _vectors_unchanged(self) -> bool:
        with suppress(OSError):
            return all(signature(path) == seen for path, seen in self._seen.items())
        return False

    @property
    def answering(self) -> Embedding:
        return self.moment.answering or NO_EMBEDDING

    @property
    def target(self) -> Embedding:
        return self.moment.find(*self.embedder) or self.answering

    def tables(self) -> dict[Embedding, VectorIndex]:
        return {embedding: self.table(embedding) for embedding in self.moment.embeddings.values()}

    def table(self, embedding: Embedding) -> VectorIndex:
        if embedding not in self._tables:
            self._tables[embedding] = VectorIndex(self.folder, embedding, self.moment.table_files(embedding))
        return self._tables[embedding]

    def close(self) -> None:
        self.keywords.close()
        for table in self._tables.values():
            table.close()
        self.catalog.close()
