"""The SDK's own MCP client over a real `llmc serve`: typical calls of an agent."""

from __future__ import annotations

import asyncio
import json
import re
from typing import TYPE_CHECKING, Any

import pytest
import search_world
from daemons import Place, private_place
from mcp.shared.exceptions import MCPError
from mcp_world import HANDSHAKE, client, raw, text_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator
    from pathlib import Path

    from mcp import Client
    from mcp_types import CallToolResult, Tool

    Talk = Callable[[Client], Awaitable[Any]]

ERAS = ["legacy", "auto"]


class World:
    def __init__(self, place: Place, folder: Path) -> None:
        self.place = place
        self.folder = folder

    def talk(self, talk: Talk, *arguments: str, **options: Any) -> Any:
        async def run() -> Any:
            async with client(self.place, self.folder, *arguments, **options) as connected:
                return await talk(connected)

        return asyncio.run(run())

    def call(self, name: str, /, **arguments: Any) -> CallToolResult:
        result: CallToolResult = self.talk(lambda connected: connected.call_tool(name, arguments))
        return result


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    folder = search_world.write(tmp_path_factory.mktemp("depot"))
    many = "\n".join(f"PARCEL_{number} = {number}  # parcel number {number} of the depot" for number in range(400))
    (folder / "src/depot/parcels.py").write_text(many)
    with private_place() as place:
        done = place.llmc("index", "--once", cwd=folder)
        assert done.returncode == 0, done.stderr
        yield World(place, folder)


@pytest.mark.parametrize("era", ERAS)
def test_search_then_read_the_handle_then_grep_inside_it(world: World, era: str) -> None:
    async def talk(connected: Client) -> None:
        assert connected.server_info is not None
        assert connected.server_info.name == "llmc"
        assert connected.protocol_version == ("2025-11-25" if era == "legacy" else "2026-07-28")
        assert "h4k2" in (connected.instructions or "")
        found = text_of(await connected.call_tool("search", {"query": "parcel number of the depot", "budget": 50}))
        match = re.search(r"→ (h\w+)$", found)
        assert match, found
        rest = text_of(await connected.call_tool("read", {"target": match[1]}))
        assert "depot" in rest
        inside = text_of(await connected.call_tool("grep", {"pattern": "PARCEL_7 ", "path": match[1]}))
        assert "1 match in 1 file" in inside

    world.talk(talk, mode=era)


@pytest.mark.parametrize("era", ERAS)
def test_a_handle_is_a_resource(world: World, era: str) -> None:
    async def talk(connected: Client) -> None:
        templates = (await connected.list_resource_templates()).resource_templates
        assert [one.uri_template for one in templates] == ["llmc://handle/{id}"]
        found = text_of(await connected.call_tool("grep", {"pattern": "PARCEL_", "budget": 200}))
        handle = found.rpartition("→ ")[2]
        (listed,) = (await connected.list_resources()).resources
        assert (str(listed.uri), listed.description) == (f"llmc://handle/{handle}", "grep PARCEL_")
        (page,) = (await connected.read_resource(listed.uri)).contents
        assert "PARCEL_" in getattr(page, "text", "")
        for missing in ("llmc://handle/hzzzz", "llmc://elsewhere/h4k2", "file:///etc/passwd"):
            with pytest.raises(MCPError) as refused:
                await connected.read_resource(missing)
            assert refused.value.code == -32602

    world.talk(talk, mode=era)


def test_the_reply_is_text_alone(world: World) -> None:
    result = world.call("grep", pattern="RetryPolicy")
    assert result.structured_content is None
    assert not result.is_error
    assert text_of(result).startswith("5 matches in 3 files: 3 code, 2 tests\nsrc/depot/retry.py\n6-15 class")


def test_arguments_that_the_lean_schema_leaves_out_are_accepted(world: World) -> None:
    code = text_of(world.call("grep", pattern="RetryPolicy", no_tests=True, kind="def"))
    assert code.startswith("1 match in 1 file\nsrc/depot/retry.py\n6-15 class RetryPolicy:")
    tests = text_of(world.call("grep", pattern="RetryPolicy", only_tests=True, files=True))
    assert tests == "1 file\ntests/test_retry.py"
    skeleton = text_of(world.call("read", target="src/depot/retry.py", skeleton=True))
    assert "skeleton of" in skeleton.split("\n")[0]


def test_mistakes_are_reported_to_the_model_with_the_nearest_right_name(world: World) -> None:
    async def talk(connected: Client) -> list[str]:
        replies = [
            await connected.call_tool("grep", {"patern": "x"}),
            await connected.call_tool("grep", {}),
            await connected.call_tool("search", {"query": ["a"]}),
            await connected.call_tool("search", {"query": "x", "budget": "many"}),
            await connected.call_tool("read", {"target": "src/depot/curier.py"}),
        ]
        assert all(reply.is_error for reply in replies)
        return [text_of(reply) for reply in replies]

    argument, missing, kind, number, path = world.talk(talk)
    assert "Did you mean pattern?" in argument
    assert "grep needs 'pattern'" in missing
    assert "must be a string" in kind
    assert "must be a whole number" in number
    assert "src/depot/courier.py" in path


def test_a_reply_does_not_repeat_a_long_argument(world: World) -> None:
    long = "x" * 100_000
    calls: dict[str, dict[str, Any]] = {
        "read": {"target": long},
        "grep": {"pattern": f"({long}"},
        "search": {"query": "retry", "path": f"src/{long}"},
        "llmc": {"name": long, "args": {}},
    }
    for name, arguments in calls.items():
        result = world.call(name, **arguments)
        assert result.is_error, name
        assert 20 < len(text_of(result)) < 2_500

    async def talk(connected: Client) -> None:
        with pytest.raises(MCPError, match="there is no tool") as raised:
            await connected.call_tool(long)
        assert len(str(raised.value)) < 500

    world.talk(talk)


def test_an_unknown_tool_is_a_protocol_error_that_names_the_nearest(world: World) -> None:
    async def talk(connected: Client) -> None:
        with pytest.raises(MCPError, match="Did you mean search"):
            await connected.call_tool("serch", {"query": "x"})

    world.talk(talk)


def test_what_models_send_almost_right_is_taken(world: World) -> None:
    async def talk(connected: Client) -> None:
        several = await connected.call_tool("read", {"target": '["config/depot.yaml", "docs/returns.md"]'})
        assert text_of(several).startswith("2 targets")
        limited = await connected.call_tool("search", {"query": "retry", "limit": "1", "path": ["src"]})
        assert "in 1 file" in text_of(limited)
        nothing = await connected.call_tool("grep", {"pattern": "Ledger", "path": None})
        assert "ledger.ts" in text_of(nothing)
        unlisted = await connected.call_tool("grep", {"pattern": "LEDGER", "ignore_case": "true", "files": True})
        assert text_of(unlisted) == "1 file\nsrc/depot/ledger.ts"

    world.talk(talk)


def test_a_tool_that_is_not_listed_answers_to_its_name(world: World) -> None:
    async def talk(connected: Client) -> None:
        listed = [one.name for one in (await connected.list_tools()).tools]
        assert listed == ["search", "grep", "read", "llmc"]
        assert "courier.py" in text_of(await connected.call_tool("find", {"name": "courier"}))

    world.talk(talk)


def test_reading_tools_stay_read_only_and_loaded_when_the_shell_is_enabled(world: World) -> None:
    async def talk(connected: Client) -> dict[str, Tool]:
        return {one.name: one for one in (await connected.list_tools()).tools}

    def reads_only(tools: dict[str, Tool]) -> set[str]:
        return {name for name, one in tools.items() if one.annotations and one.annotations.read_only_hint}

    lean = {"search", "grep", "read", "llmc"}
    assert reads_only(world.talk(talk)) == set(world.talk(talk)) == lean
    enabled = world.talk(talk, "--set", "shell.enabled=true")
    assert reads_only(enabled) == lean
    assert enabled.keys() - lean == {"run"}
    assert enabled["run"].description == "Run a tool with side effects: shell."
    assert all((one.meta or {}).get("anthropic/alwaysLoad") for one in enabled.values())
    assert all(one.title for one in enabled.values())
    full = world.talk(talk, "--profile", "full", "--set", "shell.enabled=true")
    assert lean <= reads_only(full)
    assert "shell" in full.keys() - reads_only(full)
    assert {name for name, one in full.items() if (one.meta or {}).get("anthropic/alwaysLoad")} == lean


@pytest.mark.parametrize("given", ["flag", "setting"])
def test_the_profile_decides_which_tools_are_listed(world: World, given: str) -> None:
    flag = ("--profile", "full") if given == "flag" else ("--set", "server.profile=full")

    async def talk(connected: Client) -> list[str]:
        return [one.name for one in (await connected.list_tools()).tools]

    listed = world.talk(talk, *flag)
    assert listed[:5] == ["search", "grep", "read", "llmc", "find"]
    assert listed == world.talk(talk, *flag)


@pytest.mark.parametrize("era", ERAS)
def test_a_list_that_changed_is_announced(world: World, tmp_path: Path, era: str) -> None:
    settings = tmp_path / "llmc.toml"
    settings.write_text('[server]\nprofile = "lean"\n')

    async def talk(connected: Client) -> None:
        before = (await connected.list_tools(cache_mode="refresh")).tools
        settings.write_text('[server]\nprofile = "full"\n')
        await connected.call_tool("grep", {"pattern": "Ledger"})
        if era == "legacy":
            await asyncio.wait_for(told.wait(), 60)
        after = (await connected.list_tools(cache_mode="refresh")).tools
        assert len(after) > len(before)

    told = asyncio.Event()

    async def hear(message: Any) -> None:
        if getattr(message, "method", "") == "notifications/tools/list_changed":
            told.set()

    world.talk(talk, "--config", str(settings), "--root", str(world.folder), mode=era, message_handler=hear)


def test_settings_that_become_wrong_are_reported_in_the_reply(world: World, tmp_path: Path) -> None:
    settings = tmp_path / "llmc.toml"
    settings.write_text("")

    async def talk(connected: Client) -> CallToolResult:
        settings.write_text("[server]\nprofil = 1\n")
        return await connected.call_tool("grep", {"pattern": "x"})

    result = world.talk(talk, "--config", str(settings))
    assert result.is_error
    assert "profile" in text_of(result)


def test_it_works_in_one_process_too(world: World, tmp_path: Path) -> None:
    place = Place(tmp_path / "own")

    async def talk() -> str:
        async with client(place, world.folder, "--no-daemon") as connected:
            return text_of(await connected.call_tool("grep", {"pattern": "class Ledger"}))

    assert "ledger.ts" in asyncio.run(talk())


def test_nothing_but_messages_comes_out(world: World) -> None:
    with raw(world.place, world.folder) as served:
        served.send("initialize", **HANDSHAKE)
        served.notify("notifications/initialized")
        served.send("tools/list")
        served.send("tools/call", name="grep", arguments={"pattern": "("})
        code, out = served.close()
    assert code == 0
    assert out.endswith(b"\n")
    assert sorted(json.loads(line)["id"] for line in out.splitlines()) == [1, 2, 3]


def test_every_revision_gets_the_instructions(world: World) -> None:
    for revision in ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"):
        with raw(world.place, world.folder) as served:
            result = served.ask("initialize", **{**HANDSHAKE, "protocolVersion": revision})["result"]
            assert result["protocolVersion"] == revision
            assert result["instructions"]
