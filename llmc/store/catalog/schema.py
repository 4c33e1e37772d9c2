"""The tables of the catalog, their version, and the pool of connections.

`FORMAT` is the version of everything in a store folder, including tantivy schemas and vector files. Increase it when
any of them changes; older stores are then rebuilt. `words.ANALYSIS` is the other part of the version.

Paths are BLOBs (`os.fsencode`): SQLite text must be UTF-8 and file names need not be.
"""

from __future__ import annotations

import os
import threading
import time
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

from llmc.base import sqlite_file, words
from llmc.base.errors import CorruptStoreError, NewerFormatError, StoreError
from llmc.store.integrity.main_file import head_of_main
from llmc.store.integrity.native_errors import guard

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Collection, Iterator, Sequence
    from pathlib import Path

__all__ = ["FORMAT", "Connections", "check_version", "connect", "create", "listed", "refuse_newer", "version_on_disk"]

# 2: vectors only in LanceDB; 3: handlers as symbols, declarations for the graph; 4: declarations include the keys of
# events and queues; 5: signatures without attributes, vectors with a share of the neighbouring chunks
FORMAT = 5
APPLICATION_ID = 0x6C6C6D63  # "llmc"

# A writer holds the lock of SQLite for some milliseconds per batch; a reader never waits for it.
BUSY_SECONDS = 30.0

TABLES = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value) WITHOUT ROWID;

CREATE TABLE roots (root INTEGER PRIMARY KEY, path BLOB NOT NULL UNIQUE, name TEXT NOT NULL, family TEXT NOT NULL);

-- The last known state of each path of each root. The path of a document is that of its file, so (root, documents.path)
-- finds the row that may use a document, without an index by document.
CREATE TABLE files (
    root INTEGER NOT NULL, path BLOB NOT NULL,
    size INTEGER NOT NULL, mtime_ns INTEGER NOT NULL, ctime_ns INTEGER NOT NULL, inode INTEGER NOT NULL,
    status INTEGER NOT NULL, doc INTEGER, reason TEXT NOT NULL,
    PRIMARY KEY (root, path)
) WITHOUT ROWID;

CREATE TABLE documents (
    doc INTEGER PRIMARY KEY, key BLOB NOT NULL UNIQUE, content_hash BLOB NOT NULL, path BLOB NOT NULL,
    language TEXT NOT NULL, size INTEGER NOT NULL, lines INTEGER NOT NULL, chunks INTEGER NOT NULL,
    symbols INTEGER NOT NULL, dead_since REAL
);
CREATE INDEX documents_by_content ON documents (content_hash);
CREATE INDEX documents_dead ON documents (dead_since) WHERE dead_since IS NOT NULL;

CREATE TABLE bodies (
    doc INTEGER PRIMARY KEY, chunks BLOB NOT NULL, symbols BLOB NOT NULL, refs BLOB NOT NULL, links BLOB NOT NULL
);

-- Which documents define a name (case-folded); the definitions are in bodies.symbols.
CREATE TABLE names (name TEXT NOT NULL, doc INTEGER NOT NULL, PRIMARY KEY (name, doc)) WITHOUT ROWID;

CREATE TABLE embedders (
    embedder INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL, dimension INTEGER NOT NULL, UNIQUE (name, dimension)
);
-- Which documents have vectors of which embedder.
CREATE TABLE embeddings (
    embedder INTEGER NOT NULL, doc INTEGER NOT NULL, PRIMARY KEY (embedder, doc)
) WITHOUT ROWID;

-- Documents that a batch is adding or removing: after an interruption a repair removes them from every store.
CREATE TABLE inflight (doc INTEGER PRIMARY KEY);

-- The files of the other stores at this generation.
CREATE TABLE manifest (
    store TEXT NOT NULL, file TEXT NOT NULL, size INTEGER NOT NULL, crc INTEGER NOT NULL, PRIMARY KEY (store, file)
) WITHOUT ROWID;
"""
# SQLite accepts at most 32,766 values in a statement; lists of equal length let it reuse the compiled statement.
MOST_VALUES = 500
# Two copies of the header of SQLite's shared memory, and the state of its checkpoints.
SHARED_HEADER = 136


def connect(path: Path, *, write: bool = False) -> sqlite3.Connection:
    """A connection in autocommit mode: transactions begin and end explicitly.

    Readers open read-only. SQLite copies the WAL into the main file when its last connection closes; a read-only one
    cannot, so only a writer changes the main file, and then seals it (`main_file.seal`).
    """
    mode = "rwc" if write else "ro"
    return sqlite_file.connect(str(path.absolute()), partial(configure, write=write), seconds=BUSY_SECONDS, mode=mode)


def configure(db: sqlite3.Connection, *, write: bool) -> None:
    # FULL: a batch that the catalog reports as committed must survive a power cut; the other stores call fsync too.
    db.executescript("PRAGMA synchronous=FULL; PRAGMA temp_store=MEMORY; PRAGMA cache_size=-2048")
    if write:
        # The names of a batch are spread over the whole table: with a cache of 2 MB each page is read and written
        # often.
        db.executescript("PRAGMA wal_autocheckpoint=0; PRAGMA cache_size=-32768")


def create(db: sqlite3.Connection) -> None:
    """Create the tables. The first generation is the time: replies are cached by generation, so a rebuilt store must
    not repeat numbers."""
    db.executescript(f"PRAGMA page_size=4096; PRAGMA journal_mode=WAL; PRAGMA application_id={APPLICATION_ID};")
    db.executescript(f"BEGIN IMMEDIATE;{TABLES}PRAGMA user_version={FORMAT};")
    db.executemany(
        "INSERT INTO meta VALUES (?, ?)",
        {
            "analysis": words.ANALYSIS,
            "generation": time.time_ns(),
            "next_doc": 1,
            "answering": None,
            "moving": 0,
        }.items(),
    )
    db.execute("COMMIT")


def version_on_disk(path: Path) -> int | None:
    """The format in the file's header, or None if it is not a catalog. Read without SQLite, which would recover a file
    that a newer llmc wrote."""
    try:
        head = head_of_main(path, 100)
    except FileNotFoundError:
        return None
    ours = head[68:72] == APPLICATION_ID.to_bytes(4, "big")
    return int.from_bytes(head[60:64], "big") if ours else None


def refuse_newer(path: Path) -> None:
    version = version_on_disk(path)
    if version is not None and version > FORMAT:
        raise newer(version, FORMAT)


def check_version(db: sqlite3.Connection) -> None:
    """NewerFormatError if a newer llmc wrote the file, CorruptStoreError if it is older or not a catalog of llmc."""
    (application,) = db.execute("PRAGMA application_id").fetchone()
    version = sqlite_file.format_version(db)
    if application != APPLICATION_ID:
        raise CorruptStoreError("the index cannot be used", reason="its catalog was not written by llmc")
    if version > FORMAT:
        raise newer(version, FORMAT)
    if version < FORMAT:
        raise CorruptStoreError(
            "the index must be rebuilt",
            reason=f"it was built by an older version (format {version}, this llmc uses {FORMAT})",
        )
    (analysis,) = db.execute("SELECT value FROM meta WHERE key = 'analysis'").fetchone()
    if analysis > words.ANALYSIS:
        raise newer(f"{version}.{analysis}", f"{FORMAT}.{words.ANALYSIS}")
    if analysis < words.ANALYSIS:
        raise CorruptStoreError(
            "the index must be rebuilt", reason="it was built by an older version with another word analysis"
        )


def newer(found: object, supported: object) -> NewerFormatError:
    return NewerFormatError(
        "the index was written by a newer llmc",
        reason=f"format {found}, this version reads {supported}",
        hint="Update llmc, or set LLMC_HOME to another folder.",
    )


class Connections:
    def __init__(self, path: Path) -> None:
        self.path = path
        self._idle: list[sqlite3.Connection] = []
        self._lock = threading.Lock()
        self._closed = False
        self._shared = f"{path}-shm"
        self._shared_size = self._shared_inode = 0

    def close(self) -> None:
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
        for db in idle:
            db.close()

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        with guard(self.path.parent, "reading the catalog"):
            db = self._borrow()
            try:
                yield db
            finally:
                self._return(db)

    def _borrow(self) -> sqlite3.Connection:
        with self._lock:
            if self._closed:
                raise StoreError("the index is closed")
            self._repair_shared_memory()
            if self._idle:
                return self._idle.pop()
        return connect(self.path)

    def _repair_shared_memory(self) -> None:
        """SQLite maps the `-shm` file into memory, and a process that reads beyond the end of a truncated file is
        killed. With its length restored and its header zeroed, SQLite rebuilds the contents. If the file was replaced,
        other processes share another one, so connect again."""
        try:
            found = os.stat(self._shared)  # noqa: PTH116 before every statement: half the time of Path.stat
        except FileNotFoundError:
            found = None
        if found is not None and found.st_size < self._shared_size:
            file = os.open(self._shared, os.O_RDWR | os.O_CLOEXEC)  # never closed: that would drop SQLite's locks
            os.ftruncate(file, self._shared_size)
            os.pwrite(file, bytes(SHARED_HEADER), 0)
        if self._idle and self._shared_inode and (found is None or found.st_ino != self._shared_inode):
            idle, self._idle = self._idle, []
            for db in idle:
                db.close()
        if found is not None:
            self._shared_size, self._shared_inode = max(found.st_size, self._shared_size), found.st_ino

    def _return(self, db: sqlite3.Connection) -> None:
        with self._lock:
            if not self._closed:
                self._idle.append(db)
                return
        db.close()

    def rows(self, statement: str, values: Sequence[Any] = ()) -> list[Any]:
        with self.reading() as db:
            return db.execute(statement, values).fetchall()

    def one(self, statement: str, values: Sequence[Any] = ()) -> Any:
        """The first column of the first row; None without a row."""
        with self.reading() as db:
            row = db.execute(statement, values).fetchone()
        return row[0] if row else None

    def listed(self, statement: str, values: Collection[Any], *first: Any) -> list[Any]:
        """The rows of a statement in which `{}` stands for a list of values; `first` are the values before it."""
        with self.reading() as db:
            return listed(db, statement, values, *first)


def listed(db: sqlite3.Connection, statement: str, values: Collection[Any], *first: Any) -> list[Any]:
    ordered, found = list(values), []
    for start in range(0, len(ordered), MOST_VALUES):
        part = ordered[start : start + MOST_VALUES]
        marks = ",".join("?" * len(part))
        found += db.execute(statement.format(marks), (*first, *part)).fetchall()
    return found
