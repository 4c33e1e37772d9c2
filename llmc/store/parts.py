"""The parts of a store on disk, brought to the moment that the catalog names: what reader and writer both hold."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmc.store.catalog.reader import Catalog
from llmc.store.integrity.checksums import check_prefix
from llmc.store.integrity.inspection import Inspector
from llmc.store.integrity.main_file import MAIN
from llmc.store.integrity.native_errors import guard
from llmc.store.keywords.keyword_store import TantivyKeywords
from llmc.store.values import Embedding
from llmc.store.vectors import HotVectors

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["Parts"]

NO_EMBEDDING = Embedding(0, "", 1)


class Parts:
    """`wanted` is the embedder that new vectors come from; the `target` is that one, once the catalog knows it, and
    else the one that answers."""

    def __init__(self, folder: Path, wanted: tuple[str | None, int]) -> None:
        self.folder = folder
        self.wanted = wanted
        self.catalog = Catalog(folder / MAIN)
        self._inspector = Inspector(folder, self.catalog)
        self._tables: dict[Embedding, HotVectors] = {}
        try:
            self.moment = self._inspector.inspect()
            self._check_vectors()
            self.keywords = TantivyKeywords(folder)
        except BaseException:
            self.catalog.close()
            raise

    def _check_vectors(self) -> None:
        """Once: what is appended later is checked when it is read, and each row again whenever it is read."""
        with guard(self.folder, "checking the vectors"):
            for embedding in self.moment.embeddings.values():
                extent = self.moment.extent(embedding)
                if extent is not None:
                    check_prefix(self.folder / embedding.store / extent.file, extent)

    def load(self) -> None:
        """Check everything, then see what was committed."""
        moment = self._inspector.inspect()
        self.keywords.reload()
        self.moment = moment
        for embedding, table in self.tables().items():
            table.reload(moment.extent(embedding))

    def is_current(self) -> bool:
        return self.catalog.generation() == self.moment.generation and self._inspector.unchanged()

    @property
    def answering(self) -> Embedding:
        return self.moment.answering or NO_EMBEDDING

    @property
    def target(self) -> Embedding:
        return self.moment.find(*self.wanted) or self.answering

    def tables(self) -> dict[Embedding, HotVectors]:
        return {embedding: self.table(embedding) for embedding in self.moment.embeddings.values()}

    def table(self, embedding: Embedding) -> HotVectors:
        if embedding not in self._tables:
            extent = self.moment.extent(embedding)
            self._tables[embedding] = HotVectors(self.folder / embedding.store, embedding.dimension, extent)
        return self._tables[embedding]

    def close(self) -> None:
        self.keywords.close()
        for table in self._tables.values():
            table.close()
        self.catalog.close()
