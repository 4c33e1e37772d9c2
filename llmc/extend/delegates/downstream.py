"""One downstream server for as long as somebody uses it: started, listed, started again when it dies.

`live` is its one task, in the fleet's loop. What others see of it is `state`, a value that is replaced as a whole and
so can be read from any thread. How a connection works is `link`'s business; who uses which server is `fleet`'s.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from llmc.base import logs
from llmc.base.errors import LlmcError, ToolExecutionError
from llmc.extend.delegates.description import ToolDescription, described
from llmc.extend.delegates.link import Link, connected
from llmc.extend.delegates.transport import Words

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from llmc.extend.delegates.pins import Pins
    from llmc.settings import Mcp, Secret

__all__ = ["Downstream", "State"]

log = logs.get("delegates")

# `npx` may have to download first; whoever lists tools does not wait that long.
START_SECONDS = 60.0
FIRST_PAUSE, LONGEST_PAUSE = 0.5, 60.0
# One that ran this long died of something new.
STEADY_SECONDS = 60.0
# A server that says again and again that its tools changed is believed this often.
RELIST_SECONDS = 1.0
# Its first restart takes half a second and what the program itself needs.
BACK_SECONDS = 3.0


@dataclass(frozen=True, slots=True)
class State:
    """`changed` are tools whose description is another than the one that the user knows; `refused` those that are
    unusable, and why."""

    status: str = "starting"  # starting, ready, failed
    reason: str = ""
    tools: Mapping[str, ToolDescription] = field(default_factory=dict)
    changed: frozenset[str] = frozenset()
    refused: Mapping[str, str] = field(default_factory=dict)
    starts: int = 0

    @property
    def known(self) -> dict[str, ToolDescription]:
        """Those that may be used whenever the server runs."""
        return {name: tool for name, tool in self.tools.items() if name not in self.changed}

    @property
    def usable(self) -> dict[str, ToolDescription]:
        return self.known if self.status == "ready" else {}


class Downstream:
    """`place` is where it is started, with which variables; `pins` what its tools were, by its name there."""

    def __init__(
        self,
        name: str,
        mcp: Mcp,
        place: tuple[str, Mapping[str, str]],
        pins: tuple[Pins, str],
        tell: Callable[[Downstream], None],
    ) -> None:
        self.name = name
        self.mcp = mcp
        self.state = State()
        self._cwd, self._environ = place
        self._pins, self.pin = pins
        self._tell = tell
        self._link: Link | None = None
        self._settled = asyncio.Event()
        self._up = asyncio.Event()
        secrets = [each for table in (mcp.env, mcp.headers) for each in table.values()]
        self._words = Words(tuple(map(revealed, secrets)))

    async def live(self) -> None:
        """Until cancelled."""
        pause = FIRST_PAUSE
        while True:
            began = time.monotonic()
            why = await self._once()
            self._link = None
            self._up.clear()
            self._show(replace(self.state, status="failed", reason=why))
            log.warning("server failed", server=self.name, reason=why, pause=pause)
            pause = FIRST_PAUSE if time.monotonic() - began > STEADY_SECONDS else pause
            await asyncio.sleep(pause)
            pause = min(pause * 2, LONGEST_PAUSE)

    async def _once(self) -> str:
        """From one start to its end, and why that came."""
        try:
            async with connected(self.mcp, self._cwd, self._environ, self._words, START_SECONDS) as link:
                state = await self._listed(link)
                self._link = link
                self._show(replace(state, starts=state.starts + 1))
                self._up.set()
                log.info("server ready", server=self.name, tools=len(state.tools), start=self.state.starts)
                await self._stay(link)
            return self._why("it ended")
        except TimeoutError:
            return self._why(f"it did not answer within {START_SECONDS:.0f} s")
        except FileNotFoundError:
            return f"there is no program {self.mcp.command}"
        except LlmcError as error:
            return str(error).replace("\n", ". ")
        except Exception as error:  # noqa: BLE001 - whatever a transport raises, the others go on
            return self._why(self._words.clean(plain(error)))

    async def _stay(self, link: Link) -> None:
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
                self._show(await self._listed(link))

    async def _listed(self, link: Link) -> State:
        tools: dict[str, ToolDescription] = {}
        refused: dict[str, str] = {}
        for raw in await link.tools():
            made = described(self.name, raw)
            if isinstance(made, ToolDescription):
                tools.setdefault(made.name, made)
            else:
                named = raw.get("name") if isinstance(raw, dict) else None
                refused[str(named)[:80]] = made
        changed = await asyncio.to_thread(self._pins.changed, self.pin, tools.values())
        for name in changed - self.state.changed:
            log.warning("description changed", server=self.name, tool=name, hint="llmc delegate trust")
        return State("ready", "", tools, changed, refused, self.state.starts)

    def trust(self, names: frozenset[str]) -> None:
        """From any thread: these tools are right as they are now."""
        state = self.state
        self._pins.trust(self.pin, [tool for name, tool in state.tools.items() if name in names])
        self.state = replace(state, changed=state.changed - names)
        self._tell(self)

    def _show(self, state: State) -> None:
        self.state = state
        self._settled.set()
        self._tell(self)

    async def settled(self) -> None:
        """Until its first start has gone well or not."""
        await self._settled.wait()

    async def call(self, tool: str, arguments: Mapping[str, Any], seconds: float) -> object:
        """In the fleet's loop; one that is being started again is waited for, a little."""
        last = time.monotonic() + seconds
        patience = seconds if self.state.status == "starting" else min(seconds, BACK_SECONDS)
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._up.wait(), patience)
        link = self._link
        if link is None or link.ended.is_set():
            raise ToolExecutionError(f"{self.name} is not running", reason=self.state.reason)
        if tool not in self.state.usable:
            raise ToolExecutionError(f"{self.name} has no tool {tool} that may be used")
        return await link.call(tool, arguments, max(0.1, last - time.monotonic()))

    def _why(self, reason: str) -> str:
        return f"{reason}: {self._words.last}" if self._words.last else reason


def revealed(secret: Secret) -> str:
    """Empty for one that is not there: starting the server says so."""
    try:
        return secret.reveal()
    except LlmcError:
        return ""


def plain(error: BaseException) -> str:
    """The cause, out of the groups that the SDK wraps it in."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return f"{type(error).__name__}: {error}"[:300] if str(error) else type(error).__name__
