"""The SQLite file of kept sessions: schema, format version, one transaction at a time, and what a damaged file means.

A session is worth more than a figure, so nothing is lost in silence: a disk that is full, a file that cannot be opened,
a newer format are errors that the caller is told. A file that is no database is put aside under another name, and a
new one begun. Several processes may use it at once (`--no-daemon` beside the daemon): SQLite's own locks see to that.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading
from typing import TYPE_CHECKING, Final

from llmc.base import logs
from llmc.base.errors import NewerFormatError, QueryError, StoreError, StoreFullError

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
    """Safe from many threads, one at a time."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._lock = threading.RLock()
        self._opened: sqlite3.Connection | None = None

    @property
    def exists(self) -> bool:
        """Whether anything was ever kept: who only wants to look need not make a file."""
        return self._opened is not None or os.path.exists(self.path)  # noqa: PTH110 - strings, as in Home

    @contextlib.contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        with self._lock, told():
            yield self._book()

    @contextlib.contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """One transaction: all of it, or nothing."""
        with self._lock, told():
            book = self._book()
            book.execute("BEGIN IMMEDIATE")
            try:
                yield book
            except BaseException:
                book.execute("ROLLBACK")
                raise
            book.execute("COMMIT")

    def close(self) -> None:
        with self._lock:
            if self._opened is not None:
                self._opened.close()
                self._opened = None

    def _book(self) -> sqlite3.Connection:
        if self._opened is None:
            try:
                self._opened = opened(self.path)
            except sqlite3.DatabaseError as error:
                if isinstance(error, sqlite3.OperationalError):
                    raise
                put_aside(self.path, str(error))
                self._opened = opened(self.path)
        return self._opened


def opened(path: str) -> sqlite3.Connection:
    """For its owner alone. The version is looked at before anything is written."""
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600))
    book = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False)
    try:
        book.execute("PRAGMA foreign_keys = ON")
        # A commit survives kill -9; what a power cut may take is the last seconds, and never the file.
        book.execute("PRAGMA synchronous = NORMAL")
        if version_of(book) < VERSION:
            book.executescript(SCHEMA)
        book.execute("SELECT count(*) FROM sessions").fetchone()
    except BaseException:
        book.close()
        raise
    return book


def version_of(book: sqlite3.Connection) -> int:
    (version,) = book.execute("PRAGMA user_version").fetchone()
    if version > VERSION:
        raise NewerFormatError(
            "the sessions cannot be read", reason="a newer llmc wrote them", hint="Update llmc.", version=version
        )
    return int(version)


def put_aside(path: str, reason: str) -> None:
    os.replace(path, f"{path}.damaged")  # noqa: PTH105 - strings, as in Home
    for tail in ("-wal", "-shm"):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path + tail)  # noqa: PTH108 - likewise
    log.warning("sessions begun anew", reason=reason, kept=f"{path}.damaged")


@contextlib.contextmanager
def told() -> Iterator[None]:
    """What SQLite says, as an error of llmc's."""
    try:
        yield
    except UnicodeEncodeError as error:
        raise QueryError("a session holds text that is Unicode", reason=str(error)) from None
    except (sqlite3.Error, OSError) as error:
        if "full" in str(error) or getattr(error, "errno", None) == NO_SPACE:
            raise StoreFullError("the session was not written", reason="the disk is full") from error
        raise StoreError("the session cannot be used", reason=str(error)) from error


NO_SPACE: Final = 28
