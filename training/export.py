"""The trained table becomes the folder that is shipped: int8 rows, tokenizer, settings of sentence-transformers, card.

Each row has its own scale. `model.safetensors` holds `embeddings` (int8), `weights` (the scale of each token) and
`mapping` (token to row), the layout that sentence-transformers reads as a vocabulary-quantised static model; the
light loader reads the same file. The name carries a digest of the weights, because another table means to embed
everything again.
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

import numpy as np

from training.vocabulary import build_tokenizer

if TYPE_CHECKING:
    from pathlib import Path

    import numpy.typing as npt

__all__ = ["export", "quantised"]

MODULES = [
    {"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.StaticEmbedding"},
    {"idx": 1, "name": "1", "path": "1_Normalize", "type": "sentence_transformers.models.Normalize"},
]


def quantised(table: npt.NDArray[np.float32]) -> tuple[npt.NDArray[np.int8], npt.NDArray[np.float32]]:
    """Rows as int8, and what to multiply each with."""
    peak = np.abs(table).max(axis=1)
    scales = np.where(peak > 0, peak / 127, 0).astype(np.float32)
    rows = np.rint(table / np.where(scales > 0, scales, 1)[:, None]).astype(np.int8)
    return rows, scales


def export(table: npt.NDArray[np.float32], words: list[str], folder: Path) -> str:
    """Write the folder; returns the model's name."""
    tokenizer, mapping = build_tokenizer(words)
    rows, scales = quantised(table)
    name = f"llmc-code-{table.shape[1]}-{hashlib.blake2b(rows.tobytes() + scales.tobytes(), digest_size=4).hexdigest()}"
    places = np.array(mapping, dtype=np.int32)
    (folder / "1_Normalize").mkdir(parents=True, exist_ok=True)
    # The wider numbers first: then each table starts at a multiple of its width, as a memory map wants it.
    _safetensors({"weights": scales[places], "mapping": places, "embeddings": rows}, folder / "model.safetensors")
    tokenizer.save(str(folder / "tokenizer.json"), pretty=False)
    (folder / "vocabulary.txt").write_text("\n".join(words), "ascii")
    _json(folder / "llmc.json", {"name": name, "dimension": int(table.shape[1])})
    _json(folder / "modules.json", MODULES)
    _json(folder / "1_Normalize" / "config.json", {})
    _json(folder / "config_sentence_transformers.json", {"similarity_fn_name": "cosine", "prompts": {}})
    return name


def _safetensors(tables: dict[str, npt.NDArray[Any]], path: Path) -> None:
    """Length of the header, header, data; the header is padded with spaces to a multiple of eight."""
    kinds = {"int8": "I8", "int32": "I32", "float32": "F32"}
    entries: dict[str, object] = {}
    at = 0
    for name, table in tables.items():
        entries[name] = {
            "dtype": kinds[table.dtype.name],
            "shape": table.shape,
            "data_offsets": [at, at + table.nbytes],
        }
        at += table.nbytes
    header = json.dumps(entries).encode()
    header += b" " * (-len(header) % 8)
    path.write_bytes(
        b"".join([len(header).to_bytes(8, "little"), header, *(table.tobytes() for table in tables.values())])
    )


def _json(path: Path, value: object) -> None:
    path.write_text(json.dumps(value, indent=1) + "\n")
