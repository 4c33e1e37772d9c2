"""A running call: sends its events and its single answer to the client.

The call's thread only uses `_emit`; everything else runs in the loop. No event is dropped, since some replies are sent
as events. When the client does not read, only the thread of this call waits.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import threading
from collections import deque
from typing import TYPE_CHECKING

from llmc.envelope.request import RunningRequest
from llmc.server.wire import Id, encode_error, encode_event, failure

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import Future

    from llmc.envelope.request import ClientInfo, JsonObject

__all__ = ["RunningCall"]

# Bytes of events that may be queued in addition to the socket buffer.
MAX_PENDING = 1 << 20


class RunningCall:
    def __init__(self, identifier: Id, client: ClientInfo, writer: asyncio.StreamWriter, *, watched: bool) -> None:
        self.identifier = identifier
        self.watched = watched
        self.call = RunningRequest(client, self._emit, seconds=math.inf) if watched else RunningRequest(client)
        self._writer = writer
        self._loop = asyncio.get_running_loop()
        self._future: Future[bytes] | None = None
        self._answered = False
        self._room = threading.Condition()
        self._events: deque[bytes] = deque()
        self._pending = 0
        self._pump: asyncio.Task[None] | None = None
        self._pumping = False

    def begin(self, submit: Callable[[], Future[bytes]], finish: Callable[[RunningCall], None]) -> None:
        """Submit the call to a thread; `finish` is called in the loop when it ends."""
        self._future = submit()
        self._future.add_done_callback(lambda _: self._soon(finish))

    def complete(self) -> None:
        """Send the result, unless the call was already answered."""
        future = self._future
        if self._answered or future is None or future.cancelled():
            return
        while (line := self._next_event()) is not None:
            self._send(line)
        self._answered = True
        self._send(future.result())

    def refuse(self, code: str, message: str) -> None:
        """Answer with an error at once; the result of its thread is discarded."""
        if not self._answered:
            self._answered = True
            self._send(encode_error(self.identifier, failure(code, message)))

    def cancel(self) -> None:
        self._answered = True
        self.call.cancel()
        if self._future is not None:
            self._future.cancel()
        with self._room:
            self._room.notify_all()

    def _emit(self, event: JsonObject) -> None:
        """Queue an event; called in the call's thread."""
        line = encode_event(self.identifier, event)
        with self._room:
            self._room.wait_for(lambda: self._pending < MAX_PENDING or self.call.cancelled)
            if self.call.cancelled:
                return
            self._events.append(line)
            self._pending += len(line)
            begin, self._pumping = not self._pumping, True
        if begin:
            self._soon(RunningCall._start_pump)

    def _start_pump(self) -> None:
        self._pump = self._loop.create_task(self._send_events())

    async def _send_events(self) -> None:
        with contextlib.suppress(ConnectionError):  # the client disconnected; the connection cancels the call
            while (line := self._next_event()) is not None:
                self._send(line)
                await self._writer.drain()

    def _next_event(self) -> bytes | None:
        with self._room:
            if self._answered or not self._events:
                self._pumping = False
                return None
            line = self._events.popleft()
            self._pending -= len(line)
            self._room.notify()
        return line

    def _send(self, line: bytes) -> None:
        if not self._writer.is_closing():
            self._writer.write(line)

    def _soon(self, act: Callable[[RunningCall], None]) -> None:
        with contextlib.suppress(RuntimeError):  # the loop has ended
            self._loop.call_soon_threadsafe(act, self)
