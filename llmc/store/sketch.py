"""A small picture of many vectors: one bit for each dimension's sign. It says which rows are worth reading.

Two vectors whose signs differ in few places point the same way. The distance is an XOR and a count of bits over 32
bytes a row (256 dimensions): 0.5 ms for 150,000 rows, and 5 MB where the vectors take 40.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    Bits = npt.NDArray[np.uint64]
    Rows = npt.NDArray[np.intp]

__all__ = ["nearest_rows", "sketch"]

BITS = 64


def sketch(vectors: npt.NDArray[np.int8] | npt.NDArray[np.float32]) -> Bits:
    """(rows, dimension) → (words of 64 signs, rows); missing dimensions of the last word are zeros.

    A word's plane lies in one piece: eight times as fast as row by row.
    """
    rows, dimension = vectors.shape
    packed = np.zeros((rows, -(-dimension // BITS) * (BITS // 8)), np.uint8)
    signs = np.packbits(vectors > 0, axis=1)
    packed[:, : signs.shape[1]] = signs
    return np.ascontiguousarray(packed.view(np.uint64).T)


def nearest_rows(bits: Bits, query: Bits, rows: Rows | None, limit: int) -> Rows:
    """The rows (of `rows`, or of all) whose signs differ least from the query's, in no order: `limit` and their
    equals."""
    distances = np.zeros(bits.shape[1] if rows is None else len(rows), np.uint16)
    for plane, word in zip(bits, query, strict=True):
        distances += np.bitwise_count((plane if rows is None else plane[rows]) ^ word)
    # The distances are few: counting how many rows have each is four times as fast as partitioning the rows.
    farthest = np.searchsorted(np.bincount(distances).cumsum(), min(limit, len(distances)))
    picked = np.flatnonzero(distances <= farthest)
    return picked if rows is None else rows[picked]
