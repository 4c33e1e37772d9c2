"""The SQLite file of persistent sessions: schema, format version, transactions, recovery from damage, and its rows.

Nothing is lost silently: a full disk, an unreadable file and a newer format are errors for the caller. A file that is
not a database is set aside and replaced by a new one. Several processes may use the file at once (`--no-daemon` next
to the daemon), synchronized by the locks of SQLite.
"""

from __future__ import annotations

import contextlib
import json
import sqlite3
import threading
import time
from dataclasses import fields
from typing import TYPE_CHECKING, Any, Final

from llmc.base import logs
from llmc.base.errors import ConflictError, NewerFormatError, NotFoundError, QueryError, StoreError, StoreFullError
from llmc.base.sqlite_file import SqliteFile, connect, create_private, format_version
from llmc.state.sessions.values import Draft, SessionEntry, SessionRecord, SessionValue

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = [
    "COLUMNS",
    "ENTRY",
    "MOST_ENTRIES",
    "SessionDatabase",
    "add",
    "cell_of",
    "check_name",
    "encode_value",
    "entry_of",
    "find_session",
    "require_current_version",
    "require_room_for_key",
    "require_session",
    "unknown",
]

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
# Twelve hours of work produce a few hundred calls and entries; more is a log file or a looping agent.
MOST_KEYS: Final = 500
MOST_ENTRIES: Final = 5_000
MOST_CALLS: Final = 1_000
LARGEST_VALUE: Final = 64 << 10
LARGEST_ENTRY: Final = 16 << 10
LARGEST_SESSION: Final = 8 << 20
LONGEST_NAME: Final = 200
# Old entries are trimmed once per this many new ones.
TRIM_EVERY: Final = 50

COLUMNS: Final = ", ".join(each.name for each in fields(SessionRecord))
ENTRY: Final = "list, text, speaker, act, agent, data, at, id"


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


def add(db: sqlite3.Connection, record: SessionRecord, entries: tuple[SessionEntry, ...]) -> int:
    number = 0
    for one in entries:
        if len(one.text.encode("utf-8", "replace")) > LARGEST_ENTRY:
            raise QueryError(
                f"the entry is larger than {LARGEST_ENTRY >> 10} KB", hint="Write it to a file and append the path."
            )
        number = (
            db.execute(
                "INSERT INTO entries (session, list, agent, speaker, act, text, data, at) "
                "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    record.id,
                    one.list,
                    one.agent,
                    one.speaker,
                    one.act,
                    one.text,
                    json.dumps(one.data),
                    one.at or time.time(),
                ),
            ).lastrowid
            or 0
        )
        if number % TRIM_EVERY == 0:
            trim(db, record)
    return number


def trim(db: sqlite3.Connection, record: SessionRecord) -> None:
    """Delete the oldest entries: first of the tool history, then of all lists."""
    for condition, most in (("list = 'tools'", MOST_CALLS), ("1", MOST_ENTRIES)):
        deleted = db.execute(
            f"DELETE FROM entries WHERE session = ? AND {condition} AND id <= "  # noqa: S608 - constant conditions
            f"(SELECT id FROM entries WHERE session = ? AND {condition} ORDER BY id DESC LIMIT 1 OFFSET ?)",
            (record.id, record.id, most),
        ).rowcount
        db.execute("UPDATE sessions SET lost = lost + ? WHERE id = ?", (deleted, record.id))
    (size,) = db.execute(
        "SELECT coalesce(sum(length(text)), 0) FROM entries WHERE session = ?", (record.id,)
    ).fetchone()
    if size > LARGEST_SESSION:
        deleted = db.execute(
            "DELETE FROM entries WHERE id IN (SELECT id FROM entries WHERE session = ? ORDER BY id "
            "LIMIT (SELECT count(*) / 2 FROM entries WHERE session = ?))",
            (record.id, record.id),
        ).rowcount
        db.execute("UPDATE sessions SET lost = lost + ? WHERE id = ?", (deleted, record.id))


def find_session(db: sqlite3.Connection, owner: str, name: str) -> SessionRecord:
    row = db.execute(
        f"SELECT {COLUMNS} FROM sessions WHERE owner = ? AND name = ?",  # noqa: S608 - constant names
        (owner, name),
    ).fetchone()
    if row is None:
        raise unknown(name)
    return SessionRecord(*row)


def unknown(name: str) -> NotFoundError:
    return NotFoundError(f"there is no session {name[:LONGEST_NAME]!r}", hint="`session list` shows the existing ones.")


def require_session(db: sqlite3.Connection, record: SessionRecord) -> None:
    """Raise if the session was deleted while in use."""
    if db.execute("SELECT 1 FROM sessions WHERE id = ?", (record.id,)).fetchone() is None:
        raise unknown(record.name)


def require_room_for_key(db: sqlite3.Connection, record: SessionRecord) -> None:
    (keys,) = db.execute("SELECT count(*) FROM cells WHERE session = ?", (record.id,)).fetchone()
    if keys >= MOST_KEYS:
        raise QueryError(f"a session has at most {MOST_KEYS} keys", hint="Append to a list, or delete unused keys.")


def require_current_version(draft: Draft, present: SessionValue | None) -> None:
    """Refuse a write based on an outdated version. Without a version, a writer may replace only its own value."""
    version = present.version if present else 0
    absent = present is None or present.value is None
    seen = draft.version
    if seen is None and (absent or (present is not None and present.writer == draft.writer)):
        return
    if seen == version or (seen == 0 and absent):
        return
    writer = present.writer.partition("@")[0] if present and not absent else ""
    by = f", by {writer}" if writer else ""
    state = f"{draft.key} is at version {version}{by}" if not absent else f"{draft.key} is not set"
    raise ConflictError(
        state,
        reason="no version was given" if seen is None else f"version {seen} was given",
        hint=f"Get the current value, merge your change, and set it with version={0 if absent else version}.",
        key=draft.key,
        version=0 if absent else version,
    )


def encode_value(draft: Draft) -> str:
    text = json.dumps(draft.value, separators=(",", ":"))
    if len(text.encode("utf-8", "replace")) > LARGEST_VALUE:
        raise QueryError(
            f"{draft.key} is larger than {LARGEST_VALUE >> 10} KB", hint="Store a path or a handle instead."
        )
    return text


def check_name(name: str) -> str:
    if len(name) > LONGEST_NAME:
        raise QueryError(f"the name is longer than {LONGEST_NAME} characters", hint="Use a shorter name.")
    return name


def cell_of(row: tuple[Any, ...]) -> SessionValue:
    key, value, version, writer, at, agent = row
    return SessionValue(key, None if value is None else json.loads(value), version, writer, at, agent)


def entry_of(row: tuple[Any, ...]) -> SessionEntry:
    name, text, speaker, act, agent, data, at, number = row
    return SessionEntry(name, text, speaker, act, agent, json.loads(data), at, number)
