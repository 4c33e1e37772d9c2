"""Reads the catalog: which file has which document, and what each document consists of.

The catalog is SQLite in WAL mode: readers and the writer never wait for each other, and each call sees a consistent
snapshot. All methods are thread-safe. A document that the catalog does not list does not exist, whatever the other
stores contain. `writer` writes the catalog, `schema` defines the tables, `packing` the blobs, and `definitions` reads
symbols.

`root` is always a root's id (`Root.id`); an unknown root has no files.
"""

from __future__ import annotations

import os
import sys
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from llmc.base.model import CONTROLS, HOLDS_NUL, TOO_LARGE, FileState, FileStatus, Root, Stamp
from llmc.store.catalog.definitions import DefinitionReader
from llmc.store.catalog.document_paths import DocumentPaths
from llmc.store.catalog.packing import UNREADABLE, ChunkPlaces, compact_hash, expand_hash, unpack_chunks
from llmc.store.integrity.native_errors import guard
from llmc.store.values import Counts, Embedding, Extent, Moment

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Hashable, Sequence
    from pathlib import Path

    from llmc.base.model import ChunkPlace
    from llmc.store.values import Manifests

__all__ = ["INODES", "STATUSES", "Catalog"]

STATUSES = (FileStatus.INDEXED, FileStatus.SKIPPED, FileStatus.FAILED)
FAILED = STATUSES.index(FileStatus.FAILED)
# SQLite's integers are signed, and a network file system may use the last bit of an inode.
INODES = 1 << 64
NAMES = sys.getfilesystemencoding()
OF_ROOT = "root = (SELECT root FROM roots WHERE path = ?)"

Value = TypeVar("Value")


class Catalog(DefinitionReader):
    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._places: dict[str, tuple[int, DocumentPaths]] = {}
        self._kept: dict[Hashable, tuple[int, Any]] = {}

    # --- the whole store

    def generation(self) -> int:
        """A number that increases with every batch that changed anything."""
        return int(self.one("SELECT value FROM meta WHERE key = 'generation'"))

    def roots(self) -> list[Root]:
        rows = self.rows("SELECT path, name, family FROM roots ORDER BY path")
        return [Root(os.fsdecode(path), name, family) for path, name, family in rows]

    def moment(self) -> Moment:
        """The state that the other stores must have now, read in one transaction."""
        manifests: Manifests = {}
        with self.reading() as db:
            db.execute("BEGIN")
            try:
                meta = dict(db.execute("SELECT key, value FROM meta").fetchall())
                found = db.execute("SELECT embedder, name, dimension FROM embedders").fetchall()
                for store, file, size, crc in db.execute("SELECT store, file, size, crc FROM manifest"):
                    manifests.setdefault(store, {})[file] = Extent(file, size, crc)
            finally:
                db.execute("COMMIT")
        embeddings = {row[0]: Embedding(*row) for row in found}
        answering = embeddings.get(meta["answering"])
        return Moment(int(meta["generation"]), bool(meta["moving"]), answering, embeddings, manifests)

    # --- files

    def files(self, root: str) -> dict[str, FileState]:
        """Every known path of the root that was not removed."""
        return {state.path: state for state in self._states(root)}

    def file(self, root: str, path: str) -> FileState | None:
        return next(iter(self._states(root, "AND f.path = ?", os.fsencode(path))), None)

    def below(self, root: str, folder: str) -> list[FileState]:
        """All files below a folder, in order of paths."""
        start = os.fsencode(folder.rstrip("/")) + b"/"
        return self._states(root, "AND f.path >= ? AND f.path < ?", start, start[:-1] + b"0")

    def skipped(self, root: str) -> Sequence[FileState]:
        return self._of_status(root, FileStatus.SKIPPED)

    def failed(self, root: str) -> Sequence[FileState]:
        return self._of_status(root, FileStatus.FAILED)

    def _of_status(self, root: str, status: FileStatus) -> Sequence[FileState]:
        number = STATUSES.index(status)
        return self._cached((root, status), lambda: tuple(self._states(root, "AND f.status = ?", number)))

    def unvouched(self, root: str) -> tuple[str, ...]:
        """Files that may be text and are not in the index: too large, full of control characters, or unreadable at the
        last attempt."""
        return self._paths(root, f"doc IS NULL AND (status = {FAILED} OR reason IN ('{TOO_LARGE}', '{CONTROLS}'))")

    def holding_nul(self, root: str) -> tuple[str, ...]:
        """Indexed files that contain a NUL byte."""
        return self._paths(root, f"doc IS NOT NULL AND reason = '{HOLDS_NUL}'")

    def without_document(self, root: str) -> tuple[str, ...]:
        """Existing files that are not indexed: skipped or failed."""
        return self._paths(root, "doc IS NULL")

    def _paths(self, root: str, where: str) -> tuple[str, ...]:
        def paths() -> tuple[str, ...]:
            rows = self.rows(f"SELECT path FROM files WHERE {OF_ROOT} AND {where}", (os.fsencode(root),))  # noqa: S608
            return tuple(os.fsdecode(path) for (path,) in rows)

        return self._cached((root, where), paths)

    def _cached(self, key: Hashable, make: Callable[[], Value]) -> Value:
        """The value for `key`, cached until the generation changes."""
        generation = self.generation()
        kept = self._kept.get(key)
        if kept is None or kept[0] != generation:
            kept = self._kept[key] = (generation, make())
        found: Value = kept[1]
        return found

    def _states(self, root: str, where: str = "", *values: Any) -> list[FileState]:
        rows = self.rows(
            "SELECT f.path, f.size, f.mtime_ns, f.ctime_ns, f.inode, f.status, d.key, f.reason"  # noqa: S608 constants
            f" FROM files f LEFT JOIN documents d ON d.doc = f.doc WHERE f.{OF_ROOT} {where} ORDER BY f.path",
            (os.fsencode(root), *values),
        )
        return [
            FileState(
                os.fsdecode(path),
                Stamp(size, mtime, ctime, inode % INODES),
                STATUSES[status],
                None if key is None else expand_hash(key),
                reason,
            )
            for path, size, mtime, ctime, inode, status, key, reason in rows
        ]

    def stamps(self, root: str) -> dict[str, tuple[int, int, int, int]]:
        """path → (size, mtime_ns, ctime_ns, inode) of every file, to compare with a walk; takes a third of the time of
        `files`."""
        columns = "path, size, mtime_ns, ctime_ns, inode"
        rows = self.rows(f"SELECT {columns} FROM files WHERE {OF_ROOT}", (os.fsencode(root),))  # noqa: S608 constants
        # os.fsdecode, inlined: half of the time for 30,000 files.
        return {
            path.decode(NAMES, "surrogateescape"): (size, mtime, ctime, inode % INODES)
            for path, size, mtime, ctime, inode in rows
        }

    def stamps_of(self, root: str, paths: Collection[str]) -> dict[str, tuple[int, int, int, int]]:
        """`stamps` of some files."""
        rows = self.listed(
            f"SELECT path, size, mtime_ns, ctime_ns, inode FROM files WHERE {OF_ROOT} AND path IN ({{}})",  # noqa: S608
            [os.fsencode(path) for path in paths],
            os.fsencode(root),
        )
        return {os.fsdecode(path): (size, mtime, ctime, inode % INODES) for path, size, mtime, ctime, inode in rows}

    def indexed(self, root: str, docs: Collection[int]) -> dict[int, tuple[str, Stamp]]:
        """document → its language, and the stamp of its file in this root when it was indexed."""
        rows = self.listed(
            "SELECT d.doc, d.language, f.size, f.mtime_ns, f.ctime_ns, f.inode FROM documents d"  # noqa: S608 constants
            f" CROSS JOIN files f WHERE f.{OF_ROOT} AND f.path = d.path AND f.doc = d.doc AND d.doc IN ({{}})",
            docs,
            os.fsencode(root),
        )
        return {
            doc: (language, Stamp(size, mtime, ctime, inode % INODES))
            for doc, language, size, mtime, ctime, inode in rows
        }

    def doc_of(self, root: str, path: str) -> int | None:
        values = (os.fsencode(root), os.fsencode(path))
        doc: int | None = self.one(f"SELECT doc FROM files WHERE {OF_ROOT} AND path = ?", values)  # noqa: S608 constant
        return doc

    def docs_of(self, root: str, paths: Collection[str]) -> dict[str, int]:
        """path → document, for indexed paths; looking up a hundred takes as long as ten single look-ups."""
        rows = self.listed(
            f"SELECT path, doc FROM files WHERE {OF_ROOT} AND doc IS NOT NULL AND path IN ({{}})",  # noqa: S608 constant
            [os.fsencode(path) for path in paths],
            os.fsencode(root),
        )
        return {os.fsdecode(path): doc for path, doc in rows}

    def docs_in(self, root: str, folder: str) -> list[int]:
        """The documents of the files directly in a folder."""
        start = os.fsencode(folder) + b"/" if folder else b""
        within = " AND path >= ? AND path < ?" if folder else ""
        rows = self.rows(
            f"SELECT doc FROM files WHERE {OF_ROOT} AND doc IS NOT NULL{within}"  # noqa: S608 constants
            " AND instr(substr(path, ?), x'2F') = 0",
            (os.fsencode(root), *((start, start[:-1] + b"0") if folder else ()), len(start) + 1),
        )
        return [doc for (doc,) in rows]

    def places(self, root: str) -> DocumentPaths:
        """Every document of the root and its path; kept until the generation changes."""
        generation = self.generation()
        kept = self._places.get(root)
        if kept and kept[0] == generation:
            return kept[1]
        statement = f"SELECT doc, path FROM files WHERE {OF_ROOT} AND doc IS NOT NULL"  # noqa: S608 constants
        places = DocumentPaths(self.rows(statement, (os.fsencode(root),)), kept[1] if kept else None)
        self._places[root] = (generation, places)
        return places

    # --- documents

    def numbers(self, keys: Collection[str]) -> dict[str, int]:
        """key → document, for the keys in the store."""
        rows = self.listed("SELECT key, doc FROM documents WHERE key IN ({})", [compact_hash(key) for key in keys])
        return {expand_hash(key): doc for key, doc in rows}

    def language(self, doc: int) -> str:
        """Empty for an unknown document."""
        return self.one("SELECT language FROM documents WHERE doc = ?", (doc,)) or ""

    def languages(self, docs: Collection[int]) -> dict[int, str]:
        return dict(self.listed("SELECT doc, language FROM documents WHERE doc IN ({})", docs))

    def lines(self, doc: int) -> int:
        return self.one("SELECT lines FROM documents WHERE doc = ?", (doc,)) or 0

    def content_hash(self, doc: int) -> str | None:
        found = self.one("SELECT content_hash FROM documents WHERE doc = ?", (doc,))
        return None if found is None else expand_hash(found)

    def paths(self, docs: Collection[int]) -> dict[int, str]:
        """The paths of documents, live or dead, whichever root has them."""
        rows = self.listed("SELECT doc, path FROM documents WHERE doc IN ({})", docs)
        return {doc: os.fsdecode(path) for doc, path in rows}

    def chunks(self, doc: int) -> tuple[ChunkPlace, ...]:
        """The chunks of a document in order; none for an unknown one."""
        return tuple(self.chunks_of([doc]).get(doc, ()))

    def chunks_of(self, docs: Collection[int]) -> dict[int, ChunkPlaces]:
        rows = self.listed("SELECT doc, chunks FROM bodies WHERE doc IN ({})", docs)
        with guard(self.path.parent, "reading the catalog", *UNREADABLE):
            return {doc: unpack_chunks(doc, blob) for doc, blob in rows}

    def chunk(self, doc: int, ordinal: int) -> ChunkPlace | None:
        chunks = self.chunks(doc)
        return chunks[ordinal] if 0 <= ordinal < len(chunks) else None

    def counts(self, root: str | None = None) -> Counts:
        """The counts of a root, or of the whole store. `Store` adds the sizes on disk."""
        return self._cached(("counts", root), partial(self._counted, root))

    def _counted(self, root: str | None) -> Counts:
        where = "" if root is None else f"WHERE {OF_ROOT}"
        values = () if root is None else (os.fsencode(root),)
        statuses = self.rows(f"SELECT status, count(*) FROM files {where} GROUP BY status", values)  # noqa: S608 constants
        languages = self.rows(
            "SELECT language, count(*), sum(chunks), sum(symbols), sum(size) FROM documents"  # noqa: S608 constants
            f" WHERE doc IN (SELECT doc FROM files {where}) GROUP BY language ORDER BY count(*) DESC, language",
            values,
        )
        return Counts(
            files={str(STATUSES[status]): count for status, count in statuses},
            documents=sum(row[1] for row in languages),
            dead=self.one("SELECT count(*) FROM documents WHERE dead_since IS NOT NULL"),
            chunks=sum(row[2] for row in languages),
            symbols=sum(row[3] for row in languages),
            text_bytes=sum(row[4] for row in languages),
            languages={row[0]: row[1] for row in languages},
        )

    # --- for the writer: what the other stores must contain

    def inflight(self) -> set[int]:
        """Documents of a batch in progress, or of one that was interrupted."""
        return {doc for (doc,) in self.rows("SELECT doc FROM inflight")}

    def chunk_counts(self) -> dict[int, int]:
        """document → number of chunks, dead documents included."""
        return dict(self.rows("SELECT doc, chunks FROM documents"))

    def dead(self) -> list[tuple[int, float]]:
        """(document, since when) of documents that no root has any more, oldest first."""
        return self.rows("SELECT doc, dead_since FROM documents WHERE dead_since IS NOT NULL ORDER BY dead_since, doc")

    def embedded(self, embedder: int) -> set[int]:
        return {doc for (doc,) in self.rows("SELECT doc FROM embeddings WHERE embedder = ?", (embedder,))}

    def unembedded(self, embedder: int) -> set[int]:
        """Live documents without vectors of this embedder."""
        rows = self.rows(
            "SELECT doc FROM documents WHERE dead_since IS NULL AND chunks > 0"
            " AND doc NOT IN (SELECT doc FROM embeddings WHERE embedder = ?)",
            (embedder,),
        )
        return {doc for (doc,) in rows}

    def documents_of_contents(self, hashes: Collection[str], embedder: int) -> dict[str, int]:
        """content hash → a document with this content that has vectors."""
        rows = self.listed(
            # CROSS JOIN fixes the order of the tables: the planner would scan all embeddings for each list of hashes.
            "SELECT d.content_hash, d.doc FROM documents d CROSS JOIN embeddings e"
            " WHERE e.embedder = ? AND e.doc = d.doc AND d.content_hash IN ({})",
            [compact_hash(content) for content in hashes],
            embedder,
        )
        return {expand_hash(content): doc for content, doc in rows}

    def embedded_total(self, embedder: int) -> tuple[int, int]:
        """The numbers of documents and chunks that have vectors of this embedder."""
        statement = (
            "SELECT count(*), coalesce(sum(d.chunks), 0) FROM embeddings e JOIN documents d ON d.doc = e.doc"
            " WHERE e.embedder = ? AND d.chunks > 0"
        )

        def totals() -> tuple[int, int]:
            ((documents, chunks),) = self.rows(statement, (embedder,))
            return documents, chunks

        return self._cached(("embedded", embedder), totals)
