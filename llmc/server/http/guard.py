"""Checks every request first: exact Host and Origin, a token or (for the page) a cookie, body size and timeouts.

It wraps the whole application, so no route can be missed. The body is read here, after the token is verified: strangers
cannot make the server store data, and the application never waits for a slow sender. There are no CORS headers, so
browsers do not let other pages read a reply. `Admission` limits concurrent requests, in total and per client.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from llmc.base import logs
from llmc.server.http.callers import CALLER, header_values
from llmc.server.http.refusals import HttpRefusal, refuse

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from llmc.server.http.address import Address
    from llmc.server.http.callers import Authenticator, HttpCaller

__all__ = ["HEAD_BYTES", "Admission", "Bounds", "Guard"]

log = logs.get("http")

# The largest body of a login request.
STRANGER_BYTES = 4 << 10
# Path and headers together; more than cookies and tokens of other servers need.
HEAD_BYTES = 32 << 10
# Concurrent requests. A sixteenth of them has a thread at any time; more would only wait longer.
MOST_REQUESTS = 256
MOST_OF_CLIENT = 128
UNLIMITED = frozenset({"/health", "/metrics"})


@dataclass(frozen=True, slots=True)
class Bounds:
    """The largest body, and the timeout for receiving it and for sending each part of a reply."""

    size: int
    seconds: float


class Guard:
    """`cut` closes the connection of a request at once; the server sets it later."""

    def __init__(self, app: ASGIApp, address: Address, authenticator: Authenticator, bounds: Bounds) -> None:
        self.cut: Callable[[Scope], None] = lambda _: None
        self._app = app
        self._address = address
        self._authenticator = authenticator
        self.bounds = bounds
        self._admission = Admission()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        try:
            caller = scope[CALLER] = await self._admit(scope)
            body = await self._body(scope, receive, caller)
            with self._admission.admit(scope, caller.owner):
                await self._app(scope, Replay(body, receive), Sending(scope, send, self))
        except HttpRefusal as refusal:
            log.info("refused", status=refusal.status, code=refusal.error["code"], peer=str(scope.get("client")))
            await refuse(send, refusal)

    async def _admit(self, scope: Scope) -> HttpCaller:
        headers = scope["headers"]
        if len(scope["raw_path"]) + sum(len(name) + len(value) for name, value in headers) > HEAD_BYTES:
            raise HttpRefusal(431, "too_large", "request headers too large", close=True)
        local = str((scope.get("server") or ("",))[0])
        hosts = header_values(headers, b"host")
        if len(hosts) != 1 or not self._address.is_own_host(hosts[0], local):
            raise HttpRefusal(421, "host", "unknown Host header", HOST_HINT, close=True)
        origins = header_values(headers, b"origin")
        if len(origins) > 1 or not all(self._address.is_own_origin(origin, local) for origin in origins):
            raise HttpRefusal(403, "origin", "cross-origin requests are not allowed", close=True)
        caller = await self._authenticator.identify(scope)
        if caller is None:
            hint, challenge = self._authenticator.hint, self._authenticator.challenge
            raise HttpRefusal(401, "token", "the token is missing or wrong", hint, close=True, challenge=challenge)
        return caller

    async def _body(self, scope: Scope, receive: Receive, caller: HttpCaller) -> bytes:
        stated = header_values(scope["headers"], b"content-length")
        largest = self.bounds.size if caller.owner else min(self.bounds.size, STRANGER_BYTES)
        if stated and stated[0].isdecimal() and int(stated[0]) > largest:
            raise self._too_large()
        body = bytearray()
        try:
            async with asyncio.timeout(self.bounds.seconds):
                while True:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        raise HttpRefusal(400, "bad_request", "the request is incomplete", close=True)
                    body += message.get("body", b"")
                    if len(body) > largest:
                        raise self._too_large()
                    if not message.get("more_body", False):
                        return bytes(body)
        except TimeoutError:
            late = f"the request took longer than {self.bounds.seconds:.0f} seconds to arrive"
            raise HttpRefusal(408, "timeout", late, close=True) from None

    def _too_large(self) -> HttpRefusal:
        hint = f"The limit is {self.bounds.size} bytes (server.max_request_bytes)."
        return HttpRefusal(413, "too_large", "the request is too large", hint, close=True)


HOST_HINT = "Use the address that `llmc serve --http` printed, or allow the host with --allow-host."


class Replay:
    """Replays the body that was already read, then passes on further messages, such as a disconnect."""

    def __init__(self, body: bytes, receive: Receive) -> None:
        self._body: bytes | None = body
        self._receive = receive

    async def __call__(self) -> Message:
        if self._body is None:
            return await self._receive()
        body, self._body = self._body, None
        return {"type": "http.request", "body": body, "more_body": False}


class Sending:
    """Disconnects a client that does not read, since its reply would stay in memory."""

    def __init__(self, scope: Scope, send: Send, guard: Guard) -> None:
        self._scope = scope
        self._send = send
        self._guard = guard

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            message = {**message, "headers": [*message.get("headers", ()), *ALWAYS]}
        try:
            async with asyncio.timeout(self._guard.bounds.seconds):
                await self._send(message)
        except TimeoutError:
            log.info("disconnected", reason="the client does not read", peer=str(self._scope.get("client")))
            self._guard.cut(self._scope)


# Replies must not be cached or interpreted as another content type.
ALWAYS = [(b"cache-control", b"no-store"), (b"x-content-type-options", b"nosniff")]


class Admission:
    """A client is the owner of a token at an address. Health checks are never refused, and neither are the long-lived
    streams of MCP sessions, which cost nothing; `app.McpSessions` limits the number of sessions."""

    def __init__(self, most: int = MOST_REQUESTS, of_client: int = MOST_OF_CLIENT) -> None:
        self._most = most
        self._of_client = of_client
        self._running: Counter[tuple[str, str]] = Counter()

    @contextlib.contextmanager
    def admit(self, scope: Scope, owner: str) -> Iterator[None]:
        """Count the request; `HttpRefusal` at the limit. Call this in the thread of the loop."""
        if scope["path"] in UNLIMITED or (scope["path"] == "/mcp" and scope["method"] == "GET"):
            yield
            return
        client = (owner, str((scope.get("client") or ("",))[0]))
        if self._running[client] >= self._of_client or self._running.total() >= self._most:
            raise HttpRefusal(503, "busy", "too many concurrent requests", "Try again when some of them are answered.")
        self._running[client] += 1
        try:
            yield
        finally:
            self._running[client] -= 1
            if not self._running[client]:
                del self._running[client]
