"""Statistics from the ledger: what `llmc stats` prints and the page plots.

Scripts read `llmc stats --json`, so fields of the dataclasses here are only added. Times are seconds since the epoch.
Overhead is frame, definitions and instructions relative to content. `kept_back` is what a plain tool would have
returned beyond what was served, per call; content fetched later is subtracted. Calls that cost more than a plain tool
count as negative savings: nothing is rounded up to zero.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

    from llmc.state.ledger.database import LedgerDatabase

__all__ = ["Figures", "LedgerFilter", "SessionStats", "TimeSlot", "ToolStats", "figures"]

# ruff: noqa: S608 - names in the queries are constants, values are bound


MOST_LISTED: Final = 5
MOST_SESSIONS: Final = 50
SLOTS: Final = 48


@dataclass(frozen=True, slots=True)
class TokenStats:
    """`net` is the output of a plain tool minus what was served, frame included: tokens saved, or spent if negative.
    `negative` counts calls that served more than a plain tool, `lost` their extra tokens."""

    calls: int = 0
    content: int = 0
    frame: int = 0
    raw: int = 0
    kept_back: int = 0
    fetched: int = 0
    fetches: int = 0
    negative: int = 0
    lost: int = 0
    cached: int = 0
    pending: int = 0
    errors: int = 0

    @property
    def net(self) -> int:
        return self.raw - self.content - self.frame


@dataclass(frozen=True, slots=True)
class Latency:
    p50: float = 0.0
    p95: float = 0.0
    p99: float = 0.0
    most: float = 0.0


@dataclass(frozen=True, slots=True)
class ToolStats:
    tool: str
    tokens: TokenStats
    net: int
    latency: Latency


@dataclass(frozen=True, slots=True)
class CallStats:
    at: float
    session: str
    tool: str
    seconds: float
    content: int
    frame: int
    raw: int
    handle: str


@dataclass(frozen=True, slots=True)
class SessionStats:
    session: str
    client: str
    surface: str
    first: float
    last: float
    calls: int
    content: int
    overhead: int
    net: int


@dataclass(frozen=True, slots=True)
class TimeSlot:
    """One time slot of a plot. `lost` are the extra tokens of calls that served more than a plain tool."""

    at: float
    calls: int = 0
    content: int = 0
    overhead: int = 0
    kept_back: int = 0
    fetched: int = 0
    lost: int = 0


@dataclass(frozen=True, slots=True)
class Figures:
    """`overhead` is in tokens, `share` relative to content. `net` also subtracts definitions and instructions.
    `unwritten` records are lost; `notes` give the reason."""

    since: float
    until: float
    tokens: TokenStats = field(default_factory=TokenStats)
    definitions: int = 0
    instructions: int = 0
    listings: int = 0
    overhead: int = 0
    share: float | None = None
    net: int = 0
    latency: Latency = field(default_factory=Latency)
    tools: tuple[ToolStats, ...] = ()
    sessions: tuple[SessionStats, ...] = ()
    slowest: tuple[CallStats, ...] = ()
    largest: tuple[CallStats, ...] = ()
    slots: tuple[TimeSlot, ...] = ()
    unwritten: int = 0
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LedgerFilter:
    """Which records are counted; empty fields match all. `since` is seconds since the epoch."""

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


def figures(database: LedgerDatabase, selection: LedgerFilter) -> Figures:
    where, values = selection.where()
    (total,) = database.rows(f"SELECT {SUMS} FROM calls WHERE {where}", values) or [()]
    tokens = TokenStats(*total)
    listings, definitions, instructions = tool_list_totals(database, selection)
    overhead = tokens.frame + definitions + instructions
    times = database.rows(f"SELECT tool, seconds FROM calls WHERE {where} ORDER BY seconds", values)
    return Figures(
        since=first_of(database, selection),
        until=time.time(),
        tokens=tokens,
        definitions=definitions,
        instructions=instructions,
        listings=listings,
        overhead=overhead,
        share=overhead / tokens.content if tokens.content else None,
        net=tokens.net - definitions - instructions,
        latency=latency([seconds for _, seconds in times]),
        tools=by_tool(database, where, values, times),
        sessions=by_session(database, selection),
        slowest=top_calls(database, where, values, "seconds"),
        largest=top_calls(database, where, values, "content + frame"),
        slots=by_time(database, selection),
        unwritten=database.lost,
        notes=notes_of(database),
    )


def tool_list_totals(database: LedgerDatabase, selection: LedgerFilter) -> tuple[int, int, int]:
    """(lists, definition tokens, instruction tokens); zero for one tool, as its share is unknown."""
    if selection.tool:
        return 0, 0, 0
    where, values = selection.where(tools=False)
    sums = "count(*), coalesce(sum(definitions), 0), coalesce(sum(instructions), 0)"
    found = database.rows(f"SELECT {sums} FROM listings WHERE {where}", values) or [(0, 0, 0)]
    return found[0][0], found[0][1], found[0][2]


def first_of(database: LedgerDatabase, selection: LedgerFilter) -> float:
    if selection.since:
        return selection.since
    where, values = selection.where()
    ((first,),) = database.rows(f"SELECT min(at) FROM calls WHERE {where}", values) or [(None,)]
    return float(first or time.time())


def by_tool(
    database: LedgerDatabase, where: str, values: list[Any], times: Sequence[tuple[Any, ...]]
) -> tuple[ToolStats, ...]:
    times_by_tool: dict[str, list[float]] = {}
    for tool, seconds in times:
        times_by_tool.setdefault(tool, []).append(seconds)
    rows = database.rows(f"SELECT tool, {SUMS} FROM calls WHERE {where} GROUP BY tool ORDER BY count(*) DESC", values)
    sums = [(tool, TokenStats(*rest)) for tool, *rest in rows]
    return tuple(ToolStats(tool, tokens, tokens.net, latency(times_by_tool.get(tool, []))) for tool, tokens in sums)


def by_session(database: LedgerDatabase, selection: LedgerFilter) -> tuple[SessionStats, ...]:
    where, values = selection.where()
    rows = database.rows(
        f"SELECT {SESSION} FROM calls WHERE {where} GROUP BY session ORDER BY max(at) DESC LIMIT {MOST_SESSIONS}",
        values,
    )
    where, values = selection.where(tools=False)
    sums = "session, sum(definitions + instructions)"
    listed_tokens = dict(database.rows(f"SELECT {sums} FROM listings WHERE {where} GROUP BY session", values))
    return tuple(
        SessionStats(session, client, surface, first, last, calls, content, frame + more, raw - content - frame - more)
        for session, client, surface, first, last, calls, content, frame, raw in rows
        for more in (0 if selection.tool else listed_tokens.get(session, 0),)
    )


def top_calls(database: LedgerDatabase, where: str, values: list[Any], by: str) -> tuple[CallStats, ...]:
    query = f"SELECT {ONE} FROM calls WHERE {where} ORDER BY {by} DESC LIMIT {MOST_LISTED}"
    return tuple(CallStats(*row) for row in database.rows(query, values))


def by_time(database: LedgerDatabase, selection: LedgerFilter) -> tuple[TimeSlot, ...]:
    """Totals per time slot of equal length, including empty slots."""
    first, now = first_of(database, selection), time.time()
    length = max(60.0, (now - first) / SLOTS)
    sums = (
        "count(*), sum(content), sum(frame), sum(max(0, raw - content)), sum(fetched * content), "
        "sum((NOT fetched) * max(0, content + frame - raw))"
    )
    where, values = selection.where()
    found = {
        int(row[0]): row[1:]
        for row in database.rows(
            f"SELECT CAST((at - ?) / ? AS INTEGER), {sums} FROM calls WHERE {where} GROUP BY 1",
            [first, length, *values],
        )
    }
    where, values = selection.where(tools=False)
    sums = "CAST((at - ?) / ? AS INTEGER), sum(definitions + instructions)"
    tool_list_totals = database.rows(f"SELECT {sums} FROM listings WHERE {where} GROUP BY 1", [first, length, *values])
    listed_tokens = {int(at): tokens for at, tokens in tool_list_totals} if not selection.tool else {}
    return tuple(
        TimeSlot(first + number * length, calls, content, frame + listed_tokens.get(number, 0), kept, fetched, lost)
        for number in range(int((now - first) / length) + 1)
        for calls, content, frame, kept, fetched, lost in (found.get(number, (0,) * 6),)
    )


def latency(top_calls: Sequence[float]) -> Latency:
    """Percentiles of sorted durations."""
    if not top_calls:
        return Latency()
    last = len(top_calls) - 1
    p50, p95, p99 = (top_calls[round(share * last)] for share in (0.5, 0.95, 0.99))
    return Latency(p50, p95, p99, top_calls[-1])


def notes_of(database: LedgerDatabase) -> tuple[str, ...]:
    notes = [str(text) for (text,) in database.rows("SELECT text FROM notes ORDER BY id DESC LIMIT 5")]
    if database.lost:
        notes.append(f"{database.lost:,} calls were not recorded ({database.trouble or 'too many at once'}).")
    elif database.trouble:
        notes.append(f"The ledger cannot be read: {database.trouble}.")
    return tuple(notes)
