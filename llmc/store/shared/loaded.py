"""The copies of tables that a server keeps in memory, so that a query needs no request to the storage.

`LoadedRows` maps row ids to the columns that identify hits; `LoadedDocuments` holds documents.

Their rows never change: a row id always refers to the same row and a document number to the same content, whatever is
published or optimized meanwhile. Other rows are read from the tables.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    import numpy.typing as npt
    import pyarrow as pa

__all__ = ["ROW_ID", "LoadedDocuments", "LoadedRows"]

ROW_ID: Final = "_rowid"
REPO, DOC, CONTENT, LENGTH = "repo", "doc", "content", "length"
# With more pieces than this, all documents are copied into one.
MOST_PIECES = 16


class LoadedRows:
    """Columns of all rows of a table, found by row id."""

    def __init__(self, rows: pa.Table) -> None:
        """`rows` has the columns and row ids, in any order."""
        ids: npt.NDArray[np.uint64] = rows[ROW_ID].to_numpy()
        order = np.argsort(ids, kind="stable")
        self._ids = ids[order]
        self._columns = encoded(rows.drop_columns([ROW_ID]).take(order)).combine_chunks()

    def __len__(self) -> int:
        return len(self._ids)

    @property
    def next_id(self) -> int:
        """Rows that were added later have ids from this one on."""
        return int(self._ids[-1]) + 1 if len(self._ids) else 0

    def holds(self, columns: Collection[str]) -> bool:
        return set(columns) <= set(self._columns.column_names)

    def extend(self, rows: pa.Table) -> LoadedRows:
        """A copy with rows that were added later."""
        import pyarrow as pa  # noqa: PLC0415 - comes with lancedb

        both = LoadedRows(rows)
        both._ids = np.concatenate([self._ids, both._ids])
        both._columns = pa.concat_tables([self._columns, both._columns]).unify_dictionaries().combine_chunks()
        return both

    def named(self, found: pa.Table, columns: Sequence[str]) -> pa.Table | None:
        """The rows of a query with these columns instead of their ids, in the same order; None if a row is not
        loaded."""
        wanted = found[ROW_ID].to_numpy()
        at = np.minimum(np.searchsorted(self._ids, wanted), max(len(self._ids) - 1, 0))
        if len(wanted) and (not len(self._ids) or not np.array_equal(self._ids[at], wanted)):
            return None
        rows = decoded(self._columns.select(list(columns)).take(at))
        for name in found.column_names:
            if name != ROW_ID:
                rows = rows.append_column(name, found[name])
        return rows


class LoadedDocuments:
    """Documents of one shard, found by number. Contents are compressed."""

    def __init__(self, rows: pa.Table) -> None:
        self.rows = rows.combine_chunks() if rows[DOC].num_chunks > MOST_PIECES else rows
        self._held = frozenset(rows.column_names)
        docs: npt.NDArray[np.int64] = rows[DOC].to_numpy()
        self._order = np.argsort(docs, kind="stable")
        self._docs = docs[self._order]
        repos = rows[REPO].combine_chunks()
        self._repos = {name: code for code, name in enumerate(repos.dictionary.to_pylist())}
        self._codes: npt.NDArray[np.int32] = repos.indices.to_numpy()

    @classmethod
    def of(cls, batches: Iterable[pa.RecordBatch], known: LoadedDocuments | None = None) -> LoadedDocuments:
        """The documents of `batches` and those of `known`, which is not changed. Each batch has the columns repo, doc
        and some of facts, refs and content; there is at least one batch."""
        import pyarrow as pa  # noqa: PLC0415 - comes with lancedb

        rows = [*([known.rows] if known is not None else []), *map(packed, batches)]
        return cls(pa.concat_tables(rows).unify_dictionaries())

    def __len__(self) -> int:
        return len(self._docs)

    @property
    def size(self) -> int:
        """The size in bytes."""
        return int(self._docs.nbytes + self._order.nbytes + self.rows.nbytes)

    def holds(self, column: str) -> bool:
        return column in self._held

    def without(self, docs: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Those of these documents that are not loaded."""
        return np.setdiff1d(docs, self._docs)

    def rows_of(self, repo: str, docs: Collection[int]) -> dict[int, int]:
        """document → its row, for loaded documents of the repository."""
        code = self._repos.get(repo)
        if code is None or not len(docs):
            return {}
        if len(docs) == 1:  # the case of reading a file: array operations would take ten times as long
            (doc,) = docs
            place = int(self._docs.searchsorted(doc))
            held = place < len(self._docs) and self._docs[place] == doc
            row = int(self._order[place]) if held else -1
            return {doc: row} if held and self._codes[row] == code else {}
        wanted = np.fromiter(docs, np.int64, len(docs))
        at = np.minimum(self._docs.searchsorted(wanted), len(self._docs) - 1)
        rows = self._order[at]
        kept = (self._docs[at] == wanted) & (self._codes[rows] == code)
        return dict(zip(wanted[kept].tolist(), rows[kept].tolist(), strict=True))

    def get(self, repo: str, docs: Collection[int], column: str) -> dict[int, bytes]:
        """document → its facts, references or content."""
        rows = self.rows_of(repo, docs) if self.holds(column) else {}
        if not rows:
            return {}
        values = self.rows[column]
        if column != CONTENT:
            return {doc: values[row].as_py() for doc, row in rows.items()}
        lengths = self.rows[LENGTH]
        return {doc: unzipped(values[row], lengths[row].as_py()) for doc, row in rows.items()}


def encoded(rows: pa.Table) -> pa.Table:
    """Dictionary-encode the strings, so that each distinct one is stored once."""
    for at, field in enumerate(rows.schema):
        if str(field.type) == "string":
            rows = rows.set_column(at, field.name, rows[field.name].dictionary_encode())
    return rows.unify_dictionaries()


def decoded(rows: pa.Table) -> pa.Table:
    for at, field in enumerate(rows.schema):
        if str(field.type).startswith("dictionary"):
            rows = rows.set_column(at, field.name, rows[field.name].cast(field.type.value_type))
    return rows


def packed(batch: pa.RecordBatch) -> pa.Table:
    import pyarrow as pa  # noqa: PLC0415 - comes with lancedb

    rows = pa.Table.from_batches([batch])
    if CONTENT in rows.column_names:
        contents = rows[CONTENT].to_pylist()
        zipped = pa.array([codec().compress(one, asbytes=True) for one in contents], pa.large_binary())
        lengths = pa.array([len(one) for one in contents], pa.int64())
        at = rows.column_names.index(CONTENT)
        rows = rows.set_column(at, CONTENT, zipped).append_column(LENGTH, lengths)
    return encoded(rows)


def unzipped(value: Any, length: int) -> bytes:
    import pyarrow as pa  # noqa: PLC0415 - comes with lancedb

    return bytes(pa.decompress(value.as_buffer(), length, "zstd", asbytes=True)) if length else b""


@cache
def codec() -> Any:
    import pyarrow as pa  # noqa: PLC0415 - comes with lancedb

    return pa.Codec("zstd", compression_level=1)
