"""In-memory implementations of the keyword store and the vector store in a few plain dicts, under the same contract.

They are for tests and illustrate the interfaces; they are neither fast nor persistent.
"""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

from llmc.base import words
from llmc.store.catalog.packing import clean
from llmc.store.keywords.trigrams import parts
from llmc.store.protocols import ChunkHit
from llmc.store.vectors.exact_copy import as_scores

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    import numpy.typing as npt

    from llmc.base.model import Document
    from llmc.store.protocols import Clause, KeywordQuery, Trigrams

    Floats = npt.NDArray[np.float32]

__all__ = ["MemoryKeywords", "MemoryVectors"]

# The parameters of tantivy's BM25.
K1, B = 1.2, 0.75

Place = tuple[int, int]


class MemoryKeywords:
    """`KeywordStore` in dicts."""

    def __init__(self) -> None:
        self._documents: dict[int, Document] = {}
        self._added: dict[int, Document] = {}
        self._deleted: set[int] = set()
        self._index()

    def add(self, doc: int, document: Document) -> None:
        self._added[doc] = document

    def delete(self, docs: Collection[int]) -> None:
        self._deleted.update(docs)

    def commit(self) -> None:
        self._documents.update(self._added)
        self._documents = {doc: one for doc, one in self._documents.items() if doc not in self._deleted}
        self.rollback()
        self._index()

    def rollback(self) -> None:
        self._added = {}
        self._deleted = set()

    def release(self) -> None:
        self.rollback()

    def reload(self) -> None:
        """Does nothing: no other process writes to it."""

    def close(self) -> None:
        self.rollback()

    def docs(self) -> set[int]:
        return set(self._documents)

    def _index(self) -> None:
        self._rows: dict[Place, dict[str, Counter[str]]] = {}
        self._parts: dict[int, list[frozenset[str]]] = {}
        for doc, document in self._documents.items():
            self._parts[doc] = [frozenset(windows(part)) for part in parts(clean(document.text))]
            for chunk in document.parsed.chunks:
                fields = {
                    "body": words.body(chunk.text),
                    "name": words.name(chunk.name),
                    "path": words.path(document.path),
                    "capsule": words.body(chunk.capsule),
                }
                self._rows[doc, chunk.ordinal] = {field: Counter(terms.split()) for field, terms in fields.items()}

    def search(self, query: KeywordQuery, limit: int, within: Collection[int] | None = None) -> list[ChunkHit]:
        if not (query.any or query.all or query.languages or within is not None):
            return []
        found = [
            ChunkHit(*place, sum(self._score(clause, place) for clause in query.any))
            for place in self._rows
            if (within is None or place[0] in within) and self._matches(query, place)
        ]
        return sorted(found, key=lambda hit: (-hit.score, hit.doc, hit.ordinal))[: max(0, limit)]

    def _matches(self, query: KeywordQuery, place: Place) -> bool:
        language = self._documents[place[0]].parsed.language
        met = all(self._holds(group, place) for group in query.all)
        if query.any and not query.all:
            met = self._holds(query.any, place)
        return met and not self._holds(query.none, place) and language in (query.languages or {language})

    def _holds(self, clauses: Iterable[Clause], place: Place) -> bool:
        return any(clause.term in self._rows[place][clause.field] for clause in clauses)

    def _score(self, clause: Clause, place: Place) -> float:
        frequency = self._rows[place][clause.field][clause.term]
        if not frequency:
            return 0.0
        lengths = [row[clause.field].total() for row in self._rows.values()]
        holding = sum(clause.term in row[clause.field] for row in self._rows.values())
        rarity = math.log(1 + (len(lengths) - holding + 0.5) / (holding + 0.5))
        length = self._rows[place][clause.field].total() * len(lengths) / sum(lengths)
        return clause.boost * rarity * frequency * (K1 + 1) / (frequency + K1 * (1 - B + B * length))

    def frequencies(self, terms: Collection[str]) -> tuple[int, dict[str, int]]:
        return len(self._rows), {term: sum(term in row["body"] for row in self._rows.values()) for term in terms}

    def chunks_with(self, terms: Collection[str], limit: int) -> list[tuple[int, int]]:
        return [place for place, row in self._rows.items() if all(term in row["body"] for term in terms)][:limit]

    def candidates(self, condition: Trigrams, limit: int | None = None, *, across_lines: bool = False) -> list[int]:
        found = []
        for doc, texts in self._parts.items():
            together = [frozenset().union(*texts)] if across_lines else texts
            if any(condition.met(text.__contains__) for text in together):
                found.append(doc)
        return sorted(found)[:limit]

    def estimate(self, condition: Trigrams) -> int:
        return len(self.candidates(condition, across_lines=True))


def windows(text: str) -> Iterable[str]:
    return (text[at : at + 3] for at in range(len(text) - 2))


class MemoryVectors:
    """`VectorStore` in a dict, without quantisation."""

    def __init__(self, dimension: int) -> None:
        self.dimension = dimension
        self._vectors: dict[int, Floats] = {}
        self._added: dict[int, Floats] = {}
        self._deleted: set[int] = set()

    def add(self, doc: int, vectors: Floats) -> None:
        self._added[doc] = np.nan_to_num(vectors, posinf=0.0, neginf=0.0)

    def delete(self, docs: Collection[int]) -> None:
        self._deleted.update(docs)

    def commit(self) -> None:
        self._vectors.update({doc: rows for doc, rows in self._added.items() if len(rows)})
        self._vectors = {doc: rows for doc, rows in self._vectors.items() if doc not in self._deleted}
        self.rollback()

    def rollback(self) -> None:
        self._added = {}
        self._deleted = set()

    def reload(self) -> None:
        """Does nothing: no other process writes to it."""

    def close(self) -> None:
        self.rollback()

    def docs(self) -> set[int]:
        return set(self._vectors)

    def vectors(self, docs: Collection[int]) -> dict[int, Floats]:
        return {doc: self._vectors[doc] for doc in docs if doc in self._vectors}

    def search(self, query: Floats, limit: int, within: Collection[int] | None = None) -> list[ChunkHit]:
        docs = self._vectors.keys() if within is None else self._vectors.keys() & set(within)
        found = [
            ChunkHit(doc, ordinal, cosine)
            for doc in docs
            for ordinal, cosine in enumerate(as_scores(self._vectors[doc] @ query))
        ]
        return sorted(found, key=lambda hit: (-hit.score, hit.doc, hit.ordinal))[: max(0, limit)]
