"""The MCP sessions of one profile: new clients always get one, at the expense of unused sessions.

The SDK refuses new sessions once there are `max_sessions`, and a session that its client never deleted lasts for half
an hour. Here a session that was only initialized ends after a minute, and at the limit the least recently used session
of the client with the most sessions ends. That client receives a 404 and starts a new session, as the protocol
requires. Sessions with a running request or an open stream are never ended.
"""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from mcp.server.streamable_http import MCP_SESSION_ID_HEADER
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

from llmc.base import logs

if TYPE_CHECKING:
    from starlette.types import Message, Receive, Scope, Send

__all__ = ["McpSessions"]

log = logs.get("http")

# Initialize and its notification; an active client lists tools next.
OPENING_REQUESTS = 2
UNUSED_SECONDS = 60.0
HEADER = MCP_SESSION_ID_HEADER.encode("ascii")


@dataclass(slots=True)
class SessionUse:
    requests: int = 0
    running: int = 0
    last: float = field(default_factory=time.monotonic)

    @property
    def is_unused(self) -> bool:
        return self.requests <= OPENING_REQUESTS


class McpSessions(StreamableHTTPSessionManager):
    def __init__(self, app: Any, **options: Any) -> None:
        super().__init__(app, **options)
        self._uses: dict[str, SessionUse] = {}

    async def handle_request(self, scope: Scope, receive: Receive, send: Send) -> None:
        named = next((value.decode("latin-1") for key, value in scope["headers"] if key == HEADER), "")
        use = self._uses.get(named) or SessionUse()
        use.requests += 1
        use.running += 1

        async def noting(message: Message) -> None:
            if not named and message["type"] == "http.response.start":
                given = next((value for key, value in message.get("headers", ()) if key.lower() == HEADER), None)
                if given is not None:
                    self._uses[given.decode("latin-1")] = use
            await send(message)

        try:
            if not named:
                await self._make_room()
            await super().handle_request(scope, receive, noting)
        finally:
            use.running -= 1
            use.last = time.monotonic()

    async def _make_room(self) -> None:
        """Make room; called before a request that may open a session."""
        for gone in self._uses.keys() - self._server_instances.keys():
            del self._uses[gone]
        now = time.monotonic()
        for name, use in list(self._uses.items()):
            if use.is_unused and not use.running and now - use.last > UNUSED_SECONDS:
                await self._end(name, "never used")
        if self.max_sessions is not None and len(self._server_instances) >= self.max_sessions:
            victim = self._least_needed()
            if victim is not None:
                await self._end(victim, "session limit reached")

    def _least_needed(self) -> str | None:
        """The session to end: unused ones first, then the least recently used of the client with the most sessions."""
        owners = Counter(str(self._session_owners.get(name)) for name in self._server_instances)
        idle = [name for name, use in self._uses.items() if not use.running and name in self._server_instances]
        return min(
            idle,
            key=lambda name: (
                not self._uses[name].is_unused,
                -owners[str(self._session_owners.get(name))],
                self._uses[name].last,
            ),
            default=None,
        )

    async def _end(self, name: str, why: str) -> None:
        self._uses.pop(name, None)
        transport = self._server_instances.get(name)
        if transport is not None:
            log.info("mcp session ended", reason=why)
            await self._discard_session(name, transport)
