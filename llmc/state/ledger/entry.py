"""What is written down: a line for each call, and one for each list of tools that a client was shown."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["CallEntry", "ToolListEntry"]


@dataclass(frozen=True, slots=True)
class CallEntry:
    """In tokens and seconds. `surface` is mcp, http or cli. `raw` is what a plain tool would have returned, as far as a
    client would have shown it; 0 for what was `fetched`: that was counted when it was kept back. `handle` is the
    beginning of the handle that the reply ended in, empty when it was whole.
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
    """What a model reads before its first question: definitions of tools, and instructions."""

    at: float
    session: str
    client: str
    surface: str
    profile: str
    definitions: int
    instructions: int
