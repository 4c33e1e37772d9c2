"""Finite unit rows, whatever a model returned, the rows of a file in context, and several embedders in one vector.

A combined vector is the weighted concatenation of unit vectors. The cosine of two of them is the weighted mean of the
parts' cosines, so BM25 + static + transformer is a three-way fusion without changes to the stores.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from llmc.embed import Embedder

__all__ = ["CombinedEmbedder", "in_context", "unit_rows"]

# The share of each neighbour and of the first chunk (decision 140).
BESIDE, FIRST = 0.2, 0.1
SHORTEST = 1e-12  # below this a direction is rounding noise


def unit_rows(rows: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """Rows of length one. A row without a direction (no known word, NaN, infinity) becomes the uniform vector."""
    rows = np.asarray(rows, dtype=np.float32)
    with np.errstate(over="ignore", invalid="ignore"):
        lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows))
        lost = ~(np.isfinite(lengths) & (lengths > SHORTEST))
    if lost.any():
        rows = rows.copy()
        rows[lost] = 1.0
        lengths[lost] = np.sqrt(rows.shape[1])
    return np.asarray(rows / lengths[:, None], dtype=np.float32)


def in_context(rows: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """The rows of a file's chunks in their order, each with a share of the chunks around it and of the first one, which
    says what the file is about: a model that adds up words knows nothing beyond the chunk that it is given."""
    if len(rows) <= 1:
        return rows
    beside = np.zeros_like(rows)
    beside[1:] += rows[:-1]
    beside[:-1] += rows[1:]
    return unit_rows(rows + BESIDE * beside + FIRST * rows[0])


class CombinedEmbedder:
    def __init__(self, parts: Sequence[tuple[Embedder, float]]) -> None:
        total = sum(weight for _, weight in parts)
        self._parts = [(embedder, (weight / total) ** 0.5) for embedder, weight in parts]
        self.name = " + ".join(f"{embedder.name}*{weight:g}" for embedder, weight in parts)
        self.dimension = sum(embedder.dimension for embedder, _ in parts)

    @property
    def trouble(self) -> str:
        """Why a part that is an endpoint does not answer queries now; empty if it does."""
        return next(filter(None, (getattr(embedder, "trouble", "") for embedder, _ in self._parts)), "")

    def embed(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        return unit_rows(np.hstack([factor * embedder.embed(texts) for embedder, factor in self._parts]))

    def embed_query(self, text: str) -> npt.NDArray[np.float32]:
        joined = np.concatenate([factor * embedder.embed_query(text) for embedder, factor in self._parts])
        row: npt.NDArray[np.float32] = unit_rows(joined[None, :])[0]
        return row
