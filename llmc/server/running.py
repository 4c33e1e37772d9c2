"""A call that is under way: its events on their way to the client, and its one answer.

The call's own thread only ever enters through `emit` and `soon`; all else happens in the loop. A client that does not
read loses the oldest events, since the newest say how far it is; its answers are kept.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from typing import TYPE_CHECKING

from llmc.server.calls import Call
from llmc.server.wire import Id, encode_error, encode_event, failure

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import Future

    from llmc.server.calls import Client, JsonObject

__all__ = ["Running"]

MAX_EVENTS = 1_000
# Bytes that may wait in the socket before events are held back.
HIGH_WATER = 256 * 1024
RETRY_SECONDS = 0.1


class Running:
    def __init__(self, identifier: Id, client: Client, writer: asyncio.StreamWriter, *, watched: bool) -> None:
        self.identifier = identifier
        self.watched = watched
        self.call = Call(client, self._emit if watched else None)
        self._writer = writer
        self._loop = asyncio.get_running_loop()
        self._future: Future[bytes] | None = None
        self._events: deque[bytes] = deque(maxlen=MAX_EVENTS)
        self._scheduled = False
        self._answered = False

    def begin(self, submit: Callable[[], Future[bytes]], finish: Callable[[Running], None]) -> None:
        """Give it a thread; `finish` is called in the loop when that is done with it."""
        self._future = submit()
        self._future.add_done_callback(lambda _: self._soon(finish))

    def complete(self) -> None:
        """Send what its thread came to, unless it was answered before."""
        future = self._future
        if self._answered or future is None or future.cancelled():
            return
        self._send_events()
        self._answered = True
        self._send(future.result())

    def refuse(self, code: str, message: str) -> None:
        """Answer at once: its thread may need a while to notice, and what it comes to is dropped."""
        if not self._answered:
            self._answered = True
            self._send(encode_error(self.identifier, failure(code, message)))

    def cancel(self) -> None:
        self._answered = True
        self.call.cancel()
        if self._future is not None:
            self._future.cancel()

    def _emit(self, event: JsonObject) -> None:
        """In the call's thread."""
        self._events.append(encode_event(self.identifier, event))
        if not self._scheduled:
            self._scheduled = True
            self._soon(Running._flush)

    def _flush(self) -> None:
        self._scheduled = False
        if self._answered:
            return
        if self._writer.transport.get_write_buffer_size() > HIGH_WATER:
            self._scheduled = True
            self._loop.call_later(RETRY_SECONDS, self._flush)
        else:
            self._send_events()

    def _send_events(self) -> None:
        while self._events:
            self._send(self._events.popleft())

    def _send(self, line: bytes) -> None:
        if not self._writer.is_closing():
            self._writer.write(line)

    def _soon(self, act: Callable[[Running], None]) -> None:
        with contextlib.suppress(RuntimeError):  # the loop has ended, and with it every client
            self._loop.call_soon_threadsafe(act, self)
