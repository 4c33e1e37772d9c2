"""Values of a persistent session: its record, versioned keys, and list entries."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

__all__ = ["CHECKPOINTS", "CONTEXT", "LOG", "SHARED", "TOOLS", "Draft", "SessionEntry", "SessionRecord", "SessionValue"]

# Lists with a defined meaning; agents may add others.
LOG: Final = "log"
TOOLS: Final = "tools"
CONTEXT: Final = "context"
CHECKPOINTS: Final = "checkpoints"

SHARED: Final = ""  # the agent name of shared values and entries


@dataclass(frozen=True, slots=True)
class SessionRecord:
    """One session. `content` and `frame` are tokens served, `since` how many of them belong to earlier contexts;
    `warned` is the last budget threshold reported (percent), `lost` the number of entries trimmed."""

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
        """Tokens served in the current context."""
        return max(0, self.content + self.frame - self.since)


@dataclass(frozen=True, slots=True)
class SessionValue:
    """`agent` is the agent it is visible to, `writer` the last writer. A value of None was deleted."""

    key: str
    value: Any
    version: int
    writer: str
    at: float
    agent: str = SHARED


@dataclass(frozen=True, slots=True)
class Draft:
    """A value to write. `version` is the one the writer has seen; None for a new key or the writer's own value."""

    key: str
    value: Any
    writer: str
    version: int | None = None
    agent: str = SHARED


@dataclass(frozen=True, slots=True)
class SessionEntry:
    """{speaker, act, text, at} and structured `data`; `number` is assigned when it is written."""

    list: str
    text: str
    speaker: str = ""
    act: str = ""
    agent: str = SHARED
    data: dict[str, Any] = field(default_factory=dict)
    at: float = 0.0
    number: int = 0
