"""One client of the daemon: its requests, cancellations and replies.

Lives in the loop's thread. A client may have many requests at once, of which a few are worked on while the rest wait
here, so that it cannot keep others from the threads. Nothing waits for a slow reader except the reading of that
client's next request.

A `RunningCall` sends the events of a call and its single answer. The call's thread only uses `_emit`; everything else
runs in the loop. No event is dropped, since some replies are sent as events. When the client does not read, only the
thread of this call waits.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import math
import threading
from collections import deque
from functools import partial
from typing import TYPE_CHECKING, Any

from llmc.base import logs
from llmc.base.errors import DaemonError
from llmc.base.line_stream import next_line
from llmc.base.protocol import MAX_MESSAGE
from llmc.envelope.request import ClientInfo, RunningRequest
from llmc.server.wire import Id, decode, describe, encode_error, encode_event, encode_line, encode_result, failure

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import Future

    from llmc.envelope.request import JsonObject
    from llmc.server.rpc import RpcServer, StreamHandler

__all__ = ["ClientConnection"]

# Bytes of events that may be queued in addition to the socket buffer.
MAX_PENDING = 1 << 20
log = logs.get("rpc")

# Concurrent calls of one client: a quarter of the threads.
FAIR_SHARE = 4
# Queued calls of one client; beyond this, requests (and cancellations) stay in the socket.
MAX_WAITING = 1_000
# Calls with events may run indefinitely; each has a thread.
MAX_WATCHING = 32

_sessions = itertools.count(1)


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


class ClientConnection:
    def __init__(self, server: RpcServer, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, pid: int) -> None:
        self.client = ClientInfo(pid, f"c{next(_sessions)}")
        self._server = server
        self._reader = reader
        self._writer = writer
        self._running: dict[Id, RunningCall] = {}
        self._waiting: deque[tuple[RunningCall, Callable[[], Future[bytes]]]] = deque()
        self._working = 0
        self._watching = 0
        self._free = asyncio.Event()

    async def serve(self) -> None:
        """Serve until the client disconnects, then cancel its running calls."""
        try:
            while (line := await self._line()) is not None:
                message = self._parse(line)
                if message.get("method") == "stream" and await self._stream(message):
                    return
                if message:
                    self._take(message)
                await self._room()
        except ConnectionError:
            pass
        finally:
            self._cancel_all()
            self._writer.close()

    def close(self) -> None:
        """The daemon stops: answer every open call with an error."""
        for running in self._running.values():
            running.refuse("leaving", "the daemon is stopping")
        self._cancel_all()
        self._writer.close()

    def abort(self) -> None:
        self._writer.transport.abort()

    # ---- reading ----

    async def _line(self) -> bytes | None:
        """The next line, or None at the end. A line over the limit is skipped and answered with an error."""
        while True:
            line = await next_line(self._reader, MAX_MESSAGE + 1)  # the line end
            if line is None:
                return None
            if not isinstance(line, bytes):
                self._fail(None, "too_large", "the message is too large", f"the limit is {MAX_MESSAGE} bytes")
            elif not line.isspace():
                return line

    def _parse(self, line: bytes) -> JsonObject:
        """The message, or an empty one when it was invalid and an error was sent."""
        try:
            message = decode(line)
        except ValueError as error:
            self._fail(None, "bad_request", "the message is not JSON", str(error))
            return {}
        if isinstance(message, dict) and message:
            return message
        self._fail(None, "bad_request", "the message is not an object")
        return {}

    async def _room(self) -> None:
        """Wait while this client does not read its replies or has too many calls queued."""
        await self._writer.drain()
        while len(self._waiting) >= MAX_WAITING:
            self._free.clear()
            await self._free.wait()

    # ---- requests ----

    def _take(self, message: JsonObject) -> None:
        if "cancel" in message:
            self._cancel(message["cancel"])
            return
        identifier, method, params = message.get("id"), message.get("method"), message.get("params") or {}
        watched = message.get("events") is True
        if isinstance(identifier, bool) or not isinstance(identifier, int | str):
            self._fail(None, "bad_request", "the request has no id", "it must be a number or a string")
        elif not isinstance(method, str) or not isinstance(params, dict):
            self._fail(
                identifier,
                "bad_request",
                "the request is malformed",
                "`method` must be a string and `params` an object",
            )
        elif identifier in self._running:
            self._fail(identifier, "bad_request", "the id is in use", "a call with this id is running")
        elif method in self._server.instant:
            self._answer_now(identifier, method, params)
        elif watched and self._watching >= MAX_WATCHING:
            self._fail(identifier, "busy", "too many calls with events at once", f"the limit is {MAX_WATCHING}")
        else:
            self._begin(identifier, method, params, watched=watched)

    def _answer_now(self, identifier: Id, method: str, params: JsonObject) -> None:
        if method == "hello":
            self._meet(params)
        try:
            reply = encode_result(identifier, self._server.instant[method](params, self.client))
        except Exception as error:  # noqa: BLE001 - it is the reply
            reply = encode_error(identifier, describe(error, ""))
        self._send(reply)

    def _meet(self, params: JsonObject) -> None:
        known = self.client
        self.client = ClientInfo(
            pid=known.pid,
            session=_text(params, "session", known.session),
            cwd=_text(params, "cwd", "/"),
            environ=_texts(params, "environ"),
            flags=tuple(_texts(params, "flags")),
            config=_text(params, "config", ""),
            version=_text(params, "version", ""),
        )

    def _begin(self, identifier: Id, method: str, params: JsonObject, *, watched: bool) -> None:
        running = RunningCall(identifier, self.client, self._writer, watched=watched)
        self._running[identifier] = running
        submit = partial(self._server.submit, identifier, method, params, running.call, watched=watched)
        if watched:
            self._watching += 1
            running.begin(submit, self._finish)
        else:
            self._waiting.append((running, submit))
            self._work_on()

    def _work_on(self) -> None:
        while self._waiting and self._working < FAIR_SHARE:
            running, submit = self._waiting.popleft()
            if running.call.cancelled:
                self._running.pop(running.identifier)
            else:
                self._working += 1
                running.begin(submit, self._finish)
        self._free.set()

    def _finish(self, running: RunningCall) -> None:
        running.complete()
        del self._running[running.identifier]
        if running.watched:
            self._watching -= 1
        else:
            self._working -= 1
            self._work_on()
        self._server.finished(watched=running.watched)

    def _cancel(self, identifier: Any) -> None:
        running = self._running.get(identifier) if isinstance(identifier, int | str) else None
        if running is not None:
            running.refuse("cancelled", "the call was cancelled")
            running.cancel()

    def _cancel_all(self) -> None:
        for running in list(self._running.values()):
            running.cancel()

    # ---- streams ----

    async def _stream(self, message: JsonObject) -> bool:
        """Hand the connection over to a stream handler; False when there is none for this kind."""
        kind = message.pop("kind", None)
        message.clear()
        try:
            handler = await self._find_stream(kind)
        except Exception as error:  # noqa: BLE001 - it is the reply
            self._send(encode_error(None, describe(error, "")))
            return False
        self._send(encode_line({"stream": kind}))
        try:
            await handler(self._reader, self._writer, self.client)
        except Exception:
            log.exception("stream failed", kind=kind)
        return True

    async def _find_stream(self, kind: Any) -> StreamHandler:
        if self._running:
            raise DaemonError("cannot start the stream", reason="calls are running")
        handler = await self._server.stream(kind) if self._server.stream and isinstance(kind, str) else None
        if handler is None:
            raise DaemonError("cannot start the stream", reason=f"unknown kind {kind!r}")
        return handler

    def _fail(self, identifier: Id, code: str, message: str, reason: str = "") -> None:
        self._send(encode_error(identifier, failure(code, message, reason)))

    def _send(self, line: bytes) -> None:
        if not self._writer.is_closing():
            self._writer.write(line)


def _text(params: JsonObject, name: str, default: str) -> str:
    value = params.get(name)
    return value if isinstance(value, str) and value else default


def _texts(params: JsonObject, name: str) -> dict[str, str]:
    """A table of strings; the items of a list become its keys."""
    value = params.get(name)
    pairs = value.items() if isinstance(value, dict) else ((each, "") for each in value or ())
    return {key: text for key, text in pairs if isinstance(key, str) and isinstance(text, str)}
