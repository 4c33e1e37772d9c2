"""Checks every request first: exact Host and Origin, a token or (for the page) a cookie, body size and timeouts.

It wraps the whole application, so no route can be missed. The body is read here, after the token is verified: strangers
cannot make the server store data, and the application never waits for a slow sender. There are no CORS headers, so
browsers do not let other pages read a reply.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from llmc.base import logs
from llmc.server.http.admission import Admission
from llmc.server.http.refusals import HttpRefusal, refuse

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from llmc.server.http.address import Address
    from llmc.server.http.logins import Logins
    from llmc.server.http.token import Token

__all__ = ["HEAD_BYTES", "OWNER", "Bounds", "Guard"]

log = logs.get("http")

OWNER = "llmc.owner"  # in the scope: whose token it was


# The largest body of a login request.
STRANGER_BYTES = 4 << 10
# Path and headers together; more than cookies and tokens of other servers need.
HEAD_BYTES = 32 << 10


@dataclass(frozen=True, slots=True)
class Bounds:
    """The largest body, and the timeout for receiving it and for sending each part of a reply."""

    size: int
    seconds: float


class Guard:
    """`cut` closes the connection of a request at once; the server sets it later."""

    def __init__(self, app: ASGIApp, address: Address, token: Token, logins: Logins, bounds: Bounds) -> None:
        self.cut: Callable[[Scope], None] = lambda _: None
        self._app = app
        self._address = address
        self._token = token
        self._logins = logins
        self.bounds = bounds
        self._admission = Admission()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        try:
            scope[OWNER] = self._admit(scope)
            body = await self._body(scope, receive)
            with self._admission.admit(scope, scope[OWNER]):
                await self._app(scope, Replay(body, receive), Sending(scope, send, self))
        except HttpRefusal as refusal:
            log.info("refused", status=refusal.status, code=refusal.error["code"], peer=str(scope.get("client")))
            await refuse(send, refusal)

    def _admit(self, scope: Scope) -> str:
        headers = scope["headers"]
        if len(scope["raw_path"]) + sum(len(name) + len(value) for name, value in headers) > HEAD_BYTES:
            raise HttpRefusal(431, "too_large", "request headers too large", close=True)
        local = str((scope.get("server") or ("",))[0])
        hosts = values(headers, b"host")
        if len(hosts) != 1 or not self._address.is_ours(hosts[0], local):
            raise HttpRefusal(421, "host", "unknown Host header", HOST_HINT, close=True)
        origins = values(headers, b"origin")
        if len(origins) > 1 or not all(self._address.is_our_origin(origin, local) for origin in origins):
            raise HttpRefusal(403, "origin", "cross-origin requests are not allowed", close=True)
        presented = values(headers, b"authorization")
        owner = self._owner(presented) if presented else self._logins.admit(scope)
        if owner is None:
            raise HttpRefusal(401, "token", "the token is missing or wrong", TOKEN_HINT, close=True)
        return owner

    def _owner(self, presented: list[str]) -> str | None:
        scheme, _, token = (presented[0] if len(presented) == 1 else "").partition(" ")
        return self._token.owner(token.strip() if scheme.lower() == "bearer" else "")

    async def _body(self, scope: Scope, receive: Receive) -> bytes:
        stated = values(scope["headers"], b"content-length")
        largest = self.bounds.size if scope[OWNER] else min(self.bounds.size, STRANGER_BYTES)
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
TOKEN_HINT = "Send `Authorization: Bearer TOKEN`; `llmc token show` prints it."  # noqa: S105 - a sentence


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


def values(headers: Any, name: bytes) -> list[str]:
    return [value.decode("latin-1") for key, value in headers if key == name]
