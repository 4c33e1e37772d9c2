"""One connection to a downstream server: the handshake, its list of tools, calls, and the moment when it ends.

The SDK's session shakes hands and answers what a server asks of its client (nothing is offered to it). Lists and calls
are sent as plain requests: a server that lies about one schema loses that tool and not all, and no schema of its is
ever compiled, which could fetch a reference.
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
from llmc.extend.delegates.transport import opened

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping
    from typing import Self

    from mcp.shared.dispatcher import CallOptions

    from llmc.extend.delegates.transport import Words
    from llmc.settings import Mcp

__all__ = ["Link", "connected"]

MOST_PAGES, MOST_TOOLS = 50, 1_000
LIST_SECONDS = 20.0
PING_SECONDS = 5.0
# So many messages without an answer to anything that was asked are a flood.
MOST_UNASKED = 20_000
ABOUT = types.Implementation(name="llmc", version=__version__)


class Link:
    """`ended` is set when the other end has gone, `relist` when it says that its tools are others now."""

    def __init__(
        self, dispatcher: JSONRPCDispatcher[Any], session: ClientSession, ended: asyncio.Event, *, remote: bool
    ) -> None:
        self.ended = ended
        self._remote = remote
        self.relist = asyncio.Event()
        self._dispatcher = dispatcher
        self._session = session

    async def tools(self) -> list[object]:
        """As the server says, page by page."""
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
        """Its raw result. Giving up tells the server so; ToolExecutionError when it does not come."""
        try:
            return await self._ask("tools/call", {"name": name, "arguments": dict(arguments)}, seconds)
        except MCPError as error:
            code, said = error.error.code, error.error.message
            if code == types.REQUEST_TIMEOUT:
                raise ToolExecutionError(f"{name} did not answer", reason=f"not in {seconds:.0f} s") from None
            if self._remote:
                await self._look()
            if self.ended.is_set():
                raise ToolExecutionError(f"the server died while {name} ran", hint="It is started again.") from None
            raise ToolExecutionError(f"{name} failed", reason=str(said)[:2_000]) from None

    async def _look(self) -> None:
        """Whether the other end still knows us: over HTTP a server may go, and come back, unseen."""
        try:
            await self._ask("ping", {}, PING_SECONDS)
        except MCPError as error:
            if error.error.code != types.METHOD_NOT_FOUND:
                self.ended.set()

    async def _ask(self, method: str, params: dict[str, Any], seconds: float) -> dict[str, Any]:
        version = self._session.protocol_version
        options: CallOptions = {"timeout": seconds, "headers": {"mcp-protocol-version": version} if version else {}}
        return await self._dispatcher.send_raw_request(method, params, options)

    async def heard(self, message: object) -> None:
        if isinstance(message, types.ToolListChangedNotification):
            self.relist.set()


@contextlib.asynccontextmanager
async def connected(
    mcp: Mcp, cwd: str, environ: Mapping[str, str], words: Words, seconds: float
) -> AsyncIterator[Link]:
    """A server that has shaken hands within so many seconds."""
    async with opened(mcp, cwd, environ, words) as (reading, writing):
        ended = asyncio.Event()
        dispatcher: JSONRPCDispatcher[Any] = JSONRPCDispatcher(MonitoredStream(reading, ended), writing)
        link: list[Link] = []

        async def hear(message: object) -> None:
            await link[0].heard(message)

        session = ClientSession(dispatcher=dispatcher, message_handler=hear, client_info=ABOUT)
        link.append(Link(dispatcher, session, ended, remote=mcp.transport != "stdio"))
        async with session:
            async with asyncio.timeout(seconds):
                await session.initialize()
            yield link[0]


class MonitoredStream:
    """A stream of messages that tells when it has ended; one that only ever says things unasked is ended here."""

    def __init__(self, inner: Any, ended: asyncio.Event) -> None:
        self._inner = inner
        self._ended = ended
        self._unasked = 0

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
        self._unasked = 0 if answers else self._unasked + 1
        if self._unasked > MOST_UNASKED:
            raise StopAsyncIteration

    async def __aenter__(self) -> Self:
        await self._inner.__aenter__()
        return self

    async def __aexit__(self, *trouble: object) -> None:
        await self._inner.__aexit__(*trouble)
