"""The entry that `llmc install` writes, started as a client would start it: it answers MCP."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import pytest
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from search_world import write

if TYPE_CHECKING:
    from pathlib import Path

    from daemons import Place


@pytest.fixture(scope="module")
def project(shared_place: Place, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("work") / "depot"
    folder.mkdir()
    write(folder)
    agent = '[agents.reader]\nsystem_prompt = "Read."\ntools = ["read", "llmc"]\n'
    (folder / "llmc.toml").write_text(agent, "utf-8")
    assert shared_place.llmc("index", "--once", cwd=folder).returncode == 0
    return folder


def started(shared_place: Place, project: Path, cwd: str, client: str, *options: str) -> tuple[list[str], str]:
    """Tools and a reply of the server that the printed entry starts in `cwd`."""
    printed = shared_place.llmc("install", client, "--print", *options, cwd=project)
    (servers,) = json.loads(printed.stdout).values()
    entry: dict[str, Any] = servers["llmc"]
    environment = {**entry["env"], "PYTHONPATH": shared_place.environ["PYTHONPATH"], "PATH": "/usr/bin:/bin"}
    server = StdioServerParameters(command=entry["command"], args=entry["args"], env=environment, cwd=cwd)

    async def ask() -> tuple[list[str], str]:
        async with Client(stdio_client(server)) as connected:
            tools = [tool.name for tool in (await connected.list_tools()).tools]
            reply = await connected.call_tool("read", {"target": "docs/returns.md"})
            return tools, "\n".join(block.text for block in reply.content if block.type == "text")

    return asyncio.run(ask())


def test_a_client_that_starts_it_in_the_project_is_answered(shared_place: Place, project: Path) -> None:
    tools, reply = started(shared_place, project, str(project), "claude-code")
    assert tools == ["search", "grep", "read", "llmc"]
    assert "fourteen days" in reply


def test_a_desktop_program_that_knows_no_project_is_answered_from_the_fixed_one(
    shared_place: Place, project: Path
) -> None:
    _, reply = started(shared_place, project, "/", "claude-desktop", "--root", str(project))
    assert "fourteen days" in reply


def test_a_variable_that_no_editor_filled_in_is_passed_by(shared_place: Place, project: Path) -> None:
    _, reply = started(shared_place, project, str(project), "cursor")
    assert "fourteen days" in reply


def test_outside_any_project_the_reply_says_what_to_do(shared_place: Place, project: Path) -> None:
    _, reply = started(shared_place, project, "/", "claude-code")
    assert "--root" in reply


def test_an_agent_has_its_own_tools_alone(shared_place: Place, project: Path) -> None:
    tools, reply = started(shared_place, project, str(project), "claude-code", "--agent", "reader")
    assert tools == ["read", "llmc"]
    assert "fourteen days" in reply
