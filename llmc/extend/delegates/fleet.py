"""Every downstream server of the daemon: which run, for whom, until when.

A holder (an `llmc serve`, a listener, one call of a command line) names the servers of its settings; equal ones are
started once and shared, all side by side, and leave some seconds after the last holder. One thread with a loop of its
own has all connections and conversations, so that a server that blocks or floods never holds up the daemon's loop. The
SDK is imported when the first server is wanted.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import threading
import time
from concurrent.futures import TimeoutError as FutureTimeoutError
from typing import TYPE_CHECKING, Any, TypeVar

from llmc.base import logs
from llmc.base.mcp_sdk import load_sdk
from llmc.extend.delegates.pins import Pins

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterable, Mapping
    from concurrent.futures import Future

    from llmc.base.home import Home
    from llmc.extend.delegates.downstream import Downstream
    from llmc.settings import Mcp

    Place = tuple[str, Mapping[str, str]]  # the folder and the variables that a server is started with

__all__ = ["Fleet"]

log = logs.get("delegates")

# A client that reconnects, or asks once more, finds them warm.
LINGER_SECONDS = 5.0
CLOSE_SECONDS = 10.0
POLL_SECONDS = 0.05

T = TypeVar("T")


class Fleet:
    """Safe from many threads."""

    def __init__(self, home: Home) -> None:
        self._pins = Pins(f"{home.path}/pins.json")
        self._lock = threading.Lock()
        self._servers: dict[str, Downstream] = {}
        self._tasks: dict[str, Future[None]] = {}
        self._holders: dict[str, frozenset[str]] = {}
        self._listeners: dict[str, Callable[[], None]] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        self._closed = False

    def hold(self, holder: str, mcps: Mapping[str, Mcp], place: Place) -> dict[str, Downstream]:
        """The servers of these entries for this holder, instead of what it held before; new ones are started."""
        wanted = {fingerprint(name, mcp, place): (name, mcp) for name, mcp in mcps.items() if mcp.enabled}
        with self._lock:
            if not self._closed and wanted:
                for key, (name, mcp) in wanted.items():
                    if key not in self._servers:
                        self._start(key, name, mcp, place)
            before = self._holders.get(holder, frozenset())
            if wanted:
                self._holders[holder] = frozenset(wanted)
            else:
                self._holders.pop(holder, None)
            held = {name: self._servers[key] for key, (name, _) in wanted.items() if key in self._servers}
        self._let_go(before - wanted.keys())
        return held

    def release(self, holder: str) -> None:
        with self._lock:
            held = self._holders.pop(holder, frozenset())
            self._listeners.pop(holder, None)
        self._let_go(held)

    def listen(self, holder: str, tell: Callable[[], None]) -> None:
        """Call it, in the fleet's thread, whenever a server of this holder shows something else."""
        with self._lock:
            self._listeners[holder] = tell

    def settle(self, servers: Iterable[Downstream], seconds: float) -> None:
        """Wait until each has started or failed, but no longer than this."""
        waiting = [server for server in servers if server.state.status == "starting"]
        if waiting:
            ending = self.submit(all_settled(waiting))
            with contextlib.suppress(FutureTimeoutError):
                ending.result(seconds)
            ending.cancel()

    def submit(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        return asyncio.run_coroutine_threadsafe(work, self._running())

    def run(self, work: Coroutine[Any, Any, T], cancelled: Callable[[], bool]) -> T:
        """In the loop, from another thread, until it ends; a cancellation goes down to whatever it waits for."""
        ending = self.submit(work)
        while True:
            try:
                return ending.result(POLL_SECONDS)
            except FutureTimeoutError:
                if ending.done():
                    raise
                if cancelled():
                    ending.cancel()
                    raise asyncio.CancelledError from None

    @property
    def servers(self) -> list[Downstream]:
        with self._lock:
            return list(self._servers.values())

    def close(self) -> None:
        """End all of them; nothing is started afterwards."""
        with self._lock:
            self._closed = True
            tasks, self._tasks = list(self._tasks.values()), {}
            self._servers, self._holders, self._listeners = {}, {}, {}
            loop = self._loop
        if loop is None:
            return
        for task in tasks:
            task.cancel()
        last = time.monotonic() + CLOSE_SECONDS
        while time.monotonic() < last and asyncio.run_coroutine_threadsafe(others(), loop).result():
            time.sleep(POLL_SECONDS)
        loop.call_soon_threadsafe(loop.stop)

    # ---- with the lock ----

    def _start(self, key: str, name: str, mcp: Mcp, place: Place) -> None:
        load_sdk()
        from llmc.extend.delegates.downstream import Downstream  # noqa: PLC0415 - the SDK, 0.8 s

        server = Downstream(name, mcp, place, (self._pins, pin_of(name, mcp)), self._told)
        self._servers[key] = server
        self._tasks[key] = asyncio.run_coroutine_threadsafe(server.live(), self._running())

    def _running(self) -> asyncio.AbstractEventLoop:
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
            threading.Thread(target=self._work, args=(self._loop,), name="llmc-delegates", daemon=True).start()
        return self._loop

    def _work(self, loop: asyncio.AbstractEventLoop) -> None:
        asyncio.set_event_loop(loop)
        loop.run_forever()
        loop.close()

    # ---- in the loop ----

    def _told(self, server: Downstream) -> None:
        with self._lock:
            key = next((key for key, one in self._servers.items() if one is server), "")
            theirs = [who for who, held in self._holders.items() if key in held]
            tell = [self._listeners[who] for who in theirs if who in self._listeners]
        for one in tell:
            one()

    def _let_go(self, keys: Iterable[str]) -> None:
        loop = self._loop
        if loop is not None:
            for key in keys:
                loop.call_soon_threadsafe(loop.call_later, LINGER_SECONDS, self._drop, key)

    def _drop(self, key: str) -> None:
        with self._lock:
            if any(key in held for held in self._holders.values()) or key not in self._servers:
                return
            server, task = self._servers.pop(key), self._tasks.pop(key)
        log.info("server no longer used", server=server.name)
        task.cancel()


async def all_settled(servers: Iterable[Downstream]) -> None:
    await asyncio.gather(*(server.settled() for server in servers))


async def others() -> int:
    return len(asyncio.all_tasks()) - 1


def fingerprint(name: str, mcp: Mcp, place: Place) -> str:
    """Equal for servers that may be shared: what they are given is part of it, so only its hash is kept."""
    load_sdk()
    from llmc.extend.delegates.transport import environment_of  # noqa: PLC0415 - the SDK

    try:
        environ = environment_of(mcp, place[1])
        headers = {key: value.reveal() for key, value in mcp.headers.items()}
    except Exception as error:  # noqa: BLE001 - a secret that is not there; the start says so
        environ, headers = {"missing": str(error)}, {}
    parts = [name, mcp.command, mcp.args, mcp.transport, mcp.url, place[0], environ, headers]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode("utf-8", "surrogatepass")).hexdigest()


def pin_of(name: str, mcp: Mcp) -> str:
    """Its name among the pins: another command is another server, also under the same name."""
    parts = [mcp.command, mcp.args, mcp.url]
    return f"{name} {hashlib.sha256(json.dumps(parts).encode('utf-8', 'surrogatepass')).hexdigest()[:16]}"
