"""The seams of the store: what a keyword store and a vector store must do, whoever implements them.

Here: tantivy and LanceDB, each with an in-memory twin; one contract suite runs on all of them. A team backend
(PostgreSQL with pgvector and pg_trgm) will implement the same protocols. The catalog is not a seam: it is SQLite, and
it decides what is live. A store may know more documents than the catalog (work trees that are gone, a batch cut
short); readers drop whatever the catalog does not name.

Documents are named by number (`doc`), given out by the catalog and never used twice.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    import numpy as np
    import numpy.typing as npt

    from llmc.base.model import Document

__all__ = ["ChunkHit", "Clause", "KeywordQuery", "KeywordStore", "Trigrams", "VectorStore"]


@dataclass(frozen=True, slots=True)
class Clause:
    """One term in one field. Terms come out of `llmc.base.words`, the same analysis that the writer used."""

    field: str  # body, name, path, capsule
    term: str
    boost: float = 1.0


@dataclass(frozen=True, slots=True)
class KeywordQuery:
    """BM25 over the sum of `any`; each group of `all` must be met by at least one of its clauses; `none` excludes.

    Without `all`, at least one clause of `any` must be met; with it, `any` only ranks. A query of nothing finds
    nothing.
    """

    any: tuple[Clause, ...]
    all: tuple[tuple[Clause, ...], ...] = ()
    none: tuple[Clause, ...] = ()
    languages: frozenset[str] = frozenset()


class ChunkHit(NamedTuple):
    doc: int
    ordinal: int
    score: float


@dataclass(frozen=True, slots=True)
class Trigrams:
    """A condition on the lower-cased trigrams of a file: all of `all`, and for each group of `any` one alternative.

    Empty means "nothing known": every file is a candidate.
    """

    all: frozenset[str] = frozenset()
    any: tuple[tuple[Trigrams, ...], ...] = field(default=())

    @property
    def is_empty(self) -> bool:
        return not self.all and not self.any

    def met(self, has: Callable[[str], bool]) -> bool:
        """By a text of which `has` says whether it holds a trigram."""
        return all(map(has, self.all)) and all(any(one.met(has) for one in group) for group in self.any)


class KeywordStore(Protocol):
    """BM25 over chunks and trigrams over files."""

    def add(self, doc: int, document: Document) -> None:
        """Buffer a document; nothing is visible before `commit`."""

    def delete(self, docs: Collection[int]) -> None:
        """Buffer the removal of documents; unknown numbers are no error."""

    def commit(self) -> None:
        """Make the buffered changes durable and visible, all or none. On an error nothing is, and the buffer is
        empty."""

    def rollback(self) -> None: ...

    def release(self) -> None:
        """Give up the writer's lock and memory; the next `add` or `delete` takes them again."""

    def reload(self) -> None:
        """See what another process committed."""

    def search(self, query: KeywordQuery, limit: int, within: Collection[int] | None = None) -> list[ChunkHit]:
        """The best chunks, best first; equal scores by (doc, ordinal). `within` restricts to documents."""

    def frequencies(self, terms: Collection[str]) -> tuple[int, dict[str, int]]:
        """How many chunks there are, and how many of them hold each term in their text."""

    def candidates(self, condition: Trigrams, limit: int | None = None, *, across_lines: bool = False) -> list[int]:
        """Documents that may match, ascending; more than match may come, fewer never. `limit` may cut the list.

        A match is taken to lie within one line (between two `\\n`) unless `across_lines` says otherwise.
        """

    def estimate(self, condition: Trigrams) -> int:
        """At most how many documents `candidates` would give, without listing them."""

    def docs(self) -> set[int]:
        """Every document number that is in the store."""

    def close(self) -> None: ...


class VectorStore(Protocol):
    """Nearest neighbours over chunks by cosine."""

    dimension: int

    def add(self, doc: int, vectors: npt.NDArray[np.float32]) -> None:
        """Buffer one unit row for each chunk of a document, in order of their ordinals."""

    def delete(self, docs: Collection[int]) -> None: ...

    def commit(self) -> None: ...

    def rollback(self) -> None: ...

    def reload(self) -> None: ...

    def vectors(self, docs: Collection[int]) -> dict[int, npt.NDArray[np.float32]]:
        """What was added for these documents, in half precision; without those that have no rows."""

    def search(
        self, query: npt.NDArray[np.float32], limit: int, within: Collection[int] | None = None
    ) -> list[ChunkHit]:
        """The nearest chunks, best first, by cosine in [-1, 1]; `within` restricts to documents."""

    def docs(self) -> set[int]: ...

    def close(self) -> None: ...
