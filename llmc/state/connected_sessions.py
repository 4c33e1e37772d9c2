"""Sessions: who is asking, and what were they given already?

A session is one client's connection, or the id that it names where the protocol has no connection. It lives in the
daemon's memory; `ConnectedSessions` forgets the one that was silent longest. The CLI has none: each command is a
stranger.
"""

from __future__ import annotations

import threading
import time
from collections import Counter, OrderedDict, deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from llmc.envelope.differential import SentLines

if TYPE_CHECKING:
    from llmc.envelope.request import ClientInfo

__all__ = ["ConnectedSession", "ConnectedSessions", "RequestContext"]

# Each is a few kilobytes; more clients than this are not at work at once.
MOST_SESSIONS = 512
RECENT_HANDLES = 20


@dataclass(slots=True, eq=False, weakref_slot=True)
class ConnectedSession:
    """`owner` is whose handles it may open: `local` for every process of the user, the token's client over HTTP.

    `shown` are the tools whose signature it has seen, `topics` counts what it asks for (code, docs, tests, history,
    shell), by which the menu is ordered. `allowed` are the tools that it may use, None for all: a persona has fewer.
    `handles` are the last ones it was given, with their question. `listed` are the tools that it last saw in a list;
    `changed`: by now it would see others. `sent` are the lines that it was given.
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
    frame_tokens: int = 0
    sent: SentLines = field(default_factory=SentLines)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def may(self, tool: str) -> bool:
        return self.allowed is None or tool in self.allowed

    def record(self, content: int, frame: int) -> None:
        """One reply, in tokens."""
        with self.lock:
            self.calls += 1
            self.content_tokens += content
            self.frame_tokens += frame


@dataclass(frozen=True, slots=True)
class RequestContext:
    """Who sent a request: the client, and the session that it is in."""

    client: ClientInfo
    session: ConnectedSession


class ConnectedSessions:
    """By id; safe from many threads."""

    def __init__(self) -> None:
        self._sessions: OrderedDict[tuple[str, str], ConnectedSession] = OrderedDict()
        self._lock = threading.Lock()

    def enter(
        self, identifier: str, owner: str = "local", *, client: str = "", profile: str = "lean"
    ) -> ConnectedSession:
        """The session of this owner with this id, made when it is new."""
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
