"""What a row of the vector file is, and how rows are read back.

A row is its vector, quantised so that the largest component is 127; the factor that makes it a unit vector again; the
document and ordinal; and a checksum of all that. A removed document is a row too, a tombstone, so that the file only
grows.
"""

from __future__ import annotations

import os
import zlib
from typing import TYPE_CHECKING

import numpy as np

from llmc.store.integrity.native_errors import corrupt

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable
    from pathlib import Path

    import numpy.typing as npt

    Floats = npt.NDArray[np.float32]
    Records = npt.NDArray[np.void]

__all__ = ["TOMBSTONE", "RowFile", "as_scores", "checked", "header", "quantise", "record_type", "tombstones"]

MAGIC = b"llmcvec1"
TOMBSTONE = 0xFFFF_FFFF


def record_type(dimension: int) -> np.dtype[np.void]:
    return np.dtype(
        [("vector", "i1", (dimension,)), ("scale", "<f4"), ("doc", "<u4"), ("ordinal", "<u4"), ("crc", "<u4")]
    )


def header(dimension: int) -> bytes:
    return MAGIC + np.array([dimension, record_type(dimension).itemsize], "<u4").tobytes()


def as_scores(cosines: Floats) -> list[float]:
    """Equal vectors get equal scores: the last bit of a product depends on where in the matrix its row stands."""
    scores: list[float] = np.round(np.clip(cosines, -1.0, 1.0).astype(np.float64), 6).tolist()
    return scores


def quantise(docs: npt.NDArray[np.uint32], ordinals: npt.NDArray[np.uint32], vectors: Floats) -> Records:
    """An error of at most half a step of 1/127 of the largest component."""
    rows = np.zeros(len(vectors), record_type(vectors.shape[1]))
    vectors = np.nan_to_num(vectors, posinf=0.0, neginf=0.0)
    peak = np.abs(vectors).max(axis=1, keepdims=True, initial=0.0)
    rows["vector"] = np.rint(vectors * (127.0 / np.where(peak > 0, peak, 1.0)))
    lengths = np.linalg.norm(rows["vector"].astype(np.float32), axis=1)
    rows["scale"] = np.divide(1.0, lengths, out=np.zeros_like(lengths), where=lengths > 0)
    rows["doc"], rows["ordinal"] = docs, ordinals
    return rows


def tombstones(docs: Collection[int], dimension: int) -> Records:
    rows = np.zeros(len(docs), record_type(dimension))
    rows["doc"] = sorted(docs)
    rows["ordinal"] = TOMBSTONE
    return rows


def checked(rows: Records) -> bytes:
    """The bytes of the rows, each with the checksum of what stands before it."""
    data = bytearray(rows.tobytes())
    width = rows.dtype.itemsize
    view = memoryview(data)
    for start in range(0, len(data), width):
        end = start + width - 4
        view[end : end + 4] = zlib.crc32(view[start:end]).to_bytes(4, "little")
    return bytes(data)


class RowFile:
    """One vector file, open for reading. It is read and never mapped: truncating a mapped file kills its readers."""

    def __init__(self, path: Path, dimension: int) -> None:
        self._path = path
        self._type = record_type(dimension)
        self._first = len(header(dimension))
        self._file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)

    def __del__(self) -> None:
        if hasattr(self, "_file"):
            os.close(self._file)

    def bytes(self, size: int, at: int) -> bytes:
        return os.pread(self._file, size, at)

    def read(self, rows: Iterable[int]) -> Records:
        """Rows by number, each held against its own checksum: what was sound when it was loaded may not be any more."""
        width = self._type.itemsize
        found = [os.pread(self._file, width, self._first + row * width) for row in rows]
        for data in found:
            if len(data) != width or zlib.crc32(memoryview(data)[:-4]) != int.from_bytes(data[-4:], "little"):
                raise corrupt("the vectors do not check out", "a row differs from its checksum", self._path.parent)
        return np.frombuffer(b"".join(found), self._type)
