"""The research profile, driven by a real MCP client over a real `llmc serve`."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import pytest
from daemons import Place, private_place
from jsonschema import validate
from mcp_world import client, text_of
from research_schemas import REPORT
from research_world import TOKEN, write

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator
    from pathlib import Path

    from mcp import Client

TOOLS = {
    "research_codebase", "locate_in_codebase", "find_patterns", "analyze_component", "create_handoff", "resume_handoff",
    "list_roots", "ping",
}  # fmt: skip


@pytest.fixture(scope="module")
def depot(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Place, Path]]:
    folder = write(tmp_path_factory.mktemp("work") / "depot")
    with private_place() as place:
        done = place.llmc("index", "--once", cwd=folder)
        assert done.returncode == 0, done.stderr
        yield place, folder


def talked(depot: tuple[Place, Path], talk: Callable[[Client], Awaitable[Any]]) -> Any:
    async def run() -> Any:
        async with client(*depot, "--profile", "research") as connected:
            return await talk(connected)

    return asyncio.run(run())


def test_the_server_boots_with_minimal_config_and_registers_the_expected_tools(depot: tuple[Place, Path]) -> None:
    async def talk(connected: Client) -> None:
        listed = await connected.list_tools()
        assert {tool.name for tool in listed.tools} >= TOOLS
        assert text_of(await connected.call_tool("ping", {})) == "pong"
        roots = json.loads(text_of(await connected.call_tool("list_roots", {})))
        assert roots["roots"] == [str(depot[1])]

    talked(depot, talk)


def test_a_question_is_answered_with_the_contract_and_its_progress(depot: tuple[Place, Path]) -> None:
    told: list[tuple[float, float | None, str | None]] = []

    async def note(progress: float, total: float | None, message: str | None) -> None:
        told.append((progress, total, message))

    async def talk(connected: Client) -> None:
        question = {"question": "how does a courier deliver a parcel?", "constraints": {"maxTokens": 2000}}
        reply = await connected.call_tool("research_codebase", question, progress_callback=note)
        report = json.loads(text_of(reply))
        validate(report, REPORT)
        assert reply.structured_content is None
        assert report["synthesis"]["value"]["references"][0] == "src/depot/courier.py:11"
        assert list(report)[:3] == ["question", "rootsSearched", "locator"]

    talked(depot, talk)
    assert [progress for progress, _, _ in told] == sorted({progress for progress, _, _ in told})
    roles = [(progress, total) for progress, total, message in told if message and "looking for" in message]
    assert roles[0][1] is not None
    assert roles[0][0] < roles[0][1]  # the first of several is not everything
    assert roles[-1][0] == roles[-1][1]
    assert told


def test_errors_are_errors_and_secrets_stay(depot: tuple[Place, Path]) -> None:
    async def talk(connected: Client) -> None:
        missing = await connected.call_tool("research_codebase", {})
        assert missing.is_error
        assert "question" in text_of(missing)
        outside = await connected.call_tool("research_codebase", {"question": "where is root", "roots": ["/etc"]})
        assert outside.is_error
        found = text_of(await connected.call_tool("find_patterns", {"pattern": "TRACKER_TOKEN"}))
        assert TOKEN not in found
        assert "src/depot/secrets.py" in found

    talked(depot, talk)


def test_a_handoff_passes_from_one_session_to_the_next(depot: tuple[Place, Path]) -> None:
    async def first(connected: Client) -> str:
        made = await connected.call_tool(
            "create_handoff", {"question": "courier retries", "open_questions": ["why five?"]}
        )
        return str(json.loads(text_of(made))["name"])

    name = talked(depot, first)

    async def second(connected: Client) -> None:
        back = json.loads(text_of(await connected.call_tool("resume_handoff", {"name": name})))
        assert back["open_questions"] == ["why five?"]

    talked(depot, second)
