"""Connections to the catalog for any number of threads: borrowed for a statement, given back, closed together."""

from __future__ import annotations

import os
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from llmc.base.errors import StoreError
from llmc.store.catalog.schema import connect
from llmc.store.integrity.native_errors import guard

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Collection, Iterator, Sequence
    from pathlib import Path

__all__ = ["Connections", "listed"]

# SQLite takes at most 32,766 values in a statement; lists of one length let it reuse the compiled statement.
MOST_VALUES = 500
# Two copies of the header of SQLite's shared memory, and the state of its checkpoints.
SHARED_HEADER = 136


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
                self._give_back(db)

    def _borrow(self) -> sqlite3.Connection:
        with self._lock:
            if self._closed:
                raise StoreError("the index is closed")
            self._mend_shared_memory()
            if self._idle:
                return self._idle.pop()
        return connect(self.path)

    def _mend_shared_memory(self) -> None:
        """SQLite maps `-shm` into memory: a process that reads where it was cut off is killed. With its length
        restored and its header zeroed, SQLite creates it again. One that was replaced would be shared with no one:
        connect again."""
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

    def _give_back(self, db: sqlite3.Connection) -> None:
        with self._lock:
            if not self._closed:
                self._idle.append(db)
                return
        db.close()

    def rows(self, statement: str, values: Sequence[Any] = ()) -> list[Any]:
        with self.reading() as db:
            return db.execute(statement, values).fetchall()

    def one(self, statement: str, values: Sequence[Any] = ()) -> Any:
        """The first column of the first row, None without one."""
        with self.reading() as db:
            row = db.execute(statement, values).fetchone()
        return row[0] if row else None

    def listed(self, statement: str, values: Collection[Any], *first: Any) -> list[Any]:
        """The rows of a statement whose `{}` is a list of values, `first` being those before it."""
        with self.reading() as db:
            return listed(db, statement, values, *first)


def listed(db: sqlite3.Connection, statement: str, values: Collection[Any], *first: Any) -> list[Any]:
    ordered, found = list(values), []
    for start in range(0, len(ordered), MOST_VALUES):
        part = ordered[start : start + MOST_VALUES]
        marks = ",".join("?" * len(part))
        found += db.execute(statement.format(marks), (*first, *part)).fetchall()
    return found
