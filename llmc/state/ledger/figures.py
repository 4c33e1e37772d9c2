"""The ledger as figures: what `llmc stats` prints and the page draws.

Overhead is frame, definitions and instructions as a share of content. Kept back is what a plain tool would have given
beyond what was served, call by call; what was fetched later after all is taken off it. A call that cost more than a
plain tool would have counts as it is: nothing is rounded up to zero.
"""

# ruff: noqa: S608 - the names in the queries are our own, values are bound

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from llmc.state.ledger.stats_schema import CallStats, Figures, Latency, SessionStats, TimeSlot, TokenStats, ToolStats

if TYPE_CHECKING:
    from collections.abc import Sequence

    from llmc.state.ledger.database import LedgerDatabase

__all__ = ["LedgerFilter", "figures"]

MOST_LISTED: Final = 5
MOST_SESSIONS: Final = 50
SLOTS: Final = 48


@dataclass(frozen=True, slots=True)
class LedgerFilter:
    """Which lines count; empty is all of them. `since` is seconds since the epoch."""

    since: float = 0.0
    session: str = ""
    tool: str = ""

    def where(self, *, tools: bool = True) -> tuple[str, list[Any]]:
        conditions, values = ["at >= ?"], [self.since]
        for name in ("session", "tool") if tools else ("session",):
            if value := getattr(self, name):
                conditions.append(f"{name} = ?")
                values.append(value)
        return " AND ".join(conditions), values


SUMS: Final = (
    "count(*), coalesce(sum(content), 0), coalesce(sum(frame), 0), coalesce(sum(raw), 0), "
    "coalesce(sum(max(0, raw - content)), 0), coalesce(sum(fetched * content), 0), coalesce(sum(fetched), 0), "
    "coalesce(sum(NOT fetched AND content + frame > raw), 0), "
    "coalesce(sum((NOT fetched) * max(0, content + frame - raw)), 0), "
    "coalesce(sum(cached), 0), coalesce(sum(pending), 0), coalesce(sum(error != ''), 0)"
)
SESSION: Final = "session, max(client), max(surface), min(at), max(at), count(*), sum(content), sum(frame), sum(raw)"
ONE: Final = "at, session, tool, seconds, content, frame, raw, handle"


def figures(book: LedgerDatabase, wanted: LedgerFilter, *, slots: int = SLOTS) -> Figures:
    where, values = wanted.where()
    (total,) = book.rows(f"SELECT {SUMS} FROM calls WHERE {where}", values) or [()]
    tokens = TokenStats(*total)
    listings, definitions, instructions = told(book, wanted)
    overhead = tokens.frame + definitions + instructions
    times = book.rows(f"SELECT tool, seconds FROM calls WHERE {where} ORDER BY seconds", values)
    return Figures(
        since=first_of(book, wanted),
        until=time.time(),
        tokens=tokens,
        definitions=definitions,
        instructions=instructions,
        listings=listings,
        overhead=overhead,
        share=overhead / tokens.content if tokens.content else None,
        net=tokens.net - definitions - instructions,
        latency=latency([seconds for _, seconds in times]),
        tools=by_tool(book, where, values, times),
        sessions=by_session(book, wanted),
        slowest=ordered(book, where, values, "seconds"),
        largest=ordered(book, where, values, "content + frame"),
        slots=by_time(book, wanted, slots),
        unwritten=book.lost,
        notes=noted(book),
    )


def told(book: LedgerDatabase, wanted: LedgerFilter) -> tuple[int, int, int]:
    """How many lists, and their tokens; those of one tool cannot be told from the others'."""
    if wanted.tool:
        return 0, 0, 0
    where, values = wanted.where(tools=False)
    sums = "count(*), coalesce(sum(definitions), 0), coalesce(sum(instructions), 0)"
    found = book.rows(f"SELECT {sums} FROM listings WHERE {where}", values) or [(0, 0, 0)]
    return found[0][0], found[0][1], found[0][2]


def first_of(book: LedgerDatabase, wanted: LedgerFilter) -> float:
    if wanted.since:
        return wanted.since
    where, values = wanted.where()
    ((first,),) = book.rows(f"SELECT min(at) FROM calls WHERE {where}", values) or [(None,)]
    return float(first or time.time())


def by_tool(
    book: LedgerDatabase, where: str, values: list[Any], times: Sequence[tuple[Any, ...]]
) -> tuple[ToolStats, ...]:
    taken: dict[str, list[float]] = {}
    for tool, seconds in times:
        taken.setdefault(tool, []).append(seconds)
    rows = book.rows(f"SELECT tool, {SUMS} FROM calls WHERE {where} GROUP BY tool ORDER BY count(*) DESC", values)
    sums = [(tool, TokenStats(*rest)) for tool, *rest in rows]
    return tuple(ToolStats(tool, tokens, tokens.net, latency(taken.get(tool, []))) for tool, tokens in sums)


def by_session(book: LedgerDatabase, wanted: LedgerFilter) -> tuple[SessionStats, ...]:
    where, values = wanted.where()
    rows = book.rows(
        f"SELECT {SESSION} FROM calls WHERE {where} GROUP BY session ORDER BY max(at) DESC LIMIT {MOST_SESSIONS}",
        values,
    )
    where, values = wanted.where(tools=False)
    sums = "session, sum(definitions + instructions)"
    shown = dict(book.rows(f"SELECT {sums} FROM listings WHERE {where} GROUP BY session", values))
    return tuple(
        SessionStats(session, client, surface, first, last, calls, content, frame + more, raw - content - frame - more)
        for session, client, surface, first, last, calls, content, frame, raw in rows
        for more in (0 if wanted.tool else shown.get(session, 0),)
    )


def ordered(book: LedgerDatabase, where: str, values: list[Any], by: str) -> tuple[CallStats, ...]:
    query = f"SELECT {ONE} FROM calls WHERE {where} ORDER BY {by} DESC LIMIT {MOST_LISTED}"
    return tuple(CallStats(*row) for row in book.rows(query, values))


def by_time(book: LedgerDatabase, wanted: LedgerFilter, slots: int) -> tuple[TimeSlot, ...]:
    """As many stretches of equal length as there are slots, empty ones included."""
    first, now = first_of(book, wanted), time.time()
    length = max(60.0, (now - first) / slots)
    sums = "count(*), sum(content), sum(frame), sum(max(0, raw - content)), sum(fetched * content)"
    where, values = wanted.where()
    found = {
        int(row[0]): row[1:]
        for row in book.rows(
            f"SELECT CAST((at - ?) / ? AS INTEGER), {sums} FROM calls WHERE {where} GROUP BY 1",
            [first, length, *values],
        )
    }
    where, values = wanted.where(tools=False)
    sums = "CAST((at - ?) / ? AS INTEGER), sum(definitions + instructions)"
    told = book.rows(f"SELECT {sums} FROM listings WHERE {where} GROUP BY 1", [first, length, *values])
    shown = {int(at): tokens for at, tokens in told} if not wanted.tool else {}
    return tuple(
        TimeSlot(first + number * length, calls, content, frame + shown.get(number, 0), kept, fetched)
        for number in range(int((now - first) / length) + 1)
        for calls, content, frame, kept, fetched in (found.get(number, (0, 0, 0, 0, 0)),)
    )


def latency(ordered: Sequence[float]) -> Latency:
    """Of times in order."""
    if not ordered:
        return Latency()
    last = len(ordered) - 1
    p50, p95, p99 = (ordered[round(share * last)] for share in (0.5, 0.95, 0.99))
    return Latency(p50, p95, p99, ordered[-1])


def noted(book: LedgerDatabase) -> tuple[str, ...]:
    notes = [str(text) for (text,) in book.rows("SELECT text FROM notes ORDER BY id DESC LIMIT 5")]
    if book.lost:
        notes.append(f"{book.lost:,} calls were not written down ({book.trouble or 'too many at once'}).")
    elif book.trouble:
        notes.append(f"The ledger cannot be read: {book.trouble}.")
    return tuple(notes)
