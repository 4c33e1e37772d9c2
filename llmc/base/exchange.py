"""One HTTP exchange with an address that the user configured, bounded in time and size as a whole.

The time-outs of an HTTP library bound each read, so that a server which sends a byte a second is never done. Here the
exchange runs in a thread of its own and whoever waits for it gives up at the deadline, whatever the server does; the
connection is closed then. No redirects are followed and neither proxies nor .netrc are read from the environment.
Retries, and what an answer means, are the caller's. `server.outbound` is the same for clients that need asyncio.
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

# How soon a cancelled call stops waiting.
LOOK_SECONDS: Final = 0.1


class ExchangeError(Exception):
    """Why there is no answer, in a few words: a network error, a size, a time."""

    @property
    def kind(self) -> str:
        """Without what a server may have written."""
        return str(self).partition(":")[0]


class ExchangeTimeoutError(ExchangeError):
    """The deadline passed."""


class ExchangeSizeError(ExchangeError):
    """The answer is larger than it may be."""


class Answered(NamedTuple):
    status: int
    body: bytes


class Exchanger:
    """For any number of threads. Connections are kept open between exchanges; `transport` is for tests."""

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
        """At most `most` bytes of a body, after at most `seconds` in all."""
        deadline = time.monotonic() + seconds
        future: Future[Answered] = Future()
        client = self._open()
        headers = {"Content-Type": "application/json"} if content is not None else {}
        stream = partial(client.stream, method, url, content=content, headers=headers)
        work = partial(fill, future, partial(ask, stream, deadline, most))
        threading.Thread(target=work, name="llmc-exchange", daemon=True).start()
        with released():
            while (left := deadline - time.monotonic()) > 0 and not cancelled():
                with contextlib.suppress(FutureTimeoutError):
                    return future.result(min(left, LOOK_SECONDS))
        self._drop(client)
        raise ExchangeTimeoutError("it was cancelled" if left > 0 else f"it did not answer within {seconds:g} s")

    def close(self) -> None:
        with self._lock:
            client, self._client = self._client, None
        if client is not None:
            client.close()

    def _open(self) -> httpx.Client:
        import httpx  # noqa: PLC0415 - 0.1 s, and few need it

        with self._lock:
            if self._client is None:
                self._client = httpx.Client(
                    headers=self._headers, follow_redirects=False, trust_env=False, transport=self._transport
                )
            return self._client

    def _drop(self, client: httpx.Client) -> None:
        """The next exchange opens another; the thread of this one ends with its connection."""
        with self._lock:
            if self._client is client:
                self._client = None
        threading.Thread(target=close_quietly, args=(client,), name="llmc-exchange", daemon=True).start()


def ask(stream: Callable[..., AbstractContextManager[httpx.Response]], deadline: float, most: int) -> Answered:
    import httpx  # noqa: PLC0415 - likewise

    left = max(0.001, deadline - time.monotonic())
    body = bytearray()
    try:
        with stream(timeout=left) as reply:
            for part in reply.iter_bytes():
                body += part
                if len(body) > most:
                    raise ExchangeSizeError(f"its answer is larger than {most:,} bytes")
                if time.monotonic() > deadline:
                    raise ExchangeTimeoutError("it did not answer in time")
            return Answered(reply.status_code, bytes(body))
    except httpx.TimeoutException:
        raise ExchangeTimeoutError("it did not answer in time") from None
    except (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError) as error:
        raise ExchangeError(f"{type(error).__name__}: {error}") from None


def fill(future: Future[Any], act: Callable[[], Any]) -> None:
    try:
        future.set_result(act())
    except BaseException as error:  # noqa: BLE001 - raised again where it is waited for
        future.set_exception(error)


def close_quietly(client: httpx.Client) -> None:
    """In a thread: it may wait for a lock that the stuck exchange holds."""
    with contextlib.suppress(Exception):
        client.close()
