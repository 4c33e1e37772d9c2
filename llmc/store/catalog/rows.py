"""Single rows of the catalog, written inside a transaction of `writer`. Each statement uses a key."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Any

from llmc.store.catalog.connections import listed
from llmc.store.catalog.packed import defined_names, link_blob, reference_blob, symbol_blob
from llmc.store.catalog.packing import clean, pack_chunks, tight, unpack_symbols
from llmc.store.catalog.reader import INODES, STATUSES

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping
    from sqlite3 import Connection

    from llmc.base.model import Document, FileState, Root
    from llmc.store.values import Batch, Manifests

__all__ = ["drop_document", "drop_root", "put_document", "put_files", "put_manifests", "put_root", "step"]


def step(db: Connection) -> int:
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
    """It is dead until a file holds it."""
    parsed = document.parsed
    db.execute(
        "INSERT INTO documents VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            doc, tight(document.key), tight(document.content_hash), os.fsencode(document.path), clean(parsed.language),
            document.size, parsed.lines, len(parsed.chunks), len(parsed.symbols), time.time(),
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
    """The rows of a batch, written and removed; whatever they no longer hold may die."""
    root = root_number(db, batch.root)
    keys = [tight(state.key) for state in batch.states if state.key is not None]
    docs = dict(listed(db, "SELECT key, doc FROM documents WHERE key IN ({})", keys))
    rows = {os.fsencode(state.path): row_of(state, docs) for state in batch.states}
    gone = [os.fsencode(path) for path in batch.gone]
    before = held(db, root, [*rows, *gone])
    db.executemany("INSERT OR REPLACE INTO files VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", with_root(root, rows))
    db.executemany("DELETE FROM files WHERE root = ? AND path = ?", ((root, path) for path in gone))
    wake(db, docs.values())
    for path in gone:
        rows.pop(path, None)
    mark_dead(db, before.union(docs.values()).difference(row[DOC] for row in rows.values()))


# Where in a row without its key the document stands.
DOC = 5


def row_of(state: FileState, docs: Mapping[str | bytes, int]) -> tuple[Any, ...]:
    stamp = state.stamp
    doc = docs[tight(state.key)] if state.key is not None else None
    inode = stamp.inode if stamp.inode < INODES // 2 else stamp.inode - INODES
    return stamp.size, stamp.mtime_ns, stamp.ctime_ns, inode, STATUSES.index(state.status), doc, clean(state.reason)


def with_root(root: int, rows: Mapping[bytes, tuple[Any, ...]]) -> Iterator[tuple[Any, ...]]:
    return ((root, path, *row) for path, row in rows.items())


def held(db: Connection, root: int, paths: Collection[bytes]) -> set[int]:
    """The documents at these paths of the root."""
    rows = listed(db, "SELECT doc FROM files WHERE root = ? AND doc IS NOT NULL AND path IN ({})", paths, root)
    return {doc for (doc,) in rows}


def wake(db: Connection, docs: Iterable[int]) -> None:
    statement = "UPDATE documents SET dead_since = NULL WHERE doc = ? AND dead_since IS NOT NULL"
    db.executemany(statement, ((doc,) for doc in docs))


def mark_dead(db: Connection, docs: Iterable[int]) -> None:
    """Of these documents, those that no root holds any more. A document's path is its file's, so the key finds it."""
    now = time.time()
    db.executemany(
        "UPDATE documents SET dead_since = ? WHERE doc = ? AND NOT EXISTS (SELECT 1 FROM roots r JOIN files f"
        " ON f.root = r.root AND f.path = documents.path AND f.doc = documents.doc)",
        ((now, doc) for doc in docs),
    )


def drop_document(db: Connection, doc: int) -> None:
    """Forget a document and every file that holds it."""
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
