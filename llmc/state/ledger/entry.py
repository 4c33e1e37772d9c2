"""Ledger records: one per call, and one per tool list sent to a client."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["CallEntry", "ToolListEntry"]


@dataclass(frozen=True, slots=True)
class CallEntry:
    """Sizes in tokens. `surface` is mcp, http or cli. `raw` is the output of a plain tool, capped at what a client
    would have shown; 0 when the call `fetched` content that was counted when it was withheld. `handle` is the
    beginning of the handle of a shortened reply, and empty for a complete one.
    """

    at: float
    session: str
    client: str
    surface: str
    tool: str
    seconds: float
    content: int
    frame: int
    raw: int
    fetched: bool = False
    cached: bool = False
    pending: bool = False
    error: str = ""
    handle: str = ""


@dataclass(frozen=True, slots=True)
class ToolListEntry:
    """What a model reads before its first call: tool definitions and instructions."""

    at: float
    session: str
    client: str
    surface: str
    profile: str
    definitions: int
    instructions: int
