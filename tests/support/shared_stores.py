"""The tables of a shared index behind the protocols of a local store, so that one contract suite runs on both.

A published index is written by `store.shared.publishing` in whole publications; the contract adds and deletes single
documents, which these two do on the first shard of an index with one repository.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt

from llmc.base.model import Document
from llmc.store.catalog.packing import clean
from llmc.store.shared.database import match_query, quoted
from llmc.store.shared.keywords import EVERY_ROW, candidate_rows, containing, document_filters, word_hits
from llmc.store.shared.rows import NumberedDocument, chunk_rows, trigram_rows, vector_rows
from llmc.store.shared.vectors import stored_vectors, vector_hits

if TYPE_CHECKING:
    from collections.abc import Collection

    from llmc.store.protocols import ChunkHit, KeywordQuery, Trigrams
    from llmc.store.shared.access import Readable
    from llmc.store.shared.database import SharedDatabase

__all__ = ["LanceKeywords", "LanceVectors"]

Added = TypeVar("Added")
Floats = npt.NDArray[np.float32]


class PendingTables(Generic[Added]):
    """Documents that were added and deleted since the last commit."""

    def __init__(self, database: SharedDatabase, readable: Readable) -> None:
        (self._repo,) = readable.repos
        self._database = database
        self._readable = readable
        self.rollback()

    def add(self, doc: int, added: Added) -> None:
        self._added[doc] = added

    def delete(self, docs: Collection[int]) -> None:
        self._deleted.update(docs)

    def rollback(self) -> None:
        self._added: dict[int, Added] = {}
        self._deleted: set[int] = set()

    def close(self) -> None:
        self.rollback()

    def reload(self) -> None:
        self._database.refresh(0)

    def _take(self, *tables: str) -> list[tuple[int, Added]]:
        """Delete what was deleted from these tables; what was added and not deleted since."""
        added, deleted = self._added, self._deleted
        self.rollback()
        for where in document_filters(deleted):
            for name in tables:
                self._database.table(name).delete(f"repo = {quoted(self._repo)} AND {where}")
        return [(doc, one) for doc, one in added.items() if doc not in deleted]

    def _docs_of(self, table: str) -> set[int]:
        found: Any = self._readable.scan(table, "", ("doc",))
        return set(found["doc"].to_pylist())


class LanceKeywords(PendingTables[Document]):
    def commit(self) -> None:
        documents = [NumberedDocument(doc, document) for doc, document in self._take("chunks", "trigrams")]
        description = self._database.description
        rows = {
            "chunks": chunk_rows(self._repo, documents, description),
            "trigrams": trigram_rows(self._repo, documents, description),
        }
        self._database.append(rows)

    def release(self) -> None:
        """Nothing is held between commits."""

    def docs(self) -> set[int]:
        return self._docs_of("trigrams")

    def search(self, query: KeywordQuery, limit: int, within: Collection[int] | None = None) -> list[ChunkHit]:
        return [hit for _, hit in word_hits(self._readable, query, limit, within)]

    def frequencies(self, terms: Collection[str]) -> tuple[int, dict[str, int]]:
        def holding(term: str) -> int:
            query = match_query(clean(term), "body")
            return len(places_of(self._readable.match("chunks", query, ("doc", "ordinal"), EVERY_ROW)))

        total = len(places_of(self._readable.scan("chunks", "", ("doc", "ordinal"))))
        return total, {term: holding(term) for term in terms}

    def chunks_with(self, terms: Collection[str], limit: int) -> list[tuple[int, int]]:
        return [(hit.doc, hit.ordinal) for hit in self.search(containing(terms), limit)]

    def candidates(self, condition: Trigrams, limit: int | None = None, *, across_lines: bool = False) -> list[int]:
        found = candidate_rows(self._readable, condition, across_lines=across_lines).get(self._repo, set())
        return sorted(found)[:limit]

    def estimate(self, condition: Trigrams) -> int:
        return len(self.candidates(condition, across_lines=True))


class LanceVectors(PendingTables[Floats]):
    def __init__(self, database: SharedDatabase, readable: Readable) -> None:
        super().__init__(database, readable)
        self.dimension = database.description.dimension
        self.damage = ""

    def commit(self) -> None:
        rows = self._take("vectors")
        self._database.append({"vectors": vector_rows(self._repo, rows, self._database.description)})

    def docs(self) -> set[int]:
        return self._docs_of("vectors")

    def vectors(self, docs: Collection[int]) -> dict[int, Floats]:
        return stored_vectors(self._readable, docs, self.dimension)

    def search(self, query: Floats, limit: int, within: Collection[int] | None = None) -> list[ChunkHit]:
        return [hit for _, hit in vector_hits(self._readable, query, limit, within)]


def places_of(found: Any) -> set[tuple[int, int]]:
    return set(zip(found["doc"].to_pylist(), found["ordinal"].to_pylist(), strict=True))
