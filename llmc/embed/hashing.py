"""An embedder without a model: each sub-token adds its signed weight to one of 256 dimensions.

It detects shared words only. Tests use it instead of the trained models, and so can an installation whose model folder
is missing.
"""

from __future__ import annotations

import zlib
from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

from llmc.embed.tokens import MAX_TEXT, WORD, fold, split
from llmc.embed.vectors import unit_rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

__all__ = ["HashEmbedder"]


class HashEmbedder:
    name = "hash-256 (plain sub-token hashing, nothing learned)"
    dimension = 256

    def embed(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        rows = np.zeros((len(texts), self.dimension), dtype=np.float32)
        for row, text in zip(rows, texts, strict=True):
            for part, count in _parts(text).items():
                value = zlib.crc32(part.encode("utf-8", "surrogatepass"))
                row[value % self.dimension] += (1.0 if value & 0x8000_0000 else -1.0) * count**0.5
        return unit_rows(rows)

    def embed_query(self, text: str) -> npt.NDArray[np.float32]:
        row: npt.NDArray[np.float32] = self.embed([text])[0]
        return row


def _parts(text: str) -> Counter[str]:
    return Counter(part for word in WORD.findall(fold(text[:MAX_TEXT])) for part in split(word))
