"""The writing half of the catalog: each method is one transaction. Only the holder of the writer's lock has one.

A batch takes two of them. `reserve` takes numbers for the new documents and notes them as in flight, before any other
part is touched. `settle`, the last step, makes the batch visible: documents, files, manifest and generation at once.
From the first `reserve` until `rest` the other parts are *moving*: tantivy merges in the background.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from llmc.store.catalog import rows as entries
from llmc.store.catalog.schema import connect
from llmc.store.integrity.native_errors import guard

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Collection, Iterator, Mapping
    from pathlib import Path

    from llmc.base.model import Document, Root
    from llmc.store.values import Batch, Embedding, Manifests

__all__ = ["CatalogWriter"]


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
        """Copy the log into the main file, without waiting for readers: what one of them still needs stays in the
        log."""
        with guard(self._folder, "tidying the catalog"):
            (patience,) = self.db.execute("PRAGMA busy_timeout").fetchone()
            self.db.execute("PRAGMA busy_timeout=0")
            self.db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            self.db.execute(f"PRAGMA busy_timeout={patience}")

    # --- roots and embedders

    def put_root(self, root: Root) -> None:
        with self.transaction("adding a root") as db:
            entries.put_root(db, root)

    def drop_root(self, root: str) -> int:
        with self.transaction("removing a root") as db:
            entries.drop_root(db, root)
            return entries.step(db)

    def put_embedder(self, name: str, dimension: int) -> None:
        """The first one ever answers from the start."""
        with self.transaction("adding an embedder") as db:
            db.execute("INSERT OR IGNORE INTO embedders (name, dimension) VALUES (?, ?)", (name, dimension))
            first = "SELECT min(embedder) FROM embedders"
            db.execute(f"UPDATE meta SET value = ({first}) WHERE key = 'answering' AND value IS NULL")  # noqa: S608 ours

    def switch(self, embedding: Embedding) -> int:
        """From now on this one answers; the vectors of the others are forgotten."""
        with self.transaction("switching the embedder") as db:
            db.execute("UPDATE meta SET value = ? WHERE key = 'answering'", (embedding.number,))
            for table in ("embeddings", "embedders"):
                db.execute(f"DELETE FROM {table} WHERE embedder <> ?", (embedding.number,))  # noqa: S608 names of ours
            db.execute("DELETE FROM manifest WHERE store GLOB 'vectors/*' AND store <> ?", (embedding.store,))
            return entries.step(db)

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
                entries.put_document(db, doc, document, embedder)
            entries.put_files(db, batch)
            db.execute("DELETE FROM inflight")
            entries.put_manifests(db, manifests)
            return entries.step(db)

    def settle_vectors(self, docs: Collection[int], embedder: int, manifests: Manifests) -> int:
        with self.transaction("adding vectors") as db:
            rows = ((embedder, doc) for doc in docs)
            db.executemany("INSERT INTO embeddings (embedder, doc) VALUES (?, ?)", rows)
            entries.put_manifests(db, manifests)
            return entries.step(db)

    def put_manifests(self, manifests: Manifests) -> int:
        """Other files hold the same rows. A new generation, so that readers look at them."""
        with self.transaction("noting the files of the index") as db:
            entries.put_manifests(db, manifests)
            return entries.step(db)

    def forget_vectors(self, embedding: Embedding) -> int:
        """Every document needs its vectors of this embedder again. They go to a table of another number: LanceDB caches
        what it reads by path."""
        with self.transaction("forgetting vectors") as db:
            old = (embedding.number,)
            db.execute("DELETE FROM embeddings WHERE embedder = ?", old)
            db.execute("DELETE FROM embedders WHERE embedder = ?", old)
            row = (embedding.name, embedding.dimension)
            new = db.execute("INSERT INTO embedders (name, dimension) VALUES (?, ?)", row).lastrowid
            db.execute("UPDATE meta SET value = ? WHERE key = 'answering' AND value = ?", (new, *old))
            entries.put_manifests(db, {embedding.store: {}})
            return entries.step(db)

    def rest(self, manifests: Manifests) -> None:
        """The other stores have come to rest: from here on their files are held against these."""
        with self.transaction("closing the index") as db:
            db.execute("UPDATE meta SET value = 0 WHERE key = 'moving'")
            entries.put_manifests(db, manifests)

    # --- removal

    def condemn(self, docs: Collection[int]) -> None:
        """Forget documents and the files that hold them; they stay in flight until the other stores forgot them too. No
        number that any store has seen is ever given out again."""
        with self.transaction("removing documents") as db:
            db.executemany("INSERT OR IGNORE INTO inflight VALUES (?)", ((doc,) for doc in docs))
            db.execute("UPDATE meta SET value = 1 WHERE key = 'moving'")
            db.execute("UPDATE meta SET value = max(value, ?) WHERE key = 'next_doc'", (max(docs) + 1,))
            for doc in docs:
                entries.drop_document(db, doc)

    def clear(self, manifests: Manifests) -> int:
        """The other stores hold nothing in flight any more."""
        with self.transaction("removing documents") as db:
            db.execute("DELETE FROM inflight")
            entries.put_manifests(db, manifests)
            return entries.step(db)
