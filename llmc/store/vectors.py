"""The hot tier of the vector store: one append-only file of int8 rows that every process reads with numpy.

How much of the file counts, and the checksum of that, is its *extent*. The catalog keeps it, so bytes after it (a
batch cut short) are nobody's and the next commit writes over them. Removed documents stay in the file until `compact`
writes a new one. What a row is, `rows` knows; how rows are searched, `table`. LanceDB (`lance`) is the table of record
behind this.
"""

from __future__ import annotations

import os
import threading
import zlib
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from llmc.base.errors import LlmcError
from llmc.store.integrity.checksums import remember
from llmc.store.integrity.native_errors import corrupt, guard
from llmc.store.rows import RowFile, checked, header, quantise, record_type, tombstones
from llmc.store.table import Table
from llmc.store.values import Extent

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence
    from pathlib import Path

    from llmc.store.protocols import ChunkHit
    from llmc.store.rows import Floats, Records

__all__ = ["HotVectors"]

LOAD_BYTES = 4 << 20
NOTHING = Extent("vectors-1", 0, 0)


class HotVectors:
    """`VectorStore` on one file. `extent` is what the catalog last said, None for an empty table. It is read when
    first asked: a writer that only appends never reads it."""

    def __init__(self, folder: Path, dimension: int, extent: Extent | None = None) -> None:
        self.folder = folder
        self.dimension = dimension
        self.extent = extent or NOTHING
        self._added: list[tuple[int, Floats]] = []
        self._deleted: set[int] = set()
        self._loading = threading.Lock()
        self._loaded = NOTHING
        self._table = Table.empty(dimension)
        self._resting = False

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
        """Append, fsync, and only then move the extent. A failed append leaves the file as long as it was."""
        added, deleted = self._added, self._deleted
        self.rollback()
        data = checked(_together(added)) if added else b""
        doomed = deleted & self.docs() if deleted else ()
        if doomed:
            data += checked(tombstones(doomed, self.dimension))
        if data:
            with guard(self.folder, "writing vectors"):
                self._append(data if self.extent.size else header(self.dimension) + data)

    def _append(self, data: bytes) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        start = self.extent.size
        file = os.open(self.folder / self.extent.file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            self._check_length(file)
            os.ftruncate(file, start)
            write_all(file, data, start)
            os.fsync(file)
        except BaseException:
            with suppress(OSError):
                os.ftruncate(file, start)
            raise
        finally:
            os.close(file)
        self.extent = Extent(self.extent.file, start + len(data), zlib.crc32(data, self.extent.crc))
        remember(self.folder / self.extent.file, self.extent)

    def _check_length(self, file: int) -> None:
        if os.fstat(file).st_size < self.extent.size:
            raise self._damaged()

    def compact(self) -> None:
        """Write the living rows to a new file, in order of documents. The old one may go once the catalog names the new
        extent."""
        table, old = self._current(), self.extent
        living = table.order[table.living[table.order]]
        with guard(self.folder, "compacting vectors"):
            data = header(self.dimension)
            if len(living):
                assert table.file is not None
                data += table.file.read(living.tolist()).tobytes()
            self.extent = Extent(f"vectors-{int(old.file.rpartition('-')[2]) + 1}", 0, 0)
            try:
                self._append(data)
            except BaseException:
                self.extent = old
                raise

    # --- loading

    def reload(self, extent: Extent | None = None) -> None:
        """See what another process committed: `extent` is what the catalog says now."""
        self.extent = extent or NOTHING

    def _current(self) -> Table:
        """The table of the extent. Only what was appended is read, unless the file is another one."""
        if self._resting:  # this question reads the few rows that it needs from the file
            self._resting = False
            threading.Thread(target=self._hold_again, name="llmc-vectors", daemon=True).start()
        if self._loaded == self.extent:
            return self._table
        with self._loading, guard(self.folder, "reading vectors"):
            extent = self.extent
            if self._loaded == extent:  # another thread was faster
                return self._table
            grows = extent.file == self._loaded.file and extent.size >= self._loaded.size > 0
            start = self._loaded if grows else Extent(extent.file, 0, 0)
            before = self._table if grows else Table.empty(self.dimension)
            if extent.size == 0:
                self._table, self._loaded = before, extent
                return before
            file = before.file if grows and before.file else RowFile(self.folder / extent.file, self.dimension)
            first = start.size or len(header(self.dimension))
            more = (extent.size - first) // record_type(self.dimension).itemsize
            self._table = before.grown(self._blocks(file, start, extent), more, file)
            self._loaded = extent
            return self._table

    def rest(self) -> None:
        """Nobody has asked for a while: the vectors of a large table are read again when somebody does."""
        with self._loading:
            if self._table.held is not None and self._table.bits is not None:
                self._table, self._resting = replace(self._table, held=None), True

    def _hold_again(self) -> None:
        with self._loading, suppress(LlmcError), guard(self.folder, "reading vectors"):
            table, loaded = self._table, self._loaded
            if table.held is None and table.file is not None and table.is_small:
                blocks = self._blocks(table.file, Extent(loaded.file, 0, 0), loaded)
                self._table = table.holding(self.dimension, blocks)

    def _blocks(self, file: RowFile, start: Extent, end: Extent) -> Iterator[Records]:
        """The rows between two extents, held against the checksum of the second."""
        at, crc = start.size, start.crc
        kind = record_type(self.dimension)
        if at == 0:
            head = file.bytes(len(header(self.dimension)), 0)
            if head != header(self.dimension):
                raise self._damaged()
            at, crc = len(head), zlib.crc32(head)
        step = LOAD_BYTES // kind.itemsize * kind.itemsize
        while at < end.size:
            data = file.bytes(min(step, end.size - at), at)
            if not data or len(data) % kind.itemsize:
                raise self._damaged()
            at, crc = at + len(data), zlib.crc32(data, crc)
            yield np.frombuffer(data, kind)
        if (at, crc) != (end.size, end.crc):
            raise self._damaged()

    def _damaged(self) -> Exception:
        return corrupt("the vectors do not check out", "their file differs from its checksum", self.folder)

    # --- reading

    def vectors(self, doc: int) -> Floats | None:
        table = self._current()
        with guard(self.folder, "reading vectors"):
            rows = table.rows_of([doc])
            return table.floats(rows) if len(rows) else None

    def search(self, query: Floats, limit: int, within: Collection[int] | None = None) -> list[ChunkHit]:
        table = self._current()
        with guard(self.folder, "searching vectors"):
            return table.search(query, limit, within)

    def similarities(self, query: Floats, places: Sequence[tuple[int, int]]) -> list[float]:
        table = self._current()
        with guard(self.folder, "searching vectors"):
            return table.similarities(query, places)

    def records(self, docs: Collection[int]) -> Records:
        """The rows of documents as they are in the file."""
        table = self._current()
        with guard(self.folder, "reading vectors"):
            rows = table.rows_of(docs)
            return table.file.read(rows.tolist()) if table.file else np.empty(0, record_type(self.dimension))

    def docs(self) -> set[int]:
        table = self._current()
        return set(table.docs[table.living].tolist())

    def counts(self) -> dict[int, int]:
        """Rows for each document."""
        table = self._current()
        docs, counts = np.unique(table.docs[table.living], return_counts=True)
        return dict(zip(docs.tolist(), counts.tolist(), strict=True))

    def dead_rows(self) -> int:
        table = self._current()
        return len(table.docs) - int(table.living.sum())

    def __len__(self) -> int:
        return (self.extent.size or len(header(self.dimension))) // record_type(self.dimension).itemsize

    def close(self) -> None:
        self._loaded, self._table = NOTHING, Table.empty(self.dimension)


def _together(added: Sequence[tuple[int, Floats]]) -> Records:
    docs = np.concatenate([np.full(len(vectors), doc, np.uint32) for doc, vectors in added])
    ordinals = np.concatenate([np.arange(len(vectors), dtype=np.uint32) for _, vectors in added])
    return quantise(docs, ordinals, np.concatenate([vectors for _, vectors in added]))


def write_all(file: int, data: bytes, at: int) -> None:
    view = memoryview(data)
    while view:
        written = os.pwrite(file, view, at)
        view, at = view[written:], at + written
