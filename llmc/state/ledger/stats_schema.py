"""The schema of `llmc stats --json`. Times are seconds since the epoch. Scripts read it, so fields are only added."""

from __future__ import annotations

from dataclasses import dataclass, field

__all__ = ["CallStats", "Figures", "Latency", "SessionStats", "TimeSlot", "TokenStats", "ToolStats"]


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
