"""The vectors of one extent, ready to be searched: a snapshot that never changes, so that any thread may search it
while the next one is made.

Small tables are compared exactly, row by row. For large ones there is a `sketch` too, which says what few rows are
probably nearest; those are compared exactly. Of the very large ones only the sketch is held, and these rows are read
from the file.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from llmc.store.protocols import ChunkHit
from llmc.store.rows import TOMBSTONE, as_scores
from llmc.store.sketch import PRODUCT_ROWS, nearest_rows, sketch

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    import numpy.typing as npt

    from llmc.store.rows import Floats, Records, RowFile

    Rows = npt.NDArray[np.intp]
    Bytes = npt.NDArray[np.int8]

__all__ = ["Table"]

# 64,000 rows of 256 bytes take 4 ms of CPU to compare exactly.
COMPARED_ROWS = 64_000
# 200,000 of them are 51 MB, as some 35,000 files have; an idle daemon may have 250. Reading 2,500 from the file instead
# takes 8 ms of a query.
LARGEST_HELD = 200_000
# What the sketch lets through to the exact comparison.
READ_ROWS = 2_500
# A save brings a few rows: there is room for so many before all of them are copied.
SPARE_ROWS = 2_048
EQUAL = 1e-6


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """One entry for each row of the file, in its order. `held`, `bits` or both are there. `order` sorts by document."""

    docs: npt.NDArray[np.uint32]
    ordinals: npt.NDArray[np.uint32]
    scales: Floats
    held: Bytes | None
    bits: npt.NDArray[np.uint64] | None
    living: npt.NDArray[np.bool_]
    order: Rows
    file: RowFile | None

    @classmethod
    def empty(cls, dimension: int) -> Table:
        none = np.empty((0, dimension), np.int8)
        numbers = np.empty(0, np.uint32)
        flags, order = np.empty(0, np.bool_), np.empty(0, np.intp)
        return cls(numbers, numbers, np.empty(0, np.float32), none, None, flags, order, None)

    def grown(self, blocks: Iterable[Records], more: int, file: RowFile) -> Table:
        """This table and the `more` rows that were appended since. They come in blocks, of which only what is needed is
        kept: all at once they were half of the memory of an idle daemon."""
        rows = len(self.docs) + more
        held = self.held if rows <= LARGEST_HELD else None  # and none while it rests
        sketched = held is None or rows > COMPARED_ROWS
        bits = [self._sketch()] if sketched else []
        columns = [(self.docs, self.ordinals, self.scales)]
        for block in blocks:
            columns.append((block["doc"].copy(), block["ordinal"].copy(), block["scale"].copy()))
            held = None if held is None else appended(held, block["vector"], rows)
            bits += [sketch(block["vector"])] if sketched else []
        docs, ordinals, scales = (np.concatenate(column) for column in zip(*columns, strict=True))
        dead = docs[ordinals == TOMBSTONE]
        living = ~np.isin(docs, dead) if len(dead) else np.ones(len(docs), np.bool_)
        order = np.argsort(docs, kind="stable")
        return Table(docs, ordinals, scales, held, np.concatenate(bits, axis=1) if bits else None, living, order, file)

    @property
    def is_small(self) -> bool:
        """Enough to be held."""
        return len(self.docs) <= LARGEST_HELD

    def holding(self, dimension: int, blocks: Iterable[Records]) -> Table:
        """With the vectors themselves: `blocks` are all its rows, read again."""
        held = np.empty((0, dimension), np.int8)
        for block in blocks:
            held = appended(held, block["vector"], len(self.docs))
        return replace(self, held=held)

    def _sketch(self) -> npt.NDArray[np.uint64]:
        if self.bits is not None:
            return self.bits
        assert self.held is not None
        return sketch(self.held)

    def rows_of(self, docs: Collection[int]) -> Rows:
        """The living rows of these documents, each document's in order of ordinals."""
        wanted = np.fromiter(docs, np.uint32, len(docs))
        wanted.sort()
        ordered = self.docs[self.order]
        starts = np.searchsorted(ordered, wanted, "left").tolist()
        ends = np.searchsorted(ordered, wanted, "right").tolist()
        spans = [self.order[start:end] for start, end in zip(starts, ends, strict=True) if end > start]
        rows = np.concatenate(spans) if spans else np.empty(0, np.intp)
        return rows[self.living[rows]]

    def search(self, query: Floats, limit: int, within: Collection[int] | None) -> list[ChunkHit]:
        rows = np.flatnonzero(self.living) if within is None else self.rows_of(within)
        if limit <= 0 or not len(rows):
            return []
        if self.bits is not None and len(rows) > (READ_ROWS if self.held is None else COMPARED_ROWS):
            everything = len(rows) == len(self.docs)  # then no copy of the bits is made
            most = max(READ_ROWS, 4 * limit) if self.held is None else len(rows)
            rows = nearest_rows(self.bits, query, None if everything else rows, most)
        scores = self.cosines(query, rows)
        if len(scores) > limit:
            # Every row as good as the last one that fits, so that equals are put in order by place.
            kept = np.flatnonzero(scores >= np.partition(scores, -limit)[-limit] - EQUAL)
            rows, scores = rows[kept], scores[kept]
        found = zip(self.docs[rows].tolist(), self.ordinals[rows].tolist(), as_scores(scores), strict=True)
        return sorted((ChunkHit(*hit) for hit in found), key=lambda hit: (-hit.score, hit.doc, hit.ordinal))[:limit]

    def similarities(self, query: Floats, places: Sequence[tuple[int, int]]) -> list[float]:
        rows = self.rows_of({doc for doc, _ in places})
        found = zip(self.docs[rows].tolist(), self.ordinals[rows].tolist(), strict=True)
        known = dict(zip(found, as_scores(self.cosines(query, rows)), strict=True))
        return [known.get(place, 0.0) for place in places]

    def cosines(self, query: Floats, rows: Rows) -> Floats:
        scores = np.empty(len(rows), np.float32)
        for start in range(0, len(rows), PRODUCT_ROWS):
            part = rows[start : start + PRODUCT_ROWS]
            scores[start : start + len(part)] = (self.quantised(part).astype(np.float32) @ query) * self.scales[part]
        return scores

    def floats(self, rows: Rows) -> Floats:
        unit: Floats = self.quantised(rows).astype(np.float32) * self.scales[rows][:, np.newaxis]
        return unit

    def quantised(self, rows: Rows) -> Bytes:
        if self.held is not None:
            return self.held.take(rows, axis=0)
        assert self.file is not None
        vectors: Bytes = self.file.read(rows.tolist())["vector"]
        return vectors


def appended(before: Bytes, block: Bytes, expected: int) -> Bytes:
    """`before` and the block as one array. Older tables see the beginning of the same memory, and only that."""
    rows = len(before) + len(block)
    room = before.base if isinstance(before.base, np.ndarray) else None
    if room is None or len(room) < rows:
        room = np.empty((max(rows, expected) + SPARE_ROWS, before.shape[1]), np.int8)
        room[: len(before)] = before
    room[len(before) : rows] = block
    return room[:rows]
