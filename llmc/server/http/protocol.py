"""uvicorn connections with timeouts and a limit on their number.

uvicorn waits forever for the headers of a request. Here a connection without complete headers is closed after a
timeout, at its start and after each reply, even if bytes trickle in; so is one that does not read its reply. At the
connection limit, connections without a running request are closed first, so idle and half-open connections do not block
others.
"""

from __future__ import annotations

import contextlib
import socket
import struct
from collections import Counter
from typing import TYPE_CHECKING, Any

from uvicorn import Config, Server
from uvicorn.protocols.http.h11_impl import H11Protocol

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable

    from starlette.types import Scope
    from uvicorn.protocols.http.h11_impl import RequestResponseCycle

__all__ = ["HeldServer", "TimedConfig", "TimedProtocol"]

MOST_CONNECTIONS = 512
BUSY = 3


class TimedConfig(Config):
    """`seconds` is the timeout for the headers of a request."""

    seconds: float = 20.0


class TimedProtocol(H11Protocol):
    def __init__(self, config: TimedConfig, **options: Any) -> None:
        super().__init__(config, **options)
        self._seconds = config.seconds
        self._late: asyncio.TimerHandle | None = None
        self.since = 0.0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._await_head()
        if len(self.connections) > MOST_CONNECTIONS:
            self._close_one()

    def _close_one(self) -> None:
        """The connection to close: this one if all others are answering a request."""
        ours = [one for one in self.connections if isinstance(one, TimedProtocol) and one is not self]
        holders = Counter(one.peer for one in ours)
        idle = [one for one in ours if one.need < BUSY]
        victim = min(idle, key=lambda one: (one.need, -holders[one.peer], one.since), default=self)
        self.connections.discard(victim)  # it is lost in the loop's next round only, and counts no more
        victim.abort()

    @property
    def peer(self) -> str:
        return self.client[0] if self.client else ""

    @property
    def need(self) -> int:
        """What closing it would lose: unused, idle, or a partial request; BUSY while answering a request."""
        cycle: RequestResponseCycle | None = self.cycle
        if cycle is None:
            return 0
        if cycle.response_complete:
            return 1
        return 2 if cycle.more_body else BUSY

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)

    def handle_events(self) -> None:
        before = self.cycle
        super().handle_events()
        if self.cycle is not before and not self.cycle.response_complete:
            self._stop_waiting()

    def on_response_complete(self) -> None:
        self._await_head()
        super().on_response_complete()

    def abort(self) -> None:
        """Close with a reset: otherwise the kernel would wait for the client to read the remaining data."""
        peer = self.transport.get_extra_info("socket")
        if peer is not None:
            with contextlib.suppress(OSError):
                peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.transport.abort()

    def _await_head(self) -> None:
        self._stop_waiting()
        self.since = self.loop.time()
        self._late = self.loop.call_later(self._seconds, self.abort)

    def _stop_waiting(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None


class HeldServer(Server):
    """uvicorn's server without its signal handlers; the daemon handles signals."""

    def __init__(self, config: Config, on_started: Callable[[], None]) -> None:
        super().__init__(config)
        self._on_started = on_started

    async def hold(self, sockets: list[socket.socket]) -> None:
        """Serve until `should_exit`."""
        await self._serve(sockets)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._on_started()

    def cut(self, scope: Scope) -> None:
        """Close the connection of a request at once, discarding the rest of the reply."""
        for connection in list(self.server_state.connections):
            if isinstance(connection, TimedProtocol) and connection.client == scope.get("client"):
                connection.abort()
