"""The daemon: the single process of a user that owns the index. This module is its lifecycle.

It takes the lock and listens at once; a thread opens the handler (settings, stores, watcher) meanwhile, and calls wait
for it. It exits on a signal, on `stop`, for a newer llmc, when it is idle, and when its home or llmc itself was
removed. `server.rpc` is the transport; the handler answers the calls.
"""

from __future__ import annotations

import asyncio
import contextlib
import faulthandler
import os
import resource
import signal
import sys
import threading
import time
from concurrent.futures import Future
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple, NoReturn

from llmc import __version__
from llmc.base import logs
from llmc.base.daemon_lock import DaemonLock, Owner
from llmc.base.protocol import PROTOCOL, build_number
from llmc.server.rpc import RpcServer
from llmc.server.status import DaemonStatus, StatusReport

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from llmc.base.home import Home
    from llmc.envelope.request import ClientInfo, Handler, JsonObject, RunningRequest
    from llmc.server.rpc import StreamHandler

__all__ = ["Daemon", "Opened", "end_now"]

log = logs.get("daemon")

# How long running calls may take to finish; builds are stopped at once.
GRACE_SECONDS = 5.0
# Enough to commit or roll back a batch; anything unfinished is redone at the next start.
CLOSE_SECONDS = 30.0
# How often the home and the socket are checked, with one stat each.
TEND_SECONDS = 5.0
# Exit soon when the handler could not be opened; the problem may be fixed at the next start.
BROKEN_SECONDS = 5.0
BUSY_SECONDS = 60.0
# The first call comes from the client that started the daemon.
WARM_SECONDS = 1.0
# 64 clients, and a descriptor per watched root and open segment; the default on macOS is 256.
DESCRIPTORS = 16_384


class Opened(NamedTuple):
    """What the daemon serves. `streams` take over a connection as plain bytes, by kind. `warm` is called once when no
    call is running, to prepare in a thread what a later client would wait for. `tend` is called every few seconds.
    """

    handler: Handler
    idle_seconds: float  # 0 is never
    streams: Mapping[str, StreamHandler] = MappingProxyType({})
    warm: Callable[[], None] = lambda: None
    tend: Callable[[], None] = lambda: None


class Daemon:
    """`command` describes the process to other processes. In the `foreground` it neither exits when idle nor is
    replaced by a newer llmc."""

    def __init__(
        self,
        home: Home,
        build: Callable[[], Opened],
        *,
        command: str,
        foreground: bool = False,
        stay: bool = False,
        on_ready: Callable[[], None] = lambda: None,
    ) -> None:
        self._home = home
        self._build = build
        self._foreground = foreground
        self._stay = stay or foreground
        self._on_ready = on_ready
        self._owner = Owner(os.getpid(), __version__, build_number(), time.time(), command, foreground)
        self.exit_reason = ""
        self._opened: Future[Opened] = Future()
        self._idle_seconds = 0.0
        self._idle: asyncio.TimerHandle | None = None
        self._exiting = asyncio.Event()
        self._server: RpcServer
        self._loop: asyncio.AbstractEventLoop

    def run(self) -> None:
        """Run until stopped; DaemonRunningError when another daemon owns the home."""
        _prepare_process()
        self._home.make()
        with DaemonLock(self._home) as lock:
            lock.acquire(self._owner)
            logs.open_log(self._home.log, clean=clean_line, clean_level="warning")
            asyncio.run(self._serve(lock))

    def stop(self, why: str) -> None:
        """Start to exit. Thread-safe."""
        with contextlib.suppress(RuntimeError):  # it has already exited
            self._loop.call_soon_threadsafe(self._begin_exit, why)

    async def _serve(self, lock: DaemonLock) -> None:
        self._loop = asyncio.get_running_loop()
        instant = {"hello": self._hello, "stop": self._on_stop}
        self._server = RpcServer(
            self._work, instant=instant, stream=self._stream, on_change=self._update_idle_timer, log_path=self._home.log
        )
        self._install_signals()
        await self._server.listen(self._home.socket)
        log.info("listening", pid=os.getpid(), version=__version__, socket=self._home.socket)
        self._on_ready()
        opening = in_thread(self._open, "llmc-open")
        tending = asyncio.create_task(self._check_home(lock))
        await self._exiting.wait()
        tending.cancel()
        await self._exit(opening)

    def _open(self) -> None:
        try:
            opened = self._build()
            opened.handler.start()
        except BaseException as error:  # every call is answered with this error
            log.exception("could not open")
            self._idle_seconds = BROKEN_SECONDS
            self._opened.set_exception(error)
        else:
            log.info("open", idle_seconds=opened.idle_seconds)
            self._idle_seconds = opened.idle_seconds
            self._opened.set_result(opened)
            self._loop.call_soon_threadsafe(self._loop.call_later, WARM_SECONDS, self._warm_when_quiet, opened)
        self._loop.call_soon_threadsafe(self._update_idle_timer)

    def _warm_when_quiet(self, opened: Opened) -> None:
        """Warm up unless calls or a build are running, as it takes almost a second of CPU time."""
        if not self._server.quiet.is_set() or opened.handler.busy():
            self._loop.call_later(WARM_SECONDS, self._warm_when_quiet, opened)
        else:
            opened.warm()

    def _work(self, method: str, params: JsonObject, call: RunningRequest) -> object:
        result = self._opened.result().handler.call(method, params, call)
        return replace(result, daemon=self._status()) if isinstance(result, StatusReport) else result

    async def _stream(self, kind: str) -> StreamHandler | None:
        opened = await asyncio.shield(asyncio.wrap_future(self._opened))
        return opened.streams.get(kind)

    def _hello(self, _params: JsonObject, client: ClientInfo) -> JsonObject:
        log.debug("hello", pid=client.pid, version=client.version)
        return {
            "protocol": PROTOCOL,
            "version": self._owner.version,
            "build": self._owner.build,
            "pid": self._owner.pid,
            "started": self._owner.started,
            "foreground": self._foreground,
            "session": client.session,
            "log": self._home.log,
        }

    def _on_stop(self, params: JsonObject, client: ClientInfo) -> JsonObject:
        """`polite` is sent by a newer llmc that wants to start its own daemon."""
        if params.get("polite") and self._foreground:
            return {"leaving": False, "reason": f"it runs in the foreground: {self._owner.describe()}"}
        self._begin_exit(f"stopped by pid {client.pid}, llmc {client.version}")
        return {"leaving": True, "pid": self._owner.pid}

    def _status(self) -> DaemonStatus:
        return DaemonStatus(
            pid=self._owner.pid,
            version=self._owner.version,
            build=self._owner.build,
            started=self._owner.started,
            uptime=time.time() - self._owner.started,
            foreground=self._foreground,
            clients=len(self._server.connections),
            calls=self._server.calls,
            idle_exit=0.0 if self._stay else self._idle_seconds,
            home=self._home.path,
            socket=self._home.socket,
            log=self._home.log,
        )

    def _update_idle_timer(self) -> None:
        """Start or cancel the idle timer; called when a client connects or disconnects."""
        if self._idle is not None:
            self._idle.cancel()
            self._idle = None
        if not self._server.connections and self._idle_seconds and not self._stay:
            self._idle = self._loop.call_later(self._idle_seconds, self._exit_if_idle)

    def _exit_if_idle(self) -> None:
        busy = None if self._opened.exception() else self._opened.result().handler.busy()
        if busy is None:
            self._begin_exit("idle")
        else:
            log.debug("not idle", reason=busy)
            self._idle = self._loop.call_later(min(self._idle_seconds, BUSY_SECONDS), self._exit_if_idle)

    def _begin_exit(self, why: str) -> None:
        if not self._exiting.is_set():
            log.info("exiting", reason=why)
            self.exit_reason = why
            self._exiting.set()

    async def _check_home(self, lock: DaemonLock) -> None:
        """Exit if the home or llmc itself was removed, and restore a socket that a cleaner of /tmp deleted."""
        while True:
            await asyncio.sleep(TEND_SECONDS)
            if not lock.is_ours():
                self._begin_exit("the home was removed or replaced")
            elif not is_installed():
                self._begin_exit("llmc was uninstalled")
            elif not self._server.is_reachable():
                log.warning("the socket was removed; listening again")
                self._home.make()
                self._server.stop_listening()
                await self._server.listen(self._home.socket)
            if self._opened.done() and not self._opened.exception():
                await in_thread(self._run_tend, "llmc-tend")

    def _run_tend(self) -> None:
        try:
            self._opened.result().tend()
        except Exception:
            log.exception("could not tend")

    async def _exit(self, opening: asyncio.Future[None]) -> None:
        """Stop listening, finish running calls, close the handler; the lock is released last, with the process."""
        self._server.stop_listening()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._server.quiet.wait(), GRACE_SECONDS)
        await self._server.close()
        closing = in_thread(self._close, "llmc-close")
        done, _ = await asyncio.wait({opening, closing}, timeout=CLOSE_SECONDS, return_when=asyncio.ALL_COMPLETED)
        if closing not in done:
            log.warning("exited before the handler was closed", seconds=CLOSE_SECONDS)
        log.info("exited")

    def _close(self) -> None:
        try:
            self._opened.result().handler.close()
        except BaseException:
            log.exception("could not close")

    def _install_signals(self) -> None:
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
                self._loop.add_signal_handler(number, self._begin_exit, signal.Signals(number).name)


def in_thread(act: Callable[[], None], name: str) -> asyncio.Future[None]:
    """Run in a daemon thread, not in a pool: the process may exit while it hangs."""
    loop = asyncio.get_running_loop()
    done = loop.create_future()

    def finish() -> None:
        if not done.done():  # cancelled: the daemon exits meanwhile
            done.set_result(None)

    def run() -> None:
        act()
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(finish)

    threading.Thread(target=run, name=name, daemon=True).start()
    return done


def is_installed() -> bool:
    return os.path.exists(__file__)  # noqa: PTH110 - one stat, every few seconds


def end_now(code: int) -> NoReturn:
    """Exit without waiting for threads; unfinished work is redone at the next start."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def _prepare_process() -> None:
    os.umask(0o077)
    faulthandler.enable()
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = DESCRIPTORS if hard == resource.RLIM_INFINITY else min(DESCRIPTORS, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def clean_line(text: str) -> str:
    from llmc.envelope.clean import without_secrets  # noqa: PLC0415 - 60 ms, and only when something went wrong

    return without_secrets(text)
