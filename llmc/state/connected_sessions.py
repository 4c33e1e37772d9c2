"""Sessions of connected clients: who is calling, and what the client has already been sent.

A session is one client's connection, or the id it sends where the protocol has no connection. Sessions live in the
daemon's memory; `ConnectedSessions` evicts the least recently used one. CLI commands have no session.
"""

from __future__ import annotations

import threading
import time
from collections import Counter, OrderedDict, deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from llmc.envelope.differential import SentLines, SentReplies

if TYPE_CHECKING:
    from llmc.envelope.request import ClientInfo

__all__ = ["ConnectedSession", "ConnectedSessions", "RequestContext"]

# A session takes a few kilobytes; more clients than this do not work at the same time.
MOST_SESSIONS = 512
RECENT_HANDLES = 20


@dataclass(slots=True, eq=False, weakref_slot=True)
class ConnectedSession:
    """`owner` determines which handles it may open: `local` for the user's own processes, the token's client over HTTP.

    `shown` are the tools whose signature it has seen. `topics` counts the topics of its calls (code, docs, tests,
    history, shell), which order the gateway's menu. `allowed` are the tools it may use, None for all; a persona
    restricts them. `handles` are the most recent handles with their question. `listed` are the tools in the last list
    it received; `changed`: the list would differ now. `sent` are the lines and `replies` the replies it has received.
    """

    id: str
    owner: str = "local"
    profile: str = "lean"
    client: str = ""
    agent: str = ""
    made: float = field(default_factory=time.time)
    seen: float = field(default_factory=time.time)
    calls: int = 0
    shown: set[str] = field(default_factory=set)
    topics: Counter[str] = field(default_factory=Counter)
    allowed: frozenset[str] | None = None
    handles: deque[tuple[str, str]] = field(default_factory=lambda: deque(maxlen=RECENT_HANDLES))
    listed: tuple[str, ...] = ()
    changed: bool = False
    content_tokens: int = 0
    sent: SentLines = field(default_factory=SentLines)
    replies: SentReplies = field(default_factory=SentReplies)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def may(self, tool: str) -> bool:
        return self.allowed is None or tool in self.allowed

    def record(self, content: int) -> None:
        """Add one reply to the totals; `content` is in tokens."""
        with self.lock:
            self.calls += 1
            self.content_tokens += content


@dataclass(frozen=True, slots=True)
class RequestContext:
    """The origin of a request: the client and its session."""

    client: ClientInfo
    session: ConnectedSession


class ConnectedSessions:
    """Sessions by owner and id. Thread-safe."""

    def __init__(self) -> None:
        self._sessions: OrderedDict[tuple[str, str], ConnectedSession] = OrderedDict()
        self._lock = threading.Lock()

    def enter(
        self, identifier: str, owner: str = "local", *, client: str = "", profile: str = "lean"
    ) -> ConnectedSession:
        """The session of this owner with this id, created if it does not exist."""
        with self._lock:
            session = self._sessions.pop((owner, identifier), None) or ConnectedSession(
                identifier, owner, profile, client
            )
            session.seen = time.time()
            self._sessions[owner, identifier] = session
            while len(self._sessions) > MOST_SESSIONS:
                self._sessions.popitem(last=False)
            return session

    def leave(self, session: ConnectedSession) -> None:
        with self._lock:
            self._sessions.pop((session.owner, session.id), None)

    def all(self) -> list[ConnectedSession]:
        with self._lock:
            return list(self._sessions.values())
