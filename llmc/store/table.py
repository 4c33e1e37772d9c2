"""The vectors of one extent, ready to be searched: a snapshot that never changes, so that any thread may search it
while the next one is made.

Small tables are held as they are and compared exactly. Of large ones only a `sketch` is held, and the few rows that are
probably nearest are read from the file when asked, and compared exactly.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from llmc.store.protocols import ChunkHit
from llmc.store.rows import TOMBSTONE, as_scores
from llmc.store.sketch import PRODUCT_ROWS, nearest_rows, sketch

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    import numpy.typing as npt

    from llmc.store.rows import Floats, Records, RowFile

    Rows = npt.NDArray[np.intp]
    Bytes = npt.NDArray[np.int8]

__all__ = ["Table"]

# 64,000 rows of 256 bytes are 16 MB and take 4 ms of CPU to compare exactly.
LARGEST_HELD = 64_000
# What the sketch lets through to the exact comparison: 1 µs each to read.
READ_ROWS = 2_500
EQUAL = 1e-6


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """One entry for each row of the file, in its order. Either `held` or `bits` is there. `order` sorts by document."""

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

    def grown(self, blocks: Sequence[Records], file: RowFile) -> Table:
        """This table and the rows that were appended since."""
        docs = np.concatenate([self.docs, *(block["doc"] for block in blocks)])
        ordinals = np.concatenate([self.ordinals, *(block["ordinal"] for block in blocks)])
        scales = np.concatenate([self.scales, *(block["scale"] for block in blocks)])
        held, bits = self._more([block["vector"] for block in blocks], len(docs))
        dead = docs[ordinals == TOMBSTONE]
        living = ~np.isin(docs, dead) if len(dead) else np.ones(len(docs), np.bool_)
        return Table(docs, ordinals, scales, held, bits, living, np.argsort(docs, kind="stable"), file)

    def _more(self, vectors: list[Bytes], rows: int) -> tuple[Bytes | None, npt.NDArray[np.uint64] | None]:
        if self.held is not None and rows <= LARGEST_HELD:
            return np.concatenate([self.held, *vectors]), None
        before = self.bits if self.held is None else sketch(self.held)
        assert before is not None
        return None, np.concatenate([before, *map(sketch, vectors)], axis=1)

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
        if self.bits is not None and len(rows) > READ_ROWS:
            everything = len(rows) == len(self.docs)  # then no copy of the bits is made
            rows = nearest_rows(self.bits, query, None if everything else rows, max(READ_ROWS, 4 * limit))
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
