"""HTTP requests to addresses that the user configured, with a total limit on time and size.

The timeouts of an HTTP library apply to each read, so a server that sends a byte per second never times out. An
`Exchanger` runs each request in its own thread, and the caller stops waiting at the deadline, whatever the server does;
the connection is then closed. `web_client` applies the same limits to the asyncio clients of pydantic-ai and the MCP
SDK (`httpx2`, imported when a client is created). Redirects are not followed, and neither proxies nor .netrc are read
from the environment. The caller handles retries and interprets the reply.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from urllib.parse import urlsplit

from llmc.base.concurrency import released

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
    from contextlib import AbstractContextManager

    import httpx

__all__ = ["ExchangeError", "ExchangeSizeError", "ExchangeTimeoutError", "Exchanger", "is_plain", "web_client"]

# How often a waiting call checks for cancellation.
POLL_SECONDS: Final = 0.1


class ExchangeError(Exception):
    """The exchange failed; the message gives the reason: a network error, the size, or the time."""

    @property
    def kind(self) -> str:
        """The reason without text that the server may have sent."""
        return str(self).partition(":")[0]


class ExchangeTimeoutError(ExchangeError):
    """The deadline passed."""


class ExchangeSizeError(ExchangeError):
    """The reply exceeds the size limit."""


class HttpReply(NamedTuple):
    status: int
    body: bytes


class Exchanger:
    """Thread-safe. Connections are kept open between exchanges; `transport` is for tests."""

    def __init__(self, headers: Mapping[str, str] | None = None, transport: httpx.BaseTransport | None = None) -> None:
        self._headers = dict(headers or {})
        self._transport = transport
        self._client: httpx.Client | None = None
        self._lock = threading.Lock()

    def exchange(
        self,
        method: str,
        url: str,
        *,
        seconds: float,
        most: int,
        content: bytes | None = None,
        cancelled: Callable[[], bool] = lambda: False,
    ) -> HttpReply:
        """Read at most `most` bytes of the body, in at most `seconds` in total."""
        deadline = time.monotonic() + seconds
        future: Future[HttpReply] = Future()
        client = self._open()
        headers = {"Content-Type": "application/json"} if content is not None else {}
        stream = partial(client.stream, method, url, content=content, headers=headers)
        work = partial(fill, future, partial(run_request, stream, deadline, most))
        threading.Thread(target=work, name="llmc-exchange", daemon=True).start()
        with released():
            while (left := deadline - time.monotonic()) > 0 and not cancelled():
                with contextlib.suppress(FutureTimeoutError):
                    return future.result(min(left, POLL_SECONDS))
        self._drop(client)
        raise ExchangeTimeoutError("cancelled" if left > 0 else f"timed out after {seconds:g} s")

    def close(self) -> None:
        with self._lock:
            client, self._client = self._client, None
        if client is not None:
            client.close()

    def _open(self) -> httpx.Client:
        import httpx  # noqa: PLC0415 - 0.1 s, and rarely needed

        with self._lock:
            if self._client is None:
                self._client = httpx.Client(
                    headers=self._headers, follow_redirects=False, trust_env=False, transport=self._transport
                )
            return self._client

    def _drop(self, client: httpx.Client) -> None:
        """Close the client of an abandoned exchange, whose thread then ends; the next exchange opens a new client."""
        with self._lock:
            if self._client is client:
                self._client = None
        threading.Thread(target=close_quietly, args=(client,), name="llmc-exchange", daemon=True).start()


def run_request(stream: Callable[..., AbstractContextManager[httpx.Response]], deadline: float, most: int) -> HttpReply:
    import httpx  # noqa: PLC0415 - 0.1 s, and rarely needed

    left = max(0.001, deadline - time.monotonic())
    body = bytearray()
    try:
        with stream(timeout=left) as reply:
            for part in reply.iter_bytes():
                body += part
                if len(body) > most:
                    raise ExchangeSizeError(f"the reply is larger than {most:,} bytes")
                if time.monotonic() > deadline:
                    raise ExchangeTimeoutError("timed out")
            return HttpReply(reply.status_code, bytes(body))
    except httpx.TimeoutException:
        raise ExchangeTimeoutError("timed out") from None
    except (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError) as error:
        raise ExchangeError(f"{type(error).__name__}: {error}") from None


def fill(future: Future[Any], act: Callable[[], Any]) -> None:
    try:
        future.set_result(act())
    except BaseException as error:  # noqa: BLE001 - raised again in the waiting thread
        future.set_exception(error)


def close_quietly(client: httpx.Client) -> None:
    """Runs in a thread, since it may wait for a lock that the stuck exchange holds."""
    with contextlib.suppress(Exception):
        client.close()


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
