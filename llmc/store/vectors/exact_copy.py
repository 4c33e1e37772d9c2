"""The vectors of a small table in memory, all of which are compared: exact, and faster than LanceDB up to some size.

A copy is immutable, so any thread may search it while the next one is created. It has one byte for each dimension:
64,000 rows of 256 take 16 MB and 3.4 ms of CPU; as float32 they take four times the memory and no less time, and
LanceDB's flat search takes 70 ms.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from llmc.store.protocols import ChunkHit

if TYPE_CHECKING:
    from collections.abc import Collection

    import numpy.typing as npt

    Floats = npt.NDArray[np.float32]
    Numbers = npt.NDArray[np.int64]
    Rows = npt.NDArray[np.intp]

__all__ = ["ExactCopy", "as_scores", "best_first", "best_hits"]

# As floats, a block of this size fits into the cache of a core: 20,000 rows of 256 dimensions take 2.6 ms, with blocks
# of 1,024 rows 4.2 ms. The BLAS distributes products of 4,096 rows over threads, which then wait for each other. One
# block is allocated per search, small enough that the allocator does not map it separately (`base.malloc`): with a new
# block of 1 MB for each product, page faults took 14 ms.
PRODUCT_ROWS = 128
EQUAL = 1e-6


def as_scores(cosines: Floats) -> list[float]:
    """Rounded, so that equal vectors get equal scores: the last bit of a product depends on the row's position."""
    scores: list[float] = np.round(np.clip(cosines, -1.0, 1.0).astype(np.float64), 6).tolist()
    return scores


def best_hits(docs: Numbers, ordinals: Numbers, cosines: Floats, limit: int) -> list[ChunkHit]:
    """The `limit` best, equal scores in order of (doc, ordinal)."""
    if len(cosines) > limit:
        kept = np.flatnonzero(cosines >= np.partition(cosines, -limit)[-limit] - EQUAL)
        docs, ordinals, cosines = docs[kept], ordinals[kept], cosines[kept]
    hits = [ChunkHit(*hit) for hit in zip(docs.tolist(), ordinals.tolist(), as_scores(cosines), strict=True)]
    return sorted(hits, key=best_first)[:limit]


def best_first(hit: ChunkHit) -> tuple[float, int, int]:
    return (-hit.score, hit.doc, hit.ordinal)


@dataclass(frozen=True, slots=True, eq=False)
class ExactCopy:
    """Rows in order of (doc, ordinal). `scales` make the quantised rows unit vectors again."""

    docs: Numbers
    ordinals: Numbers
    quantised: npt.NDArray[np.int8]
    scales: Floats

    @classmethod
    def empty(cls, dimension: int) -> ExactCopy:
        numbers = np.empty(0, np.int64)
        return cls(numbers, numbers, np.empty((0, dimension), np.int8), np.empty(0, np.float32))

    def __len__(self) -> int:
        return len(self.docs)

    @property
    def memory(self) -> int:
        return sum(part.nbytes for part in (self.docs, self.ordinals, self.quantised, self.scales))

    @property
    def last_doc(self) -> int:
        return int(self.docs[-1]) if len(self) else 0

    def with_rows(self, docs: Numbers, ordinals: Numbers, vectors: npt.NDArray[np.float16]) -> ExactCopy:
        """A copy with these rows added."""
        quantised, scales = _quantise(vectors)
        docs, ordinals = np.concatenate([self.docs, docs]), np.concatenate([self.ordinals, ordinals])
        quantised, scales = np.concatenate([self.quantised, quantised]), np.concatenate([self.scales, scales])
        if len(self) and len(docs) > len(self) and docs[len(self)] > self.last_doc and _ascending(docs, ordinals):
            return ExactCopy(docs, ordinals, quantised, scales)
        order = np.lexsort((ordinals, docs))
        return ExactCopy(docs[order], ordinals[order], quantised[order], scales[order])

    def only(self, docs: Numbers) -> ExactCopy:
        """The rows of these documents."""
        kept = np.isin(self.docs, docs)
        return ExactCopy(self.docs[kept], self.ordinals[kept], self.quantised[kept], self.scales[kept])

    def search(self, query: Floats, limit: int, within: Collection[int] | None) -> list[ChunkHit]:
        rows = None if within is None else self._rows_of(within)
        docs, ordinals = (self.docs, self.ordinals) if rows is None else (self.docs[rows], self.ordinals[rows])
        return best_hits(docs, ordinals, self._cosines(query, rows), limit) if limit > 0 and len(docs) else []

    def _rows_of(self, docs: Collection[int]) -> Rows:
        wanted = np.unique(np.fromiter(docs, np.int64, len(docs)))
        starts = np.searchsorted(self.docs, wanted, "left").tolist()
        ends = np.searchsorted(self.docs, wanted, "right").tolist()
        spans = [np.arange(start, end) for start, end in zip(starts, ends, strict=True) if end > start]
        return np.concatenate(spans) if spans else np.empty(0, np.intp)

    def _cosines(self, query: Floats, rows: Rows | None) -> Floats:
        total = len(self) if rows is None else len(rows)
        scores = np.empty(total, np.float32)
        floats = np.empty((PRODUCT_ROWS, self.quantised.shape[1]), np.float32)
        for start in range(0, total, PRODUCT_ROWS):
            part = slice(start, start + PRODUCT_ROWS) if rows is None else rows[start : start + PRODUCT_ROWS]
            block = floats[: min(PRODUCT_ROWS, total - start)]
            block[:] = self.quantised[part]
            scores[start : start + len(block)] = (block @ query) * self.scales[part]
        return scores


def _quantise(vectors: npt.NDArray[np.float16]) -> tuple[npt.NDArray[np.int8], Floats]:
    """The largest component of each row becomes 127; an error of at most half a step."""
    floats = vectors.astype(np.float32)
    peaks = np.abs(floats).max(axis=1, keepdims=True, initial=0.0)
    quantised = np.rint(floats * (127.0 / np.where(peaks > 0, peaks, 1.0))).astype(np.int8)
    lengths = np.linalg.norm(quantised.astype(np.float32), axis=1)
    return quantised, np.divide(1.0, lengths, out=np.zeros_like(lengths), where=lengths > 0)


def _ascending(docs: Numbers, ordinals: Numbers) -> bool:
    steps = np.diff(docs)
    return bool(((steps > 0) | ((steps == 0) & (np.diff(ordinals) > 0))).all())
