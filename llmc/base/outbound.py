"""HTTP clients for addresses that the user configured: a provider's model, a downstream server.

Requests go only to that address: redirects and proxies from the environment are not used. The size of a reply and the
total time are limited. pydantic-ai and the SDK use `httpx2`, which is imported when a client is created.
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
    """Whether the address has the scheme http or https, a host, and no credentials."""
    parts = urlsplit(url)
    return parts.scheme in {"http", "https"} and bool(parts.hostname) and not (parts.username or parts.password)


def web_client(
    most: int, timeout: Any, *, seconds: float, headers: Any = None, auth: Any = None, events: bool = True
) -> Any:
    """A client that reads at most `most` bytes of a reply, within `seconds` from the request to the last byte. With
    `events`, the limits also apply to event streams, which may never end."""
    import httpx2  # noqa: PLC0415 - 0.1 s, and rarely needed

    transport = _transport()((most, seconds), events=events, verify=certificates(), trust_env=False)
    return httpx2.AsyncClient(
        headers=headers, timeout=timeout, auth=auth, transport=transport, follow_redirects=False, trust_env=False
    )


@lru_cache(maxsize=1)
def certificates() -> Any:
    """Created once: loading all certificate authorities takes 20 to 100 ms."""
    import httpx2  # noqa: PLC0415 - 0.1 s, and rarely needed

    return httpx2.create_ssl_context(trust_env=False)


@lru_cache(maxsize=1)
def _transport() -> Any:
    import httpx2  # noqa: PLC0415 - 0.1 s, and rarely needed

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
        """Aborts replies that are too large or too slow."""

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
    """Limit the total time; a timeout of the client applies only to each read."""
    import httpx2  # noqa: PLC0415 - 0.1 s, and rarely needed

    try:
        async with asyncio.timeout_at(deadline):
            return await act
    except TimeoutError:
        raise httpx2.ReadTimeout("the reply took too long") from None
