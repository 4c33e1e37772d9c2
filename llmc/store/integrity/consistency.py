"""Compares the parts of a store with each other; `compare` lists the differences.

Every document of the catalog, dead ones included, must have its chunks and its parts in the keyword store and, where
the catalog says so, its rows among the vectors; and no store may hold any other. A repair (`Writer.repair`) never
guesses: whatever is not whole is removed everywhere, files included, so that the next walk over the root finds those
files new and indexes them.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from llmc.base.errors import CorruptVectorsError, VectorsUnavailableError
from llmc.store.values import StoreDifference

if TYPE_CHECKING:
    from collections.abc import Mapping

    from llmc.store.parts import Parts

__all__ = ["compare", "unreadable_tables"]


def compare(parts: Parts) -> list[StoreDifference]:
    """Every disagreement, by store and document. A vector table that cannot be read is passed over: its documents are
    whole in the other stores, and `unreadable_tables` names it."""
    catalog, keywords = parts.catalog, parts.keywords
    chunks = catalog.chunk_counts()
    found = counted("chunks", chunks, keywords.chunks.counts())
    found += counted("files", dict.fromkeys(chunks, 1), dict.fromkeys(keywords.files.docs(), 1))
    for embedding, table in parts.tables().items():
        embedded = catalog.embedded(embedding.number)
        with suppress(CorruptVectorsError, VectorsUnavailableError):
            found += counted("vectors", {doc: chunks.get(doc, 0) for doc in embedded}, table.counts())
    paths = catalog.paths({one.doc for one in found})
    return [StoreDifference(one.store, one.problem, one.doc, paths.get(one.doc, "")) for one in found]


def unreadable_tables(parts: Parts) -> list[StoreDifference]:
    found = []
    for table in parts.tables().values():
        state = table.state()
        if not state.answered_by:
            found.append(StoreDifference("vectors", f"unreadable ({state.reason})", 0))
    return found


def counted(store: str, wanted: Mapping[int, int], found: Mapping[int, int]) -> list[StoreDifference]:
    """Rows for each document, as they should be and as they are."""
    differences = []
    for doc in sorted(wanted.keys() | found.keys()):
        rows, there = wanted.get(doc, 0), found.get(doc, 0)
        if rows != there:
            problem = "missing" if not there else "extra" if not rows else "count"
            differences.append(StoreDifference(store, problem, doc))
    return differences
