"""Rows of the sessions' file: how they are read and added, which writers are refused, and who gives way for whom."""

from __future__ import annotations

import json
import time
from dataclasses import fields
from typing import TYPE_CHECKING, Any, Final

from llmc.base.errors import ConflictError, NotFoundError, QueryError
from llmc.state.sessions.values import Draft, SessionEntry, SessionRecord, SessionValue

if TYPE_CHECKING:
    import sqlite3

__all__ = [
    "COLUMNS",
    "ENTRY",
    "MOST_ENTRIES",
    "add",
    "alive",
    "cell_of",
    "checked_name",
    "entry_of",
    "found",
    "packed",
    "refuse_stale",
    "room_for_key",
    "unknown",
]

# Twelve hours of work are some hundred calls and entries; what is beyond these is a log file, or an agent in a loop.
MOST_KEYS: Final = 500
MOST_ENTRIES: Final = 5_000
MOST_CALLS: Final = 1_000
LARGEST_VALUE: Final = 64 << 10
LARGEST_ENTRY: Final = 16 << 10
LARGEST_SESSION: Final = 8 << 20
LONGEST_NAME: Final = 200
# Old entries are looked for once in so many.
TRIM_EVERY: Final = 50

COLUMNS: Final = ", ".join(each.name for each in fields(SessionRecord))
ENTRY: Final = "list, text, speaker, act, agent, data, at, id"


def add(book: sqlite3.Connection, kept: SessionRecord, entries: tuple[SessionEntry, ...]) -> int:
    number = 0
    for one in entries:
        if len(one.text.encode("utf-8", "replace")) > LARGEST_ENTRY:
            raise QueryError(
                f"an entry is over {LARGEST_ENTRY >> 10} KB", hint="Write it to a file, and append its path."
            )
        number = (
            book.execute(
                "INSERT INTO entries (session, list, agent, speaker, act, text, data, at) "
                "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    kept.id,
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
            trim(book, kept)
    return number


def trim(book: sqlite3.Connection, kept: SessionRecord) -> None:
    """The oldest give way: of the tool history first, then of everything."""
    for condition, most in (("list = 'tools'", MOST_CALLS), ("1", MOST_ENTRIES)):
        gone = book.execute(
            f"DELETE FROM entries WHERE session = ? AND {condition} AND id <= "  # noqa: S608 - our own conditions
            f"(SELECT id FROM entries WHERE session = ? AND {condition} ORDER BY id DESC LIMIT 1 OFFSET ?)",
            (kept.id, kept.id, most),
        ).rowcount
        book.execute("UPDATE sessions SET lost = lost + ? WHERE id = ?", (gone, kept.id))
    (size,) = book.execute(
        "SELECT coalesce(sum(length(text)), 0) FROM entries WHERE session = ?", (kept.id,)
    ).fetchone()
    if size > LARGEST_SESSION:
        gone = book.execute(
            "DELETE FROM entries WHERE id IN (SELECT id FROM entries WHERE session = ? ORDER BY id "
            "LIMIT (SELECT count(*) / 2 FROM entries WHERE session = ?))",
            (kept.id, kept.id),
        ).rowcount
        book.execute("UPDATE sessions SET lost = lost + ? WHERE id = ?", (gone, kept.id))


def found(book: sqlite3.Connection, owner: str, name: str) -> SessionRecord:
    row = book.execute(
        f"SELECT {COLUMNS} FROM sessions WHERE owner = ? AND name = ?",  # noqa: S608 - our names
        (owner, name),
    ).fetchone()
    if row is None:
        raise unknown(name)
    return SessionRecord(*row)


def unknown(name: str) -> NotFoundError:
    return NotFoundError(f"there is no session {name[:LONGEST_NAME]!r}", hint="`session list` names those there are.")


def alive(book: sqlite3.Connection, kept: SessionRecord) -> None:
    """It may have been dropped while it was in use."""
    if book.execute("SELECT 1 FROM sessions WHERE id = ?", (kept.id,)).fetchone() is None:
        raise unknown(kept.name)


def room_for_key(book: sqlite3.Connection, kept: SessionRecord) -> None:
    (keys,) = book.execute("SELECT count(*) FROM cells WHERE session = ?", (kept.id,)).fetchone()
    if keys >= MOST_KEYS:
        raise QueryError(f"a session has at most {MOST_KEYS} keys", hint="Append to a list, or use fewer keys.")


def refuse_stale(draft: Draft, present: SessionValue | None) -> None:
    """Without a version a writer may replace only what is its own."""
    version = present.version if present else 0
    gone = present is None or present.value is None
    seen = draft.version
    if seen is None and (gone or (present is not None and present.writer == draft.writer)):
        return
    if seen == version or (seen == 0 and gone):
        return
    writer = present.writer.partition("@")[0] if present and not gone else ""
    by = f", by {writer}" if writer else ""
    state = f"{draft.key} is at version {version}{by}" if not gone else f"{draft.key} is not set"
    raise ConflictError(
        state,
        reason="no version was given" if seen is None else f"version {seen} was given",
        hint=f"Get it, put the two together, and set it with version={0 if gone else version}.",
        key=draft.key,
        version=0 if gone else version,
    )


def packed(draft: Draft) -> str:
    text = json.dumps(draft.value, separators=(",", ":"))
    if len(text.encode("utf-8", "replace")) > LARGEST_VALUE:
        raise QueryError(f"{draft.key} is over {LARGEST_VALUE >> 10} KB", hint="Keep a path or a handle instead.")
    return text


def checked_name(name: str) -> str:
    if len(name) > LONGEST_NAME:
        raise QueryError(f"a name is over {LONGEST_NAME} characters", hint="Use a shorter one.")
    return name


def cell_of(row: tuple[Any, ...]) -> SessionValue:
    key, value, version, writer, at, agent = row
    return SessionValue(key, None if value is None else json.loads(value), version, writer, at, agent)


def entry_of(row: tuple[Any, ...]) -> SessionEntry:
    name, text, speaker, act, agent, data, at, number = row
    return SessionEntry(name, text, speaker, act, agent, json.loads(data), at, number)
