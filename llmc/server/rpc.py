"""The daemon's end of the socket: many clients with concurrent requests that do not block each other.

An asyncio loop reads and writes; calls run in threads, so the loop never waits for work. Requests with events (a build,
a live view) may last for hours and have their own threads; all others share a small pool. `client_connection` handles
one client, `wire` encodes messages, a `Handler` does the work, and `daemon` decides when to stop.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import struct
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from llmc.base import logs
from llmc.base.errors import DaemonError
from llmc.base.protocol import MAX_MESSAGE
from llmc.server.call_threads import CallInterrupted, CallThreads
from llmc.server.client_connection import ClientConnection
from llmc.server.wire import Id, describe, encode_error, encode_result, failure

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping
    from concurrent.futures import Future

    from llmc.base.errors import LlmcError
    from llmc.envelope.request import ClientInfo, JsonObject, RunningRequest

    Instant = Callable[[JsonObject, ClientInfo], object]
    Work = Callable[[str, JsonObject, RunningRequest], object]
    StreamHandler = Callable[[asyncio.StreamReader, asyncio.StreamWriter, ClientInfo], Awaitable[None]]
    FindStream = Callable[[str], Awaitable[StreamHandler | None]]

__all__ = ["RpcServer"]

log = logs.get("rpc")

# Queries wait for the disk and the watcher, so more threads than cores; the GIL makes many more useless.
WORKERS = 16
# One per client that receives events; a waiting thread costs about 50 KB.
WATCHERS = 256
BACKLOG = 1024
# How long a client that does not read may delay the exit; its last replies are then lost.
CLOSING_SECONDS = 1.0


class RpcServer:
    """Listens on one unix socket. `instant` methods are answered in the loop itself and must not wait."""

    def __init__(
        self,
        work: Work,
        *,
        instant: Mapping[str, Instant] | None = None,
        stream: FindStream | None = None,
        on_change: Callable[[], None] = lambda: None,
        log_path: str = "",
    ) -> None:
        self.instant = dict(instant or {})
        self.stream = stream
        self.connections: set[ClientConnection] = set()
        self.calls = 0
        self.quiet = asyncio.Event()  # set while no call without events is running
        self.quiet.set()
        self._work = work
        self._on_change = on_change
        self._log_path = log_path
        self._working = 0
        self._tasks: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None
        self._socket: ListeningSocket | None = None
        self._workers = CallThreads(WORKERS, "llmc-call")
        self._watchers = CallThreads(WATCHERS, "llmc-watch")

    async def listen(self, path: str) -> None:
        """Listen at `path`, replacing an existing socket; only the holder of the daemon's lock may call this."""
        self._socket = ListeningSocket(path)
        self._server = await asyncio.start_unix_server(
            self._accept, sock=self._socket.socket, limit=MAX_MESSAGE, backlog=BACKLOG
        )

    def is_reachable(self) -> bool:
        return self._socket is not None and self._socket.is_there()

    def stop_listening(self) -> None:
        if self._server is not None and self._socket is not None:
            self._socket.remove()
            self._server.close()
            self._server = self._socket = None

    async def close(self) -> None:
        """Close every connection and cancel its calls; queued calls never run."""
        self.stop_listening()
        for connection in list(self.connections):
            connection.close()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=CLOSING_SECONDS)
        for connection in list(self.connections):
            connection.abort()
        self._workers.shutdown()
        self._watchers.shutdown()

    def submit(
        self, identifier: Id, method: str, params: JsonObject, call: RunningRequest, *, watched: bool
    ) -> Future[bytes]:
        """Run a call in a thread; the future holds the encoded reply and never an exception."""
        self.calls += 1
        answer = partial(self._answer, identifier, method, params, call)
        failed = partial(self._failed, identifier)
        if watched:
            return self._watchers.submit_call(answer, call, failed)
        self._working += 1
        self.quiet.clear()
        # `status` explains why other calls wait, so it is not queued with them.
        return (self._watchers if method == "status" else self._workers).submit_call(answer, call, failed)

    def finished(self, *, watched: bool) -> None:
        """A call that `submit` began has ended; called in the loop."""
        self.calls -= 1
        self._working -= not watched
        if self._working == 0:
            self.quiet.set()

    def _answer(self, identifier: Id, method: str, params: JsonObject, call: RunningRequest) -> bytes:
        if call.cancelled:
            return encode_error(identifier, failure("cancelled", "the call was cancelled"))
        try:
            return encode_result(identifier, self._work(method, params, call))
        except CallInterrupted:  # already answered
            raise
        except BaseException as error:  # any exception becomes the reply; the daemon continues
            reply = describe(error, self._log_path)
            if reply["code"] == "internal":
                log.exception("call failed", method=method)
            return encode_error(identifier, reply)

    def _failed(self, identifier: Id, error: LlmcError) -> bytes:
        return encode_error(identifier, describe(error, self._log_path))

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        pid, uid = peer_of(writer.get_extra_info("socket"))
        if uid != os.getuid():
            log.warning("refused a client of another user", pid=pid, uid=uid)
            writer.close()
            return
        connection = ClientConnection(self, reader, writer, pid)
        self._tasks.add(task)
        self.connections.add(connection)
        self._on_change()
        try:
            await connection.serve()
        finally:
            self._tasks.discard(task)
            self.connections.discard(connection)
            self._on_change()


def peer_of(peer: socket.socket) -> tuple[int, int]:
    """(pid, uid) of the process at the other end, from the kernel."""
    if sys.platform == "darwin":
        # struct xucred {version, uid, ...} at level SOL_LOCAL, and the pid by itself.
        level, credentials, process = 0, 1, 2
        _, uid = struct.unpack_from("=II", peer.getsockopt(level, credentials, 76))
        pid = peer.getsockopt(level, process)
    else:
        pid, uid, _ = struct.unpack("3i", peer.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
    return pid, uid


class ListeningSocket:
    """A bound socket that remembers its inode, so that it never removes another socket."""

    def __init__(self, path: str) -> None:
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._path = Path(path)
        try:
            self._path.unlink(missing_ok=True)
            self.socket.bind(path)
            self._path.chmod(0o600)
            self._inode = self._path.stat().st_ino
        except OSError as error:
            self.socket.close()
            raise DaemonError(
                f"cannot listen at {path}",
                reason=error.strerror or str(error),
                hint="Set LLMC_HOME to a folder on a local disk, or run the command with --no-daemon.",
            ) from error

    def is_there(self) -> bool:
        try:
            return self._path.stat().st_ino == self._inode
        except OSError:
            return False

    def remove(self) -> None:
        if self.is_there():
            self._path.unlink(missing_ok=True)
            with contextlib.suppress(OSError):  # fails if the folder is not empty, as the home is
                self._path.parent.rmdir()
