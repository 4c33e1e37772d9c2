"""Normalizes rows to finite unit vectors, whatever a model returned."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

__all__ = ["unit_rows"]

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
