"""One LanceDB table, rows in and nearest rows out; no other module calls LanceDB. Its errors become ours.

A commit adds files and a version; after some dozens a query opens as many files, so `optimize` joins them. Only the
holder of the store's writer lock writes. Readers see a new version when they `refresh`; one that still reads a version
that `optimize` has removed gets CorruptVectorsError and refreshes.
"""

from __future__ import annotations

from contextlib import contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import numpy as np

from llmc.base.errors import CorruptStoreError, CorruptVectorsError
from llmc.store.integrity.native_errors import guard
from llmc.store.vectors import engine
from llmc.store.vectors.layout import VERSIONS, arrow_rows, check_schema, schema_of, vectors_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence
    from pathlib import Path

    import numpy.typing as npt

    from llmc.store.values import Embedding

    Floats = npt.NDArray[np.float32]
    Numbers = npt.NDArray[np.int64]

__all__ = ["LanceTable", "Rows", "table_errors", "version_count"]

# Kept apart by documents and ordinals, in no order.
Rows = tuple["Numbers", "Numbers", "npt.NDArray[np.float16]"]

# Partitions have some 8,192 rows, so that up to 330,000 rows all of them are searched. Measured on 165,016 chunks of
# kubernetes and 140 questions: recall@200 is 1.0 with all of 20, .984 with 20 of 32; more and smaller partitions
# take six times as long to build, and to reach .98 a query is no faster.
PROBES = 40
# A statement with so many documents is parsed in 3 ms.
DOCS_IN_STATEMENT = 4_000
# The lock of the store is held, so no other writer needs them; a reader refreshes.
OLD_VERSIONS = timedelta(milliseconds=1)
VECTOR, DOC = "vector", "doc"


@contextmanager
def table_errors(folder: Path, doing: str) -> Iterator[None]:
    """A full disk is StoreFullError, as everywhere; damage is CorruptVectorsError, since only vectors are lost."""
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
                self._table = database.create_table(folder.stem, schema=schema_of(embedding))
            else:
                self._table = database.open_table(folder.stem)
            check_schema(self._table.schema, embedding)

    def refresh(self) -> None:
        """Read the newest version from now on."""
        with table_errors(self.folder, "reading the vectors"):
            self._table.checkout_latest()

    # --- writing

    def add(self, documents: Sequence[tuple[int, Floats]]) -> None:
        with table_errors(self.folder, "writing vectors"):
            self._table.add(arrow_rows(documents, self._embedding))

    def delete(self, docs: Collection[int]) -> None:
        with table_errors(self.folder, "deleting vectors"):
            for statement in _among(docs):
                self._table.delete(statement)

    def optimize(self, *, indexed: bool) -> None:
        """Join fragments, bring the indexes up to date (and make them, if the table is to be `indexed` and is not), and
        remove older versions."""
        with table_errors(self.folder, "optimizing the vectors"):
            self._table.optimize()
            if indexed and not self.is_indexed():
                self._create_indexes()
            # Old versions are removed before the indexes are brought up to date, so once more for what that leaves.
            for _ in range(2):
                self._table.optimize(cleanup_older_than=OLD_VERSIONS, delete_unverified=True)

    def _create_indexes(self) -> None:
        from lancedb.index import BTree, IvfSq  # noqa: PLC0415 - after `engine.load`

        # L2 orders unit vectors as the cosine does, and is what `table.search(vector)` uses when nothing is said.
        self._table.create_index(VECTOR, config=IvfSq(distance_type="l2"))
        self._table.create_index(DOC, config=BTree())

    def is_indexed(self) -> bool:
        return any(VECTOR in index.columns for index in self._table.list_indices())

    # --- reading

    def row_count(self) -> int:
        with table_errors(self.folder, "reading the vectors"):
            return int(self._table.count_rows())

    def nearest(
        self, query: Floats, limit: int, docs: Collection[int] | None = None, *, indexed_only: bool = False
    ) -> Rows:
        """Some `limit` rows (of `docs`, or of all) that are probably nearest. With `indexed_only`, rows that were
        added since the last `optimize` are not compared."""
        with table_errors(self.folder, "searching the vectors"):
            # Without the column's name LanceDB looks for it in the schema, for half a millisecond.
            search = self._table.search(query, vector_column_name=VECTOR).distance_type("l2").nprobes(PROBES)
            if indexed_only:
                search = search.fast_search()
            if docs is not None:
                search = search.where(" OR ".join(_among(docs)), prefilter=True)
            found = search.select([DOC, "ordinal", VECTOR, "_distance"]).limit(limit).to_arrow()
            return self._rows(found)

    def unindexed_count(self) -> int | None:
        """How many rows the vector index does not cover; None without an index."""
        with table_errors(self.folder, "reading the vectors"):
            named = next((index.name for index in self._table.list_indices() if VECTOR in index.columns), None)
            found = self._table.index_stats(named) if named else None
            return None if found is None else int(found.num_unindexed_rows)

    def newest_rows(self, count: int) -> Rows | None:
        """The `count` rows that were added last; None unless they are whole commits. The upper half of a row id is the
        number of its fragment, and each commit adds a fragment with a higher number."""
        with table_errors(self.folder, "reading the vectors"):
            scan = self._table.search().select([DOC]).with_row_id(True).limit(None)
            fragments, counts = np.unique(scan.to_arrow()["_rowid"].to_numpy() >> 32, return_counts=True)
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
            found = self._table.search().select([DOC]).limit(None).to_arrow()
            return np.asarray(found[DOC].to_numpy(), np.int64)

    def _scan(self, where: str) -> Rows:
        with table_errors(self.folder, "reading the vectors"):
            scan = self._table.search().where(where).select([DOC, "ordinal", VECTOR]).limit(None)
            return self._rows(scan.to_arrow())

    def _rows(self, found: Any) -> Rows:
        docs, ordinals = (np.asarray(found[name].to_numpy(), np.int64) for name in (DOC, "ordinal"))
        return docs, ordinals, vectors_of(found, self._embedding.dimension)


def _among(docs: Collection[int]) -> Iterator[str]:
    ordered = sorted(map(int, docs))
    for start in range(0, len(ordered), DOCS_IN_STATEMENT):
        yield f"doc IN ({','.join(map(str, ordered[start : start + DOCS_IN_STATEMENT]))})"
