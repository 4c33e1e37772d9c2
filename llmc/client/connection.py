"""The client's end of a connection to the daemon: one call at a time, or a stream of bytes.

`daemon_client` decides which daemon to connect to and whether to start one. Standard library only.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import struct
import sys
from typing import TYPE_CHECKING, Any

from llmc.base.errors import DaemonError, DaemonGoneError, error_from_fields
from llmc.base.protocol import MAX_MESSAGE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import TracebackType
    from typing import Self

    from llmc.base.home import Home

    OnEvent = Callable[[dict[str, Any]], None]

__all__ = ["ConnectionLostError", "DaemonConnection", "dial", "last_output", "log_hint"]

CHUNK = 256 * 1024
OUTPUT_LINES = 6  # lines of the daemon's output in an error message


class ConnectionLostError(DaemonGoneError):
    """The daemon closed the connection; reported to the user as a DaemonGoneError."""


class DaemonConnection:
    """Carries one call at a time. Closing it cancels the current call."""

    def __init__(self, home: Home, peer: socket.socket) -> None:
        self.hello: dict[str, Any] = {}
        self._home = home
        self._peer = peer
        self._buffer = bytearray()
        self._last_id = 0

    def call(
        self,
        method: str,
        params: dict[str, Any] | None = None,
        *,
        on_event: OnEvent | None = None,
        timeout: float | None = None,
    ) -> Any:
        """Return the result, or raise the daemon's error. `timeout` limits the time between messages."""
        self._last_id += 1
        request = {"id": self._last_id, "method": method, "params": params or {}, "events": on_event is not None}
        self._peer.settimeout(timeout)
        with self._errors_reported():
            self._send(request)
        while True:
            with self._errors_reported():
                reply = self._receive()
                if "bytes" in reply:
                    reply = {**reply, "event": {"bytes": self._receive_bytes(reply["bytes"])}}
            if reply.get("id") not in (self._last_id, None):
                continue  # a late message of an abandoned call
            if on_event is not None and "event" in reply:
                on_event(reply["event"])  # its own errors, such as a closed stdout, are not the connection's
            elif "error" in reply:
                raise error_from_fields(reply["error"])
            elif "result" in reply:
                return reply["result"]

    @contextlib.contextmanager
    def _errors_reported(self) -> Iterator[None]:
        try:
            yield
        except TimeoutError:
            raise DaemonGoneError(
                "the daemon does not respond", reason=self._describe(), hint=log_hint(self._home)
            ) from None
        except OSError as error:
            raise self._gone(str(error)) from None

    def stream(self, kind: str) -> tuple[socket.socket, bytes]:
        """Turn the connection into a byte stream for the named handler.

        Returns the socket, which the caller now owns, and the bytes that were already received.
        """
        self._peer.settimeout(None)  # a daemon that has just started opens its index first
        try:
            self._send({"method": "stream", "kind": kind})
            reply = self._receive()
        except OSError as error:
            raise self._gone(str(error)) from None
        if "error" in reply:
            raise error_from_fields(reply["error"])
        return self._peer, bytes(self._buffer)

    def wait_for_end(self, timeout: float) -> None:
        """Wait until the daemon closes the connection."""
        self._peer.settimeout(timeout)
        try:
            while self._peer.recv(CHUNK):
                pass
        except OSError:
            pass

    def close(self) -> None:
        self._peer.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _send(self, message: dict[str, Any]) -> None:
        line = json.dumps(message).encode() + b"\n"
        if len(line) > MAX_MESSAGE:
            raise DaemonError("the request is too large", reason=f"{len(line)} bytes, the limit is {MAX_MESSAGE}")
        self._peer.sendall(line)

    def _receive(self) -> dict[str, Any]:
        searched = 0
        while (end := self._buffer.find(b"\n", searched)) < 0:
            searched = len(self._buffer)
            chunk = self._peer.recv(CHUNK)
            if not chunk:
                raise self._gone("it closed the connection")
            self._buffer += chunk
        line = bytes(self._buffer[:end])
        del self._buffer[: end + 1]
        reply: dict[str, Any] = json.loads(line)
        return reply

    def _receive_bytes(self, count: int) -> bytes:
        parts = [bytes(self._buffer[:count])]
        del self._buffer[:count]
        left = count - len(parts[0])
        while left:
            chunk = self._peer.recv(min(left, CHUNK))
            if not chunk:
                raise self._gone("it closed the connection")
            parts.append(chunk)
            left -= len(chunk)
        return b"".join(parts)

    def _describe(self) -> str:
        return f"pid {self.hello.get('pid', '?')}, llmc {self.hello.get('version', '?')}"

    def _gone(self, reason: str) -> ConnectionLostError:
        output = last_output(self._home)
        return ConnectionLostError(
            f"lost the connection to the daemon ({self._describe()})",
            reason=f"{reason}\n{output}" if output else reason,
            hint=log_hint(self._home),
            log=self._home.log,
        )


def dial(home: Home) -> socket.socket | None:
    """A socket connected to a daemon of this user, or None if nothing listens."""
    peer = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        peer.connect(home.socket)
        owner = _uid_of(peer)
    except (FileNotFoundError, ConnectionError):
        peer.close()
        return None
    except OSError as error:
        peer.close()
        hint = "Set LLMC_HOME to a folder of your own, or use --no-daemon."
        raise DaemonError(f"cannot connect to {home.socket}", reason=error.strerror or str(error), hint=hint) from error
    if owner != os.getuid():
        peer.close()
        raise DaemonError(
            f"refusing to use {home.socket}",
            reason="a process of another user listens there",
            hint="Set LLMC_HOME to a folder of your own.",
        )
    return peer


def last_output(home: Home) -> str:
    """The daemon's last output before it ended: its crash report if there is one, else the end of its log."""
    from llmc.base.logs import tail  # noqa: PLC0415 - only needed for errors

    output = tail(home.output, 500)
    crashes = [number for number, line in enumerate(output) if line.startswith("Fatal Python error")]
    if crashes:
        return "\n".join(output[crashes[-1] :][:OUTPUT_LINES])
    return "\n".join(output[-OUTPUT_LINES:] or tail(home.log, OUTPUT_LINES))


def log_hint(home: Home) -> str:
    return f"See the log {home.log}, or run `llmc doctor`."


def _uid_of(peer: socket.socket) -> int:
    if sys.platform == "darwin":
        _, uid = struct.unpack_from("=II", peer.getsockopt(0, 1, 76))  # LOCAL_PEERCRED: struct xucred
    else:
        _, uid, _ = struct.unpack("3i", peer.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
    return int(uid)
