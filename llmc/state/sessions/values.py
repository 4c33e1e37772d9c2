"""What a kept session is made of: keys with a version, entries of lists, and the session's own line."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

__all__ = ["CHECKPOINTS", "CONTEXT", "LOG", "SHARED", "TOOLS", "Draft", "SessionEntry", "SessionRecord", "SessionValue"]

# Lists that have a meaning; agents may have others besides.
LOG: Final = "log"
TOOLS: Final = "tools"
CONTEXT: Final = "context"
CHECKPOINTS: Final = "checkpoints"

SHARED: Final = ""  # whose slice it is, if nobody's alone


@dataclass(frozen=True, slots=True)
class SessionRecord:
    """One session. `content` and `frame` are tokens served, `since` what of them belongs to an earlier context;
    `warned` is the last share of the budget that was told, `lost` how many old entries gave way."""

    id: int
    owner: str
    name: str
    place: str
    client: str
    made: float
    used: float
    calls: int = 0
    content: int = 0
    frame: int = 0
    since: int = 0
    warned: int = 0
    lost: int = 0

    @property
    def served(self) -> int:
        """In the present context."""
        return max(0, self.content + self.frame - self.since)


@dataclass(frozen=True, slots=True)
class SessionValue:
    """`agent` is whose slice it stands in, `writer` who wrote it last. A value of None was dropped."""

    key: str
    value: Any
    version: int
    writer: str
    at: float
    agent: str = SHARED


@dataclass(frozen=True, slots=True)
class Draft:
    """What is to be written. `version` is the one that the writer saw; None: the key is new, or the writer's own."""

    key: str
    value: Any
    writer: str
    version: int | None = None
    agent: str = SHARED


@dataclass(frozen=True, slots=True)
class SessionEntry:
    """{speaker, act, text, at} and what a machine wants to know of it; `number` is given when it is written."""

    list: str
    text: str
    speaker: str = ""
    act: str = ""
    agent: str = SHARED
    data: dict[str, Any] = field(default_factory=dict)
    at: float = 0.0
    number: int = 0
