"""The store of one family of work trees: catalog, keywords and vectors as one thing.

    with Store.open(folder, embedder.name, embedder.dimension, write=True) as store:
        store.apply(Batch(root, states, gone, documents))

    store = Store.open(folder, embedder.name, embedder.dimension)
    store.refresh()                  # before each query: read new commits of any process, check the files
    store.keywords.search(...), store.vectors.search(...), store.catalog.places(root)

A batch is written to all parts or none: numbers for its documents are reserved and noted as in flight (catalog);
keywords are committed; vectors are appended; and a last transaction (catalog) makes it visible. Until then readers see
nothing of it, since they ignore documents that the catalog does not name. An interrupted batch leaves its numbers in
flight, and the next writer first removes them everywhere. Documents are removed in the same way.

After a CorruptStoreError the caller opens the store with `rebuild=True` and indexes again.
"""

from __future__ import annotations

import threading
from contextlib import ExitStack, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Self

from llmc.base.errors import CorruptVectorsError, StoreError, VectorsUnavailableError
from llmc.store.catalog.writer import CatalogWriter
from llmc.store.integrity.inspection import KEYWORD_INDEXES, check_usable, make
from llmc.store.integrity.main_file import MAIN, pin, unpin
from llmc.store.integrity.native_errors import guard
from llmc.store.lock import WriterLock
from llmc.store.parts import Parts
from llmc.store.writer import Writer, compare, unreadable_tables

if TYPE_CHECKING:
    import os
    from collections.abc import Collection, Mapping
    from types import TracebackType

    from llmc.base.model import Root, Vectors
    from llmc.store.catalog.reader import Catalog
    from llmc.store.keywords.keyword_store import TantivyKeywords
    from llmc.store.values import Batch, Counts, Embedding, StoreDifference
    from llmc.store.vectors import VectorIndex, VectorState

__all__ = ["Store"]

DAY = 86_400.0
# How long another writer may take to end before a rebuild gives up.
REBUILD_SECONDS = 30.0


class Store:
    """Readable from any thread; one thread at a time may write."""

    def __init__(self, parts: Parts, lock: WriterLock | None) -> None:
        self.folder = parts.folder
        self._parts = parts
        self._refreshing = threading.RLock()
        self._writer: Writer | None = None
        self._closed = False
        if lock is not None:
            self._begin_writing(lock)

    @classmethod
    def open(
        cls,
        folder: str | os.PathLike[str],
        embedder_name: str | None = None,
        dimension: int = 0,
        *,
        write: bool = False,
        rebuild: bool = False,
        wait: float = 0.0,
    ) -> Self:
        """`write` acquires the writer's lock (waiting up to `wait` seconds), creates the store if there is none, and
        repairs it. `rebuild` empties it first. Without an embedder the answering one is used."""
        path = Path(folder)
        with ExitStack() as undo:
            pin(path / MAIN)
            undo.callback(unpin, path / MAIN)
            lock = None
            if write:
                lock = take_lock(path, wait)
                undo.callback(lock.release)
                make(path, rebuild=rebuild)
            check_usable(path)
            parts = Parts(path, (embedder_name, dimension))
            undo.callback(parts.close)
            store = cls(parts, lock)
            undo.pop_all()
        return store

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """A writer waits for merges and then releases its lock; every batch was visible to readers before."""
        writer, self._writer = self._writer, None
        try:
            if writer is not None:
                writer.close()
        finally:
            self._parts.close()
            if not self._closed:
                self._closed = True
                unpin(self.folder / MAIN)

    # --- reading

    @property
    def catalog(self) -> Catalog:
        return self._parts.catalog

    @property
    def keywords(self) -> TantivyKeywords:
        return self._parts.keywords

    @property
    def vectors(self) -> VectorIndex:
        return self._parts.table(self._parts.answering)

    @property
    def embedding(self) -> Embedding:
        """The embedder of the vectors that are searched; queries must be embedded with it."""
        return self._parts.answering

    @property
    def target(self) -> Embedding:
        """The embedder of new vectors: the one that the store was opened with."""
        return self._parts.target

    def refresh(self) -> int:
        """Read the newest generation and return it. CorruptStoreError if anything on disk was changed by others."""
        with self._refreshing:
            if not self._parts.is_current():
                self._parts.load()
            return self._parts.moment.generation

    def expect(self, docs: Collection[int] = (), names: Collection[str] = ()) -> None:
        """Does nothing: the catalog is on this disk."""

    def vector_state(self, *, wait: bool = True) -> VectorState:
        """Whether vectors can be searched, and how. Without `wait` they are loaded in the background."""
        return self.vectors.state(wait=wait)

    def release_memory(self) -> None:
        """Free loaded vectors and pages of the keyword index until the next search."""
        self.vectors.release()
        with suppress(StoreError):  # the next query reports the damage
            self.keywords.reopen()

    def embedded_contents(self, hashes: Collection[str]) -> set[str]:
        """Which of these contents have vectors under any path, so that they need not be embedded again."""
        return set(self.catalog.documents_of_contents(hashes, self.target.number))

    def vectors_of_contents(self, hashes: Collection[str]) -> dict[str, Vectors]:
        """content hash → vectors of a document with this content; contents without vectors are omitted. Empty while the
        table cannot be read; these contents then get their vectors later."""
        docs = self.catalog.documents_of_contents(hashes, self.target.number)
        try:
            found = self._parts.table(self.target).vectors(set(docs.values()))
        except (CorruptVectorsError, VectorsUnavailableError):
            return {}
        return {content: found[doc] for content, doc in docs.items() if doc in found}

    def counts(self, root: str | None = None) -> Counts:
        sizes = {name: _size(self.folder / name) for name in (*KEYWORD_INDEXES, "vectors")}
        sizes["catalog"] = sum(path.stat().st_size for path in self.folder.glob(f"{MAIN}*"))
        return replace(self.catalog.counts(root), disk_bytes=sizes)

    def verify(self) -> list[StoreDifference]:
        """Differences between the parts of the store; empty when they agree."""
        with self._refreshing:
            self.refresh()
            return compare(self._parts) + unreadable_tables(self._parts)

    # --- writing

    def _begin_writing(self, lock: WriterLock) -> None:
        writer = Writer(self._parts, CatalogWriter(self.folder / MAIN), lock)
        try:
            name, dimension = self._parts.embedder
            if name is not None and self._parts.moment.find(name, dimension) is None:
                writer.catalog_writer.put_embedder(name, dimension)
                self._parts.load()
            writer.vectors.open()
            writer.vectors.check()
            writer.repair()
            writer.vectors.drop_unnamed()
            self._parts.load()
            self._writer = writer
            self.use_vectors()
        except BaseException:
            self._writer = None
            with suppress(StoreError):  # the first error is the one to report
                writer.close_catalog()
            raise

    @property
    def _writing(self) -> Writer:
        if self._writer is None:
            raise StoreError("this index is open for reading only")
        return self._writer

    def is_awaited(self) -> bool:
        """Whether another process waits until this writer closes."""
        return self._writing.is_awaited()

    def can_continue(self) -> bool:
        """Whether a writer that was left open may be used again; if not, open the store again, which repairs it. Raises
        the same errors as `refresh`."""
        if not self._writing.is_in_place():
            return False
        self.refresh()
        return not any(table.damage for table in self._parts.tables().values())

    def apply(self, batch: Batch, *, defer_vectors: bool = False) -> int:
        """Write the batch to all parts. Returns the new generation, or the old one if the batch is empty.

        After an error nothing of it is visible, and it may be applied again; a full disk raises StoreFullError. With
        `defer_vectors` a batch does not wait for the import of LanceDB, and `flush_vectors` adds its vectors later."""
        self._writing.apply(batch, defer_vectors=defer_vectors)
        return self.refresh()

    def flush_vectors(self) -> None:
        """Commit the deferred vectors."""
        self._writing.put_deferred()
        self.refresh()

    def put_root(self, root: Root) -> None:
        """Record a root's name and family; a batch for an unknown root creates it too."""
        self._writing.catalog_writer.put_root(root)

    def drop_root(self, root: str) -> int:
        """Remove a root; its documents become dead unless another root has them."""
        self._writing.drop_root(root)
        return self.refresh()

    def sweep(self, max_age: float = 7 * DAY, max_share: float = 0.5) -> int:
        """Remove documents that have been dead for `max_age` seconds, and further dead ones until at most `max_share`
        of all documents are dead. Returns the number of removed documents."""
        swept = self._writing.sweep(max_age, max_share)
        self.refresh()
        return swept

    def optimize_vectors(self) -> bool:
        """Merge the small files of the vector table, and index it if it is large; False if it was not needed. Needs
        much memory, so it runs in a worker process."""
        done = self._writing.vectors.optimize()
        self.refresh()
        return done

    def scattered_vectors(self) -> bool:
        """Whether a worker should call `optimize_vectors`; reads file names only."""
        target = self.target
        return self._parts.table(target).needs_optimize(lambda: self.catalog.embedded_total(target.number)[1])

    def drop_vectors(self, reason: str) -> None:
        """Forget the vectors of the target, whose table cannot be used; `without_vectors` then returns every
        document."""
        self._writing.vectors.drop(self.target, reason)
        self.refresh()

    @property
    def lost_vectors(self) -> str:
        """Why this writer had to drop the vector table; empty if it did not."""
        return self._writing.vectors.lost

    def rebuild(self) -> None:
        """Replace the store by an empty one. No other thread may use this object meanwhile."""
        writing, embedder = self._writer is not None, self._parts.embedder
        with suppress(StoreError):  # closing a damaged store may fail
            self.close()
        fresh = type(self).open(self.folder, *embedder, write=True, rebuild=True, wait=REBUILD_SECONDS)
        if not writing:
            fresh.close()
            fresh = type(self).open(self.folder, *embedder)
        self._parts, self._writer, self._closed = fresh._parts, fresh._writer, False  # noqa: SLF001 of the same class

    # --- another embedder

    def without_vectors(self) -> set[int]:
        """Live documents that have no vectors of the target yet."""
        return self.catalog.unembedded(self.target.number)

    def put_vectors(self, vectors: Mapping[int, Vectors]) -> int:
        """Add vectors of the target for existing documents; those that have vectors keep them."""
        self._writing.put_vectors(vectors)
        return self.refresh()

    def use_vectors(self) -> bool:
        """If the target has vectors for every document that the old embedder has, search them from now on and drop the
        old ones. Returns whether the target is used."""
        old, new = self.embedding, self.target
        if old == new:
            return True
        if self.without_vectors() & self.catalog.embedded(old.number):
            return False
        self._writing.switch(new)
        self.refresh()
        return True


def take_lock(folder: Path, wait: float) -> WriterLock:
    with guard(folder, "opening the index for writing"):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return WriterLock(folder, wait)


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) if folder.exists() else 0
