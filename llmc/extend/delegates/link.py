"""One connection to a downstream server: handshake, tool list, calls, and detection of its end.

The SDK session performs the handshake and answers requests from the server, which is offered no capabilities. Lists and
calls are sent as raw requests: one invalid schema makes only that tool unusable, and schemas of the server are never
compiled, which could fetch references.
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Any

import mcp_types as types
from mcp.client.session import ClientSession
from mcp.shared.exceptions import MCPError
from mcp.shared.jsonrpc_dispatcher import JSONRPCDispatcher

from llmc import __version__
from llmc.base.errors import ToolExecutionError
from llmc.extend.delegates.transport import open_streams

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping
    from typing import Self

    from mcp.shared.dispatcher import CallOptions

    from llmc.extend.delegates.transport import StderrTail
    from llmc.settings import Mcp

__all__ = ["Link", "connect"]

MOST_PAGES, MOST_TOOLS = 50, 1_000
LIST_SECONDS = 20.0
PING_SECONDS = 5.0
# This many messages without a single response count as flooding.
MOST_UNSOLICITED = 20_000
ABOUT = types.Implementation(name="llmc", version=__version__)


class Link:
    """`ended` is set when the connection is lost, `relist` when the server announces changed tools."""

    def __init__(
        self, dispatcher: JSONRPCDispatcher[Any], session: ClientSession, ended: asyncio.Event, *, remote: bool
    ) -> None:
        self.ended = ended
        self._remote = remote
        self.relist = asyncio.Event()
        self._dispatcher = dispatcher
        self._session = session

    async def tools(self) -> list[object]:
        """The raw tool list of the server, all pages."""
        found: list[object] = []
        cursor: str | None = None
        for _ in range(MOST_PAGES):
            reply = await self._ask("tools/list", {"cursor": cursor} if cursor else {}, LIST_SECONDS)
            listed = reply.get("tools")
            found += listed if isinstance(listed, list) else []
            cursor = reply.get("nextCursor")
            if not isinstance(cursor, str) or not cursor or len(found) >= MOST_TOOLS:
                break
        return found[:MOST_TOOLS]

    async def call(self, name: str, arguments: Mapping[str, Any], seconds: float) -> object:
        """The raw result of a call; ToolExecutionError when it fails. Cancelling it notifies the server."""
        try:
            return await self._ask("tools/call", {"name": name, "arguments": dict(arguments)}, seconds)
        except MCPError as error:
            code, message = error.error.code, error.error.message
            if code == types.REQUEST_TIMEOUT:
                raise ToolExecutionError(f"{name} did not respond", reason=f"timed out after {seconds:.0f} s") from None
            if self._remote:
                await self._check_alive()
            if self.ended.is_set():
                raise ToolExecutionError(
                    f"the server exited during {name}", hint="It is being restarted; try again."
                ) from None
            raise ToolExecutionError(f"{name} failed", reason=str(message)[:2_000]) from None

    async def _check_alive(self) -> None:
        """Ping the server: over HTTP it may have restarted unnoticed and lost the session."""
        try:
            await self._ask("ping", {}, PING_SECONDS)
        except MCPError as error:
            if error.error.code != types.METHOD_NOT_FOUND:
                self.ended.set()

    async def _ask(self, method: str, params: dict[str, Any], seconds: float) -> dict[str, Any]:
        version = self._session.protocol_version
        options: CallOptions = {"timeout": seconds, "headers": {"mcp-protocol-version": version} if version else {}}
        return await self._dispatcher.send_raw_request(method, params, options)

    async def on_message(self, message: object) -> None:
        if isinstance(message, types.ToolListChangedNotification):
            self.relist.set()


@contextlib.asynccontextmanager
async def connect(
    mcp: Mcp, cwd: str, environ: Mapping[str, str], stderr: StderrTail, seconds: float
) -> AsyncIterator[Link]:
    """Connect to a server and complete the handshake within this many seconds."""
    async with open_streams(mcp, cwd, environ, stderr) as (reading, writing):
        ended = asyncio.Event()
        dispatcher: JSONRPCDispatcher[Any] = JSONRPCDispatcher(MonitoredStream(reading, ended), writing)
        link: list[Link] = []

        async def forward(message: object) -> None:
            await link[0].on_message(message)

        session = ClientSession(dispatcher=dispatcher, message_handler=forward, client_info=ABOUT)
        link.append(Link(dispatcher, session, ended, remote=mcp.transport != "stdio"))
        async with session:
            async with asyncio.timeout(seconds):
                await session.initialize()
            yield link[0]


class MonitoredStream:
    """A message stream that signals its end; it ends when the server floods it with unsolicited messages."""

    def __init__(self, inner: Any, ended: asyncio.Event) -> None:
        self._inner = inner
        self._ended = ended
        self._unsolicited = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Any:
        try:
            message = await anext(self._inner)
            self._count(message)
        except BaseException:
            self._ended.set()
            raise
        return message

    def _count(self, message: Any) -> None:
        answers = isinstance(getattr(message, "message", None), types.JSONRPCResponse | types.JSONRPCError)
        self._unsolicited = 0 if answers else self._unsolicited + 1
        if self._unsolicited > MOST_UNSOLICITED:
            raise StopAsyncIteration

    async def __aenter__(self) -> Self:
        await self._inner.__aenter__()
        return self

    async def __aexit__(self, *trouble: object) -> None:
        await self._inner.__aexit__(*trouble)
