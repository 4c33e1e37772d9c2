"""`llmc serve`: connects stdin and stdout of an MCP client to the daemon, and reconnects if the daemon ends.

There is one thread for each direction and one message per line. While a daemon runs, the relay never replies itself; it
only stores the handshake and the unanswered requests. If the daemon dies, requests are sent again to the
next one, except calls that must not run twice and that the daemon confirmed to have received: they get an error. A
daemon that exited while no request was open is started at the next message.

Standard library only, and little of it: the client waits for this module at its start.
"""

from __future__ import annotations

import json
import os
import select
import threading
from typing import TYPE_CHECKING, Any

from llmc.base.errors import LlmcError
from llmc.base.line_stream import LineBuffer
from llmc.base.protocol import MAX_MESSAGE, RECEIVED, is_repeatable

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable

    Dial = Callable[[], tuple[socket.socket, bytes]]

__all__ = ["Relay"]

CHUNK = 256 * 1024
# A client may close stdin and still wait for replies; one that has exited is detected by its closed stdout.
LAST_REPLIES_SECONDS = 30.0
INTERNAL_ERROR = -32603
RECEIVED_BYTES = RECEIVED.encode()


class RelayedRequest:
    """A request without a reply so far. `received`: a daemon has confirmed it. `attempts` counts the daemons that died
    before it was answered. `replied`: the reply has arrived and must not be requested again."""

    def __init__(self, line: bytes, message: dict[str, Any]) -> None:
        self.line = line
        self.message = message
        self.received = False
        self.attempts = 0
        self.replied = False

    @property
    def may_be_sent_again(self) -> bool:
        """True only once: a request that ended two daemons would end a third."""
        return self.attempts == 0 and (is_repeatable(self.message) or not self.received)


class Relay:
    """Relays one client. `dial` returns a connection that speaks MCP, or raises LlmcError.

    `last_replies_seconds`: how long open replies are awaited after the client closed stdin.
    """

    def __init__(
        self, dial: Dial, source: int = 0, sink: int = 1, *, last_replies_seconds: float = LAST_REPLIES_SECONDS
    ) -> None:
        self._dial = dial
        self._last_replies_seconds = last_replies_seconds
        self._source = source
        self._sink = sink
        self._lock = threading.RLock()
        self._writing = threading.Lock()  # a client that does not read blocks its replies, not its requests
        self._answered = threading.Condition(self._lock)
        self._peer: socket.socket | None = None
        self._open: dict[str, RelayedRequest] = {}
        self._handshake: list[bytes] = []
        self._duplicates: set[str] = set()  # ids whose reply the client already has from an earlier daemon
        self._ending = False

    def run(self) -> int:
        """Relay messages until the client closes stdin."""
        for descriptor in (self._source, self._sink):
            os.set_blocking(descriptor, True)  # another process with the same pipe may have made it non-blocking
        lines = LineBuffer(MAX_MESSAGE)
        while chunk := _read(self._source):
            for line in lines.add(chunk):
                self._forward(line)
        if last := lines.rest():
            self._forward(last)
        self._finish()
        return 0

    # ---- from the client ----

    def _forward(self, line: bytes) -> None:
        if line.isspace():
            return
        message = _parse(line)
        with self._lock:
            self._track(line, message)
            peer = self._peer
            if peer is None:
                self._connect(line, message)
                return
        try:
            peer.sendall(line)
        except OSError:
            self._lost(peer)  # whichever thread notices first sends the line again

    def _track(self, line: bytes, message: dict[str, Any]) -> None:
        method = message.get("method")
        if method == "initialize":
            self._handshake = [line]
        elif method == "notifications/initialized":
            self._handshake.append(line)
        elif method == "notifications/cancelled":
            params = message.get("params")
            self._open.pop(_key(params.get("requestId")) if isinstance(params, dict) else "", None)
        if isinstance(method, str) and message.get("id") is not None:
            self._open[_key(message["id"])] = RelayedRequest(line, message)

    # ---- to the daemon ----

    def _connect(self, line: bytes = b"", message: dict[str, Any] | None = None) -> None:
        """Connect to a daemon and replay the session. `line` is sent too unless the replay contains it."""
        try:
            peer, early = self._dial()
        except LlmcError as error:
            self._give_up(str(error))
            return
        self._peer = peer
        lines = self._replay()
        is_handshake = message is not None and message.get("method") in {"initialize", "notifications/initialized"}
        if line and not is_handshake and (message is None or _key(message.get("id")) not in self._open):
            lines.append(line)
        threading.Thread(target=self._pump, args=(peer, early), name="llmc-relay", daemon=True).start()
        try:
            peer.sendall(b"".join(lines))
        except OSError:
            return  # the pump thread handles the lost connection

    def _replay(self) -> list[bytes]:
        """The handshake, whose reply the client may already have, and all unanswered requests."""
        handshake = _key(_parse(self._handshake[0]).get("id")) if self._handshake else ""
        waiting = self._waiting()
        self._duplicates = {handshake} if handshake and handshake not in waiting else set()
        return [*self._handshake, *(one.line for key, one in waiting.items() if key != handshake)]

    def _waiting(self) -> dict[str, RelayedRequest]:
        return {key: one for key, one in self._open.items() if not one.replied}

    def _lost(self, peer: socket.socket) -> None:
        """Handle a lost connection; called by whichever thread notices it."""
        with self._lock:
            if self._peer is not peer:
                return
            self._peer = None
            peer.close()
            for key, one in self._waiting().items():
                if not one.may_be_sent_again:
                    del self._open[key]
                    self._fail(one, "the daemon died during this call; the call may or may not have taken effect")
                one.attempts += 1
            if self._waiting():
                self._connect()

    def _give_up(self, reason: str) -> None:
        for key, one in self._waiting().items():
            del self._open[key]
            self._fail(one, reason)
        self._answered.notify_all()

    def _fail(self, one: RelayedRequest, reason: str) -> None:
        error = {"jsonrpc": "2.0", "id": one.message["id"], "error": {"code": INTERNAL_ERROR, "message": reason}}
        self._write(json.dumps(error).encode() + b"\n")

    # ---- from the daemon ----

    def _pump(self, peer: socket.socket, early: bytes) -> None:
        lines, chunk = LineBuffer(MAX_MESSAGE), early
        while True:
            for line in lines.add(chunk):
                self._deliver(line)
            try:
                chunk = peer.recv(CHUNK)
            except OSError:
                chunk = b""
            if not chunk:
                break
        if not self._ending:
            self._lost(peer)

    def _deliver(self, line: bytes) -> None:
        if RECEIVED_BYTES in line and self._note_received(_parse(line)):
            return
        message = _parse(line) if b'"id"' in line else {}
        key = _key(message.get("id")) if "method" not in message else ""
        with self._lock:
            if key in self._duplicates:
                self._duplicates.discard(key)
                return
            if key in self._open:
                self._open[key].replied = True
        self._write(line)
        with self._lock:
            if self._open.pop(key, None) is not None:
                self._answered.notify_all()

    def _note_received(self, message: dict[str, Any]) -> bool:
        """Whether this is a confirmation of the daemon, which is not for the client."""
        if message.get("method") != RECEIVED:
            return False
        with self._lock:
            request = self._open.get(_key(message.get("params", {}).get("id")))
            if request is not None:
                request.received = True
        return True

    def _write(self, line: bytes) -> None:
        view = memoryview(line)
        try:
            with self._writing:
                while view:
                    view = view[os.write(self._sink, view) :]
        except OSError:
            os._exit(0)  # the client is gone, so the relay ends

    # ---- the end ----

    def _finish(self) -> None:
        """Wait for open replies while the client can still read them."""
        gone = select.poll()
        gone.register(self._sink, 0)  # poll reports a closed pipe even with no events requested
        waited = 0.0
        with self._lock:
            while self._open and self._peer is not None and waited < self._last_replies_seconds and not gone.poll(0):
                self._answered.wait(0.1)
                waited += 0.1
            self._ending = True
            if self._peer is not None:
                self._peer.close()


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, CHUNK)
    except OSError:
        return b""


def _parse(line: bytes) -> dict[str, Any]:
    """The message, or an empty one: the daemon refuses invalid messages."""
    try:
        message = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return message if isinstance(message, dict) else {}


def _key(identifier: object) -> str:
    """1 and "1" are different ids."""
    return json.dumps(identifier) if isinstance(identifier, int | str) else ""
