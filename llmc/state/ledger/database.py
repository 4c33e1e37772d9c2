"""The SQLite file of the ledger: schema, format version, writing, reading, and what to do when it is damaged.

Figures are worth little against an answer: a full disk loses the lines that did not fit and says how many; a damaged
file, or one of another version, is put aside and a new one begun, with a note that `llmc stats` shows.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading
import time
from dataclasses import astuple, fields
from typing import TYPE_CHECKING, Any, Final, TypeVar

from llmc.base import logs
from llmc.state.ledger.entry import CallEntry, ToolListEntry

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["LedgerDatabase"]

log = logs.get("ledger")

Answer = TypeVar("Answer")

VERSION: Final = 1
TYPES: Final = {"float": "REAL", "int": "INTEGER", "bool": "INTEGER", "str": "TEXT"}
DAY: Final = 86_400.0
# Looking for old lines is a walk along an index; once in so many lines is enough.
PRUNE_EVERY: Final = 5_000


def table(kind: type[CallEntry | ToolListEntry]) -> str:
    columns = ", ".join(f"{each.name} {TYPES[str(each.type)]} NOT NULL" for each in fields(kind))
    return f"(id INTEGER PRIMARY KEY, {columns})"


SCHEMA: Final = f"""
PRAGMA auto_vacuum = INCREMENTAL;
PRAGMA journal_mode = WAL;
BEGIN;
CREATE TABLE calls {table(CallEntry)};
CREATE INDEX calls_at ON calls (at);
CREATE TABLE listings {table(ToolListEntry)};
CREATE TABLE notes (id INTEGER PRIMARY KEY, at REAL NOT NULL, text TEXT NOT NULL);
PRAGMA user_version = {VERSION};
COMMIT;
"""
INSERTS: Final = {
    kind: f"INSERT INTO {name} ({', '.join(each.name for each in fields(kind))})"  # noqa: S608 - our own names
    f" VALUES ({', '.join('?' * len(fields(kind)))})"
    for kind, name in ((CallEntry, "calls"), (ToolListEntry, "listings"))
}


class DamagedError(Exception):
    """The file is there and cannot be used; it says why."""


class LedgerDatabase:
    """Safe from many threads, one at a time."""

    def __init__(self, path: str, *, days: int = 90, most: int = 500_000) -> None:
        self.path = path
        self.lost = 0
        self.trouble = ""
        self._days = days
        self._most = most
        self._lock = threading.Lock()
        self._opened: sqlite3.Connection | None = None
        self._since_pruned = PRUNE_EVERY

    def write(self, batch: Sequence[CallEntry | ToolListEntry]) -> None:
        """Never raises: what cannot be written is counted and the reason kept."""
        with self._lock:
            try:
                self._insert(batch)
                self.trouble = ""
            except (sqlite3.Error, OSError) as error:
                self._close()
                self.lost += len(batch)
                self.trouble = str(error)
                log.warning("ledger not written", lines=len(batch), reason=str(error))

    def rows(self, query: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """None of them where the file cannot be read; `trouble` says why."""
        with self._lock:
            try:
                return self._healed(lambda book: book.execute(query, values).fetchall())
            except (sqlite3.Error, OSError) as error:
                self._close()
                self.trouble = str(error)
                return []

    def close(self) -> None:
        with self._lock:
            self._close()

    def _insert(self, batch: Sequence[CallEntry | ToolListEntry]) -> None:
        self._healed(lambda book: insert(book, batch))
        self._since_pruned += len(batch)
        if self._since_pruned >= PRUNE_EVERY:
            self._since_pruned = 0
            self._healed(self._prune)

    def _prune(self, book: sqlite3.Connection) -> None:
        with book:
            oldest = time.time() - self._days * DAY
            (last,) = book.execute("SELECT coalesce(max(id), 0) FROM calls").fetchone()
            book.execute("DELETE FROM calls WHERE id <= ?", (last - self._most,))
            for name in ("calls", "listings", "notes"):
                book.execute(f"DELETE FROM {name} WHERE at < ?", (oldest,))  # noqa: S608 - our own names
        book.execute("PRAGMA incremental_vacuum").fetchall()

    def _healed(self, act: Callable[[sqlite3.Connection], Answer]) -> Answer:
        """The act, in a new file if the old one is damaged."""
        try:
            return act(self._book())
        except DamagedError as error:
            self._begin_anew(str(error))
        except sqlite3.DatabaseError as error:
            if isinstance(error, sqlite3.OperationalError) and "no such" not in str(error):
                raise  # full, locked, no permission: the file itself is sound
            self._begin_anew(str(error))
        return act(self._book())

    def _book(self) -> sqlite3.Connection:
        if self._opened is None:
            new = not os.path.exists(self.path) or not os.path.getsize(self.path)  # noqa: PTH110, PTH202 - as Home
            if new:
                os.close(os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600))
            self._opened = opened(self.path, new=new)
        return self._opened

    def _begin_anew(self, reason: str) -> None:
        self._close()
        os.replace(self.path, f"{self.path}.damaged")  # noqa: PTH105 - strings, as in Home
        for tail in ("-wal", "-shm"):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(self.path + tail)  # noqa: PTH108 - likewise
        log.warning("ledger begun anew", reason=reason)
        note = f"The ledger was begun anew: the old file could not be used ({reason})."
        with self._book() as book:
            book.execute("INSERT INTO notes (at, text) VALUES (?, ?)", (time.time(), note))

    def _close(self) -> None:
        if self._opened is not None:
            with contextlib.suppress(sqlite3.Error):
                self._opened.close()
            self._opened = None


def opened(path: str, *, new: bool) -> sqlite3.Connection:
    book = sqlite3.connect(path, timeout=2.0, check_same_thread=False)
    try:
        if new:
            book.executescript(SCHEMA)
        # A line that a power cut loses is no loss; fsync is what would make writing slow.
        book.execute("PRAGMA synchronous = OFF")
        check_version(book)
    except BaseException:
        book.close()
        raise
    return book


def check_version(book: sqlite3.Connection) -> None:
    (version,) = book.execute("PRAGMA user_version").fetchone()
    if version != VERSION:
        raise DamagedError(f"it is of version {version}, not {VERSION}")


def insert(book: sqlite3.Connection, batch: Sequence[CallEntry | ToolListEntry]) -> None:
    with book:
        for kind, statement in INSERTS.items():
            book.executemany(statement, [astuple(one) for one in batch if isinstance(one, kind)])
