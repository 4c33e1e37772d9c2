"""A SQLite file in the home: one connection opened on first use, private to its owner, set aside when damaged.

The caller supplies the function that connects and checks the schema, and decides which errors mean damage.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["SqliteFile", "create_private"]


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


def create_private(path: str) -> None:
    """Create the file for its owner only, if it does not exist; a symbolic link is an error."""
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600))
