"""All downstream servers of the daemon: which ones run, and for whom.

A holder (an `llmc serve`, a listener, one CLI call) requests the servers of its settings. Identical servers are started
once and shared, and stop a few seconds after their last holder has released them. One thread with its own event loop
runs all connections and conversations, so a server that blocks or floods cannot delay the daemon's loop. The SDK is
imported when the first server is needed.
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

    Place = tuple[str, Mapping[str, str]]  # the working directory and environment of a server

__all__ = ["Fleet"]

log = logs.get("delegates")

# A client that reconnects soon finds its servers still running.
LINGER_SECONDS = 5.0
CLOSE_SECONDS = 10.0
POLL_SECONDS = 0.05

T = TypeVar("T")


class Fleet:
    """Thread-safe."""

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
        """Hold these servers instead of the previous ones, starting new ones; returns them by name."""
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
            joined = [self._servers[key] for key in wanted.keys() - before if key in self._servers]
        for server in joined:  # it failed for another client, whose log has the reason
            if server.state.status == "failed":
                log.warning("server failed", server=server.name, reason=server.state.reason, clients=[holder])
        self._drop_later(before - wanted.keys())
        return held

    def release(self, holder: str) -> None:
        with self._lock:
            held = self._holders.pop(holder, frozenset())
            self._listeners.pop(holder, None)
        self._drop_later(held)

    def listen(self, holder: str, listener: Callable[[], None]) -> None:
        """Call the listener, in the fleet's thread, whenever the state of one of this holder's servers changes."""
        with self._lock:
            self._listeners[holder] = listener

    def settle(self, servers: Iterable[Downstream], seconds: float) -> None:
        """Wait until each server has started or failed, at most this long."""
        waiting = [server for server in servers if server.state.status == "starting"]
        if waiting:
            ending = self.submit(all_settled(waiting))
            with contextlib.suppress(FutureTimeoutError):
                ending.result(seconds)
            ending.cancel()

    def submit(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        return asyncio.run_coroutine_threadsafe(work, self._ensure_loop())

    def run(self, work: Coroutine[Any, Any, T], cancelled: Callable[[], bool]) -> T:
        """Run a coroutine in the loop and wait for it from another thread; cancellation is passed on."""
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
        """Stop all servers; none can be started afterwards."""
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
        while time.monotonic() < last and asyncio.run_coroutine_threadsafe(other_tasks(), loop).result():
            time.sleep(POLL_SECONDS)
        loop.call_soon_threadsafe(loop.stop)

    # ---- with the lock ----

    def _start(self, key: str, name: str, mcp: Mcp, place: Place) -> None:
        load_sdk()
        from llmc.extend.delegates.downstream import Downstream  # noqa: PLC0415 - the SDK, 0.8 s

        server = Downstream(name, mcp, place, (self._pins, pin_of(name, mcp)), self)
        self._servers[key] = server
        self._tasks[key] = asyncio.run_coroutine_threadsafe(server.live(), self._ensure_loop())

    def _ensure_loop(self) -> asyncio.AbstractEventLoop:
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
            threading.Thread(target=self._work, args=(self._loop,), name="llmc-delegates", daemon=True).start()
        return self._loop

    def _work(self, loop: asyncio.AbstractEventLoop) -> None:
        asyncio.set_event_loop(loop)
        loop.run_forever()
        loop.close()

    # ---- in the loop ----

    def changed(self, server: Downstream) -> None:
        """Call the listeners of those who hold this server."""
        holders = self.clients_of(server)
        with self._lock:
            listener = [self._listeners[holder] for holder in holders if holder in self._listeners]
        for one in listener:
            one()

    def clients_of(self, server: Downstream) -> list[str]:
        with self._lock:
            key = next((key for key, one in self._servers.items() if one is server), "")
            return [holder for holder, held in self._holders.items() if key in held]

    def _drop_later(self, keys: Iterable[str]) -> None:
        loop = self._loop
        if loop is not None:
            for key in keys:
                loop.call_soon_threadsafe(loop.call_later, LINGER_SECONDS, self._drop, key)

    def _drop(self, key: str) -> None:
        with self._lock:
            if any(key in held for held in self._holders.values()) or key not in self._servers:
                return
            server, task = self._servers.pop(key), self._tasks.pop(key)
        log.info("server no longer used", server=server.name, clients=[])
        task.cancel()


async def all_settled(servers: Iterable[Downstream]) -> None:
    await asyncio.gather(*(server.settled() for server in servers))


async def other_tasks() -> int:
    return len(asyncio.all_tasks()) - 1


def fingerprint(name: str, mcp: Mcp, place: Place) -> str:
    """Equal for servers that may be shared. It covers secrets, so only the hash is stored."""
    load_sdk()
    from llmc.extend.delegates.transport import environment_of  # noqa: PLC0415 - the SDK

    try:
        environ = environment_of(mcp, place[1])
        headers = {key: value.reveal() for key, value in mcp.headers.items()}
    except Exception as error:  # noqa: BLE001 - a missing secret; starting the server reports it
        environ, headers = {"missing": str(error)}, {}
    parts = [name, mcp.command, mcp.args, mcp.transport, mcp.url, place[0], environ, headers]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode("utf-8", "surrogatepass")).hexdigest()


def pin_of(name: str, mcp: Mcp) -> str:
    """The key of a server in the pin file; it includes the command, since a name may be reused."""
    parts = [mcp.command, mcp.args, mcp.url]
    return f"{name} {hashlib.sha256(json.dumps(parts).encode('utf-8', 'surrogatepass')).hexdigest()[:16]}"
