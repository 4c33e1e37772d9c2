"""Requests to an address that the user configured: a provider's model, a downstream server.

They go there and nowhere else: no redirects, no proxy of the environment, and a cap on what is read and on how long it
takes in all. `httpx2` is what pydantic-ai and the SDK talk with; it is imported when a client is made.
"""

from __future__ import annotations

import asyncio
from functools import lru_cache
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable

__all__ = ["is_plain", "web_client"]


def is_plain(url: str) -> bool:
    """Whether it is an address and nothing more: no other scheme, no name and password in it."""
    parts = urlsplit(url)
    return parts.scheme in {"http", "https"} and bool(parts.hostname) and not (parts.username or parts.password)


def web_client(
    most: int, timeout: Any, *, seconds: float, headers: Any = None, auth: Any = None, events: bool = True
) -> Any:
    """`most` bytes of a reply are read, for at most `seconds` from the request to the last byte; `events`: of a stream
    of events as well, which may never end."""
    import httpx2  # noqa: PLC0415 - 0.1 s, and few need it

    transport = _transport()((most, seconds), events=events, verify=certificates(), trust_env=False)
    return httpx2.AsyncClient(
        headers=headers, timeout=timeout, auth=auth, transport=transport, follow_redirects=False, trust_env=False
    )


@lru_cache(maxsize=1)
def certificates() -> Any:
    """Made once: reading all authorities takes 20 to 100 ms."""
    import httpx2  # noqa: PLC0415 - likewise

    return httpx2.create_ssl_context(trust_env=False)


@lru_cache(maxsize=1)
def _transport() -> Any:
    import httpx2  # noqa: PLC0415 - likewise

    class Counted(httpx2.AsyncByteStream):
        def __init__(self, inner: Any, most: int, deadline: float) -> None:
            self._inner = inner
            self._most = most
            self._deadline = deadline

        async def __aiter__(self) -> AsyncIterator[bytes]:
            size, parts = 0, aiter(self._inner)
            while (part := await within(self._deadline, anext(parts, None))) is not None:
                size += len(part)
                if size > self._most:
                    raise httpx2.ReadError(f"the reply is larger than {self._most >> 20} MB")
                yield part

        async def aclose(self) -> None:
            await self._inner.aclose()

    class Capped(httpx2.AsyncHTTPTransport):
        """Ends a reply that is too long or takes too long."""

        def __init__(self, bounds: tuple[int, float], *, events: bool, **options: Any) -> None:
            super().__init__(**options)
            self._most, self._seconds = bounds
            self._events = events

        async def handle_async_request(self, request: Any) -> Any:
            deadline = asyncio.get_running_loop().time() + self._seconds
            reply = await within(deadline, super().handle_async_request(request))
            if self._events or "event-stream" not in reply.headers.get("content-type", ""):
                reply.stream = Counted(reply.stream, self._most, deadline)
            return reply

    return Capped


async def within(deadline: float, act: Awaitable[Any]) -> Any:
    """A time-out of the client bounds each read; this bounds all of them together."""
    import httpx2  # noqa: PLC0415 - likewise

    try:
        async with asyncio.timeout_at(deadline):
            return await act
    except TimeoutError:
        raise httpx2.ReadTimeout("the whole answer took too long") from None
