"""Opens the service in this process: for the daemon behind its socket, or directly with `--no-daemon`.

Heavy modules are imported here, when they are needed. Without a daemon the lock is still taken, since there must be
only one writer. A home that is not writable is replaced by a temporary folder for the duration of the command.
"""

from __future__ import annotations

import contextlib
import gc
import math
import os
import socket
import tempfile
import threading
import time
from concurrent.futures import Future, wait
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from llmc import __version__
from llmc.base import logs
from llmc.base.cache_budget import limit_caches
from llmc.base.daemon_lock import DaemonLock, Owner
from llmc.base.errors import DaemonError, DaemonRunningError
from llmc.base.home import Home
from llmc.base.malloc import share_arenas
from llmc.base.protocol import MAX_MESSAGE, build_number
from llmc.envelope.request import ClientInfo, RunningRequest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from llmc.envelope.request import Handler
    from llmc.server.daemon import Opened

__all__ = ["ask_here", "open_service", "opened_here", "stream_here"]

# As in the daemon: enough to commit or roll back a batch.
CLOSE_SECONDS = 30.0
# A reply consists of thousands of short-lived values. Python's default of a collection per 700 allocations takes a
# third of the slowest replies: 46 ms → 31 ms (p95) for 200 KB of matches on a busy machine. With 50,000 instead of
# 20,000, a search takes 14.4 ms instead of 16.1, and the daemon uses no more memory.
GARBAGE = (50_000, 20, 20)


class LocalCaller(Protocol):
    """The caller, as the thin client describes it (`client.daemon_client`)."""

    @property
    def home(self) -> Home: ...

    @property
    def environ(self) -> Mapping[str, str]: ...

    @property
    def notify(self) -> Callable[[str], None]: ...

    @property
    def about(self) -> dict[str, Any]: ...


def open_service(home: Home, environ: Mapping[str, str], *, alone: bool = False) -> Opened:
    """Open the service with the user's settings; settings of the client's folder are loaded per call."""
    from llmc.envelope.redact.redactor import Redactor  # noqa: PLC0415 - loaded on first use
    from llmc.server import mcp  # noqa: PLC0415 - asyncio is not needed without a daemon
    from llmc.server.daemon import Opened  # noqa: PLC0415 - loaded on first use
    from llmc.server.service import Service  # noqa: PLC0415 - the daemon listens before it pays for this
    from llmc.settings import load  # noqa: PLC0415 - loaded on first use

    gc.set_threshold(*GARBAGE)
    if not alone:
        share_arenas()
    settings = load("/", environ).settings
    daemon = settings.daemon
    limit_caches(daemon.cache_mb)
    redactor = Redactor.of(settings.redaction)
    logs.open_log(
        home.log,
        level=daemon.log_level,
        max_bytes=daemon.log_bytes,
        keep=daemon.log_files,
        clean=lambda text: redactor.redact(text).text,
    )
    service = Service(settings, home, alone=alone)
    return Opened(service, daemon.idle_minutes * 60.0, {"mcp": partial(mcp.serve, service)}, mcp.warm, service.tend)


def ask_here(
    caller: LocalCaller,
    method: str,
    params: dict[str, Any],
    *,
    on_event: Callable[[dict[str, Any]], None] | None = None,
) -> Any:
    """Answer one call in this process."""
    with opened_here(caller.home, caller.environ, caller.notify) as opened:
        return _plain(
            _interruptible(opened.handler, method, params, RunningRequest(_client(caller), on_event, seconds=math.inf))
        )


def stream_here(caller: LocalCaller) -> tuple[socket.socket, bytes]:
    """Like `Connection.stream("mcp")`, but served by this process."""
    ours, theirs = socket.socketpair()
    begun: Future[None] = Future()
    threading.Thread(target=_serve_here, args=(caller, theirs, begun), name="llmc-serve").start()
    begun.result()
    return ours, b""


def _serve_here(caller: LocalCaller, peer: socket.socket, begun: Future[None]) -> None:
    import asyncio  # noqa: PLC0415 - only here

    async def serve(opened: Opened) -> None:
        reader, writer = await asyncio.open_connection(sock=peer, limit=MAX_MESSAGE)
        await opened.streams["mcp"](reader, writer, _client(caller))

    try:
        with opened_here(caller.home, caller.environ, caller.notify) as opened:
            begun.set_result(None)
            asyncio.run(serve(opened))
    except BaseException as error:
        peer.close()
        if begun.done():
            raise
        begun.set_exception(error)


def _client(caller: LocalCaller) -> ClientInfo:
    about = caller.about
    return ClientInfo(
        pid=os.getpid(),
        session=about["session"] or "here",
        cwd=about["cwd"],
        environ=about["environ"],
        flags=tuple(about["flags"]),
        config=about["config"],
        version=__version__,
    )


@contextlib.contextmanager
def opened_here(home: Home, environ: Mapping[str, str], notify: Callable[[str], None]) -> Iterator[Opened]:
    with _writable(home, notify) as home_here, DaemonLock(home_here) as lock:
        _acquire(lock)
        opened = open_service(home_here, environ, alone=True)
        opened.handler.start()
        try:
            yield opened
        finally:
            opened.handler.close()


@contextlib.contextmanager
def _writable(home: Home, notify: Callable[[str], None]) -> Iterator[Home]:
    try:
        home.make()
        usable = os.access(home.path, os.W_OK)
    except DaemonError:
        usable = False
    if usable:
        yield home
        return
    notify(f"{home.path} is not writable; using a temporary folder for the index")
    with tempfile.TemporaryDirectory(prefix="llmc-") as folder:
        temporary = Home(folder)
        temporary.make()
        yield temporary


def _acquire(lock: DaemonLock) -> None:
    owner = Owner(os.getpid(), __version__, build_number(), time.time(), "llmc --no-daemon", foreground=True)
    try:
        lock.acquire(owner)
    except DaemonRunningError as error:
        error.hint = "Omit --no-daemon to use it, or stop it with `llmc stop`."
        raise


def _interruptible(handler: Handler, method: str, params: dict[str, Any], call: RunningRequest) -> object:
    """Run the call in a thread, so that Ctrl-C cancels it cleanly instead of interrupting a commit."""
    from llmc.server.call_threads import CallThreads  # noqa: PLC0415 - asyncio, which a client of the daemon spares

    with CallThreads(1, "llmc-call") as threads:
        future = threads.submit_call(partial(handler.call, method, params, call), call)
        try:
            return future.result()
        except KeyboardInterrupt:
            call.cancel()
            wait([future], timeout=CLOSE_SECONDS)
            raise


def _plain(result: object) -> Any:
    """The result as JSON values, as a client would receive it."""
    from llmc.server.wire import decode, encode_line  # noqa: PLC0415 - orjson, which few need

    return decode(encode_line({"result": result}))["result"]
