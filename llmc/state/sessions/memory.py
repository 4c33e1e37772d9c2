"""Kept sessions: opened, read, written, searched for, forgotten. Everything is bounded, in number, size and age.

Two agents never stomp on each other: whoever replaces a value says which version it saw, and is refused if that is no
longer the last one. Appending needs no version, as entries are only ever added. An agent sees what is shared and its
own slice. The owner is part of every question: what belongs to another is not there.
"""

from __future__ import annotations

import os
import threading
import time
from typing import TYPE_CHECKING, Final
from weakref import WeakKeyDictionary

from llmc.state.sessions.database import SessionDatabase
from llmc.state.sessions.recall import Recalls
from llmc.state.sessions.rows import (
    COLUMNS,
    ENTRY,
    MOST_ENTRIES,
    add,
    alive,
    cell_of,
    checked_name,
    entry_of,
    found,
    packed,
    refuse_stale,
    room_for_key,
    unknown,
)
from llmc.state.sessions.values import SHARED, TOOLS, Draft, SessionEntry, SessionRecord, SessionValue

if TYPE_CHECKING:
    from llmc.state.connected_sessions import ConnectedSession

__all__ = ["Memory"]

# More agents than this do not share one machine; the ones used least lately are forgotten.
MOST_SESSIONS: Final = 500
MOST_CONNECTIONS: Final = 2_000
HOUR: Final = 3600.0


class Memory:
    """Safe from many threads and processes. `known` is which session each connection of this process is in."""

    def __init__(self, path: str) -> None:
        self.book = SessionDatabase(path)
        self.recalls = Recalls()
        self.known: WeakKeyDictionary[ConnectedSession, str] = WeakKeyDictionary()
        self.lock = threading.Lock()
        self.beginning = threading.Lock()

    # ---- sessions ----

    def open(self, owner: str, name: str = "", *, place: str = "", client: str = "") -> SessionRecord:
        """The session of this name, made when it is new; without a name a new one."""
        name = checked_name(name) or f"s{os.urandom(4).hex()}"
        now = time.time()
        with self.book.writing() as book:
            book.execute(
                "INSERT INTO sessions (owner, name, place, client, made, used) VALUES (?, ?, ?, ?, ?, ?) "
                "ON CONFLICT (owner, name) DO UPDATE SET used = excluded.used",
                (owner, name, place, client, now, now),
            )
            book.execute(
                "DELETE FROM sessions WHERE owner = ? AND id NOT IN "
                "(SELECT id FROM sessions WHERE owner = ? ORDER BY used DESC, id DESC LIMIT ?)",
                (owner, owner, MOST_SESSIONS),
            )
            return found(book, owner, name)

    def find(self, owner: str, name: str) -> SessionRecord:
        """NotFoundError for what is unknown, forgotten or another's, which all look alike."""
        if self.book.exists:
            with self.book.reading() as book:
                return found(book, owner, name)
        raise unknown(name)

    def all(self, owner: str) -> list[SessionRecord]:
        """The last used first."""
        if not self.book.exists:
            return []
        with self.book.reading() as book:
            rows = book.execute(
                f"SELECT {COLUMNS} FROM sessions WHERE owner = ? ORDER BY used DESC, id DESC",  # noqa: S608 - our names
                (owner,),
            ).fetchall()
        return [SessionRecord(*row) for row in rows]

    def drop(self, owner: str, name: str) -> None:
        kept = self.find(owner, name)
        with self.book.writing() as book:
            book.execute("DELETE FROM sessions WHERE id = ?", (kept.id,))

    def sweep(self, hours: int) -> None:
        """Forget what was not used for so long."""
        if not self.book.exists:
            return
        with self.book.writing() as book:
            book.execute("DELETE FROM sessions WHERE used < ?", (time.time() - hours * HOUR,))
            book.execute(
                "DELETE FROM connections WHERE at < (SELECT at FROM connections ORDER BY at DESC LIMIT 1 OFFSET ?)",
                (MOST_CONNECTIONS,),
            )

    # ---- who is in which ----

    def join(self, kept: SessionRecord, connection: str) -> None:
        with self.book.writing() as book:
            book.execute(
                "INSERT OR REPLACE INTO connections VALUES (?, ?, ?, ?)",
                (kept.owner, connection, kept.id, time.time()),
            )

    def joined(self, owner: str, connection: str) -> SessionRecord | None:
        """The session that this connection was in, before a restart too."""
        if not self.book.exists:
            return None
        with self.book.reading() as book:
            row = book.execute(
                f"SELECT {COLUMNS} FROM sessions WHERE owner = ? AND id = "  # noqa: S608 - our names
                "(SELECT session FROM connections WHERE owner = ? AND connection = ?)",
                (owner, owner, connection),
            ).fetchone()
        return SessionRecord(*row) if row else None

    # ---- keys ----

    def get(self, kept: SessionRecord, key: str, agent: str = SHARED) -> SessionValue | None:
        """The agent's own, else the one that is shared."""
        with self.book.reading() as book:
            row = book.execute(
                "SELECT key, value, version, writer, at, agent FROM cells "
                "WHERE session = ? AND key = ? AND agent IN (?, ?) AND value IS NOT NULL ORDER BY agent DESC",
                (kept.id, key, SHARED, agent),
            ).fetchone()
        return cell_of(row) if row else None

    def cells(self, kept: SessionRecord, agent: str = SHARED) -> list[SessionValue]:
        with self.book.reading() as book:
            rows = book.execute(
                "SELECT key, value, version, writer, at, agent FROM cells "
                "WHERE session = ? AND agent IN (?, ?) AND value IS NOT NULL ORDER BY key, agent",
                (kept.id, SHARED, agent),
            ).fetchall()
        return [cell_of(row) for row in rows]

    def put(self, kept: SessionRecord, draft: Draft) -> SessionValue:
        """Compare and set; a value of None drops the key, and its version goes on."""
        value = None if draft.value is None else packed(draft)
        now = time.time()
        with self.book.writing() as book:
            alive(book, kept)
            row = book.execute(
                "SELECT key, value, version, writer, at, agent FROM cells WHERE session = ? AND agent = ? AND key = ?",
                (kept.id, draft.agent, draft.key),
            ).fetchone()
            if row is None:
                room_for_key(book, kept)
            refuse_stale(draft, cell_of(row) if row else None)
            version = row[2] + 1 if row else 1
            book.execute(
                "INSERT OR REPLACE INTO cells VALUES (?, ?, ?, ?, ?, ?, ?)",
                (kept.id, draft.agent, draft.key, value, version, draft.writer, now),
            )
            book.execute("UPDATE sessions SET used = ? WHERE id = ?", (now, kept.id))
        return SessionValue(draft.key, draft.value, version, draft.writer, now, draft.agent)

    # ---- lists ----

    def append(self, kept: SessionRecord, *entries: SessionEntry) -> int:
        """Together or not at all; the number of the last one."""
        with self.book.writing() as book:
            alive(book, kept)
            book.execute("UPDATE sessions SET used = ? WHERE id = ?", (time.time(), kept.id))
            return add(book, kept, entries)

    def entries(
        self, kept: SessionRecord, agent: str = SHARED, name: str = "", last: int = MOST_ENTRIES
    ) -> list[SessionEntry]:
        """The last ones of a list, or of all lists but the tool history, in order."""
        where = "list = ?" if name else "list <> ?"
        with self.book.reading() as book:
            rows = book.execute(
                f"SELECT {ENTRY} FROM entries WHERE session = ? AND {where} AND agent IN (?, ?) "  # noqa: S608 - ours
                "ORDER BY id DESC LIMIT ?",
                (kept.id, name or TOOLS, SHARED, agent, last),
            ).fetchall()
        return [entry_of(row) for row in reversed(rows)]

    def lists(self, kept: SessionRecord, agent: str = SHARED) -> dict[str, int]:
        """Name → how many entries."""
        with self.book.reading() as book:
            rows = book.execute(
                "SELECT list, count(*) FROM entries WHERE session = ? AND agent IN (?, ?) GROUP BY list ORDER BY list",
                (kept.id, SHARED, agent),
            ).fetchall()
        return dict(rows)

    # ---- tokens ----

    def spend(self, kept: SessionRecord, content: int, frame: int, *called: SessionEntry) -> SessionRecord:
        """One reply; `called` is how the tool history tells of it."""
        with self.book.writing() as book:
            alive(book, kept)
            book.execute(
                "UPDATE sessions SET calls = calls + 1, content = content + ?, frame = frame + ?, used = ? "
                "WHERE id = ?",
                (content, frame, time.time(), kept.id),
            )
            add(book, kept, called)
            return found(book, kept.owner, kept.name)

    def warn(self, kept: SessionRecord, share: int) -> None:
        with self.book.writing() as book:
            book.execute("UPDATE sessions SET warned = ? WHERE id = ?", (share, kept.id))

    def begin_context(self, kept: SessionRecord) -> None:
        """A fresh client has none of what was served before."""
        with self.book.writing() as book:
            book.execute("UPDATE sessions SET since = content + frame, warned = 0 WHERE id = ?", (kept.id,))

    def close(self) -> None:
        self.book.close()
