"""One service in this process, called over MCP lines and over REST, with arguments that no sensible client sends.

The MCP side is the daemon's own stream handler on a socket pair, so that NaN, lone surrogates and wrong types arrive as
a client could send them. The REST side is the HTTP application itself.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import random
import socket
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import httpx
import search_world
from mcp_world import HANDSHAKE

from llmc.base.home import Home
from llmc.envelope.request import ClientInfo
from llmc.server.call_threads import CallThreads
from llmc.server.http.address import Address
from llmc.server.http.app import application
from llmc.server.http.callers import CALLER, HttpCaller
from llmc.server.http.logins import Logins
from llmc.server.http.request_context import RequestContexts
from llmc.server.local import open_service
from llmc.server.mcp import stream
from llmc.tool import FOCUS
from llmc.tools.registry import TOOLS, tool

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from pathlib import Path

    from starlette.types import ASGIApp, Receive, Scope, Send

    from llmc.server.service import Service
    from llmc.tool import Argument

__all__ = ["INTERNAL", "MALFORMED", "Lines", "calls", "opened", "over_mcp", "over_rest"]

INTERNAL = -32603
LARGEST = 4 << 20

# Values of the wrong type, size or content. The long ones made the first edition compute for seconds.
MALFORMED: tuple[Any, ...] = (
    None,
    True,
    0,
    -1,
    -5,
    1e19,
    -1e19,
    2**31,
    2**63,
    2**64 - 1,
    0.5,
    float("nan"),
    float("inf"),
    float("-inf"),
    "",
    " ",
    "\0",
    "a\0b",
    "\ud800",
    "\udc80",
    "x\udfffy",
    "\u202e\ufeff\x1b[31m",
    "NaN",
    "-5",
    "1e19",
    "9" * 5_000,
    "[" * 20_000,
    "(" * 900,
    "*" * 900,
    "{" * 900,
    "x" * 400_000,
    "a.b::" * 1_000,
    "word " * 40_000,
    "a/" * 50_000,
    "a.b.c(" * 30_000,
    '"' * 50_000,
    "`-:'" * 30_000,
    '  File "x.py", line 1, in f\n' * 4_000,
    "A" * 100_000 + " " + "_" * 100_000,
    "../" * 500 + "etc/passwd",
    "/dev/zero",
    "n" * 300,
    "\n" * 5_000,
    "(a{0,900}){0,900}",
    "\\",
    "h0000:1",
    "retry.py:99999999999999999999",
    "retry.py:5-1",
    "[]",
    "{}",
    "[" * 5_000 + "]" * 5_000,
    [],
    [[]],
    [None],
    [""],
    ["\0"],
    ["x"] * 30,
    ["*" * 50] * 2_000,
    [1, 2, 3],
    {},
    {"a": {"b": {"c": [1, {"d": None}]}}},
    {"name": "search", "args": {"query": "\0"}},
)
SENSIBLE: dict[str, tuple[Any, ...]] = {
    "string": ("retry", "RetryPolicy.delay", "src/depot/retry.py", "def ", "where is the delay computed", "*.py"),
    "strings": ("src", ["src/depot/retry.py", "docs"], "src/depot/retry.py:3-9", "py", "RetryPolicy"),
    "integer": (1, 3, 200, "60"),
    "number": (1, 0.5),
    "boolean": (True, False, "true"),
    "object": ({}, {"maxFilesRead": 2}),
    "value": ("text", 7, {"a": 1}),
}
# `shell` and `web_research` are off unless the user turns them on; their arguments are checked before that matters.
NAMES = tuple(name for name in TOOLS)


@dataclass(frozen=True)
class FuzzCall:
    tool: str
    args: dict[str, Any]


def calls(seed: int, count: int) -> Iterator[FuzzCall]:
    """Each argument of each tool with each malformed value once, then random combinations, up to `count`."""
    each = [
        FuzzCall(name, {**required(name, argument), argument.name: value})
        for name in NAMES
        for argument in arguments(name)
        for value in MALFORMED
    ]
    chance = random.Random(seed)
    chance.shuffle(each)
    yield from each[:count]
    for _ in range(count - len(each)):
        yield combination(chance)


def arguments(name: str) -> tuple[Argument, ...]:
    return (*tool(name).arguments, FOCUS)


def required(name: str, but: Argument) -> dict[str, Any]:
    needed = [one for one in tool(name).arguments if one.required and one is not but]
    return {one.name: SENSIBLE[one.kind][0] for one in needed}


def combination(chance: random.Random) -> FuzzCall:
    name = chance.choice(NAMES)
    known = arguments(name)
    chosen = chance.sample(known, chance.randint(0, min(4, len(known))))
    args = {one.name: chance.choice(SENSIBLE[one.kind] if chance.random() < 0.4 else MALFORMED) for one in chosen}
    if chance.random() < 0.02:
        args[chance.choice(("nosuch", "", "\0", "x" * 5_000, "session_id"))] = chance.choice(MALFORMED)
    return FuzzCall(name, args)


@contextlib.contextmanager
def opened(tmp_path: Path, *flags: str) -> Iterator[tuple[Service, ClientInfo]]:
    """A service over a small project that also holds a link, a FIFO and a file that is not text."""
    folder = tmp_path / "depot"
    (folder / ".git").mkdir(parents=True)  # a root without being configured
    search_world.write(folder)
    (folder / "link.py").symlink_to("/etc/passwd")
    os.mkfifo(folder / "fifo.py")
    (folder / "data.bin").write_bytes(bytes(range(256)) * 10)
    home = Home(str(tmp_path / "home"))
    home.make()
    environ = {**os.environ, "LLMC_HOME": home.path, "XDG_CONFIG_HOME": str(tmp_path / "config")}
    made = open_service(home, environ)
    service: Any = made.handler
    client = ClientInfo(os.getpid(), "fuzz", cwd=str(folder), environ={"LLMC_HOME": home.path}, flags=(*FLAGS, *flags))
    try:
        yield service, client
    finally:
        service.close()


FLAGS = ("server.profile=full",)


class Lines:
    """A client that writes JSON-RPC lines and reads the replies by their ids."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._last = 0

    async def ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        self._last += 1
        line = json.dumps({"jsonrpc": "2.0", "id": self._last, "method": method, "params": params})
        self._writer.write(line.encode() + b"\n")
        await self._writer.drain()
        while True:
            reply: dict[str, Any] = json.loads(await self._reader.readuntil(b"\n"))
            if reply.get("id") == self._last or ("id" in reply and reply["id"] is None):
                return reply

    async def call(self, name: str, args: dict[str, Any]) -> dict[str, Any]:
        return await self.ask("tools/call", {"name": name, "arguments": args})

    async def handshake(self) -> None:
        await self.ask("initialize", HANDSHAKE)
        self._writer.write(b'{"jsonrpc": "2.0", "method": "notifications/initialized"}\n')


@contextlib.asynccontextmanager
async def over_mcp(service: Service, client: ClientInfo) -> AsyncIterator[Lines]:
    ours, theirs = socket.socketpair()
    serving = asyncio.create_task(serve(service, theirs, client))
    reader, writer = await asyncio.open_connection(sock=ours, limit=1 << 26)
    lines = Lines(reader, writer)
    await lines.handshake()
    try:
        yield lines
    finally:
        writer.close()
        done, _ = await asyncio.wait({serving}, timeout=10)
        assert done


async def serve(service: Service, peer: socket.socket, client: ClientInfo) -> None:
    reader, writer = await asyncio.open_connection(sock=peer, limit=1 << 26)
    try:
        await stream.serve(service, reader, writer, client)
    finally:
        writer.close()


@contextlib.asynccontextmanager
async def over_rest(service: Service, client: ClientInfo, home: Path) -> AsyncIterator[httpx.AsyncClient]:
    address = Address("127.0.0.1", 1, "http", ())
    with CallThreads(4, "fuzz-rest") as pool:
        app = application(RequestContexts(service, client), pool, address, LARGEST, Logins(Home(str(home)), 1))
        transport = httpx.ASGITransport(partial(owned, app), raise_app_exceptions=False)
        async with (
            app.router.lifespan_context(app),
            httpx.AsyncClient(transport=transport, base_url=address.url, timeout=None) as made,
        ):
            yield made


async def owned(app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
    """As the guard leaves it, once the token was found right."""
    await app({**scope, CALLER: HttpCaller("fuzz")}, receive, send)
