"""SQLite files: how they are opened, and a file in the home with one connection, set aside when damaged.

`connect` opens every SQLite file of llmc. The owner of a file supplies the function that checks its schema, and decides
which errors mean damage.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
from typing import TYPE_CHECKING
from urllib.parse import quote

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["SqliteFile", "connect", "create_private", "format_version"]


class SqliteFile:
    """Not thread-safe: the caller holds a lock around every use."""

    def __init__(self, path: str, connect: Callable[[str], sqlite3.Connection]) -> None:
        self.path = path
        self._connect = connect
        self._connection: sqlite3.Connection | None = None

    @property
    def exists(self) -> bool:
        return self._connection is not None or os.path.exists(self.path)  # noqa: PTH110 - strings, as in Home

    def connection(self) -> sqlite3.Connection:
        if self._connection is None:
            self._connection = self._connect(self.path)
        return self._connection

    def close(self) -> None:
        if self._connection is not None:
            with contextlib.suppress(sqlite3.Error):
                self._connection.close()
            self._connection = None

    def set_aside(self) -> str:
        """Move a damaged file out of the way and return its new path; the next connection creates a new file."""
        self.close()
        damaged = f"{self.path}.damaged"
        os.replace(self.path, damaged)  # noqa: PTH105 - strings, as in Home
        for suffix in ("-wal", "-shm"):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(self.path + suffix)  # noqa: PTH108 - strings, as in Home
        return damaged


def connect(
    path: str,
    prepare: Callable[[sqlite3.Connection], object] | None = None,
    *,
    seconds: float,
    mode: str = "rwc",
    autocommit: bool = True,
    shared: bool = True,
) -> sqlite3.Connection:
    """Open a file and prepare the connection; it is closed if that fails.

    `seconds` is how long a statement waits for another writer, `mode` that of SQLite's URIs (`ro`, `rw`, `rwc`). With
    `autocommit` transactions are written out; with `shared` other threads may use the connection.
    """
    connection = sqlite3.connect(
        f"file:{quote(os.fsencode(path))}?mode={mode}",
        uri=True,
        timeout=seconds,
        isolation_level=None if autocommit else "DEFERRED",
        check_same_thread=not shared,
    )
    try:
        if prepare is not None:
            prepare(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def format_version(connection: sqlite3.Connection) -> int:
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    return int(version)


def create_private(path: str) -> None:
    """Create the file for its owner only, if it does not exist; a symbolic link is an error."""
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600))
