"""What goes wrong below, said in our words: no space, corruption, a panic of native code.

SQLite, tantivy, numpy and LanceDB each say "the disk is full" differently, and tantivy not at all when it happens in
one of its threads. Every call into them runs inside `guard`, so that callers see `StoreFullError`, `CorruptStoreError`
or `StoreError` and nothing else.
"""

from __future__ import annotations

import errno
import os
import sqlite3
import tempfile
from contextlib import contextmanager
from typing import TYPE_CHECKING

from llmc.errors import CorruptStoreError, LlmcError, StoreError, StoreFullError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["corrupt", "guard"]

FULL_ERRNOS = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
FULL_WORDS = (
    "no space left",
    "disk is full",
    "disk full",
    "quota exceeded",
    "file too large",
    "os error 28",
    "os error 27",
)
# SQLite cannot open, read or trust the file: what it says then differs with the byte that was hit.
CORRUPT_NAMES = ("SQLITE_CORRUPT", "SQLITE_NOTADB", "SQLITE_IOERR_SHORT_READ", "SQLITE_IOERR_READ", "SQLITE_FORMAT")
# Damaged structures in well-formed pages surface as one of these. The statements themselves are fixed and tested.
DAMAGE = (sqlite3.DatabaseError, EOFError, IndexError, KeyError, TypeError, ValueError, OverflowError)
# Enough that the room for one is room for a small batch.
PROBE_BYTES = 1 << 20


@contextmanager
def guard(folder: Path, doing: str) -> Iterator[None]:
    """Translate whatever a backend raises while it is `doing` something in `folder`."""
    try:
        yield
    except LlmcError:
        raise
    except BaseException as error:
        if isinstance(error, Exception) or type(error).__name__ == "PanicException":
            raise translated(error, folder, doing) from error
        raise


def translated(error: BaseException, folder: Path, doing: str) -> StoreError:
    if says_full(error) or (may_hide_full(error) and not has_room(folder)):
        return StoreFullError(
            f"no space left while {doing}",
            reason="the disk of the index is full",
            hint="Nothing is lost. Free some space: indexing goes on by itself.",
            folder=str(folder),
        )
    if isinstance(error, PermissionError) or getattr(error, "sqlite_errorname", "").startswith("SQLITE_READONLY"):
        return StoreError(f"may not write while {doing}", reason=str(error), folder=str(folder))
    if isinstance(error, sqlite3.Error) and error.sqlite_errorname in {"SQLITE_BUSY", "SQLITE_LOCKED"}:
        return StoreError(f"the index is busy while {doing}", reason=str(error), folder=str(folder))
    return corrupt(f"the index failed while {doing}", str(error) or type(error).__name__, folder)


def corrupt(message: str, reason: str, folder: Path) -> CorruptStoreError:
    return CorruptStoreError(
        message, reason=reason, hint="It is built anew by `llmc index --rebuild`.", folder=str(folder)
    )


def says_full(error: BaseException) -> bool:
    if isinstance(error, OSError) and error.errno in FULL_ERRNOS:
        return True
    if getattr(error, "sqlite_errorname", "") == "SQLITE_FULL":
        return True
    text = str(error).lower()
    return any(word in text for word in FULL_WORDS)


def may_hide_full(error: BaseException) -> bool:
    """tantivy's threads say only that they were killed; SQLite says `disk I/O error` when it cannot grow a file."""
    name = getattr(error, "sqlite_errorname", "")
    return name.startswith("SQLITE_IOERR") or not isinstance(error, sqlite3.Error)


def has_room(folder: Path) -> bool:
    """Try it: quotas and file-size limits do not show in `statvfs`."""
    try:
        with tempfile.TemporaryFile(dir=folder) as probe:
            probe.write(bytes(PROBE_BYTES))
            probe.flush()
            os.fsync(probe.fileno())
    except OSError as error:
        return error.errno not in FULL_ERRNOS
    return True
