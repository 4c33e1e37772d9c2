"""One published repository at one ref as a catalog: files from its manifest, the rest from the tables.

It implements `CatalogReader`. A published tree is one root, so the `root` argument is ignored. Document numbers of
other refs or repositories are not valid here: results from the tables are restricted to the repository and, if they
refer to files, to the manifest.
"""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from llmc.base.errors import CorruptStoreError
from llmc.base.model import HOLDS_NUL, FileState, FileStatus, Stamp
from llmc.store.catalog.definitions import LAST_CHARACTER, SymbolQueries
from llmc.store.catalog.packing import (
    UNREADABLE,
    Declarations,
    index_name,
    unpack_chunks,
    unpack_reference_words,
    unpack_references,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from llmc.base.model import ChunkPlace, Reference
    from llmc.store.catalog.document_paths import DocumentPaths
    from llmc.store.catalog.packing import ChunkPlaces
    from llmc.store.shared.documents import DocumentFacts
    from llmc.store.shared.manifest import Head, Manifest, ManifestEntry
    from llmc.store.shared.selection import Selection

__all__ = ["PublishedCatalog", "stamp_of"]

BINARY = "binary or not published"


def stamp_of(entry: ManifestEntry, head: Head) -> Stamp:
    """The stamp of a published file: the time of its commit, and its document as inode, so that it changes with the
    content."""
    moment = int(head.committed * 1e9)
    return Stamp(entry.size, moment, moment, entry.doc)


class PublishedCatalog(SymbolQueries):
    def __init__(self, selection: Selection, head: Head) -> None:
        self._selection = selection
        self._head = head
        self._repo = head.repo

    @property
    def manifest(self) -> Manifest:
        return self._selection.manifest(self._head)

    def generation(self) -> int:
        return hash(self._head.order)

    # --- files

    def files(self, root: str) -> dict[str, FileState]:  # noqa: ARG002 - see the module
        return {entry.path: self._state(entry) for entry in self.manifest.entries()}

    def _state(self, entry: ManifestEntry) -> FileState:
        stamp = stamp_of(entry, self._head)
        if entry.doc <= 0:
            return FileState(entry.path, stamp, FileStatus.SKIPPED, reason=BINARY)
        return FileState(
            entry.path, stamp, FileStatus.INDEXED, key=str(entry.doc), reason=HOLDS_NUL if entry.holds_nul else ""
        )

    def places(self, root: str) -> DocumentPaths:  # noqa: ARG002
        return self.manifest.places

    def unvouched(self, root: str) -> tuple[str, ...]:  # noqa: ARG002
        """None: the tables contain every file that could match, whatever its size."""
        return ()

    def holding_nul(self, root: str) -> tuple[str, ...]:  # noqa: ARG002
        return self.manifest.holding_nul

    def without_document(self, root: str) -> tuple[str, ...]:  # noqa: ARG002
        return self.manifest.without_text

    def stamps(self, root: str) -> dict[str, tuple[int, int, int, int]]:  # noqa: ARG002
        return {entry.path: self._stamp_fields(entry) for entry in self.manifest.entries()}

    def stamps_of(self, root: str, paths: Collection[str]) -> dict[str, tuple[int, int, int, int]]:  # noqa: ARG002
        return {path: self._stamp_fields(entry) for path in paths if (entry := self.manifest.find(path)) is not None}

    def _stamp_fields(self, entry: ManifestEntry) -> tuple[int, int, int, int]:
        stamp = stamp_of(entry, self._head)
        return stamp.size, stamp.mtime_ns, stamp.ctime_ns, stamp.inode

    def indexed(self, root: str, docs: Collection[int]) -> dict[int, tuple[str, Stamp]]:
        facts = self._facts(docs)
        places = self.places(root).named(list(facts))
        entries = {doc: self.manifest.find(path) for doc, path in places.items()}
        return {
            doc: (facts[doc].language, stamp_of(entry, self._head))
            for doc, entry in entries.items()
            if entry is not None
        }

    def doc_of(self, root: str, path: str) -> int | None:  # noqa: ARG002
        entry = self.manifest.find(path)
        return entry.doc if entry is not None and entry.doc > 0 else None

    def docs_of(self, root: str, paths: Collection[str]) -> dict[str, int]:
        return {path: doc for path in paths if (doc := self.doc_of(root, path)) is not None}

    def docs_in(self, root: str, folder: str) -> list[int]:
        manifest = self.manifest
        start = len(folder) + 1 if folder else 0
        inside = (manifest.paths[at] for at in manifest.below(folder))
        return list(self.docs_of(root, [path for path in inside if "/" not in path[start:]]).values())

    # --- documents

    def _facts(self, docs: Collection[int]) -> dict[int, DocumentFacts]:
        return self._selection.documents.facts(self._repo, docs)

    def languages(self, docs: Collection[int]) -> dict[int, str]:
        return {doc: facts.language for doc, facts in self._facts(docs).items()}

    def lines(self, doc: int) -> int:
        facts = self._facts([doc])
        return facts[doc].lines if facts else 0

    def content_hash(self, doc: int) -> str | None:
        facts = self._facts([doc])
        return facts[doc].content_hash if facts else None

    def chunks(self, doc: int) -> tuple[ChunkPlace, ...]:
        return tuple(self.chunks_of([doc]).get(doc, ()))

    def chunks_of(self, docs: Collection[int]) -> dict[int, ChunkPlaces]:
        facts = self._facts(docs)
        try:
            return {doc: unpack_chunks(doc, one.chunks) for doc, one in facts.items()}
        except UNREADABLE as error:
            raise self._damaged() from error

    def references(self, doc: int) -> tuple[Reference, ...]:
        blobs = self._selection.documents.references(self._repo, [doc])
        try:
            return unpack_references(blobs[doc]) if blobs.get(doc) else ()
        except UNREADABLE as error:
            raise self._damaged() from error

    def references_named(self, name: str, docs: Collection[int]) -> dict[int, tuple[Reference, ...]]:
        blobs = self._selection.documents.references(self._repo, docs)
        try:
            found = {doc: unpack_references(blob, name) for doc, blob in blobs.items() if blob}
        except UNREADABLE as error:
            raise self._damaged() from error
        return {doc: references for doc, references in found.items() if references}

    def words_of_references(self, docs: Collection[int]) -> dict[int, frozenset[str]]:
        """The words of documents that are in memory; for others, every search would send one more request to the
        storage."""
        blobs = self._selection.documents.loaded_references(self._repo, docs)
        try:
            return {doc: unpack_reference_words(blob) for doc, blob in blobs.items()}
        except UNREADABLE as error:
            raise self._damaged() from error

    def declarations(self, docs: Collection[int]) -> dict[int, Declarations]:
        return {
            doc: Declarations(one.path, one.language, one.symbols, one.links, self._folder)
            for doc, one in self._facts(docs).items()
        }

    @cached_property
    def _folder(self) -> Path:
        return Path(self._head.name)

    def _damaged(self) -> CorruptStoreError:
        return CorruptStoreError(
            f"a document of {self._head.name} is damaged", hint="Run `llmc shared verify`, and publish it again."
        )

    def embedded_total(self, embedder: int) -> tuple[int, int]:  # noqa: ARG002 - there is one embedder
        return self._head.documents, self._head.chunks

    # --- names

    def _holding(self, names: Collection[str]) -> set[int]:
        return self._live(self._selection.defining(self._repo, names).values())

    def _holding_prefix(self, start: str) -> set[int]:
        return self._live(self._selection.defining_prefix(start, start + LAST_CHARACTER).get(self._repo, {}).values())

    def _symbol_blobs(self, docs: Collection[int]) -> Iterator[tuple[int, bytes]]:
        facts = self._facts(docs)
        return ((doc, facts[doc].symbols) for doc in sorted(facts))

    def defining_each(self, names: Collection[str]) -> dict[str, list[int]]:
        spelled = {name: index_name(name) for name in names}
        found = self._selection.defining(self._repo, set(spelled.values()))
        return {name: sorted(self.places("").keep(found.get(spelling, ()))) for name, spelling in spelled.items()}

    def names(self, prefix: str = "", limit: int | None = None) -> list[str]:
        start = index_name(prefix)
        found = self._selection.defining_prefix(start, start + LAST_CHARACTER).get(self._repo, {})
        return sorted(name for name, docs in found.items() if self.places("").keep(docs))[:limit]

    def _live(self, documents: Collection[Collection[int]]) -> set[int]:
        return set(self.places("").keep({doc for docs in documents for doc in docs}))
