"""The bundled static model: numpy, a memory-mapped table of int8 rows, and a sum.

The vector of a text is the normalized sum of its tokens' rows, each multiplied by its scale. This module reads and
checks the model folder; `tokens` splits the text. The folder is also a valid sentence-transformers model
(`modules.json`, `tokenizer.json`); this loader reads only `model.safetensors`, `vocabulary.txt` and `llmc.json`.
"""

from __future__ import annotations

import json
import mmap
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from llmc.base.errors import EmbedError
from llmc.embed.tokens import Tokenizer
from llmc.embed.vectors import unit_rows

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import numpy.typing as npt

__all__ = ["StaticEmbedder"]


@dataclass(frozen=True, slots=True)
class StaticEmbedder:
    name: str
    tokens: Tokenizer
    rows: npt.NDArray[np.int8]
    scales: npt.NDArray[np.float32]

    @classmethod
    def load(cls, folder: Path) -> StaticEmbedder:
        """Open a model folder in about 15 ms; the table is read on demand."""
        try:
            card = json.loads((folder / "llmc.json").read_bytes())
            words = (folder / "vocabulary.txt").read_text("ascii").split("\n")
            tensors = _tensors(folder / "model.safetensors")
            return cls._checked(card, words, tensors)
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise EmbedError(
                "the embedding model cannot be used",
                reason=_reason(error),
                hint="Reinstall llmc, or set embedder.kind to another embedder.",
                path=str(folder),
            ) from error

    @classmethod
    def _checked(cls, card: dict[str, Any], words: list[str], tensors: dict[str, npt.NDArray[Any]]) -> StaticEmbedder:
        tokens = Tokenizer(words)
        rows, scales = tensors["embeddings"], tensors["weights"][: tokens.size]
        if rows.dtype != np.int8 or rows.shape != (tokens.size, card["dimension"]):
            raise ValueError(f"the table is {rows.dtype} {rows.shape}, not int8 {(tokens.size, card['dimension'])}")
        if scales.dtype != np.float32 or scales.shape != (tokens.size,) or not np.isfinite(scales).all():
            raise ValueError("the scales do not match the table")
        return cls(str(card["name"]), tokens, rows, scales)

    @property
    def dimension(self) -> int:
        return int(self.rows.shape[1])

    def embed(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        sums = np.zeros((len(texts), self.dimension), dtype=np.float32)
        for number, text in enumerate(texts):
            ids = np.array(self.tokens.ids(text), dtype=np.intp)
            np.dot(self.scales[ids], self.rows[ids].astype(np.float32), out=sums[number])
        return unit_rows(sums)

    def embed_query(self, text: str) -> npt.NDArray[np.float32]:
        row: npt.NDArray[np.float32] = self.embed([text])[0]
        return row


_TYPES = {"I8": np.int8, "F32": np.float32, "I32": np.int32}


def _tensors(path: Path) -> dict[str, npt.NDArray[Any]]:
    """A safetensors file, memory-mapped: eight bytes of length, a JSON header, then the data."""
    with path.open("rb") as file:
        data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    length = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + length])
    return {name: _tensor(data, 8 + length, entry) for name, entry in header.items() if name != "__metadata__"}


def _tensor(data: mmap.mmap, base: int, entry: dict[str, Any]) -> npt.NDArray[Any]:
    start, end = entry["data_offsets"]
    if base + end > len(data):
        raise ValueError(f"the file has {len(data)} bytes, but its header describes {base + end}")
    kind = np.dtype(_TYPES[entry["dtype"]])
    return np.frombuffer(data, kind, (end - start) // kind.itemsize, base + start).reshape(entry["shape"])


def _reason(error: Exception) -> str:
    if isinstance(error, FileNotFoundError):
        return f"{error.filename} is missing"
    return f"{type(error).__name__}: {error}" if not str(error) or isinstance(error, KeyError) else str(error)
