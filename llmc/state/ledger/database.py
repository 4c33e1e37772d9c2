"""The SQLite file of the ledger: a record per call and per tool list sent to a client, the schema, and its recovery.

The ledger must never fail a call. When the disk is full, records are dropped and counted. A damaged file, or one of
another version, is set aside and replaced by a new one, with a note that `llmc stats` shows.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from dataclasses import astuple, dataclass, fields
from typing import TYPE_CHECKING, Any, Final, TypeVar

from llmc.base import logs
from llmc.base.sqlite_file import SqliteFile, connect, create_private, format_version

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["CallEntry", "LedgerDatabase", "ToolListEntry"]

log = logs.get("ledger")

Answer = TypeVar("Answer")

VERSION: Final = 1
TYPES: Final = {"float": "REAL", "int": "INTEGER", "bool": "INTEGER", "str": "TEXT"}
DAY: Final = 86_400.0
# Old rows are deleted once per this many new rows, since finding them walks an index.
PRUNE_EVERY: Final = 5_000


@dataclass(frozen=True, slots=True)
class CallEntry:
    """Sizes in tokens. `surface` is mcp, http or cli. `raw` is the output of a plain tool, capped at what a client
    would have shown; 0 when the call `fetched` content that was counted when it was withheld. `handle` is the
    beginning of the handle of a shortened reply, and empty for a complete one.
    """

    at: float
    session: str
    client: str
    surface: str
    tool: str
    seconds: float
    content: int
    frame: int
    raw: int
    fetched: bool = False
    cached: bool = False
    pending: bool = False
    error: str = ""
    handle: str = ""


@dataclass(frozen=True, slots=True)
class ToolListEntry:
    """What a model reads before its first call: tool definitions and instructions."""

    at: float
    session: str
    client: str
    surface: str
    profile: str
    definitions: int
    instructions: int


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
    kind: f"INSERT INTO {name} ({', '.join(each.name for each in fields(kind))})"  # noqa: S608 - constant names
    f" VALUES ({', '.join('?' * len(fields(kind)))})"
    for kind, name in ((CallEntry, "calls"), (ToolListEntry, "listings"))
}


class DamagedError(Exception):
    """The file exists but cannot be used; the message is the reason."""


class LedgerDatabase:
    """Thread-safe. `lost` counts records that were not written; `trouble` is the last error."""

    def __init__(self, path: str, *, days: int = 90, most: int = 500_000) -> None:
        self.path = path
        self.lost = 0
        self.trouble = ""
        self._days = days
        self._most = most
        self._lock = threading.Lock()
        self._file = SqliteFile(path, open_ledger)
        self._since_pruned = PRUNE_EVERY

    def write(self, batch: Sequence[CallEntry | ToolListEntry]) -> None:
        """Write a batch. Never raises: records that cannot be written are counted in `lost`."""
        with self._lock:
            try:
                self._insert(batch)
                self.trouble = ""
            except (sqlite3.Error, OSError) as error:
                self._file.close()
                self.lost += len(batch)
                self.trouble = str(error)
                log.warning("ledger not written", lines=len(batch), reason=str(error))

    def rows(self, query: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """The rows of a query; empty when the file cannot be read, with the reason in `trouble`."""
        with self._lock:
            try:
                return self._repairing(lambda connection: connection.execute(query, values).fetchall())
            except (sqlite3.Error, OSError) as error:
                self._file.close()
                self.trouble = str(error)
                return []

    def close(self) -> None:
        with self._lock:
            self._file.close()

    def _insert(self, batch: Sequence[CallEntry | ToolListEntry]) -> None:
        self._repairing(lambda connection: insert(connection, batch))
        self._since_pruned += len(batch)
        if self._since_pruned >= PRUNE_EVERY:
            self._since_pruned = 0
            self._repairing(self._prune)

    def _prune(self, connection: sqlite3.Connection) -> None:
        with connection:
            oldest = time.time() - self._days * DAY
            (last,) = connection.execute("SELECT coalesce(max(id), 0) FROM calls").fetchone()
            connection.execute("DELETE FROM calls WHERE id <= ?", (last - self._most,))
            for name in ("calls", "listings", "notes"):
                connection.execute(f"DELETE FROM {name} WHERE at < ?", (oldest,))  # noqa: S608 - constant names
        connection.execute("PRAGMA incremental_vacuum").fetchall()

    def _repairing(self, action: Callable[[sqlite3.Connection], Answer]) -> Answer:
        """Run the action; if the file is damaged, set it aside and run the action in a new one."""
        try:
            return action(self._file.connection())
        except DamagedError as error:
            self._start_over(str(error))
        except sqlite3.DatabaseError as error:
            if isinstance(error, sqlite3.OperationalError) and "no such" not in str(error):
                raise  # full, locked or not permitted: the file itself is intact
            self._start_over(str(error))
        return action(self._file.connection())

    def _start_over(self, reason: str) -> None:
        damaged = self._file.set_aside()
        log.warning("ledger restarted", reason=reason, kept=damaged)
        name = os.path.basename(damaged)  # noqa: PTH119 - strings, as in Home
        note = f"The ledger was restarted: the old file was unusable ({reason}) and is kept as {name}."
        with self._file.connection() as connection:
            connection.execute("INSERT INTO notes (at, text) VALUES (?, ?)", (time.time(), note))


def open_ledger(path: str) -> sqlite3.Connection:
    new = not os.path.exists(path) or not os.path.getsize(path)  # noqa: PTH110, PTH202 - strings, as in Home
    if new:
        create_private(path)

    def prepare(connection: sqlite3.Connection) -> None:
        if new:
            connection.executescript(SCHEMA)
        # Losing the last records in a power cut is acceptable, and fsync would make writing slow.
        connection.execute("PRAGMA synchronous = OFF")
        if (version := format_version(connection)) != VERSION:
            raise DamagedError(f"it has format version {version}, expected {VERSION}")

    return connect(path, prepare, seconds=2.0, autocommit=False)


def insert(connection: sqlite3.Connection, batch: Sequence[CallEntry | ToolListEntry]) -> None:
    with connection:
        for kind, statement in INSERTS.items():
            connection.executemany(statement, [astuple(one) for one in batch if isinstance(one, kind)])
