"""The SQLite file of persistent sessions: schema, format version, transactions, and recovery from damage.

Nothing is lost silently: a full disk, an unreadable file and a newer format are errors for the caller. A file that is
not a database is set aside and replaced by a new one. Several processes may use the file at once (`--no-daemon` next
to the daemon), synchronized by the locks of SQLite.
"""

from __future__ import annotations

import contextlib
import sqlite3
import threading
from typing import TYPE_CHECKING, Final

from llmc.base import logs
from llmc.base.errors import NewerFormatError, QueryError, StoreError, StoreFullError
from llmc.base.sqlite_file import SqliteFile, connect, create_private, format_version

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["SessionDatabase"]

log = logs.get("memory")

VERSION: Final = 1
BUSY_SECONDS: Final = 10.0
SCHEMA: Final = f"""
PRAGMA journal_mode = WAL;
BEGIN IMMEDIATE;
CREATE TABLE IF NOT EXISTS sessions (
    id INTEGER PRIMARY KEY AUTOINCREMENT, owner TEXT NOT NULL, name TEXT NOT NULL, place TEXT NOT NULL,
    client TEXT NOT NULL, made REAL NOT NULL, used REAL NOT NULL, calls INTEGER NOT NULL DEFAULT 0,
    content INTEGER NOT NULL DEFAULT 0, frame INTEGER NOT NULL DEFAULT 0, since INTEGER NOT NULL DEFAULT 0,
    warned INTEGER NOT NULL DEFAULT 0, lost INTEGER NOT NULL DEFAULT 0, UNIQUE (owner, name));
CREATE TABLE IF NOT EXISTS cells (
    session INTEGER NOT NULL REFERENCES sessions ON DELETE CASCADE, agent TEXT NOT NULL, key TEXT NOT NULL,
    value TEXT, version INTEGER NOT NULL, writer TEXT NOT NULL, at REAL NOT NULL,
    PRIMARY KEY (session, agent, key)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS entries (
    id INTEGER PRIMARY KEY AUTOINCREMENT, session INTEGER NOT NULL REFERENCES sessions ON DELETE CASCADE,
    list TEXT NOT NULL, agent TEXT NOT NULL, speaker TEXT NOT NULL, act TEXT NOT NULL, text TEXT NOT NULL,
    data TEXT NOT NULL, at REAL NOT NULL);
CREATE INDEX IF NOT EXISTS entries_of ON entries (session, list, id);
CREATE TABLE IF NOT EXISTS connections (
    owner TEXT NOT NULL, connection TEXT NOT NULL, session INTEGER NOT NULL REFERENCES sessions ON DELETE CASCADE,
    at REAL NOT NULL, PRIMARY KEY (owner, connection)) WITHOUT ROWID;
PRAGMA user_version = {VERSION};
COMMIT;
"""


class SessionDatabase:
    """Thread-safe."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._lock = threading.RLock()
        self._file = SqliteFile(path, open_sessions)

    @property
    def exists(self) -> bool:
        """Whether the file exists; readers check this first, so that they do not create it."""
        return self._file.exists

    @contextlib.contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        with self._lock, llmc_errors():
            yield self._connection()

    @contextlib.contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """One transaction: committed completely or rolled back."""
        with self._lock, llmc_errors():
            connection = self._connection()
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
            except BaseException:
                connection.execute("ROLLBACK")
                raise
            connection.execute("COMMIT")

    def close(self) -> None:
        with self._lock:
            self._file.close()

    def _connection(self) -> sqlite3.Connection:
        try:
            return self._file.connection()
        except sqlite3.DatabaseError as error:
            if isinstance(error, sqlite3.OperationalError):
                raise
            damaged = self._file.set_aside()
            log.warning("session database restarted", reason=str(error), kept=damaged)
            return self._file.connection()


def open_sessions(path: str) -> sqlite3.Connection:
    """Open the file, readable by its owner only. The version is checked before anything is written."""
    create_private(path)
    return connect(path, prepare, seconds=BUSY_SECONDS)


def prepare(connection: sqlite3.Connection) -> None:
    connection.execute("PRAGMA foreign_keys = ON")
    # Commits survive kill -9; a power cut may lose the last seconds, but does not corrupt the file.
    connection.execute("PRAGMA synchronous = NORMAL")
    version = format_version(connection)
    if version > VERSION:
        raise NewerFormatError(
            "cannot read the sessions", reason="a newer llmc wrote them", hint="Update llmc.", version=version
        )
    if version < VERSION:
        connection.executescript(SCHEMA)
    connection.execute("SELECT count(*) FROM sessions").fetchone()


@contextlib.contextmanager
def llmc_errors() -> Iterator[None]:
    """Translate errors of SQLite and the file system into `LlmcError`s."""
    try:
        yield
    except UnicodeEncodeError as error:
        raise QueryError("a session can only store valid Unicode text", reason=str(error)) from None
    except (sqlite3.Error, OSError) as error:
        if "full" in str(error) or getattr(error, "errno", None) == NO_SPACE:
            raise StoreFullError("the session was not written", reason="the disk is full") from error
        raise StoreError("the session database is not usable", reason=str(error)) from error


NO_SPACE: Final = 28
