"""One published repository at one ref, as a store for views and as files for tools.

`PublishedStore` implements `StoreReader`. `PublishedFs` takes the place of a root's files: content comes from the
tables, folders from the manifest. ripgrep reads contents as anonymous files in memory.
"""

from __future__ import annotations

import os
import posixpath
import tempfile
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from llmc.base import paths
from llmc.base.denylist import Denylist
from llmc.base.errors import NotFoundError, OutsideError, ReadError
from llmc.base.model import Stamp
from llmc.base.root_fs import DirectoryEntry, FileKind, ReadRefusal, RootFs, StatResult
from llmc.store.catalog.definitions import spellings
from llmc.store.shared.catalog import PublishedCatalog, stamp_of
from llmc.store.shared.keywords import word_hits
from llmc.store.shared.vectors import stored_vectors, vector_hits
from llmc.store.vectors import VectorState

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    import numpy as np
    import numpy.typing as npt

    from llmc.store.protocols import ChunkHit, KeywordQuery, Trigrams
    from llmc.store.shared.manifest import Head, Manifest
    from llmc.store.shared.selection import Selection
    from llmc.store.values import Embedding

    Floats = npt.NDArray[np.float32]

__all__ = ["PublishedFs", "PublishedStore"]


@cache
def empty_folder() -> tempfile.TemporaryDirectory[str]:
    """An empty folder that exists as long as this process, since ripgrep does not run in a deleted one."""
    return tempfile.TemporaryDirectory(prefix="llmc-empty-")


class PublishedKeywords:
    """`KeywordSearcher` of one view, answered by its selection."""

    def __init__(self, selection: Selection, head: Head) -> None:
        self._selection = selection
        self._head = head

    def search(self, query: KeywordQuery, limit: int, within: Collection[int] | None = None) -> list[ChunkHit]:
        if within is None:
            return self._selection.words(query, limit).get(self._head.repo, [])
        kept = self._selection.manifest(self._head).places.keep(within)
        found = word_hits(self._selection.readable, query, limit, kept)
        return [hit for repo, hit in found if repo == self._head.repo]

    def frequencies(self, terms: Collection[str]) -> tuple[int, dict[str, int]]:
        return self._selection.frequencies(self._head, terms)

    def chunks_with(self, terms: Collection[str], limit: int) -> list[tuple[int, int]]:
        found = self._selection.containing(frozenset(terms), limit).get(self._head.repo, ())
        return [(hit.doc, hit.ordinal) for hit in found]

    def candidates(self, condition: Trigrams, limit: int | None = None, *, across_lines: bool = False) -> list[int]:
        places = self._selection.manifest(self._head).places
        if condition.is_empty:
            return list(places)[:limit]
        found = self._selection.candidates(condition, across_lines=across_lines)
        return places.keep(found.get(self._head.repo, ()))[:limit]

    def estimate(self, condition: Trigrams) -> int:
        return len(self.candidates(condition, across_lines=True))


class PublishedVectors:
    """`ChunkSearcher` of one view, answered by its selection."""

    def __init__(self, selection: Selection, head: Head, dimension: int) -> None:
        self._selection = selection
        self._head = head
        self._dimension = dimension
        self.damage = ""

    def vectors(self, docs: Collection[int]) -> dict[int, Floats]:
        kept = self._selection.manifest(self._head).places.keep(docs)
        return stored_vectors(self._selection.readable, kept, self._dimension)

    def search(self, query: Floats, limit: int, within: Collection[int] | None = None) -> list[ChunkHit]:
        if within is None:
            return self._selection.nearest(query, limit).get(self._head.repo, [])
        kept = self._selection.manifest(self._head).places.keep(within)
        found = vector_hits(self._selection.readable, query, limit, kept)
        return [hit for repo, hit in found if repo == self._head.repo]


class PublishedStore:
    """`StoreReader` of one view. Views of several refs of a repository have the same `folder`, since they share
    documents."""

    def __init__(self, selection: Selection, head: Head, embedding: Embedding) -> None:
        self.folder = Path(head.repo)
        self.head = head
        self.embedding = embedding
        self.catalog = PublishedCatalog(selection, head)
        self.keywords = PublishedKeywords(selection, head)
        self.vectors = PublishedVectors(selection, head, embedding.dimension)
        self._selection = selection

    def vector_state(self, *, wait: bool = True) -> VectorState:  # noqa: ARG002 - nothing is loaded
        return VectorState("lancedb", self.head.chunks)

    def expect(self, docs: Collection[int] = (), names: Collection[str] = ()) -> None:
        if docs:
            self._selection.documents.expect(self.head.repo, self._selection.manifest(self.head).sizes(docs))
        if names:
            self._selection.expect_names({spelling for name in names for spelling in spellings(name)})


class PublishedFs(RootFs):
    """The files of a published tree. It gives no access to the disk of this machine."""

    is_virtual = True

    def __init__(self, selection: Selection, head: Head) -> None:
        self.path = f"{head.repo}@{head.ref}"
        self.denylist = Denylist()
        self.generation = 0
        self._selection = selection
        self._head = head

    def close(self) -> None:
        """Does nothing: no file is open."""

    @property
    def _manifest(self) -> Manifest:
        return self._selection.manifest(self._head)

    def expect(self, paths: Iterable[str]) -> None:
        self._selection.documents.expect(self._head.repo, self._manifest.documents_at(paths))

    def read(self, path: str, limit: int, *, follow: bool = False, walking: bool = False) -> tuple[bytes, Stamp]:  # noqa: ARG002
        if (refusal := self.refusal(path)) is not None:
            raise refusal
        manifest = self._manifest
        entry = manifest.find(path)
        if entry is None:
            if manifest.below(path):
                raise self._refused(path, ReadRefusal.FOLDER)
            raise NotFoundError(f"{paths.shown(path)} does not exist", path=path)
        if entry.doc <= 0:
            raise self._refused(path, ReadRefusal.SPECIAL, "it is not text, or too large to be published")
        if entry.size > limit:
            raise self._refused(path, ReadRefusal.TOO_LARGE, f"{entry.size:,} bytes, over {limit:,}")
        content = self._selection.documents.contents(self._head.repo, [entry.doc]).get(entry.doc)
        if content is None:
            raise self._refused(path, ReadRefusal.IO, "it is missing in the shared index")
        return content, stamp_of(entry, self._head)

    def _refused(self, path: str, refusal: ReadRefusal, reason: str = "") -> ReadError:
        return ReadError(f"cannot read {paths.shown(path)}", reason=reason or refusal.value, path=path, refusal=refusal)

    def head(self, path: str, size: int, *, follow: bool = False) -> bytes:
        return self.read(path, 1 << 40, follow=follow)[0][:size]

    def open(self, path: str, *, follow: bool = False) -> int:
        data, _ = self.read(path, 1 << 40, follow=follow)
        fd = os.memfd_create("llmc-published", os.MFD_CLOEXEC)
        try:
            with os.fdopen(os.dup(fd), "wb") as file:
                file.write(data)
            os.lseek(fd, 0, os.SEEK_SET)
        except BaseException:
            os.close(fd)
            raise
        return fd

    def open_folder(self, folder: str) -> int:
        """An empty folder, for ripgrep to run in."""
        if folder:
            raise NotFoundError(f"{paths.shown(folder)} does not exist on this machine", path=folder)
        return os.open(empty_folder().name, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)

    def stat(self, path: str) -> StatResult | None:
        entry = self._manifest.find(path)
        if entry is not None:
            return StatResult(FileKind.FILE, stamp_of(entry, self._head))
        if path and not self._manifest.below(path):
            return None
        moment = int(self._head.committed * 1e9)
        return StatResult(FileKind.FOLDER, Stamp(0, moment, moment, 0))

    def list(self, folder: str) -> list[DirectoryEntry]:
        inside = self._manifest.below(folder)
        if not inside and folder:
            raise NotFoundError(f"{paths.shown(folder)} does not exist", path=folder)
        start = len(folder) + 1 if folder else 0
        kinds: dict[str, FileKind] = {}
        for at in inside:
            name, slash, _ = self._manifest.paths[at][start:].partition("/")
            kinds[name] = FileKind.FOLDER if slash else FileKind.FILE
        return [DirectoryEntry(name, kinds[name]) for name in sorted(kinds)]

    def relative(self, typed: str, cwd: str) -> str:  # noqa: ARG002 - there is no current folder
        """The normalized path in the tree; OutsideError if it leads out of it."""
        path = posixpath.normpath(typed.lstrip("/") or ".")
        if path == ".." or path.startswith("../"):
            raise OutsideError(f"{typed!r} is outside the repository")
        return "" if path == "." else path
