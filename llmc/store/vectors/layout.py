"""The vector table on disk: its columns, its version, and which of its files count.

A row is one chunk: `doc` and `ordinal` join it with the catalog, `vector` is a unit vector in float16. Half precision
moves a cosine by less than 0.001 and takes half the space of float32. The schema's metadata names the embedding model
and the format, so that a table of another model is recognised. Lance never changes a file in place; each commit adds
some, and a new manifest below `_versions`.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np

from llmc.base.errors import CorruptVectorsError
from llmc.store.integrity.checksums import crc_of
from llmc.store.integrity.native_errors import guard
from llmc.store.values import Extent

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import numpy.typing as npt
    import pyarrow as pa

    from llmc.store.values import Embedding

    Floats = npt.NDArray[np.float32]

__all__ = ["arrow_rows", "check_schema", "files_of", "manifest_of_table", "schema_of", "sync", "vectors_of"]

FORMAT = 1
FORMAT_KEY, MODEL_KEY = b"llmc.format", b"llmc.base.model"
VERSIONS = "_versions"
# Below these every file counts; `_transactions` only serves Lance's own conflict checks.
FOLDERS = ("data", "_deletions", "_indices")


def schema_of(embedding: Embedding) -> pa.Schema:
    import pyarrow as pa  # noqa: PLC0415 - comes with lancedb

    return pa.schema(
        [("doc", pa.int64()), ("ordinal", pa.int32()), ("vector", pa.list_(pa.float16(), embedding.dimension))],
        metadata={FORMAT_KEY: str(FORMAT).encode(), MODEL_KEY: embedding.name.encode("utf-8", "replace")},
    )


def check_schema(found: pa.Schema, embedding: Embedding) -> None:
    """CorruptVectorsError unless the table is one that this version of llmc wrote for this model."""
    wanted = schema_of(embedding)
    metadata = found.metadata or {}
    if metadata.get(FORMAT_KEY) != wanted.metadata[FORMAT_KEY]:
        version = metadata.get(FORMAT_KEY, b"unknown").decode("utf-8", "replace")
        raise CorruptVectorsError("the vector table cannot be used", reason=f"its format is {version}, not {FORMAT}")
    if metadata.get(MODEL_KEY) != wanted.metadata[MODEL_KEY] or not found.equals(wanted):
        model = metadata.get(MODEL_KEY, b"unknown").decode("utf-8", "replace")
        raise CorruptVectorsError(
            "the vector table cannot be used", reason=f"its vectors were made by {model}, not {embedding.name}"
        )


def arrow_rows(documents: Sequence[tuple[int, Floats]], embedding: Embedding) -> pa.Table:
    """Rows of documents, each chunk's vector in order. What is not finite becomes 0: such a row is near nothing."""
    import pyarrow as pa  # noqa: PLC0415 - comes with lancedb

    docs = np.concatenate([np.full(len(vectors), doc, np.int64) for doc, vectors in documents])
    ordinals = np.concatenate([np.arange(len(vectors), dtype=np.int32) for _, vectors in documents])
    floats = np.concatenate([vectors for _, vectors in documents])
    halves = np.nan_to_num(floats, posinf=0.0, neginf=0.0).astype(np.float16)
    column = pa.FixedSizeListArray.from_arrays(pa.array(halves.reshape(-1)), embedding.dimension)
    return pa.table([pa.array(docs), pa.array(ordinals), column], schema=schema_of(embedding))


def vectors_of(rows: Any, dimension: int) -> npt.NDArray[np.float16]:
    """The vector column of an Arrow table or batch."""
    column = rows["vector"]
    flat = (column.combine_chunks() if hasattr(column, "combine_chunks") else column).flatten()
    halves: npt.NDArray[np.float16] = flat.to_numpy(zero_copy_only=False).reshape(-1, dimension)
    return halves


def files_of(table: Path) -> set[str]:
    """The files that a reader of the newest version may need, relative to the table's folder."""
    found = {str(path.relative_to(table)) for name in FOLDERS for path in (table / name).rglob("*") if path.is_file()}
    # Manifests are numbered downwards, so that the newest comes first.
    newest = min((path.name for path in (table / VERSIONS).glob("*.manifest")), default=None)
    return found | {f"{VERSIONS}/{newest}"} if newest else found


def manifest_of_table(table: Path) -> dict[str, Extent]:
    """Size and checksum of each file: Lance itself has no checksums of its data."""
    manifest = {}
    with guard(table, "checking the vectors"):
        for name in sorted(files_of(table)):
            found = crc_of(table / name)
            manifest[name] = Extent(name, found.size, found.crc)
    return manifest


def sync(table: Path, before: set[str]) -> None:
    """Make new files durable: Lance leaves that to the operating system."""
    for name in files_of(table) - before:
        file = os.open(table / name, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(file)
        finally:
            os.close(file)
