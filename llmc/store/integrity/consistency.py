"""Do the stores agree? `compare` says where they do not.

Every document of the catalog, dead ones included, must have its chunks and its parts in the keyword store and, where
the catalog says so, its rows among the vectors; and no store may hold any other. A repair (`Writer.mend`) never
guesses: whatever is not whole is removed everywhere, files included, so that the next walk over the root finds those
files new and indexes them.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

from llmc.store.integrity.native_errors import corrupt
from llmc.store.values import StoreDifference

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from llmc.store.parts import Parts

__all__ = ["compare", "compare_record"]


def compare(parts: Parts) -> list[StoreDifference]:
    """Every disagreement, by store and document."""
    catalog, keywords = parts.catalog, parts.keywords
    chunks = catalog.chunk_counts()
    found = counted("chunks", chunks, keywords.chunks.counts())
    found += counted("files", dict.fromkeys(chunks, 1), dict.fromkeys(keywords.files.docs(), 1))
    for embedding, table in parts.tables().items():
        embedded = catalog.embedded(embedding.number)
        found += counted("vectors", {doc: chunks.get(doc, 0) for doc in embedded}, table.counts())
    paths = catalog.paths({one.doc for one in found})
    return [StoreDifference(one.store, one.problem, one.doc, paths.get(one.doc, "")) for one in found]


def compare_record(parts: Parts) -> list[StoreDifference]:
    """The same for LanceDB, as far as documents are folded."""
    chunks, found = parts.catalog.chunk_counts(), []
    for embedding in parts.moment.embeddings.values():
        folder = parts.folder / embedding.record
        rows = rows_in_record(folder, embedding.dimension) if folder.exists() else {}
        folded = parts.catalog.folded(embedding.number)
        wanted = {doc: chunks.get(doc, rows.get(doc, 0)) for doc in folded}  # of one that is leaving, any number
        found += counted("lance", wanted, rows)
    return found


def rows_in_record(folder: Path, dimension: int) -> dict[int, int]:
    """Asked in a process of its own: lancedb takes 1.3 s and 100 MB that a daemon would never give back."""
    command = [sys.executable, "-m", "llmc.store.lance", str(folder), str(dimension)]
    done = subprocess.run(command, capture_output=True, check=False, env={**os.environ, "PYTHONWARNINGS": "ignore"})
    if done.returncode:
        raise corrupt("LanceDB's table cannot be read", done.stderr.decode(errors="replace")[-500:], folder)
    return {int(doc): count for doc, count in json.loads(done.stdout).items()}


def counted(store: str, wanted: Mapping[int, int], found: Mapping[int, int]) -> list[StoreDifference]:
    """Rows for each document, as they should be and as they are."""
    differences = []
    for doc in sorted(wanted.keys() | found.keys()):
        rows, there = wanted.get(doc, 0), found.get(doc, 0)
        if rows != there:
            problem = "missing" if not there else "extra" if not rows else "count"
            differences.append(StoreDifference(store, problem, doc))
    return differences
