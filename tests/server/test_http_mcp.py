"""MCP over streamable HTTP, with the SDK's own client: every revision, handles, access to foreign sessions."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import httpx2
import pytest
from http_world import Served, served
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

LEGACY, MODERN = "legacy", "2026-07-28"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(tmp_path_factory.mktemp("http")) as made:
        yield made


@asynccontextmanager
async def connected(server: Served, mode: str, token: str | None = None, query: str = "") -> AsyncIterator[Client]:
    headers = {"Authorization": f"Bearer {token or server.token()}"}
    async with httpx2.AsyncClient(headers=headers, timeout=60, trust_env=False) as web:
        transport = streamable_http_client(f"{server.url}/mcp{query}", http_client=web)
        async with Client(transport, mode=mode) as client:
            yield client


async def text_of(client: Client, name: str, **args: Any) -> str:
    result = await client.call_tool(name, args)
    assert result.structured_content is None
    return "\n".join(block.text for block in result.content if block.type == "text")


@pytest.mark.parametrize("mode", [LEGACY, MODERN])
def test_search_then_read_a_handle_then_grep_inside_it(server: Served, mode: str) -> None:
    async def ask() -> None:
        async with connected(server, mode) as client:
            tools = [tool.name for tool in (await client.list_tools()).tools]
            assert tools == ["search", "grep", "read", "llmc"]
            found = await text_of(client, "search", query="retry policy")
            assert "src/depot/retry.py" in found
            cut = await text_of(client, "grep", pattern=".", budget=80)
            handle = cut.split()[-1]
            assert len(handle) == 27
            assert "more" in await text_of(client, "read", target=handle)
            assert "class" in await text_of(client, "grep", pattern="class", path=handle)

    asyncio.run(ask())


@pytest.mark.parametrize("mode", [LEGACY, MODERN])
def test_a_url_chooses_the_profile(server: Served, mode: str) -> None:
    async def ask() -> list[str]:
        async with connected(server, mode, query="?profile=full") as client:
            return [tool.name for tool in (await client.list_tools()).tools]

    assert {"find", "outline", "refs"} <= set(asyncio.run(ask()))


def test_a_session_does_not_open_the_handles_of_another(server: Served) -> None:
    async def ask() -> tuple[str, str]:
        async with connected(server, LEGACY) as one, connected(server, LEGACY) as two:
            handle = (await text_of(one, "grep", pattern=".", budget=80)).split()[-1]
            foreign = await text_of(two, "read", target=handle)
            unknown = await text_of(two, "read", target="h" + "a" * 26)
            return foreign.replace(handle, "NAME"), unknown.replace("h" + "a" * 26, "NAME")

    foreign, unknown = asyncio.run(ask())
    assert foreign == unknown
    assert "no result" in foreign


def test_a_session_belongs_to_the_token_that_made_it(server: Served) -> None:
    first, second = server.token("--client", "first"), server.token("--client", "second")
    hello = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
    }
    accept = {"Accept": "application/json, text/event-stream"}
    with server.client(first, **accept) as client:
        session = client.post("/mcp", json=hello).headers["mcp-session-id"]
    listing = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}
    answers = []
    for token, name in ((first, session), (second, session), (second, "0" * 32)):
        with server.client(token, **accept, **{"Mcp-Session-Id": name}) as client:
            answers.append(client.post("/mcp", json=listing))
    assert [reply.status_code for reply in answers] == [200, 404, 404]
    assert answers[1].text == answers[2].text


def test_an_unknown_tool_names_the_nearest(server: Served) -> None:
    async def ask() -> str:
        async with connected(server, MODERN) as client:
            with pytest.raises(MCPError) as caught:
                await client.call_tool("serach", {"query": "x"})
            return str(caught.value)

    assert "search" in asyncio.run(ask())


@pytest.mark.parametrize(
    ("body", "status"),
    [(b"{", 400), (b"[]", 400), (b'"x"', 400), (b'{"jsonrpc": "2.0"}', 400), (b"", 400)],
)
def test_broken_messages_are_refused(server: Served, body: bytes, status: int) -> None:
    headers = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
    with server.client(**headers) as client:
        assert client.post("/mcp", content=body).status_code == status
        assert client.post("/mcp", content=body, headers={"Content-Type": "text/plain"}).status_code in (400, 415)
        assert client.put("/mcp", content=body).status_code == 405


def test_many_clients_at_once_get_their_own_answers(server: Served) -> None:
    async def one(number: int) -> None:
        async with connected(server, (LEGACY, MODERN)[number % 2]) as client:
            for _ in range(3):
                found = await text_of(client, "grep", pattern=f"nothing{number}|class (Courier|RetryPolicy)")
                assert "class" in found

    async def all_of_them() -> None:
        await asyncio.gather(*(one(number) for number in range(8)))

    asyncio.run(all_of_them())
