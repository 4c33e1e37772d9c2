"""Several embedders in one vector: the weighted concatenation of their unit vectors.

The cosine of two such vectors is the weighted mean of the parts' cosines, so BM25 + static + transformer is a three-way
fusion without changes to the stores.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from llmc.embed.vectors import unit_rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from llmc.embed import Embedder

__all__ = ["CombinedEmbedder"]


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
