"""The interfaces of a store: what retrieval, graph and tools need of it, whatever the storage.

Two stores implement them: the local one of a family (`Store`: SQLite, tantivy, LanceDB) and the shared one in object
storage (`shared`: LanceDB tables). Keyword and vector stores also have in-memory versions; one contract suite runs on
all of them. The catalog decides what is live: keyword and vector stores may hold more documents (other work trees or
refs, an interrupted batch), and readers drop whatever the catalog does not name.

A document is identified by a number (`doc`), which is never reused for other content.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence
    from pathlib import Path

    import numpy as np
    import numpy.typing as npt

    from llmc.base.model import ChunkPlace, Document, FileState, Reference, Stamp, Symbol
    from llmc.store.catalog.document_paths import DocumentPaths
    from llmc.store.catalog.packing import Declarations
    from llmc.store.values import Embedding, StoredDefinition
    from llmc.store.vectors import VectorState

__all__ = [
    "CatalogReader",
    "ChunkHit",
    "ChunkSearcher",
    "Clause",
    "KeywordQuery",
    "KeywordSearcher",
    "KeywordStore",
    "StoreReader",
    "Trigrams",
    "VectorStore",
]


@dataclass(frozen=True, slots=True)
class Clause:
    """One term in one field. Terms come from `llmc.base.words`, which the writer used too."""

    field: str  # body, name, path, capsule
    term: str
    boost: float = 1.0


@dataclass(frozen=True, slots=True)
class KeywordQuery:
    """BM25 over the sum of `any`; each group of `all` must be met by at least one of its clauses; `none` excludes.

    Without `all`, at least one clause of `any` must match; with it, `any` only ranks. An empty query has no hits.
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

    An empty condition makes every file a candidate.
    """

    all: frozenset[str] = frozenset()
    any: tuple[tuple[Trigrams, ...], ...] = field(default=())

    @property
    def is_empty(self) -> bool:
        return not self.all and not self.any

    def met(self, has: Callable[[str], bool]) -> bool:
        """Whether a text meets the condition; `has` tells whether it contains a trigram."""
        return all(map(has, self.all)) and all(any(one.met(has) for one in group) for group in self.any)


class KeywordSearcher(Protocol):
    """BM25 over chunks and trigrams over files: the part that queries use."""

    def search(self, query: KeywordQuery, limit: int, within: Collection[int] | None = None) -> list[ChunkHit]:
        """The best chunks, best first; equal scores by (doc, ordinal). `within` restricts to documents."""

    def frequencies(self, terms: Collection[str]) -> tuple[int, dict[str, int]]:
        """The number of chunks, and for each term the number of chunks whose text contains it."""

    def chunks_with(self, terms: Collection[str], limit: int) -> list[tuple[int, int]]:
        """(document, ordinal) of the chunks whose text contains every term, each once, in no order. `limit` may cut
        the list; there must be a term."""

    def candidates(self, condition: Trigrams, limit: int | None = None, *, across_lines: bool = False) -> list[int]:
        """Documents that may match, ascending; possibly more than match, never fewer. `limit` may cut the list.

        A match lies within one line (between two `\\n`) unless `across_lines` is set.
        """

    def estimate(self, condition: Trigrams) -> int:
        """An upper bound for the number of documents that `candidates` would return."""


class KeywordStore(KeywordSearcher, Protocol):
    """A keyword store with its writing half."""

    def add(self, doc: int, document: Document) -> None:
        """Buffer a document; nothing is visible before `commit`."""

    def delete(self, docs: Collection[int]) -> None:
        """Buffer the removal of documents; unknown numbers are ignored."""

    def commit(self) -> None:
        """Make the buffered changes durable and visible, all or none. After an error none is, and the buffer is
        empty."""

    def rollback(self) -> None: ...

    def release(self) -> None:
        """Release the writer's lock and memory; the next `add` or `delete` acquires them again."""

    def reload(self) -> None:
        """Make the commits of other processes visible."""

    def docs(self) -> set[int]:
        """Every document number that is in the store."""

    def close(self) -> None: ...


class ChunkSearcher(Protocol):
    """Nearest neighbours over chunks by cosine: the part that queries use."""

    damage: str  # why the vectors cannot be used; empty if they can

    def vectors(self, docs: Collection[int]) -> dict[int, npt.NDArray[np.float32]]:
        """document → its vectors, in half precision; documents without vectors are omitted."""

    def search(
        self, query: npt.NDArray[np.float32], limit: int, within: Collection[int] | None = None
    ) -> list[ChunkHit]:
        """The nearest chunks, best first, by cosine in [-1, 1]; `within` restricts to documents."""


class VectorStore(Protocol):
    """A vector store with its writing half."""

    dimension: int

    def add(self, doc: int, vectors: npt.NDArray[np.float32]) -> None:
        """Buffer one unit row for each chunk of a document, in order of their ordinals."""

    def delete(self, docs: Collection[int]) -> None: ...

    def commit(self) -> None: ...

    def rollback(self) -> None: ...

    def reload(self) -> None: ...

    def vectors(self, docs: Collection[int]) -> dict[int, npt.NDArray[np.float32]]:
        """document → its vectors, in half precision; documents without vectors are omitted."""

    def search(
        self, query: npt.NDArray[np.float32], limit: int, within: Collection[int] | None = None
    ) -> list[ChunkHit]:
        """The nearest chunks, best first, by cosine in [-1, 1]; `within` restricts to documents."""

    def docs(self) -> set[int]: ...

    def close(self) -> None: ...


class CatalogReader(Protocol):
    """Which file holds which document, and what each document consists of. `root` is a root's id."""

    def generation(self) -> int:
        """A number that changes with any other result of this interface."""

    def files(self, root: str) -> dict[str, FileState]: ...

    def places(self, root: str) -> DocumentPaths:
        """Every document of the root and its path; the same object until the generation changes."""

    def unvouched(self, root: str) -> tuple[str, ...]:
        """Files that may be text and are not in the index."""

    def holding_nul(self, root: str) -> tuple[str, ...]: ...

    def without_document(self, root: str) -> tuple[str, ...]: ...

    def stamps(self, root: str) -> dict[str, tuple[int, int, int, int]]: ...

    def stamps_of(self, root: str, paths: Collection[str]) -> dict[str, tuple[int, int, int, int]]: ...

    def indexed(self, root: str, docs: Collection[int]) -> dict[int, tuple[str, Stamp]]:
        """document → its language and the stamp that its file had when it was indexed."""

    def doc_of(self, root: str, path: str) -> int | None: ...

    def docs_of(self, root: str, paths: Collection[str]) -> dict[str, int]: ...

    def docs_in(self, root: str, folder: str) -> Sequence[int]:
        """The documents of the files that lie directly in a folder."""

    def languages(self, docs: Collection[int]) -> dict[int, str]: ...

    def lines(self, doc: int) -> int: ...

    def content_hash(self, doc: int) -> str | None: ...

    def chunks(self, doc: int) -> Sequence[ChunkPlace]: ...

    def chunks_of(self, docs: Collection[int]) -> Mapping[int, Sequence[ChunkPlace]]: ...

    def symbols(
        self,
        *,
        name: str | None = None,
        prefix: str | None = None,
        doc: int | None = None,
        docs: Collection[int] | None = None,
        kind: str | None = None,
    ) -> list[StoredDefinition]:
        """Definitions by name (perhaps qualified), by the beginning of a name, or all of some documents."""

    def symbols_around(self, doc: int, first: int, last: int) -> Sequence[Symbol]: ...

    def defining(self, name: str) -> set[int]: ...

    def defining_each(self, names: Collection[str]) -> dict[str, list[int]]: ...

    def names(self, prefix: str = "", limit: int | None = None) -> list[str]: ...

    def references(self, doc: int) -> tuple[Reference, ...]: ...

    def references_named(self, name: str, docs: Collection[int]) -> dict[int, tuple[Reference, ...]]: ...

    def words_of_references(self, docs: Collection[int]) -> dict[int, frozenset[str]]:
        """All names in the references of these documents; documents that are not at hand are left out."""

    def declarations(self, docs: Collection[int]) -> dict[int, Declarations]: ...

    def embedded_total(self, embedder: int) -> tuple[int, int]:
        """(documents, chunks) that have vectors of this embedder."""


class StoreReader(Protocol):
    """What a view reads. The views of all work trees of a family share one instance."""

    @property
    def folder(self) -> Path:
        """The folder of a local store; for a shared one it serves only as a name."""

    @property
    def catalog(self) -> CatalogReader: ...

    @property
    def keywords(self) -> KeywordSearcher: ...

    @property
    def vectors(self) -> ChunkSearcher: ...

    @property
    def embedding(self) -> Embedding:
        """The embedder of the vectors that are searched; queries must be embedded with it."""

    def vector_state(self, *, wait: bool = True) -> VectorState: ...

    def expect(self, docs: Collection[int] = (), names: Collection[str] = ()) -> None:
        """Announce that these documents, and the definitions of these names, will be needed; see `RootFs.expect`."""
