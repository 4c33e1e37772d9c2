"""Where the documents of one root stand: document number → path, for tens of thousands of files in little memory.

Two arrays and one run of bytes: 30,000 files take 2 MB where a dict of strings takes 7.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

__all__ = ["Places"]


class Places(Mapping[int, str]):
    """A mapping in ascending order of document numbers; it never changes."""

    def __init__(self, rows: Iterable[tuple[int, bytes]]) -> None:
        ordered = sorted(rows)
        self._docs = np.fromiter((doc for doc, _ in ordered), np.int64, len(ordered))
        self._ends = np.cumsum(np.fromiter((len(path) for _, path in ordered), np.int64, len(ordered)))
        self._paths = b"".join(path for _, path in ordered)

    def __getitem__(self, doc: int) -> str:
        at = int(np.searchsorted(self._docs, doc))
        if at == len(self._docs) or self._docs[at] != doc:
            raise KeyError(doc)
        return self._path(at)

    def __contains__(self, doc: object) -> bool:
        if not isinstance(doc, int):
            return False
        at = int(np.searchsorted(self._docs, doc))
        return at < len(self._docs) and bool(self._docs[at] == doc)

    def __len__(self) -> int:
        return len(self._docs)

    def __iter__(self) -> Iterator[int]:
        return iter(self._docs.tolist())

    def paths(self) -> list[str]:
        """Every path, in order of documents."""
        return [self._path(at) for at in range(len(self._docs))]

    def keep(self, docs: Collection[int]) -> list[int]:
        """Those of `docs` that this root holds, ascending."""
        asked = np.fromiter(docs, np.int64, len(docs))
        kept: list[int] = np.intersect1d(asked, self._docs).tolist()
        return kept

    def _path(self, at: int) -> str:
        start = int(self._ends[at - 1]) if at else 0
        return os.fsdecode(self._paths[start : int(self._ends[at])])
