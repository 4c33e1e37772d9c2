"""Vectors of a shared index: nearest neighbours by cosine on LanceDB.

Vectors are unit vectors in float16; the distance that LanceDB orders by is 1 - cosine. Large tables have an index that
orders by rounded vectors, which moves a cosine by less than .01.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from llmc.store.protocols import ChunkHit
from llmc.store.shared.database import quoted
from llmc.store.shared.keywords import DOCS_IN_FILTER, document_filters
from llmc.store.vectors.lance_table import vectors_of

if TYPE_CHECKING:
    from collections.abc import Collection

    import numpy.typing as npt

    from llmc.store.shared.access import Readable
    from llmc.store.shared.keywords import WordHit

    Floats = npt.NDArray[np.float32]

__all__ = ["stored_vectors", "vector_hits", "vectors_of_contents"]

# Additional candidates, since a chunk may have been written twice.
SPARE = 8


def vector_hits(readable: Readable, query: Floats, limit: int, within: Collection[int] | None) -> list[WordHit]:
    """(repository, hit) of the nearest chunks, nearest first."""
    if limit <= 0 or (within is not None and not within):
        return []
    if within is not None and len(within) > DOCS_IN_FILTER:
        return _filtered(readable, query, limit, frozenset(within))
    where = next(document_filters(within)) if within is not None else ""
    return _found(readable, query, limit + SPARE, where)[:limit]


def _filtered(readable: Readable, query: Floats, limit: int, within: frozenset[int]) -> list[WordHit]:
    asked = limit * 4
    while True:
        found = _found(readable, query, asked, "")
        kept = [one for one in found if one[1].doc in within]
        if len(kept) >= limit or len(found) < asked - SPARE:
            return kept[:limit]
        asked *= 4


def _found(readable: Readable, query: Floats, limit: int, where: str) -> list[WordHit]:
    found = readable.nearest(query, ("repo", "doc", "ordinal"), limit, where)
    cosines = np.clip(1.0 - found["_distance"].to_numpy(), -1.0, 1.0).tolist()
    columns = zip(*(found[name].to_pylist() for name in ("repo", "doc", "ordinal")), cosines, strict=True)
    hits = {(repo, doc, at): (repo, ChunkHit(doc, at, cosine)) for repo, doc, at, cosine in columns}
    return sorted(hits.values(), key=lambda one: (-one[1].score, one[1].doc, one[1].ordinal, one[0]))


def vectors_of_contents(readable: Readable, hashes: Collection[str], dimension: int) -> dict[str, Floats]:
    """content hash → vectors of a document with this content, at any path."""
    if not hashes:
        return {}
    wanted = ", ".join(map(quoted, sorted(hashes)))
    rows = readable.scan("documents", f"content_hash IN ({wanted})", ("doc", "content_hash"))
    docs = dict(zip(rows["content_hash"].to_pylist(), rows["doc"].to_pylist(), strict=True))
    found = stored_vectors(readable, set(docs.values()), dimension)
    return {content: found[doc] for content, doc in docs.items() if doc in found}


def stored_vectors(readable: Readable, docs: Collection[int], dimension: int) -> dict[int, Floats]:
    """The vectors of documents, in order of their chunks."""
    parts = [readable.scan("vectors", where, ("doc", "ordinal", "vector")) for where in document_filters(docs)]
    found: dict[int, dict[int, Floats]] = {}
    for part in parts:
        vectors = vectors_of(part, dimension).astype(np.float32)
        for doc, at, row in zip(part["doc"].to_pylist(), part["ordinal"].to_pylist(), vectors, strict=True):
            found.setdefault(doc, {})[at] = row
    return {doc: np.stack([rows[at] for at in sorted(rows)]) for doc, rows in found.items()}
