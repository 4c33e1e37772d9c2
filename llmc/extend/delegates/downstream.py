"""The lifecycle of one downstream server: started, listed, and restarted when it exits.

`live` is its only task, in the event loop of the fleet. `state` is an immutable value that is replaced as a whole, so
any thread can read it. `link` implements the connection; `fleet` tracks who uses which server.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol

from llmc.base import logs
from llmc.base.errors import LlmcError, ToolExecutionError
from llmc.extend.delegates.description import ToolDescription, parse_description
from llmc.extend.delegates.link import Link, connect
from llmc.extend.delegates.transport import StderrTail

if TYPE_CHECKING:
    from collections.abc import Mapping

    from llmc.extend.delegates.pins import Pins
    from llmc.settings import Mcp, Secret

__all__ = ["Downstream", "State"]

log = logs.get("delegates")

# `npx` may have to download packages first; clients that list tools do not wait this long.
START_SECONDS = 60.0
FIRST_PAUSE, LONGEST_PAUSE = 0.5, 60.0
# A server that ran this long restarts without an increased pause.
STEADY_SECONDS = 60.0
# How often a server may announce changed tools.
RELIST_SECONDS = 1.0
# How long a call waits for a server that is restarting.
BACK_SECONDS = 3.0


@dataclass(frozen=True, slots=True)
class State:
    """`changed` are tools whose description differs from the one the user allowed; `refused` maps unusable tools to the
    reason."""

    status: str = "starting"  # starting, ready, failed
    reason: str = ""
    tools: Mapping[str, ToolDescription] = field(default_factory=dict)
    changed: frozenset[str] = frozenset()
    refused: Mapping[str, str] = field(default_factory=dict)
    starts: int = 0

    @property
    def known(self) -> dict[str, ToolDescription]:
        """The tools that may be used whenever the server runs."""
        return {name: tool for name, tool in self.tools.items() if name not in self.changed}

    @property
    def usable(self) -> dict[str, ToolDescription]:
        return self.known if self.status == "ready" else {}


class ServerOwner(Protocol):
    """Knows who uses a server, and is called when its state changes."""

    def changed(self, server: Downstream, /) -> None: ...

    def clients_of(self, server: Downstream, /) -> list[str]: ...


class Downstream:
    """`place` is the working directory and environment it starts with; `pins` the pin file and its key there."""

    def __init__(
        self,
        name: str,
        mcp: Mcp,
        place: tuple[str, Mapping[str, str]],
        pins: tuple[Pins, str],
        owner: ServerOwner,
    ) -> None:
        self.name = name
        self.mcp = mcp
        self.state = State()
        self._cwd, self._environ = place
        self._pins, self.pin = pins
        self._owner = owner
        self._link: Link | None = None
        self._settled = asyncio.Event()
        self._up = asyncio.Event()
        secrets = [each for table in (mcp.env, mcp.headers) for each in table.values()]
        self._stderr = StderrTail(tuple(map(reveal_or_empty, secrets)))

    async def live(self) -> None:
        """Run the server and restart it until cancelled."""
        pause = FIRST_PAUSE
        while True:
            started = time.monotonic()
            reason = await self._run_once()
            self._link = None
            self._up.clear()
            self._set_state(replace(self.state, status="failed", reason=reason))
            log.warning("server failed", server=self.name, reason=reason, pause=pause, clients=self._clients)
            pause = FIRST_PAUSE if time.monotonic() - started > STEADY_SECONDS else pause
            await asyncio.sleep(pause)
            pause = min(pause * 2, LONGEST_PAUSE)

    async def _run_once(self) -> str:
        """Run the server once; returns why it ended."""
        try:
            async with connect(self.mcp, self._cwd, self._environ, self._stderr, START_SECONDS) as link:
                state = await self._list_tools(link)
                self._link = link
                self._set_state(replace(state, starts=state.starts + 1))
                self._up.set()
                log.info(
                    "server ready",
                    server=self.name,
                    tools=len(state.tools),
                    start=self.state.starts,
                    clients=self._clients,
                )
                await self._watch(link)
            return self._with_stderr("it exited")
        except TimeoutError:
            return self._with_stderr(f"it did not respond within {START_SECONDS:.0f} s")
        except FileNotFoundError:
            return f"program not found: {self.mcp.command}"
        except LlmcError as error:
            return str(error).replace("\n", ". ")
        except Exception as error:  # noqa: BLE001 - a failing transport must not affect other servers
            return self._with_stderr(self._stderr.clean(describe_error(error)))

    async def _watch(self, link: Link) -> None:
        while not link.ended.is_set():
            waiting = [asyncio.ensure_future(event.wait()) for event in (link.ended, link.relist)]
            try:
                await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for one in waiting:
                    one.cancel()
            if not link.ended.is_set():
                await asyncio.sleep(RELIST_SECONDS)
                link.relist.clear()
                self._set_state(await self._list_tools(link))

    async def _list_tools(self, link: Link) -> State:
        tools: dict[str, ToolDescription] = {}
        refused: dict[str, str] = {}
        for raw in await link.tools():
            parsed = parse_description(self.name, raw)
            if isinstance(parsed, ToolDescription):
                tools.setdefault(parsed.name, parsed)
            else:
                named = raw.get("name") if isinstance(raw, dict) else None
                refused[str(named)[:80]] = parsed
        changed = await asyncio.to_thread(self._pins.changed, self.pin, tools.values())
        for name in changed - self.state.changed:
            log.warning(
                "description changed", server=self.name, tool=name, hint="llmc delegate trust", clients=self._clients
            )
        return State("ready", "", tools, changed, refused, self.state.starts)

    def trust(self, names: frozenset[str]) -> None:
        """Accept the current descriptions of these tools. Thread-safe."""
        state = self.state
        self._pins.trust(self.pin, [tool for name, tool in state.tools.items() if name in names])
        self.state = replace(state, changed=state.changed - names)
        self._owner.changed(self)

    def _set_state(self, state: State) -> None:
        self.state = state
        self._settled.set()
        self._owner.changed(self)

    async def settled(self) -> None:
        """Wait until its first start has succeeded or failed."""
        await self._settled.wait()

    async def call(self, tool: str, arguments: Mapping[str, Any], seconds: float) -> object:
        """Call a tool, in the fleet's loop; waits briefly for a server that is restarting."""
        last = time.monotonic() + seconds
        patience = seconds if self.state.status == "starting" else min(seconds, BACK_SECONDS)
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._up.wait(), patience)
        link = self._link
        if link is None or link.ended.is_set():
            raise ToolExecutionError(f"{self.name} is not running", reason=self.state.reason)
        if tool not in self.state.usable:
            raise ToolExecutionError(f"{self.name} has no usable tool {tool}")
        return await link.call(tool, arguments, max(0.1, last - time.monotonic()))

    @property
    def _clients(self) -> list[str]:
        """The clients whose log shows what happens to this server."""
        return self._owner.clients_of(self)

    def _with_stderr(self, reason: str) -> str:
        return f"{reason}: {self._stderr.last}" if self._stderr.last else reason


def reveal_or_empty(secret: Secret) -> str:
    """The secret, or "" when it is not set; starting the server then reports the error."""
    try:
        return secret.reveal()
    except LlmcError:
        return ""


def describe_error(error: BaseException) -> str:
    """The innermost cause of an exception group from the SDK."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return f"{type(error).__name__}: {error}"[:300] if str(error) else type(error).__name__
