"""One HTTP exchange with an address that the user configured, with a total limit on time and size.

The timeouts of an HTTP library apply to each read, so a server that sends a byte per second never times out. Here the
exchange runs in its own thread, and the caller stops waiting at the deadline, whatever the server does; the connection
is then closed. Redirects are not followed, and neither proxies nor .netrc are read from the environment. The caller
handles retries and interprets the reply. `outbound` does the same for asyncio clients.
"""

from __future__ import annotations

import contextlib
import threading
import time
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from llmc.base.compute_slots import released

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from contextlib import AbstractContextManager

    import httpx

__all__ = ["Answered", "ExchangeError", "ExchangeSizeError", "ExchangeTimeoutError", "Exchanger"]

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


class Answered(NamedTuple):
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
    ) -> Answered:
        """Read at most `most` bytes of the body, in at most `seconds` in total."""
        deadline = time.monotonic() + seconds
        future: Future[Answered] = Future()
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


def run_request(stream: Callable[..., AbstractContextManager[httpx.Response]], deadline: float, most: int) -> Answered:
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
            return Answered(reply.status_code, bytes(body))
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
