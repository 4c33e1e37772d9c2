"""The table of record for vectors: LanceDB, one int8 row for a chunk with its document, ordinal and language.

Importing lancedb costs 1.3 s and 100 MB, so only a worker process or a check does: queries are answered by the hot
tier. The rows are the hot tier's own bytes, a quarter of float32; LanceDB's search refuses int8 columns, so a search
here scans them in batches. Each write makes a version, and a version leaves its files behind until `tidy`.
"""

from __future__ import annotations

import json
import sys
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from llmc.store.integrity.native_errors import guard
from llmc.store.protocols import ChunkHit
from llmc.store.rows import as_scores, quantise

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    import pyarrow as pa

    from llmc.store.rows import Floats, Records

__all__ = ["LanceVectors"]

TABLE = "vectors"
# After so many versions a scan opens three files for each of them.
MOST_VERSIONS = 20
# No one else has the table open: the writer's lock is held.
KEEP_VERSIONS = timedelta(milliseconds=1)
SCAN_ROWS = 8_192


class LanceVectors:
    """`VectorStore` on one LanceDB table below `folder`."""

    def __init__(self, folder: Path, dimension: int) -> None:
        import lancedb  # noqa: PLC0415 see above

        self.folder = folder
        self.dimension = dimension
        self._blocks: list[pa.Table] = []
        self._deleted: set[int] = set()
        with guard(folder, "opening LanceDB", ValueError, RuntimeError):
            folder.mkdir(parents=True, exist_ok=True)
            database = lancedb.connect(str(folder))
            self._table = database.create_table(TABLE, schema=_schema(dimension), exist_ok=True)

    # --- writing

    def add(self, doc: int, vectors: Floats, language: str = "") -> None:
        rows = quantise(np.full(len(vectors), doc, np.uint32), np.arange(len(vectors), dtype=np.uint32), vectors)
        self.add_rows(rows, {doc: language})

    def add_rows(self, rows: Records, languages: Mapping[int, str]) -> None:
        """Rows as the hot tier keeps them, of any number of documents."""
        if len(rows):
            self._blocks.append(_arrow(rows, languages, self.dimension))

    def delete(self, docs: Collection[int]) -> None:
        self._deleted.update(docs)

    def rollback(self) -> None:
        self._blocks = []
        self._deleted = set()

    def commit(self) -> None:
        import pyarrow as pa  # noqa: PLC0415 see above

        blocks, deleted = self._blocks, sorted(self._deleted)
        self.rollback()
        with guard(self.folder, "writing LanceDB", ValueError, RuntimeError):
            for start in range(0, len(deleted), SCAN_ROWS):
                self._table.delete(_among(deleted[start : start + SCAN_ROWS]))
            if blocks:
                self._table.add(pa.concat_tables(blocks))

    def tidy(self, *, force: bool = False) -> None:
        """Join small files and drop old versions, when there are many."""
        with guard(self.folder, "compacting LanceDB", ValueError, RuntimeError):
            if force or len(self._table.list_versions()) > MOST_VERSIONS:
                self._table.optimize(cleanup_older_than=KEEP_VERSIONS, delete_unverified=True)

    def reload(self) -> None:
        self._table.checkout_latest()  # type: ignore[no-untyped-call] # lancedb's own

    def close(self) -> None:
        self.rollback()

    # --- reading

    def vectors(self, doc: int) -> Floats | None:
        blocks = [block for _, ordinals, block in self._scan([doc]) if len(ordinals)]
        return np.concatenate(blocks) if blocks else None

    def search(self, query: Floats, limit: int, within: Collection[int] | None = None) -> list[ChunkHit]:
        best: list[ChunkHit] = []
        for docs, ordinals, vectors in self._scan(within):
            scores = as_scores(vectors @ query)
            best += [ChunkHit(*hit) for hit in zip(docs.tolist(), ordinals.tolist(), scores, strict=True)]
            best = sorted(best, key=lambda hit: (-hit.score, hit.doc, hit.ordinal))[: max(0, limit)]
        return best

    def similarities(self, query: Floats, places: Sequence[tuple[int, int]]) -> list[float]:
        known: dict[tuple[int, int], float] = {}
        for docs, ordinals, vectors in self._scan({doc for doc, _ in places}):
            at = zip(docs.tolist(), ordinals.tolist(), strict=True)
            known.update(zip(at, as_scores(vectors @ query), strict=True))
        return [known.get(place, 0.0) for place in places]

    def docs(self) -> set[int]:
        return set(self.counts())

    def counts(self) -> dict[int, int]:
        """Rows for each document."""
        with guard(self.folder, "reading LanceDB", ValueError, RuntimeError):
            docs = self._table.search().select(["doc"]).limit(None).to_arrow()["doc"].to_numpy()
        found, counts = np.unique(docs, return_counts=True)
        return dict(zip(found.tolist(), counts.tolist(), strict=True))

    def _scan(self, within: Collection[int] | None) -> Iterator[tuple[Any, Any, Floats]]:
        """(documents, ordinals, unit vectors), some thousand rows at a time, each document in order."""
        if within is not None and not within:
            return
        with guard(self.folder, "reading LanceDB", ValueError, RuntimeError):
            scan = self._table.search().select(["doc", "ordinal", "vector"]).limit(None)
            for batch in (scan.where(_among(within)) if within else scan).to_batches(SCAN_ROWS):
                quantised = batch["vector"].flatten().to_numpy().reshape(-1, self.dimension).astype(np.float32)
                lengths = np.linalg.norm(quantised, axis=1, keepdims=True)
                yield batch["doc"].to_numpy(), batch["ordinal"].to_numpy(), quantised / np.where(lengths, lengths, 1)


def _among(docs: Collection[int]) -> str:
    return f"doc IN ({','.join(str(int(doc)) for doc in docs)})"


def _schema(dimension: int) -> pa.Schema:
    import pyarrow as pa  # noqa: PLC0415 see above

    return pa.schema(
        [
            ("doc", pa.int64()),
            ("ordinal", pa.int32()),
            ("language", pa.string()),
            ("vector", pa.list_(pa.int8(), dimension)),
        ]
    )


def _arrow(rows: Records, languages: Mapping[int, str], dimension: int) -> pa.Table:
    import pyarrow as pa  # noqa: PLC0415 see above

    docs = rows["doc"].tolist()
    columns = [
        pa.array(docs, pa.int64()),
        pa.array(rows["ordinal"].astype(np.int32)),
        pa.array([languages.get(doc, "") for doc in docs], pa.string()),
        pa.FixedSizeListArray.from_arrays(pa.array(np.ascontiguousarray(rows["vector"]).reshape(-1)), dimension),
    ]
    return pa.table(columns, schema=_schema(dimension))


def main(folder: str, dimension: str) -> None:
    """Print how many rows each document has, for `mend.rows_in_record`."""
    counts = LanceVectors(Path(folder), int(dimension)).counts()
    sys.stdout.write(json.dumps(counts))


if __name__ == "__main__":
    main(*sys.argv[1:])
