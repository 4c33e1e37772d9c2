"""The vector store of one embedding model: a LanceDB table, and an exact copy in memory if the table is small.

Up to `EXACT_ROWS` rows, the copy answers queries; it is loaded from the table and updated with it. Above, every query
searches the table, whose index covers all rows except those of the latest saves. These rows are compared in memory,
since LanceDB opens a file for each save. All scores are cosines of the stored vectors. The loaded state is a
`Snapshot`; `reload` records that the catalog lists another state of the table, and the next query updates the snapshot.
Keyword search does not depend on this module: `state` reports, without waiting, whether vectors can be searched.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from llmc.base.errors import CorruptVectorsError, StoreError
from llmc.store.vectors import engine
from llmc.store.vectors.exact_copy import ExactCopy, best_first, best_hits
from llmc.store.vectors.lance_table import LanceTable, files_of, manifest_of_table, sync, table_errors, version_count

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping
    from pathlib import Path

    import numpy.typing as npt

    from llmc.store.protocols import ChunkHit
    from llmc.store.values import Embedding, Extent
    from llmc.store.vectors.lance_table import Rows

    Floats = npt.NDArray[np.float32]
    Search = Callable[..., Rows]  # (number of rows, documents) → the nearest rows

__all__ = ["VectorIndex", "VectorState"]

# Measured (256 dimensions, CPU of a query): 50,000 rows take 2.7 ms and 13 MB in memory; LanceDB takes 8 ms at any
# size, and builds an index of 50,000 rows in a second.
EXACT_ROWS = 50_000
# Each save is a version with its own files, and every query checks them for damage, 2 µs each.
MOST_VERSIONS = 40
# The index orders by rounded vectors. Reordering twice as many candidates by exact cosine raises recall@200 from .98
# to 1.0.
CANDIDATES = 2
# A filter of more documents than this costs more than an unfiltered search whose other results are dropped.
FILTERED_DOCS = 2_000
MOST_CANDIDATES = 4_000


@dataclass(frozen=True, slots=True)
class VectorState:
    """`answered_by` is memory or lancedb, or empty if vectors cannot be searched; `reason` then explains it. `damaged`:
    the table must be created again."""

    answered_by: str = ""
    rows: int = 0
    reason: str = ""
    damaged: bool = False


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The loaded state: no table before the first vectors, no copy of a large table. `latest` are the rows of a large
    table that its index does not cover; None if they are not loaded, and then LanceDB searches them."""

    table: LanceTable | None
    copy: ExactCopy | None
    rows: int
    latest: ExactCopy | None = None
    kept: frozenset[str] = frozenset()  # names of index and deletion files

    @property
    def state(self) -> VectorState:
        return VectorState("lancedb" if self.copy is None else "memory", self.rows)


class VectorIndex:
    """`VectorStore` on LanceDB. `folder` is the store's, `manifest` the table's files as the catalog names them."""

    def __init__(self, folder: Path, embedding: Embedding, manifest: Mapping[str, Extent] | None = None) -> None:
        self.folder = folder / embedding.store
        self.embedding = embedding
        self.dimension = embedding.dimension
        self.damage = ""  # why the table cannot be used
        self._named = manifest
        self._added: list[tuple[int, Floats]] = []
        self._deleted: set[int] = set()
        self._written: LanceTable | None = None  # opened by the writer and kept for its next batch
        self._loading = threading.Lock()
        self._loader: threading.Thread | None = None
        self._snapshot: Snapshot | None = None
        self._released: VectorState | None = None  # the state before `release`, until a query loads the table again
        self._stale = True

    # --- writing

    def add(self, doc: int, vectors: Floats) -> None:
        if len(vectors):
            self._added.append((doc, vectors))

    def delete(self, docs: Collection[int]) -> None:
        self._deleted.update(docs)

    def rollback(self) -> None:
        self._added = []
        self._deleted = set()

    def commit(self) -> None:
        """Write the buffered changes durably. VectorsUnavailableError without LanceDB, CorruptVectorsError if the table
        cannot be used; nothing is written then."""
        added, deleted = self._added, self._deleted
        self.rollback()
        if not added and not (deleted and self.folder.exists()):
            return
        before = files_of(self.folder)
        table = self._writable()
        if deleted:
            table.delete(deleted)
        if added:
            table.add(added)
        with table_errors(self.folder, "writing vectors"):
            sync(self.folder, before)
        self._written = table
        self._stale = True

    def _writable(self) -> LanceTable:
        table, self._written = self._written, None  # opened again after an error
        if table is None or not self.folder.exists():
            table = LanceTable(self.folder, self.embedding, create=True)
        table.refresh()
        return table

    def manifest(self) -> dict[str, Extent]:
        """The table's files as they are now, for the catalog."""
        return manifest_of_table(self.folder)

    def needs_optimize(self, rows: Callable[[], int]) -> bool:
        """Whether the table has many versions, or enough rows for an index but none. Reads file names only."""
        if not self.folder.exists():
            return False
        has_index = any((self.folder / "_indices").glob("*"))
        return version_count(self.folder) > MOST_VERSIONS or (not has_index and rows() > EXACT_ROWS)

    def optimize(self) -> None:
        table, before = self._writable(), files_of(self.folder)
        table.optimize(indexed=table.row_count() > EXACT_ROWS)
        with table_errors(self.folder, "optimizing the vectors"):
            sync(self.folder, before)
        self._stale = True

    # --- loading

    def reload(self, manifest: Mapping[str, Extent] | None = None) -> None:
        """Record the files that the catalog lists now; if they changed, the next query reads the newest version."""
        if manifest is None or manifest != self._named:
            self._named = manifest
            self._stale = True

    def state(self, *, wait: bool = True) -> VectorState:
        """Whether vectors can be searched. Without `wait`, a table that is not loaded is loaded in the background."""
        if self.damage:
            return VectorState(reason=self.damage, damaged=True)
        if engine.failure():
            return VectorState(reason=f"cannot import lancedb ({engine.failure()})")
        if self._released is not None and not self._stale:
            return self._released
        if not wait and self._released is None and (self._snapshot is None or not engine.is_loaded()):
            self._load_in_background()
            if self.folder.exists():
                return VectorState(reason="vectors are still loading")
        try:
            return self._current().state
        except StoreError as error:
            reason, damaged = error.reason or error.message, isinstance(error, CorruptVectorsError)
            self.damage = reason if damaged else self.damage
            return VectorState(reason=reason, damaged=damaged)

    def _load_in_background(self) -> None:
        if self._loader is None or not self._loader.is_alive():
            self._loader = engine.preload(self._load_quietly)

    def _load_quietly(self) -> None:
        self.state()  # stores an error for the next caller

    def _current(self) -> Snapshot:
        if self.damage:
            raise CorruptVectorsError("the vector table cannot be used", reason=self.damage, folder=str(self.folder))
        if self._snapshot is None or self._stale:
            with self._loading:
                if self._snapshot is None or self._stale:
                    self._stale = False
                    self._snapshot = self._load()
                    self._released = None
        return self._snapshot

    def _load(self) -> Snapshot:
        """Load, and try once more if it fails: `optimize` in another process may remove files while they are read."""
        try:
            try:
                return self._loaded(self._snapshot)
            except CorruptVectorsError:
                return self._loaded(None)
        except BaseException:
            self._stale = True
            raise

    def _loaded(self, before: Snapshot | None) -> Snapshot:
        if not self.folder.exists():
            return Snapshot(None, ExactCopy.empty(self.dimension), 0)
        table = before.table if before else None
        if table is None:
            table = LanceTable(self.folder, self.embedding)
        kept = frozenset(path.name for name in ("_deletions", "_indices") for path in (self.folder / name).glob("*"))
        table.refresh()
        rows = table.row_count()
        if rows > EXACT_ROWS:
            return Snapshot(table, None, rows, self._latest(table, before, kept), kept)
        copy = before.copy if before and before.copy is not None else ExactCopy.empty(self.dimension)
        return Snapshot(table, updated(copy, table, rows), rows)

    def _latest(self, table: LanceTable, before: Snapshot | None, kept: frozenset[str]) -> ExactCopy | None:
        """The rows that the index does not cover. If nothing was deleted or indexed since `before`, only later saves
        are read; the number of rows proves that none is missing."""
        count = table.unindexed_count()
        if count is None or count > EXACT_ROWS:
            return None
        latest = ExactCopy.empty(self.dimension)
        if before and before.latest and before.kept == kept:
            latest = before.latest.with_rows(*table.rows_after(before.latest.last_doc))
        if len(latest) == count:
            return latest
        found = table.newest_rows(count)
        return None if found is None else ExactCopy.empty(self.dimension).with_rows(*found)

    # --- reading

    def search(self, query: Floats, limit: int, within: Collection[int] | None = None) -> list[ChunkHit]:
        if limit <= 0 or (within is not None and not within):
            return []
        try:
            return self._search(self._current(), query, limit, within)
        except CorruptVectorsError:  # `optimize` in another process has removed the version that was read
            self._snapshot = None
            return self._search(self._current(), query, limit, within)

    def _search(self, snapshot: Snapshot, query: Floats, limit: int, within: Collection[int] | None) -> list[ChunkHit]:
        if snapshot.copy is not None:
            return snapshot.copy.search(query, limit, within)
        assert snapshot.table is not None
        covered = partial(snapshot.table.nearest, query, indexed_only=snapshot.latest is not None)
        if within is None or len(within) <= FILTERED_DOCS:
            found = nearest(covered, query, limit, within)
        else:
            found = nearest_within(covered, query, limit, within)
        if not snapshot.latest:
            return found
        latest = snapshot.latest.search(query, limit, within)
        return sorted([*found, *latest], key=best_first)[:limit]

    def vectors(self, docs: Collection[int]) -> dict[int, Floats]:
        table = self._current().table if docs else None
        if table is None:
            return {}
        found, ordinals, vectors = table.rows_of(docs)
        order = np.lexsort((ordinals, found))
        numbers, starts = np.unique(found[order], return_index=True)
        parts = np.split(vectors[order].astype(np.float32), starts[1:])
        return dict(zip(numbers.tolist(), parts, strict=True)) if len(numbers) else {}

    def docs(self) -> set[int]:
        return set(self.counts())

    def counts(self) -> dict[int, int]:
        """Rows for each document."""
        table = self._current().table
        if table is None:
            return {}
        docs, counts = np.unique(table.docs(), return_counts=True)
        return dict(zip(docs.tolist(), counts.tolist(), strict=True))

    def row_count(self) -> int:
        return self._current().rows

    @property
    def memory(self) -> int:
        """The bytes of the rows in memory."""
        loaded = self._snapshot
        return sum(part.memory for part in (loaded.copy, loaded.latest) if part is not None) if loaded else 0

    def release(self) -> None:
        """Free what is loaded. The next query loads it again: 50 ms of CPU for 165,000 rows, so it waits for that."""
        with self._loading:
            if self._snapshot is not None:
                self._released, self._snapshot = self._snapshot.state, None

    def close(self) -> None:
        self.rollback()
        self._snapshot = self._written = None


def nearest(search: Search, query: Floats, limit: int, docs: Collection[int] | None) -> list[ChunkHit]:
    found, ordinals, vectors = search(CANDIDATES * limit, docs)
    return best_hits(found, ordinals, vectors.astype(np.float32) @ query, limit)


def nearest_within(search: Search, query: Floats, limit: int, docs: Collection[int]) -> list[ChunkHit]:
    """Search everything and keep the hits in these documents; search with a filter if these are too few."""
    wanted = np.fromiter(docs, np.int64, len(docs))
    total = 4 * CANDIDATES * limit
    while total <= MOST_CANDIDATES:
        found, ordinals, vectors = search(total)
        kept = np.isin(found, wanted)
        if kept.sum() >= limit or len(found) < total:
            return best_hits(found[kept], ordinals[kept], vectors[kept].astype(np.float32) @ query, limit)
        total *= 4
    return nearest(search, query, limit, docs)


def updated(copy: ExactCopy, table: LanceTable, rows: int) -> ExactCopy:
    """The copy with the changes of the table. New documents have higher numbers, so the rows of a save follow the last
    one; other differences are found by comparing all documents."""
    copy = copy.with_rows(*table.rows_after(copy.last_doc))
    if len(copy) == rows:
        return copy
    docs = table.docs()
    copy = copy.only(docs)
    missing = np.setdiff1d(docs, copy.docs)
    if len(missing):
        copy = copy.with_rows(*table.rows_of(missing.tolist()))
    if len(copy) == rows:
        return copy
    return copy.only(np.empty(0, np.int64)).with_rows(*table.rows_after(-1))
