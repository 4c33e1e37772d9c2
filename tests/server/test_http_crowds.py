"""Idle connections, half-open requests and unused sessions keep no other client out."""

from __future__ import annotations

import asyncio
import contextlib
import select
import socket
from typing import TYPE_CHECKING, Any

import pytest
from fuzz_world import opened, over_rest
from http_world import Served, served
from mcp_world import HANDSHAKE

from llmc.server.http.guard import Admission
from llmc.server.http.refusals import HttpRefusal

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import httpx

ACCEPT = {"accept": "application/json, text/event-stream"}
# More than `protocol.MOST_CONNECTIONS`.
CROWD = 700


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(tmp_path_factory.mktemp("crowds"), "--set", "server.request_seconds=600") as made:
        yield made


def half_open(server: Served) -> bytes:
    lines = (
        "POST /tools/search HTTP/1.1",
        f"Host: 127.0.0.1:{server.port}",
        f"Authorization: Bearer {server.token()}",
        "Content-Type: application/json",
        "Content-Length: 100",
    )
    return "\r\n".join((*lines, "", "{")).encode()


@pytest.mark.parametrize("sent", ["nothing", "half a head", "half a body"])
def test_connections_on_which_nothing_happens_keep_no_one_out(server: Served, sent: str) -> None:
    begun = {"nothing": b"", "half a head": b"GET /health HT", "half a body": half_open(server)}[sent]
    with contextlib.ExitStack() as stack:
        for _ in range(CROWD):
            peer = stack.enter_context(socket.create_connection(("127.0.0.1", server.port), timeout=60))
            with contextlib.suppress(ConnectionError):  # closed to make room for the next
                peer.sendall(begun)
        assert server.call("search", query="retry").status_code == 200
        with server.client() as client:
            assert client.get("/health").status_code == 200


def test_a_reply_under_way_is_not_given_up_for_idle_connections(server: Served) -> None:
    hello = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": HANDSHAKE}
    with server.client(**ACCEPT) as client:
        session = client.post("/mcp", json=hello).headers["mcp-session-id"]
    lines = (
        "GET /mcp HTTP/1.1",
        f"Host: 127.0.0.1:{server.port}",
        f"Authorization: Bearer {server.token()}",
        f"Mcp-Session-Id: {session}",
        "Accept: text/event-stream",
    )
    with contextlib.ExitStack() as stack:
        standing = stack.enter_context(socket.create_connection(("127.0.0.1", server.port), timeout=60))
        standing.sendall("\r\n".join((*lines, "", "")).encode())
        assert standing.recv(4096).startswith(b"HTTP/1.1 200")
        for _ in range(CROWD):
            stack.enter_context(socket.create_connection(("127.0.0.1", server.port), timeout=60))
        assert server.call("search", query="retry").status_code == 200
        closed = select.poll()
        closed.register(standing, select.POLLRDHUP)
        assert closed.poll(0) == []


async def initialize(rest: httpx.AsyncClient) -> str:
    hello = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": HANDSHAKE}
    reply = await rest.post("/mcp", json=hello, headers=ACCEPT)
    assert reply.status_code == 200, reply.text
    return str(reply.headers["mcp-session-id"])


async def list_tools(rest: httpx.AsyncClient, session: str) -> int:
    ask: dict[str, Any] = {"jsonrpc": "2.0", "id": 2, "method": "tools/list", "params": {}}
    reply = await rest.post("/mcp", json=ask, headers={**ACCEPT, "mcp-session-id": session})
    return reply.status_code


def test_sessions_that_no_one_uses_make_room_for_new_clients(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("llmc.server.http.app.MOST_SESSIONS", 4)

    async def ask() -> None:
        with opened(tmp_path) as (service, client):
            async with over_rest(service, client, tmp_path / "home") as rest:
                used = await initialize(rest)
                for _ in range(3):
                    assert await list_tools(rest, used) == 200
                first = await initialize(rest)
                crowd = [await initialize(rest) for _ in range(12)]
                assert await list_tools(rest, used) == 200
                assert await list_tools(rest, crowd[-1]) == 200
                assert await list_tools(rest, first) == 404

    asyncio.run(ask())


def test_a_session_that_was_only_opened_ends_after_a_while(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("llmc.server.http.app.UNUSED_SECONDS", 0.0)

    async def ask() -> None:
        with opened(tmp_path) as (service, client):
            async with over_rest(service, client, tmp_path / "home") as rest:
                unused = await initialize(rest)
                await initialize(rest)
                assert await list_tools(rest, unused) == 404

    asyncio.run(ask())


def request(path: str, peer: str, method: str = "POST") -> dict[str, Any]:
    return {"type": "http", "path": path, "method": method, "client": (peer, 1)}


def test_one_client_cannot_take_all_the_room_and_health_is_never_refused() -> None:
    admission = Admission(most=3, of_client=2)
    with contextlib.ExitStack() as stack:

        def admit(path: str, peer: str) -> None:
            stack.enter_context(admission.admit(request(path, peer), "owner"))

        admit("/tools/search", "10.0.0.1")
        admit("/tools/search", "10.0.0.1")
        with pytest.raises(HttpRefusal):
            admit("/tools/search", "10.0.0.1")
        admit("/tools/search", "10.0.0.2")
        with pytest.raises(HttpRefusal):
            admit("/tools/search", "10.0.0.3")
        admit("/health", "10.0.0.1")
    with admission.admit(request("/tools/search", "10.0.0.1"), "owner"):
        pass
