"""`llmc serve`: stdin and stdout of an MCP client, joined to the daemon, and joined again when the daemon goes.

One thread for each direction, one line a message. The relay answers nothing itself while there is a daemon; it only
keeps what a second daemon would have to be told (the handshake) and what is still unanswered. When the daemon dies,
calls that may be made twice are made again, once, and the others are answered with an error. A daemon that left while
nobody waited is not started before the next message.

Standard library only, and little of it: this is what a client's start waits for.
"""

from __future__ import annotations

import json
import os
import select
import threading
from typing import TYPE_CHECKING, Any

from llmc.base.errors import LlmcError
from llmc.base.protocol import MAX_MESSAGE

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable

    Dial = Callable[[], tuple[socket.socket, bytes]]

__all__ = ["REPEATABLE", "Relay"]

CHUNK = 256 * 1024
# Calls that do no harm when made twice; a test holds this against the tools' own word.
REPEATABLE = frozenset({"search", "grep", "read", "find", "outline", "refs", "history", "context", "tree"})
# A client that pipes its questions and closes waits for the answers; one that is gone is noticed by its closed pipe.
LAST_REPLIES_SECONDS = 30.0
INTERNAL_ERROR = -32603


class LineBuffer:
    """Bytes as they come, lines as they are meant. One that grows beyond all limits is passed on in pieces: refusing it
    is the daemon's business."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._size = 0

    def add(self, chunk: bytes) -> list[bytes]:
        *lines, rest = chunk.split(b"\n")
        found = [line + b"\n" for line in lines]
        if found:
            found[0] = self.rest() + found[0]
        if rest:
            self._parts.append(rest)
            self._size += len(rest)
        if self._size > MAX_MESSAGE:
            found.append(self.rest())
        return found

    def rest(self) -> bytes:
        rest, self._parts, self._size = b"".join(self._parts), [], 0
        return rest


class RelayedRequest:
    """A question whose answer is not written yet; `heard`: it has come, and must not come twice."""

    def __init__(self, line: bytes, message: dict[str, Any]) -> None:
        self.line = line
        self.message = message
        self.again = False
        self.heard = False

    @property
    def repeatable(self) -> bool:
        if self.message.get("method") != "tools/call":
            return True
        params = self.message.get("params")
        params = params if isinstance(params, dict) else {}
        name, arguments = params.get("name"), params.get("arguments")
        if name == "llmc" and isinstance(arguments, dict):
            return not arguments.get("args") or arguments.get("name") in REPEATABLE
        return name in REPEATABLE


class Relay:
    """`dial` gives a connection that speaks MCP, or raises LlmcError. Used once."""

    def __init__(self, dial: Dial, source: int = 0, sink: int = 1) -> None:
        self._dial = dial
        self._source = source
        self._sink = sink
        self._lock = threading.RLock()
        self._writing = threading.Lock()  # a client that does not read holds up its replies, not its questions
        self._answered = threading.Condition(self._lock)
        self._peer: socket.socket | None = None
        self._open: dict[str, RelayedRequest] = {}
        self._handshake: list[bytes] = []
        self._unheard: set[str] = set()  # ids whose reply the client has had from an earlier daemon
        self._ending = False

    def run(self) -> int:
        """Until the client closes its end."""
        for descriptor in (self._source, self._sink):
            os.set_blocking(descriptor, True)  # whoever else holds the other end may have said otherwise
        lines = LineBuffer()
        while chunk := _read(self._source):
            for line in lines.add(chunk):
                self._take(line)
        if last := lines.rest():
            self._take(last)
        self._finish()
        return 0

    # ---- from the client ----

    def _take(self, line: bytes) -> None:
        if line.isspace():
            return
        message = _parsed(line)
        with self._lock:
            self._note(line, message)
            peer = self._peer
            if peer is None:
                self._connect(line, message)
                return
        try:
            peer.sendall(line)
        except OSError:
            self._lost(peer)  # the other thread may have noticed first; whoever did has sent it again

    def _note(self, line: bytes, message: dict[str, Any]) -> None:
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
        """A daemon that knows what the last one did. `line` is sent unless it is among that anyway."""
        try:
            peer, early = self._dial()
        except LlmcError as error:
            self._give_up(str(error))
            return
        self._peer = peer
        lines = self._resumed()
        known = message is not None and message.get("method") in {"initialize", "notifications/initialized"}
        if line and not known and (message is None or _key(message.get("id")) not in self._open):
            lines.append(line)
        threading.Thread(target=self._pump, args=(peer, early), name="llmc-relay", daemon=True).start()
        try:
            peer.sendall(b"".join(lines))
        except OSError:
            return  # the pump sees the end, too

    def _resumed(self) -> list[bytes]:
        """The handshake, whose reply the client may have had, and everything that waits."""
        begun = _key(_parsed(self._handshake[0]).get("id")) if self._handshake else ""
        waiting = self._waiting()
        self._unheard = {begun} if begun and begun not in waiting else set()
        return [*self._handshake, *(one.line for key, one in waiting.items() if key != begun)]

    def _waiting(self) -> dict[str, RelayedRequest]:
        return {key: one for key, one in self._open.items() if not one.heard}

    def _lost(self, peer: socket.socket) -> None:
        """The daemon went away; called by whoever notices."""
        with self._lock:
            if self._peer is not peer:
                return
            self._peer = None
            peer.close()
            for key, one in self._waiting().items():
                if one.again or not one.repeatable:
                    del self._open[key]
                    self._fail(one, "the daemon died while it worked on this; it may or may not have been done")
                one.again = True
            if self._waiting():
                self._connect()

    def _give_up(self, why: str) -> None:
        for key, one in self._waiting().items():
            del self._open[key]
            self._fail(one, why)
        self._answered.notify_all()

    def _fail(self, one: RelayedRequest, why: str) -> None:
        error = {"jsonrpc": "2.0", "id": one.message["id"], "error": {"code": INTERNAL_ERROR, "message": why}}
        self._write(json.dumps(error).encode() + b"\n")

    # ---- from the daemon ----

    def _pump(self, peer: socket.socket, early: bytes) -> None:
        lines, chunk = LineBuffer(), early
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
        message = _parsed(line) if b'"id"' in line else {}
        key = _key(message.get("id")) if "method" not in message else ""
        with self._lock:
            if key in self._unheard:
                self._unheard.discard(key)
                return
            if key in self._open:
                self._open[key].heard = True
        self._write(line)
        with self._lock:
            if self._open.pop(key, None) is not None:
                self._answered.notify_all()

    def _write(self, line: bytes) -> None:
        view = memoryview(line)
        try:
            with self._writing:
                while view:
                    view = view[os.write(self._sink, view) :]
        except OSError:
            os._exit(0)  # the client has gone, and nothing here outlives it

    # ---- the end ----

    def _finish(self) -> None:
        """Answers that are under way are worth waiting for while somebody could read them."""
        gone = select.poll()
        gone.register(self._sink, 0)  # the kernel reports a closed pipe unasked
        waited = 0.0
        with self._lock:
            while self._open and self._peer is not None and waited < LAST_REPLIES_SECONDS and not gone.poll(0):
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


def _parsed(line: bytes) -> dict[str, Any]:
    """The message, or an empty one: what is broken is for the daemon to refuse."""
    try:
        message = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return message if isinstance(message, dict) else {}


def _key(identifier: object) -> str:
    """1 and "1" are different ids."""
    return json.dumps(identifier) if isinstance(identifier, int | str) else ""
