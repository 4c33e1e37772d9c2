"""One LanceDB table: its format on disk, writing rows, finding the nearest ones. No other module calls LanceDB; its
errors are translated.

A row is one chunk: `doc` and `ordinal` join it with the catalog, `vector` is a unit vector in float16. Half precision
moves a cosine by less than 0.001 and takes half the space of float32. The schema's metadata names the embedding model
and the format, so that a table of another model is recognised.

A commit adds files and a version and never changes a file in place. A query opens the files of all commits, so
`optimize` merges them after some dozens. Only the holder of the store's writer lock writes. Readers see a new version
when they call `refresh`; if `optimize` has removed the version that is read, they get CorruptVectorsError and refresh.
"""

from __future__ import annotations

import os
from contextlib import contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import numpy as np

from llmc.base.errors import CorruptStoreError, CorruptVectorsError
from llmc.store.integrity.checksums import crc_of
from llmc.store.integrity.native_errors import guard
from llmc.store.values import Extent
from llmc.store.vectors import engine
from llmc.store.vectors.engine import run

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence
    from pathlib import Path

    import numpy.typing as npt
    import pyarrow as pa

    from llmc.store.values import Embedding

    Floats = npt.NDArray[np.float32]
    Numbers = npt.NDArray[np.int64]

__all__ = ["LanceTable", "Rows", "files_of", "manifest_of_table", "sync", "table_errors", "vectors_of", "version_count"]

FORMAT = 1
FORMAT_KEY, MODEL_KEY = b"llmc.format", b"llmc.base.model"
VERSIONS = "_versions"
# The folders whose files belong to a version; `_transactions` only serves Lance's own conflict checks.
FOLDERS = ("data", "_deletions", "_indices")
# (documents, ordinals, vectors) of rows, in no order.
Rows = tuple["Numbers", "Numbers", "npt.NDArray[np.float16]"]

# Partitions have some 8,192 rows, so that up to 330,000 rows all of them are searched. Measured on 165,016 chunks of
# kubernetes and 140 questions: recall@200 is 1.0 with all of 20, .984 with 20 of 32; more and smaller partitions
# take six times as long to build, and to reach .98 a query is no faster.
PROBES = 40
# Parsing a statement with this many documents takes 3 ms.
DOCS_IN_STATEMENT = 4_000
# Old versions can be removed at once: the lock excludes other writers, and a reader refreshes.
OLD_VERSIONS = timedelta(milliseconds=1)
VECTOR, DOC = "vector", "doc"


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
    """The rows of documents, with the vectors of their chunks in order. Values that are not finite become 0, so such a
    row is near to no query."""
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
    """Make new files durable, since Lance does not call fsync."""
    for name in files_of(table) - before:
        file = os.open(table / name, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(file)
        finally:
            os.close(file)


@contextmanager
def table_errors(folder: Path, doing: str) -> Iterator[None]:
    """A full disk raises StoreFullError, as everywhere; damage raises CorruptVectorsError, since only vectors are
    lost."""
    try:
        with guard(folder, doing, ValueError, RuntimeError):
            yield
    except CorruptStoreError as error:
        raise CorruptVectorsError("the vector table cannot be used", reason=error.reason, folder=str(folder)) from error


def version_count(table: Path) -> int:
    return sum(1 for _ in (table / VERSIONS).glob("*.manifest"))


class LanceTable:
    def __init__(self, folder: Path, embedding: Embedding, *, create: bool = False) -> None:
        """`folder` is the table's own, `<database>/<name>.lance`."""
        self.folder = folder
        self._embedding = embedding
        database = engine.connect(folder.parent)
        with table_errors(folder, "opening the vectors"):
            if create and not folder.exists():
                self._table = run(database.create_table(folder.stem, schema=schema_of(embedding)))
            else:
                self._table = run(database.open_table(folder.stem))
            check_schema(run(self._table.schema()), embedding)

    def refresh(self) -> None:
        """Read the newest version from now on."""
        with table_errors(self.folder, "reading the vectors"):
            run(self._table.checkout_latest())

    # --- writing

    def add(self, documents: Sequence[tuple[int, Floats]]) -> None:
        with table_errors(self.folder, "writing vectors"):
            run(self._table.add(arrow_rows(documents, self._embedding)))

    def delete(self, docs: Collection[int]) -> None:
        with table_errors(self.folder, "deleting vectors"):
            for statement in _among(docs):
                run(self._table.delete(statement))

    def optimize(self, *, indexed: bool) -> None:
        """Merge fragments, update the indexes (create them if `indexed` is set and there are none), and remove older
        versions."""
        with table_errors(self.folder, "optimizing the vectors"):
            run(self._table.optimize())
            if indexed and not self.is_indexed():
                self._create_indexes()
            # `optimize` removes old versions before it updates the indexes, so a second call removes what the update
            # left.
            for _ in range(2):
                run(self._table.optimize(cleanup_older_than=OLD_VERSIONS, delete_unverified=True))

    def _create_indexes(self) -> None:
        from lancedb.index import BTree, IvfSq  # noqa: PLC0415 - after `engine.load`

        # L2 orders unit vectors as the cosine does, and is what `table.search(vector)` uses by default.
        run(self._table.create_index(VECTOR, config=IvfSq(distance_type="l2")))
        run(self._table.create_index(DOC, config=BTree()))

    def is_indexed(self) -> bool:
        return any(VECTOR in index.columns for index in run(self._table.list_indices()))

    # --- reading

    def row_count(self) -> int:
        with table_errors(self.folder, "reading the vectors"):
            return int(run(self._table.count_rows()))

    def nearest(
        self, query: Floats, limit: int, docs: Collection[int] | None = None, *, indexed_only: bool = False
    ) -> Rows:
        """About `limit` rows (of `docs`, or of all) that are probably nearest. With `indexed_only`, rows that were
        added since the last `optimize` are not compared."""
        with table_errors(self.folder, "searching the vectors"):
            search = self._table.vector_search(query).column(VECTOR).distance_type("l2").nprobes(PROBES)
            if indexed_only:
                search = search.fast_search()
            if docs is not None:
                search = search.where(" OR ".join(_among(docs)))
            return self._rows(run(search.select([DOC, "ordinal", VECTOR, "_distance"]).limit(limit).to_arrow()))

    def unindexed_count(self) -> int | None:
        """How many rows the vector index does not cover; None without an index."""
        with table_errors(self.folder, "reading the vectors"):
            indexes = run(self._table.list_indices())
            named = next((index.name for index in indexes if VECTOR in index.columns), None)
            found = run(self._table.index_stats(named)) if named else None
            return None if found is None else int(found.num_unindexed_rows)

    def newest_rows(self, count: int) -> Rows | None:
        """The `count` rows that were added last; None if they do not consist of whole commits. The upper half of a row
        id is the number of its fragment, and each commit adds a fragment with a higher number."""
        with table_errors(self.folder, "reading the vectors"):
            rows = run(self._table.query().select([DOC]).with_row_id().to_arrow())
            fragments, counts = np.unique(rows["_rowid"].to_numpy() >> 32, return_counts=True)
        newest = np.cumsum(counts[::-1])
        at = int(np.searchsorted(newest, count))
        if at == len(newest) or newest[at] != count:
            return None
        return self._scan(f"_rowid >= {int(fragments[::-1][at]) << 32}")

    def rows_after(self, doc: int) -> Rows:
        return self._scan(f"doc > {doc}")

    def rows_of(self, docs: Collection[int]) -> Rows:
        parts = [self._scan(statement) for statement in _among(docs)]
        numbers = np.empty(0, np.int64)
        columns = zip((numbers, numbers, np.empty((0, self._embedding.dimension), np.float16)), *parts, strict=True)
        found, ordinals, vectors = (np.concatenate(column) for column in columns)
        return found, ordinals, vectors

    def docs(self) -> Numbers:
        """The document of each row."""
        with table_errors(self.folder, "reading the vectors"):
            found = run(self._table.query().select([DOC]).to_arrow())
            return np.asarray(found[DOC].to_numpy(), np.int64)

    def _scan(self, where: str) -> Rows:
        with table_errors(self.folder, "reading the vectors"):
            return self._rows(run(self._table.query().where(where).select([DOC, "ordinal", VECTOR]).to_arrow()))

    def _rows(self, found: Any) -> Rows:
        docs, ordinals = (np.asarray(found[name].to_numpy(), np.int64) for name in (DOC, "ordinal"))
        return docs, ordinals, vectors_of(found, self._embedding.dimension)


def _among(docs: Collection[int]) -> Iterator[str]:
    ordered = sorted(map(int, docs))
    for start in range(0, len(ordered), DOCS_IN_STATEMENT):
        yield f"doc IN ({','.join(map(str, ordered[start : start + DOCS_IN_STATEMENT]))})"
