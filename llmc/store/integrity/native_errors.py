"""Translates errors of the libraries below into our own: no space, corruption, a panic of native code.

SQLite, tantivy, numpy and LanceDB each report a full disk differently, and tantivy does not report it at all if it
happens in one of its threads. Every call into them runs inside `guard`, which raises only `StoreFullError`,
`CorruptStoreError` or `StoreError`.
"""

from __future__ import annotations

import errno
import os
import sqlite3
import tempfile
from contextlib import contextmanager
from typing import TYPE_CHECKING

from llmc.base.errors import CorruptStoreError, LlmcError, StoreError, StoreFullError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["corrupt", "guard"]

FULL_ERRNOS = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
FULL_WORDS = ("no space left", "disk is full", "quota exceeded", "file too large", "os error 28", "os error 27")
# Errors of the environment, not of the index: a rebuild would not help.
OTHER_ERRNOS = frozenset(
    {errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EACCES, errno.EPERM, errno.EROFS, errno.EBUSY}
    | {errno.ENOTDIR, errno.EEXIST, errno.ENAMETOOLONG, errno.ELOOP}
)
OTHER_WORDS = (
    "too many open files",
    "permission denied",
    "read-only file system",
    "lockbusy",
    "cannot allocate memory",
)
OTHER_SQLITE = ("SQLITE_BUSY", "SQLITE_LOCKED", "SQLITE_READONLY", "SQLITE_NOMEM", "SQLITE_PERM", "SQLITE_AUTH")
# About the size of a small batch.
PROBE_BYTES = 1 << 20


@contextmanager
def guard(folder: Path, doing: str, *damage: type[Exception]) -> Iterator[None]:
    """Translate what a backend raises while it is `doing` something in `folder`: errors of the system, of SQLite,
    panics, and what else `damage` names. Anything else is a bug and passes unchanged: a rebuild would not help."""
    kinds: tuple[type[Exception], ...] = (OSError, sqlite3.DatabaseError, *damage)
    try:
        yield
    except LlmcError:
        raise
    except kinds as error:
        if isinstance(error, sqlite3.ProgrammingError):
            raise
        raise translated(error, folder, doing) from error
    except BaseException as error:
        if type(error).__name__ == "PanicException":
            raise translated(error, folder, doing) from error
        raise


def translated(error: BaseException, folder: Path, doing: str) -> StoreError:
    if is_disk_full(error) or (may_hide_full(error) and not has_room(folder)):
        return StoreFullError(
            f"no space left while {doing}",
            reason="the disk of the index is full",
            hint="Nothing is lost. Free some space; indexing then continues automatically.",
            folder=str(folder),
        )
    if is_environment_error(error):
        return StoreError(f"cannot go on while {doing}", reason=str(error), folder=str(folder))
    return corrupt(f"the index failed while {doing}", str(error) or type(error).__name__, folder)


def corrupt(message: str, reason: str, folder: Path) -> CorruptStoreError:
    return CorruptStoreError(message, reason=reason, hint="Rebuild it with `llmc index --rebuild`.", folder=str(folder))


def is_disk_full(error: BaseException) -> bool:
    if isinstance(error, OSError) and error.errno in FULL_ERRNOS:
        return True
    if getattr(error, "sqlite_errorname", "") == "SQLITE_FULL":
        return True
    return any(word in str(error).lower() for word in FULL_WORDS)


def is_environment_error(error: BaseException) -> bool:
    if isinstance(error, OSError) and error.errno in OTHER_ERRNOS:
        return True
    if getattr(error, "sqlite_errorname", "").startswith(OTHER_SQLITE):
        return True
    return any(word in str(error).lower() for word in OTHER_WORDS)


def may_hide_full(error: BaseException) -> bool:
    """Whether a full disk may be the cause: tantivy only reports killed threads, and SQLite a `disk I/O error`."""
    name = getattr(error, "sqlite_errorname", "")
    return name.startswith("SQLITE_IOERR") or not isinstance(error, sqlite3.Error)


def has_room(folder: Path) -> bool:
    """Write a probe file, since `statvfs` does not show quotas and file-size limits."""
    try:
        with tempfile.TemporaryFile(dir=folder) as probe:
            probe.write(bytes(PROBE_BYTES))
            probe.flush()
            os.fsync(probe.fileno())
    except OSError as error:
        return error.errno not in FULL_ERRNOS
    return True
