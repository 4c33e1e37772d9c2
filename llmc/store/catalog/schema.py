"""The catalog's tables, their version, and how a connection is opened.

`FORMAT` counts the layout of everything in a store folder, tantivy schemas and vector files included: raise it when
any of them changes, and older stores are rebuilt. `words.ANALYSIS` is the other half of the version.

Paths are BLOBs (`os.fsencode`): SQLite text must be UTF-8 and file names need not be.
"""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING

from llmc.base import sqlite_file, words
from llmc.base.errors import CorruptStoreError, NewerFormatError
from llmc.store.integrity.pinned_file import head_of_main

if TYPE_CHECKING:
    import sqlite3
    from pathlib import Path

__all__ = ["FORMAT", "check_version", "connect", "create", "refuse_newer", "version_on_disk"]

# 2: vectors are in LanceDB alone; 3: handlers are symbols, documents have declarations for the graph; 4: these name the
# keys of events and queues
FORMAT = 4
APPLICATION_ID = 0x6C6C6D63  # "llmc"

# A writer holds the lock of SQLite for some milliseconds a batch; a reader of a WAL never waits for it.
BUSY_SECONDS = 30.0

TABLES = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value) WITHOUT ROWID;

CREATE TABLE roots (root INTEGER PRIMARY KEY, path BLOB NOT NULL UNIQUE, name TEXT NOT NULL, family TEXT NOT NULL);

-- What was last seen at each path of each root. A document's path is its file's, so (root, documents.path) finds the
-- row that may use a document and no index by document is needed.
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

-- Which documents define a name (case-folded): the way into bodies.symbols.
CREATE TABLE names (name TEXT NOT NULL, doc INTEGER NOT NULL, PRIMARY KEY (name, doc)) WITHOUT ROWID;

CREATE TABLE embedders (
    embedder INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL, dimension INTEGER NOT NULL, UNIQUE (name, dimension)
);
-- Which documents have vectors of which embedder.
CREATE TABLE embeddings (
    embedder INTEGER NOT NULL, doc INTEGER NOT NULL, PRIMARY KEY (embedder, doc)
) WITHOUT ROWID;

-- Numbers that a batch has taken and not yet settled, or that are being taken away: a repair removes them everywhere.
CREATE TABLE inflight (doc INTEGER PRIMARY KEY);

-- The files of the other stores as they were when this generation was written.
CREATE TABLE manifest (
    store TEXT NOT NULL, file TEXT NOT NULL, size INTEGER NOT NULL, crc INTEGER NOT NULL, PRIMARY KEY (store, file)
) WITHOUT ROWID;
"""


def connect(path: Path, *, write: bool = False) -> sqlite3.Connection:
    """A connection in autocommit mode: transactions are written out where they are meant.

    Readers open read-only. SQLite copies the WAL into the main file when its last connection closes; a read-only one
    cannot, so the main file changes only in the hands of a writer, who seals it (`seal`).
    """
    mode = "rwc" if write else "ro"
    return sqlite_file.connect(str(path.absolute()), partial(configure, write=write), seconds=BUSY_SECONDS, mode=mode)


def configure(db: sqlite3.Connection, *, write: bool) -> None:
    # FULL: the batch that the catalog calls committed must survive a power cut, since the other stores fsync theirs.
    db.executescript("PRAGMA synchronous=FULL; PRAGMA temp_store=MEMORY; PRAGMA cache_size=-2048")
    if write:
        # The names of a batch of files land all over their table: with 2 MB each page is written and read many times.
        db.executescript("PRAGMA wal_autocheckpoint=0; PRAGMA cache_size=-32768")


def create(db: sqlite3.Connection) -> None:
    """The first generation is a time: replies are kept by generation, and a rebuilt store must not repeat numbers."""
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
    """The format in the file's header, without SQLite, which would tidy up behind a newer llmc; None for anything
    else."""
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
    """NewerFormatError when a newer llmc wrote it, CorruptStoreError when it is older or no catalog of ours."""
    (application,) = db.execute("PRAGMA application_id").fetchone()
    version = sqlite_file.format_version(db)
    if application != APPLICATION_ID:
        raise CorruptStoreError("the index cannot be used", reason="its catalog is not one of llmc's")
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
            "the index must be rebuilt", reason="it was built by an older version, which analysed words differently"
        )


def newer(found: object, ours: object) -> NewerFormatError:
    return NewerFormatError(
        "the index was written by a newer llmc",
        reason=f"format {found}, this one reads {ours}",
        hint="Update llmc, or set LLMC_HOME to another folder.",
    )
