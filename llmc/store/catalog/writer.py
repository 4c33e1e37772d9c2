"""Writes the catalog: each method of `CatalogWriter` is one transaction. Only the holder of the writer's lock has one.

A batch takes two transactions. `reserve` assigns numbers to the new documents and records them as in flight, before any
other store changes. `settle`, the last step, makes the batch visible: documents, files, manifest and generation at
once. From the first `reserve` until `rest` the other stores are *moving*: tantivy merges in the background.

The functions write rows inside such a transaction; each statement uses a key.
"""

from __future__ import annotations

import os
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from llmc.store.catalog.packing import (
    clean,
    compact_hash,
    defined_names,
    link_blob,
    pack_chunks,
    reference_blob,
    symbol_blob,
    unpack_symbols,
)
from llmc.store.catalog.reader import INODES, STATUSES
from llmc.store.catalog.schema import connect, listed
from llmc.store.integrity.native_errors import guard

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Collection, Iterable, Iterator, Mapping
    from pathlib import Path
    from sqlite3 import Connection

    from llmc.base.model import Document, FileState, Root
    from llmc.store.values import Batch, Embedding, Manifests

__all__ = ["CatalogWriter"]


def next_generation(db: Connection) -> int:
    """The next generation."""
    db.execute("UPDATE meta SET value = value + 1 WHERE key = 'generation'")
    (generation,) = db.execute("SELECT value FROM meta WHERE key = 'generation'").fetchone()
    return int(generation)


def put_root(db: Connection, root: Root) -> None:
    db.execute(
        "INSERT INTO roots (path, name, family) VALUES (?, ?, ?)"
        " ON CONFLICT (path) DO UPDATE SET name = excluded.name, family = excluded.family",
        (os.fsencode(root.path), clean(root.name), clean(root.family)),
    )


def root_number(db: Connection, root: str) -> int:
    row = (os.fsencode(root), clean(os.path.basename(root)))  # noqa: PTH119 a name, not a path to open
    db.execute("INSERT OR IGNORE INTO roots (path, name, family) VALUES (?, ?, '')", row)
    (number,) = db.execute("SELECT root FROM roots WHERE path = ?", row[:1]).fetchone()
    return int(number)


def drop_root(db: Connection, root: str) -> None:
    number = root_number(db, root)
    docs = db.execute("SELECT doc FROM files WHERE root = ? AND doc IS NOT NULL", (number,)).fetchall()
    db.execute("DELETE FROM files WHERE root = ?", (number,))
    db.execute("DELETE FROM roots WHERE root = ?", (number,))
    mark_dead(db, [doc for (doc,) in docs])


def put_document(db: Connection, doc: int, document: Document, embedder: int) -> None:
    """Insert a document. It counts as dead until a file refers to it."""
    parsed = document.parsed
    db.execute(
        "INSERT INTO documents VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            doc, compact_hash(document.key), compact_hash(document.content_hash), os.fsencode(document.path),
            clean(parsed.language), document.size, parsed.lines, len(parsed.chunks), len(parsed.symbols), time.time(),
        ),
    )  # fmt: skip
    db.execute(
        "INSERT INTO bodies VALUES (?, ?, ?, ?, ?)",
        (
            doc, pack_chunks(parsed.chunks), symbol_blob(parsed.symbols), reference_blob(parsed.references),
            link_blob(parsed.links),
        ),
    )  # fmt: skip
    db.executemany("INSERT INTO names VALUES (?, ?)", ((name, doc) for name in defined_names(parsed.symbols)))
    if document.vectors is not None:
        db.execute("INSERT INTO embeddings (embedder, doc) VALUES (?, ?)", (embedder, doc))


def put_files(db: Connection, batch: Batch) -> None:
    """Write and remove the file rows of a batch; documents without a file are marked as dead."""
    root = root_number(db, batch.root)
    keys = [compact_hash(state.key) for state in batch.states if state.key is not None]
    docs = dict(listed(db, "SELECT key, doc FROM documents WHERE key IN ({})", keys))
    rows = {os.fsencode(state.path): row_of(state, docs) for state in batch.states}
    gone = [os.fsencode(path) for path in batch.gone]
    before = documents_at(db, root, [*rows, *gone])
    db.executemany("INSERT OR REPLACE INTO files VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", with_root(root, rows))
    db.executemany("DELETE FROM files WHERE root = ? AND path = ?", ((root, path) for path in gone))
    mark_live(db, docs.values())
    for path in gone:
        rows.pop(path, None)
    mark_dead(db, before.union(docs.values()).difference(row[DOC] for row in rows.values()))


# The position of the document in a row without its key.
DOC = 5


def row_of(state: FileState, docs: Mapping[str | bytes, int]) -> tuple[Any, ...]:
    stamp = state.stamp
    doc = docs[compact_hash(state.key)] if state.key is not None else None
    inode = stamp.inode if stamp.inode < INODES // 2 else stamp.inode - INODES
    return stamp.size, stamp.mtime_ns, stamp.ctime_ns, inode, STATUSES.index(state.status), doc, clean(state.reason)


def with_root(root: int, rows: Mapping[bytes, tuple[Any, ...]]) -> Iterator[tuple[Any, ...]]:
    return ((root, path, *row) for path, row in rows.items())


def documents_at(db: Connection, root: int, paths: Collection[bytes]) -> set[int]:
    """The documents at these paths of the root."""
    rows = listed(db, "SELECT doc FROM files WHERE root = ? AND doc IS NOT NULL AND path IN ({})", paths, root)
    return {doc for (doc,) in rows}


def mark_live(db: Connection, docs: Iterable[int]) -> None:
    statement = "UPDATE documents SET dead_since = NULL WHERE doc = ? AND dead_since IS NOT NULL"
    db.executemany(statement, ((doc,) for doc in docs))


def mark_dead(db: Connection, docs: Iterable[int]) -> None:
    """Mark those of these documents that no root has any more. The path of a document is that of its file, so the key
    finds it."""
    now = time.time()
    db.executemany(
        "UPDATE documents SET dead_since = ? WHERE doc = ? AND NOT EXISTS (SELECT 1 FROM roots r JOIN files f"
        " ON f.root = r.root AND f.path = documents.path AND f.doc = documents.doc)",
        ((now, doc) for doc in docs),
    )


def drop_document(db: Connection, doc: int) -> None:
    """Remove a document and every file row that refers to it."""
    found = db.execute("SELECT path FROM documents WHERE doc = ?", (doc,)).fetchone()
    if found is None:
        return
    db.execute("DELETE FROM files WHERE root IN (SELECT root FROM roots) AND path = ? AND doc = ?", (found[0], doc))
    (symbols,) = db.execute("SELECT symbols FROM bodies WHERE doc = ?", (doc,)).fetchone()
    names = defined_names(unpack_symbols(symbols))
    db.executemany("DELETE FROM names WHERE name = ? AND doc = ?", ((name, doc) for name in names))
    db.execute("DELETE FROM embeddings WHERE embedder IN (SELECT embedder FROM embedders) AND doc = ?", (doc,))
    db.execute("DELETE FROM bodies WHERE doc = ?", (doc,))
    db.execute("DELETE FROM documents WHERE doc = ?", (doc,))


def put_manifests(db: Connection, manifests: Manifests) -> None:
    for store, files in manifests.items():
        db.execute("DELETE FROM manifest WHERE store = ?", (store,))
        rows = ((store, extent.file, extent.size, extent.crc) for extent in files.values())
        db.executemany("INSERT INTO manifest VALUES (?, ?, ?, ?)", rows)


class CatalogWriter:
    def __init__(self, path: Path) -> None:
        self._folder = path.parent
        with guard(self._folder, "opening the catalog"):
            self.db = connect(path, write=True)

    def close(self) -> None:
        with guard(self._folder, "closing the catalog"):
            self.db.close()

    @contextmanager
    def transaction(self, doing: str) -> Iterator[sqlite3.Connection]:
        with guard(self._folder, doing):
            self.db.execute("BEGIN IMMEDIATE")
            try:
                yield self.db
                self.db.execute("COMMIT")
            except BaseException:
                if self.db.in_transaction:  # SQLite ends it by itself when the disk is full
                    self.db.execute("ROLLBACK")
                raise

    def checkpoint(self) -> None:
        """Copy the log into the main file, without waiting for readers: pages that a reader still needs stay in the
        log."""
        with guard(self._folder, "tidying the catalog"):
            (patience,) = self.db.execute("PRAGMA busy_timeout").fetchone()
            self.db.execute("PRAGMA busy_timeout=0")
            self.db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            self.db.execute(f"PRAGMA busy_timeout={patience}")

    # --- roots and embedders

    def put_root(self, root: Root) -> None:
        with self.transaction("adding a root") as db:
            put_root(db, root)

    def drop_root(self, root: str) -> int:
        with self.transaction("removing a root") as db:
            drop_root(db, root)
            return next_generation(db)

    def put_embedder(self, name: str, dimension: int) -> None:
        """Add an embedder. The first one of a store answers queries from the start."""
        with self.transaction("adding an embedder") as db:
            db.execute("INSERT OR IGNORE INTO embedders (name, dimension) VALUES (?, ?)", (name, dimension))
            first = "SELECT min(embedder) FROM embedders"
            db.execute(f"UPDATE meta SET value = ({first}) WHERE key = 'answering' AND value IS NULL")  # noqa: S608 ours

    def switch(self, embedding: Embedding) -> int:
        """Answer queries with this embedder from now on, and forget the vectors of all others."""
        with self.transaction("switching the embedder") as db:
            db.execute("UPDATE meta SET value = ? WHERE key = 'answering'", (embedding.number,))
            for table in ("embeddings", "embedders"):
                db.execute(f"DELETE FROM {table} WHERE embedder <> ?", (embedding.number,))  # noqa: S608 names of ours
            db.execute("DELETE FROM manifest WHERE store GLOB 'vectors/*' AND store <> ?", (embedding.store,))
            return next_generation(db)

    # --- batches

    def reserve(self, count: int) -> range:
        with self.transaction("beginning a batch") as db:
            (first,) = db.execute("SELECT value FROM meta WHERE key = 'next_doc'").fetchone()
            numbers = range(first, first + count)
            db.execute("UPDATE meta SET value = ? WHERE key = 'next_doc'", (numbers.stop,))
            db.executemany("INSERT INTO inflight VALUES (?)", ((doc,) for doc in numbers))
            db.execute("UPDATE meta SET value = 1 WHERE key = 'moving'")
            return numbers

    def settle(self, batch: Batch, fresh: Mapping[int, Document], embedder: int, manifests: Manifests) -> int:
        with self.transaction("ending a batch") as db:
            for doc, document in fresh.items():
                put_document(db, doc, document, embedder)
            put_files(db, batch)
            db.execute("DELETE FROM inflight")
            put_manifests(db, manifests)
            return next_generation(db)

    def settle_vectors(self, docs: Collection[int], embedder: int, manifests: Manifests) -> int:
        with self.transaction("adding vectors") as db:
            rows = ((embedder, doc) for doc in docs)
            db.executemany("INSERT INTO embeddings (embedder, doc) VALUES (?, ?)", rows)
            put_manifests(db, manifests)
            return next_generation(db)

    def put_manifests(self, manifests: Manifests) -> int:
        """Record new files with the same rows; the generation increases so that readers open them."""
        with self.transaction("noting the files of the index") as db:
            put_manifests(db, manifests)
            return next_generation(db)

    def forget_vectors(self, embedding: Embedding) -> int:
        """Forget all vectors of this embedder, so that every document needs them again. The new ones go to a table with
        another number, since LanceDB caches data by path."""
        with self.transaction("forgetting vectors") as db:
            old = (embedding.number,)
            db.execute("DELETE FROM embeddings WHERE embedder = ?", old)
            db.execute("DELETE FROM embedders WHERE embedder = ?", old)
            row = (embedding.name, embedding.dimension)
            new = db.execute("INSERT INTO embedders (name, dimension) VALUES (?, ?)", row).lastrowid
            db.execute("UPDATE meta SET value = ? WHERE key = 'answering' AND value = ?", (new, *old))
            put_manifests(db, {embedding.store: {}})
            return next_generation(db)

    def rest(self, manifests: Manifests) -> None:
        """The other stores have stopped changing: from now on their files are compared with these manifests."""
        with self.transaction("closing the index") as db:
            db.execute("UPDATE meta SET value = 0 WHERE key = 'moving'")
            put_manifests(db, manifests)

    # --- removal

    def begin_removal(self, docs: Collection[int]) -> None:
        """Remove documents and the file rows that refer to them; they stay in flight until they are removed from the
        other stores too. A number that any store has used is never assigned again."""
        with self.transaction("removing documents") as db:
            db.executemany("INSERT OR IGNORE INTO inflight VALUES (?)", ((doc,) for doc in docs))
            db.execute("UPDATE meta SET value = 1 WHERE key = 'moving'")
            db.execute("UPDATE meta SET value = max(value, ?) WHERE key = 'next_doc'", (max(docs) + 1,))
            for doc in docs:
                drop_document(db, doc)

    def clear(self, manifests: Manifests) -> int:
        """End all batches: no store contains documents in flight any more."""
        with self.transaction("removing documents") as db:
            db.execute("DELETE FROM inflight")
            put_manifests(db, manifests)
            return next_generation(db)
