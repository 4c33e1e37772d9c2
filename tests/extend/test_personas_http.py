"""Personas over HTTP: the endpoints of the contract and its table of errors."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import httpx2
import pytest
from agents_world import SETTINGS, World, world_at
from http_world import Served
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

if TYPE_CHECKING:
    from collections.abc import Iterator

    from httpx import Response

BROKEN = """
[agents.script.broken]
path = "agents/broken.lua"
[agents.script.slow]
path = "agents/slow.lua"
timeout = 1
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with world_at(tmp_path_factory.mktemp("http")) as world:
        world.write("agents/broken.lua", "return { resolve = function() error('no luck') end }")
        world.write("agents/slow.lua", "return { resolve = function() while true do end end }")
        world.write("llmc.toml", SETTINGS + BROKEN)
        yield from serving(world)


def serving(world: World) -> Iterator[Served]:
    command = [sys.executable, "-m", "llmc", "serve", "--http", "127.0.0.1:0", "--json"]
    with subprocess.Popen(
        command, cwd=world.folder, env=world.place.environ, text=True, stdout=subprocess.PIPE
    ) as process:
        try:
            assert process.stdout is not None
            yield Served(world.place, world.folder, json.loads(process.stdout.readline())["url"], process)
        finally:
            process.terminate()


def asked(server: Served, method: str, path: str, **options: Any) -> Response:
    with server.client() as client:
        return client.request(method, path, **options)


def test_the_list_has_the_fields_of_the_contract(server: Served) -> None:
    reply = asked(server, "GET", "/agents/list")
    assert reply.status_code == 200
    agents = {one["name"]: one for one in reply.json()["agents"]}
    assert agents["courier"] == {
        "name": "courier",
        "description": "Brings parcels",
        "tools": ["search", "get", "grep"],
        "source": "lua",
        "arguments": [{"name": "parcel", "description": "Which", "required": True}],
    }
    assert agents["depot-expert"]["source"] == "toml"
    assert set(agents) >= {"architect", "code-reviewer", "incident-responder", "onboarding", "writer"}


def test_a_prompt_is_resolved(server: Served) -> None:
    reply = asked(server, "POST", "/agents/depot-expert/prompt", json={"arguments": {"topic": "returns"}})
    assert reply.status_code == 200
    result = reply.json()["result"]
    assert set(result) == {"system", "tools", "messages"}
    assert result["tools"] == ["search", "read"]
    assert [message["role"] for message in result["messages"]] == ["user"]
    for body in ("{}", '{"arguments": {}}', '{"arguments": null}'):
        headers = {"Content-Type": "application/json"}
        plain = asked(server, "POST", "/agents/plain/prompt", content=body, headers=headers)
        assert plain.json()["result"] == {"system": "You are plain.", "tools": [], "messages": []}
    assert asked(server, "POST", "/agents/plain/prompt").status_code == 200  # no body is no arguments


@pytest.mark.parametrize(
    ("name", "body", "answer", "said"),
    [
        ("nobody", "{}", (404, "not_found"), "nobody"),
        ("depot-exprt", "{}", (404, "not_found"), "Did you mean depot-expert?"),
        ("depot-expert", "{}", (400, "bad_request"), "topic"),
        ("depot-expert", '{"arguments": {"topic": ""}}', (400, "bad_request"), "topic"),
        ("depot-expert", '{"arguments": {"topic": ["x"]}}', (400, "bad_request"), "must be a string"),
        ("depot-expert", '{"arguments": {"topic": "x", "tpoic": "y"}}', (400, "bad_request"), "Did you mean topic?"),
        ("depot-expert", '{"arguments": "topic"}', (400, "bad_request"), "must be an object"),
        ("depot-expert", "[]", (400, "bad_request"), "must be an object"),
        ("depot-expert", "{", (400, "bad_request"), "not JSON"),
        ("lost", "{}", (500, "agent_error"), "{topc}"),
        ("broken", "{}", (500, "agent_error"), "no luck"),
        ("slow", "{}", (408, "timeout"), "longer than 1 seconds"),
    ],
)
def test_what_goes_wrong_has_its_status_and_code(
    server: Served, name: str, body: str, answer: tuple[int, str], said: str
) -> None:
    reply = asked(server, "POST", f"/agents/{name}/prompt", content=body, headers={"Content-Type": "application/json"})
    assert (reply.status_code, reply.json()["error"]["code"]) == answer
    assert said in reply.text


def test_the_token_is_needed_here_too(server: Served) -> None:
    with server.client("") as stranger:
        assert stranger.get("/agents/list").status_code == 401
        assert stranger.post("/agents/plain/prompt", json={}).status_code == 401


def test_tools_are_those_of_the_persona_and_no_other_runs(server: Served) -> None:
    tools = asked(server, "GET", "/tools/list?agent=courier").json()["tools"]
    assert [tool["name"] for tool in tools] == ["search", "grep", "get"]
    assert asked(server, "POST", "/tools/search?agent=courier", json={"query": "retry"}).status_code == 200
    got = asked(server, "POST", "/tools/get?agent=courier", json={"id": "src/depot/retry.py"})
    assert got.status_code == 200
    assert "class RetryPolicy" in got.text
    assert asked(server, "POST", "/tools/read?agent=courier", json={"target": "src/depot/retry.py"}).status_code == 404
    refused = asked(server, "POST", "/tools/outline?agent=courier", json={"path": "src"})
    assert refused.status_code == 404
    assert "outline is not available to courier" in refused.json()["error"]["message"]
    around = asked(server, "POST", "/tools/llmc?agent=courier", json={"name": "outline", "args": {}})
    assert around.status_code == 404
    unknown = asked(server, "GET", "/tools/list?agent=coureir")
    assert (unknown.status_code, unknown.json()["error"]["code"]) == (404, "not_found")
    assert "Did you mean courier?" in unknown.text


def test_mcp_as_a_persona_has_its_prompt_as_instructions(server: Served) -> None:
    async def talk(mode: Any) -> tuple[str, list[str], list[str]]:
        headers = {"Authorization": f"Bearer {server.token()}"}
        async with httpx2.AsyncClient(headers=headers, timeout=60, trust_env=False) as http:
            transport = streamable_http_client(f"{server.url}/mcp?agent=plain", http_client=http)
            async with Client(transport, mode=mode) as connected:
                tools = [tool.name for tool in (await connected.list_tools()).tools]
                prompts = [one.name for one in (await connected.list_prompts()).prompts]
                return connected.instructions or "", tools, prompts

    for mode in ("legacy", "auto"):
        said, tools, prompts = asyncio.run(talk(mode))
        assert said == "You are plain."
        assert prompts == ["plain"]
        assert "search" in tools
