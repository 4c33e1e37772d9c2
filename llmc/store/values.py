"""The values of the store: its input (`Batch`), and its descriptions of itself."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from llmc.base.model import Document, FileState, Symbol

__all__ = ["Batch", "Counts", "Embedding", "Extent", "Manifests", "Moment", "StoreDifference", "StoredDefinition"]


@dataclass(frozen=True, slots=True)
class Batch:
    """A set of changes to one root, applied to all stores or to none.

    `states` are rows to write (new or changed files, skipped and failed ones too), `gone` the paths to forget.
    `documents` are those that are new to the store: the key of every INDEXED state is either here or in the catalog.
    """

    root: str
    states: tuple[FileState, ...] = ()
    gone: tuple[str, ...] = ()
    documents: tuple[Document, ...] = ()


class StoredDefinition(NamedTuple):
    """A symbol and the document that defines it."""

    doc: int
    symbol: Symbol


@dataclass(frozen=True, slots=True)
class StoreDifference:
    """Two stores disagree about a document."""

    store: str  # chunks, files, vectors: the store that differs from the catalog
    problem: str  # missing, extra, count (some of its rows are not there), or why all of it is unreadable
    doc: int  # 0 for the whole store
    path: str = ""

    def __str__(self) -> str:
        where = f" ({self.path})" if self.path else ""
        return (
            f"{self.store}: {self.problem} document {self.doc}{where}" if self.doc else f"{self.store}: {self.problem}"
        )


@dataclass(frozen=True, slots=True)
class Counts:
    """Numbers of rows and bytes on disk, for `llmc status`."""

    files: dict[str, int]  # by status
    documents: int
    dead: int
    chunks: int
    symbols: int
    text_bytes: int
    languages: dict[str, int] = field(default_factory=dict)
    disk_bytes: dict[str, int] = field(default_factory=dict)  # catalog, chunks, files, vectors


@dataclass(frozen=True, slots=True)
class Extent:
    """The relevant part of a file; `crc` is the checksum of its first `size` bytes."""

    file: str
    size: int
    crc: int


# store → file name → extent
Manifests = dict[str, dict[str, Extent]]


@dataclass(frozen=True, slots=True)
class Embedding:
    """An embedder as the catalog knows it: `number` names its vectors, here and in the folder of the store."""

    number: int
    name: str
    dimension: int

    @property
    def store(self) -> str:
        """The table's folder below the store's, and its name in the manifest."""
        return f"vectors/chunks_{self.number}.lance"


@dataclass(frozen=True, slots=True)
class Moment:
    """The state of the other stores at one generation, according to the catalog.

    `moving`: a writer is active or was interrupted, so tantivy may be ahead of the manifest. `answering` is the
    embedder whose vectors are complete.
    """

    generation: int
    moving: bool
    answering: Embedding | None
    embeddings: dict[int, Embedding]
    manifests: Manifests

    def table_files(self, embedding: Embedding) -> dict[str, Extent]:
        """Empty before the first vectors, and while the table is being optimized."""
        return self.manifests.get(embedding.store, {})

    def find(self, name: str | None, dimension: int) -> Embedding | None:
        wanted = (name, dimension)
        return next((one for one in self.embeddings.values() if (one.name, one.dimension) == wanted), None)
