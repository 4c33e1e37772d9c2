"""Persistent sessions: creating, reading, writing, listing and deleting them, bounded in number, size and age.

Agents cannot overwrite each other's values unknowingly: a writer that replaces a value states the version it has seen,
and the write is refused when that is not the latest. Appending needs no version, since entries are only added. An agent
sees shared values and its own. Every query includes the owner, so sessions of other owners do not exist for it.
"""

from __future__ import annotations

import os
import threading
import time
from typing import TYPE_CHECKING, Final
from weakref import WeakKeyDictionary

from llmc.state.sessions.database import (
    COLUMNS,
    ENTRY,
    MOST_ENTRIES,
    SessionDatabase,
    add,
    cell_of,
    check_name,
    encode_value,
    entry_of,
    find_session,
    require_current_version,
    require_room_for_key,
    require_session,
    unknown,
)
from llmc.state.sessions.recall import Recalls
from llmc.state.sessions.values import SHARED, TOOLS, Draft, SessionEntry, SessionRecord, SessionValue

if TYPE_CHECKING:
    from llmc.state.connected_sessions import ConnectedSession

__all__ = ["Memory"]

# More sessions than one machine needs; the least recently used ones are deleted.
MOST_SESSIONS: Final = 500
MOST_CONNECTIONS: Final = 2_000
HOUR: Final = 3600.0


class Memory:
    """Safe for concurrent threads and processes. `known` maps connections of this process to session names."""

    def __init__(self, path: str) -> None:
        self.database = SessionDatabase(path)
        self.recalls = Recalls()
        self.known: WeakKeyDictionary[ConnectedSession, str] = WeakKeyDictionary()
        self.lock = threading.Lock()
        self.beginning = threading.Lock()

    # ---- sessions ----

    def open(self, owner: str, name: str = "", *, place: str = "", client: str = "") -> SessionRecord:
        """The session with this name, created if it does not exist; a new session without a name."""
        name = check_name(name) or f"s{os.urandom(4).hex()}"
        now = time.time()
        with self.database.writing() as db:
            db.execute(
                "INSERT INTO sessions (owner, name, place, client, made, used) VALUES (?, ?, ?, ?, ?, ?) "
                "ON CONFLICT (owner, name) DO UPDATE SET used = excluded.used",
                (owner, name, place, client, now, now),
            )
            db.execute(
                "DELETE FROM sessions WHERE owner = ? AND id NOT IN "
                "(SELECT id FROM sessions WHERE owner = ? ORDER BY used DESC, id DESC LIMIT ?)",
                (owner, owner, MOST_SESSIONS),
            )
            return find_session(db, owner, name)

    def find(self, owner: str, name: str) -> SessionRecord:
        """NotFoundError for unknown, deleted and foreign sessions alike."""
        if self.database.exists:
            with self.database.reading() as db:
                return find_session(db, owner, name)
        raise unknown(name)

    def all(self, owner: str) -> list[SessionRecord]:
        """All sessions of the owner, most recently used first."""
        if not self.database.exists:
            return []
        with self.database.reading() as db:
            rows = db.execute(
                f"SELECT {COLUMNS} FROM sessions WHERE owner = ? ORDER BY used DESC, id DESC",  # noqa: S608 - constant names
                (owner,),
            ).fetchall()
        return [SessionRecord(*row) for row in rows]

    def drop(self, owner: str, name: str) -> None:
        record = self.find(owner, name)
        with self.database.writing() as db:
            db.execute("DELETE FROM sessions WHERE id = ?", (record.id,))

    def sweep(self, hours: int) -> None:
        """Delete sessions that were not used for this long."""
        if not self.database.exists:
            return
        with self.database.writing() as db:
            db.execute("DELETE FROM sessions WHERE used < ?", (time.time() - hours * HOUR,))
            db.execute(
                "DELETE FROM connections WHERE at < (SELECT at FROM connections ORDER BY at DESC LIMIT 1 OFFSET ?)",
                (MOST_CONNECTIONS,),
            )

    # ---- connections ----

    def join(self, record: SessionRecord, connection: str) -> None:
        with self.database.writing() as db:
            db.execute(
                "INSERT OR REPLACE INTO connections VALUES (?, ?, ?, ?)",
                (record.owner, connection, record.id, time.time()),
            )

    def joined(self, owner: str, connection: str) -> SessionRecord | None:
        """The session that this connection joined, possibly before a restart."""
        if not self.database.exists:
            return None
        with self.database.reading() as db:
            row = db.execute(
                f"SELECT {COLUMNS} FROM sessions WHERE owner = ? AND id = "  # noqa: S608 - constant names
                "(SELECT session FROM connections WHERE owner = ? AND connection = ?)",
                (owner, owner, connection),
            ).fetchone()
        return SessionRecord(*row) if row else None

    # ---- keys ----

    def get(self, record: SessionRecord, key: str, agent: str = SHARED) -> SessionValue | None:
        """The agent's own value, else the shared one."""
        with self.database.reading() as db:
            row = db.execute(
                "SELECT key, value, version, writer, at, agent FROM cells "
                "WHERE session = ? AND key = ? AND agent IN (?, ?) AND value IS NOT NULL ORDER BY agent DESC",
                (record.id, key, SHARED, agent),
            ).fetchone()
        return cell_of(row) if row else None

    def cells(self, record: SessionRecord, agent: str = SHARED) -> list[SessionValue]:
        with self.database.reading() as db:
            rows = db.execute(
                "SELECT key, value, version, writer, at, agent FROM cells "
                "WHERE session = ? AND agent IN (?, ?) AND value IS NOT NULL ORDER BY key, agent",
                (record.id, SHARED, agent),
            ).fetchall()
        return [cell_of(row) for row in rows]

    def put(self, record: SessionRecord, draft: Draft) -> SessionValue:
        """Compare and set. A value of None deletes the key, but its version keeps counting."""
        value = None if draft.value is None else encode_value(draft)
        now = time.time()
        with self.database.writing() as db:
            require_session(db, record)
            row = db.execute(
                "SELECT key, value, version, writer, at, agent FROM cells WHERE session = ? AND agent = ? AND key = ?",
                (record.id, draft.agent, draft.key),
            ).fetchone()
            if row is None:
                require_room_for_key(db, record)
            require_current_version(draft, cell_of(row) if row else None)
            version = row[2] + 1 if row else 1
            db.execute(
                "INSERT OR REPLACE INTO cells VALUES (?, ?, ?, ?, ?, ?, ?)",
                (record.id, draft.agent, draft.key, value, version, draft.writer, now),
            )
            db.execute("UPDATE sessions SET used = ? WHERE id = ?", (now, record.id))
        return SessionValue(draft.key, draft.value, version, draft.writer, now, draft.agent)

    # ---- lists ----

    def append(self, record: SessionRecord, *entries: SessionEntry) -> int:
        """Append all entries in one transaction; returns the number of the last one."""
        with self.database.writing() as db:
            require_session(db, record)
            db.execute("UPDATE sessions SET used = ? WHERE id = ?", (time.time(), record.id))
            return add(db, record, entries)

    def entries(
        self, record: SessionRecord, agent: str = SHARED, name: str = "", last: int = MOST_ENTRIES
    ) -> list[SessionEntry]:
        """The last entries of a list, or of all lists except the tool history, in order."""
        where = "list = ?" if name else "list <> ?"
        with self.database.reading() as db:
            rows = db.execute(
                f"SELECT {ENTRY} FROM entries WHERE session = ? AND {where} AND agent IN (?, ?) "  # noqa: S608 - constant names
                "ORDER BY id DESC LIMIT ?",
                (record.id, name or TOOLS, SHARED, agent, last),
            ).fetchall()
        return [entry_of(row) for row in reversed(rows)]

    def lists(self, record: SessionRecord, agent: str = SHARED) -> dict[str, int]:
        """Number of entries by list name."""
        with self.database.reading() as db:
            rows = db.execute(
                "SELECT list, count(*) FROM entries WHERE session = ? AND agent IN (?, ?) GROUP BY list ORDER BY list",
                (record.id, SHARED, agent),
            ).fetchall()
        return dict(rows)

    # ---- tokens ----

    def spend(self, record: SessionRecord, content: int, frame: int, *called: SessionEntry) -> SessionRecord:
        """Add one reply to the totals, and `called` to the tool history."""
        with self.database.writing() as db:
            require_session(db, record)
            db.execute(
                "UPDATE sessions SET calls = calls + 1, content = content + ?, frame = frame + ?, used = ? "
                "WHERE id = ?",
                (content, frame, time.time(), record.id),
            )
            add(db, record, called)
            return find_session(db, record.owner, record.name)

    def warn(self, record: SessionRecord, share: int) -> None:
        with self.database.writing() as db:
            db.execute("UPDATE sessions SET warned = ? WHERE id = ?", (share, record.id))

    def begin_context(self, record: SessionRecord) -> None:
        """Restart the token count: a new client has none of the content served before."""
        with self.database.writing() as db:
            db.execute("UPDATE sessions SET since = content + frame, warned = 0 WHERE id = ?", (record.id,))

    def close(self) -> None:
        self.database.close()
