"""The writer of the store: writes each change to all parts, the catalog last, and repairs interrupted changes.

`Store` owns the parts that are read. The writer owns the order of the steps and its own `VectorTables`, which are ahead
of the catalog, while the tables for reading follow it. Each step has a name, and `reached` is called when it ends;
there the tests kill the process. After an error the documents of the batch stay in flight, and the next call begins
with a repair.

`compare` lists the differences between the parts. Every document of the catalog, including dead ones, must have its
chunks and trigrams in the keyword store and, if the catalog says so, its rows in the vector table; and no part may have
any other document. A repair removes every incomplete document everywhere, including its file rows, so that the next
walk over the root treats those files as new and indexes them.
"""

from __future__ import annotations

import time
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from llmc.base.errors import CorruptVectorsError, StoreFullError, VectorsUnavailableError
from llmc.base.malloc import trim_heap
from llmc.store.integrity.checksums import manifest_of
from llmc.store.integrity.main_file import close_sealed, seal
from llmc.store.values import StoreDifference
from llmc.store.vectors import engine
from llmc.store.vectors.tables import VectorTables

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping

    from llmc.base.model import Document, Vectors
    from llmc.store.catalog.writer import CatalogWriter
    from llmc.store.lock import WriterLock
    from llmc.store.parts import Parts
    from llmc.store.values import Batch, Embedding, Manifests

__all__ = ["Writer", "compare", "unreadable_tables"]


def compare(parts: Parts) -> list[StoreDifference]:
    """Every difference, by store and document. A vector table that cannot be read is skipped: its documents are
    complete in the other stores, and `unreadable_tables` reports it."""
    catalog, keywords = parts.catalog, parts.keywords
    chunks = catalog.chunk_counts()
    found = counted("chunks", chunks, keywords.chunks.counts())
    found += counted("files", dict.fromkeys(chunks, 1), dict.fromkeys(keywords.files.docs(), 1))
    for embedding, table in parts.tables().items():
        embedded = catalog.embedded(embedding.number)
        with suppress(CorruptVectorsError, VectorsUnavailableError):
            found += counted("vectors", {doc: chunks.get(doc, 0) for doc in embedded}, table.counts())
    paths = catalog.paths({one.doc for one in found})
    return [StoreDifference(one.store, one.problem, one.doc, paths.get(one.doc, "")) for one in found]


def unreadable_tables(parts: Parts) -> list[StoreDifference]:
    found = []
    for table in parts.tables().values():
        state = table.state()
        if not state.answered_by:
            found.append(StoreDifference("vectors", f"unreadable ({state.reason})", 0))
    return found


def counted(store: str, expected: Mapping[int, int], found: Mapping[int, int]) -> list[StoreDifference]:
    """The differences between the expected and the actual number of rows for each document."""
    differences = []
    for doc in sorted(expected.keys() | found.keys()):
        rows, there = expected.get(doc, 0), found.get(doc, 0)
        if rows != there:
            problem = "missing" if not there else "extra" if not rows else "count"
            differences.append(StoreDifference(store, problem, doc))
    return differences


class Writer:
    reached: Callable[[str], None] = staticmethod(lambda _step: None)

    def __init__(self, parts: Parts, catalog_writer: CatalogWriter, lock: WriterLock) -> None:
        self._parts = parts
        self.catalog_writer = catalog_writer
        self._lock = lock
        self._deferred: dict[int, Vectors] = {}
        self.vectors = VectorTables(parts, catalog_writer, self._seal, self.reached)

    def is_awaited(self) -> bool:
        return self._lock.is_awaited()

    def is_in_place(self) -> bool:
        return self._lock.is_in_place()

    # --- batches

    def apply(self, batch: Batch, *, defer_vectors: bool = False) -> None:
        """`defer_vectors`: while LanceDB is being imported, documents are committed without vectors; a later batch adds
        them, or the closing writer."""
        if engine.is_loaded():
            self.put_deferred()
        self.repair()
        fresh = self._fresh(batch)
        if not (fresh or batch.states or batch.gone):
            return
        numbered = dict(zip(self.catalog_writer.reserve(len(fresh)), fresh, strict=True)) if fresh else {}
        self.reached("reserved")
        with self._undone_on_error():
            deferred = self._deferred_of(numbered) if defer_vectors else {}
            numbered = {doc: replace(one, vectors=None) if doc in deferred else one for doc, one in numbered.items()}
            numbered, manifests = self._spread(numbered) if numbered else ({}, {})
            generation = self.catalog_writer.settle(batch, numbered, self._parts.target.number, manifests)
        self._deferred |= deferred
        self.reached("settled")
        self._seal(generation)

    def _deferred_of(self, numbered: Mapping[int, Document]) -> dict[int, Vectors]:
        if engine.is_loaded() or engine.failure():
            return {}
        return {doc: one.vectors for doc, one in numbered.items() if one.vectors is not None}

    def put_deferred(self) -> None:
        """Wait for LanceDB and commit the deferred vectors. If that fails, the documents are embedded again later."""
        deferred, self._deferred = self._deferred, {}
        if deferred:
            with suppress(VectorsUnavailableError):
                self.put_vectors(deferred)

    def _fresh(self, batch: Batch) -> list[Document]:
        """The documents that are new to the store, without duplicates. ValueError for an inconsistent batch."""
        catalog, target = self._parts.catalog, self._parts.target
        added = {document.key: document for document in batch.documents}
        known = catalog.numbers({*added, *(state.key for state in batch.states if state.key is not None)})
        if any(state.key not in added and state.key not in known for state in batch.states if state.key is not None):
            raise ValueError("a file names a document that neither the batch nor the store has")
        fresh = [document for key, document in added.items() if key not in known]
        for document in fresh:
            check_vectors(document.vectors, len(document.parsed.chunks), target.dimension)
        return fresh

    def _spread(self, numbered: dict[int, Document]) -> tuple[dict[int, Document], Manifests]:
        """Write to every part but the catalog. Without LanceDB the returned documents have no vectors; these are added
        when it is available again."""
        keywords = self._parts.keywords
        for doc, document in numbered.items():
            keywords.add(doc, document)
        self.reached("buffered")
        keywords.commit()
        self.reached("keywords")
        try:
            self.vectors.add({doc: one.vectors for doc, one in numbered.items() if one.vectors is not None})
        except VectorsUnavailableError:
            numbered = {doc: replace(one, vectors=None) for doc, one in numbered.items()}
        self.reached("vectors")
        return numbered, {**self._keyword_manifests(), **self.vectors.manifests()}

    def put_vectors(self, vectors: Mapping[int, Vectors]) -> None:
        """Vectors of the target for documents that have none yet."""
        self.repair()
        catalog, target = self._parts.catalog, self._parts.target
        chunks, embedded = catalog.chunk_counts(), catalog.embedded(target.number)
        missing = {doc: rows for doc, rows in vectors.items() if doc in chunks and doc not in embedded}
        for doc, rows in missing.items():
            check_vectors(rows, chunks[doc], target.dimension)
        with self._undone_on_error():
            self.vectors.add(missing)
            self.reached("vectors")
            generation = self.catalog_writer.settle_vectors(missing, target.number, self.vectors.manifests())
        self._seal(generation)

    @contextmanager
    def _undone_on_error(self) -> Iterator[None]:
        try:
            yield
        except BaseException:
            self._parts.keywords.rollback()
            self.vectors.rollback()
            raise

    def _keyword_manifests(self) -> Manifests:
        keywords = self._parts.keywords
        return {"chunks": manifest_of(keywords.chunks.folder), "files": manifest_of(keywords.files.folder)}

    # --- removal and repair

    def repair(self) -> None:
        """Undo an interrupted batch and finish an interrupted removal, as recorded in the catalog."""
        self.vectors.open()
        inflight = self._parts.catalog.inflight()
        if inflight:
            self._parts.load()
            self.remove(inflight | {one.doc for one in compare(self._parts)})

    def remove(self, docs: Collection[int]) -> None:
        """Remove documents from every part, and the file rows that refer to them."""
        self.catalog_writer.begin_removal(docs)
        self.reached("condemned")
        with self._undone_on_error():
            self._parts.keywords.delete(docs)
            self._parts.keywords.commit()
            self.reached("keywords purged")
            self.vectors.delete(docs)
            self.reached("vectors purged")
            generation = self.catalog_writer.clear({**self._keyword_manifests(), **self.vectors.manifests()})
        self._seal(generation)

    def sweep(self, max_age: float, max_share: float) -> int:
        """Remove documents that died long ago and, if there are too many dead ones, the oldest of those."""
        self.repair()
        dead = self._parts.catalog.dead()
        surplus = len(dead) - int(max_share * len(self._parts.catalog.chunk_counts()))
        before = time.time() - max_age
        doomed = [doc for at, (doc, since) in enumerate(dead) if since <= before or at < surplus]
        if doomed:
            self.remove(doomed)
        self._merge_small_segments()
        self.vectors.drop_unnamed()
        return len(doomed)

    def _merge_small_segments(self) -> None:
        if self._parts.keywords.is_scattered():
            (filler,) = self.catalog_writer.reserve(1)
            self._parts.keywords.merge_small_segments(filler)
            self.reached("gathered")
            self.remove([filler])

    def drop_root(self, root: str) -> None:
        self.repair()
        self._seal(self.catalog_writer.drop_root(root))

    def switch(self, embedding: Embedding) -> None:
        self.repair()
        self._seal(self.catalog_writer.switch(embedding))
        self.vectors.open()
        self.vectors.drop_unnamed()

    # --- sealing

    def _seal(self, generation: int) -> None:
        seal(self._parts.folder, self.catalog_writer, generation, self.reached)

    def close(self) -> None:
        """Wait for merges, record the files in the catalog, seal, and release the lock."""
        try:
            with suppress(StoreFullError):  # every batch is safe, and the next writer records the files
                self.put_deferred()
                self._rest()
        finally:
            try:
                self.close_catalog()
            finally:
                self._lock.release()
                trim_heap()

    def _rest(self) -> None:
        catalog = self._parts.catalog
        self._parts.keywords.release()
        self.reached("merged")
        if catalog.moment().moving and not catalog.inflight():
            self.catalog_writer.rest(self._keyword_manifests())

    def close_catalog(self) -> None:
        close_sealed(self._parts.folder, self.catalog_writer, self._parts.catalog.generation(), self.reached)


def check_vectors(vectors: Vectors | None, chunks: int, dimension: int) -> None:
    if vectors is not None and vectors.shape != (chunks, dimension):
        raise ValueError(f"vectors of shape {vectors.shape} for {chunks} chunks of dimension {dimension}")
