"""Personas as MCP prompts, with the SDK's own client over a real `llmc serve`."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest
from agents_world import COURIER, SETTINGS, World, world_at
from daemons import PATIENCE
from mcp.shared.exceptions import MCPError
from mcp_types import PromptListChangedNotification, PromptReference
from mcp_world import client, raw

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

    from mcp import Client
    from mcp_types import GetPromptResult

    Talk = Callable[[Client], Awaitable[Any]]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with world_at(tmp_path_factory.mktemp("prompts")) as made:
        yield made


def talked(world: World, talk: Talk, *arguments: str, **options: Any) -> Any:
    async def run() -> Any:
        async with client(world.place, world.folder, *arguments, **options) as connected:
            return await talk(connected)

    return asyncio.run(run())


def texts(result: GetPromptResult) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    for message in result.messages:
        assert message.content.type == "text"
        found.append((message.role, message.content.text))
    return found


def test_a_description_cannot_forge_a_line_or_hold_a_secret(world: World) -> None:
    async def talk(connected: Client) -> None:
        listed = {one.name: one.description for one in (await connected.list_prompts()).prompts}
        got = (await connected.get_prompt("forger", {})).description
        assert got == listed["forger"] == "Tidy\\n+3 more → h4k2\\u202e \\e[31m[redacted:aws-key]"

    talked(world, talk)


@pytest.mark.parametrize("era", ["legacy", "auto"])
def test_prompts_are_listed_and_got_with_arguments(world: World, era: str) -> None:
    async def talk(connected: Client) -> None:
        listed = {one.name: one for one in (await connected.list_prompts()).prompts}
        assert {"architect", "courier", "depot-expert", "incident-responder"} <= set(listed)
        topic, customer = listed["depot-expert"].arguments or []
        assert (topic.name, topic.description, topic.required) == ("topic", "What about", True)
        assert customer.required is False
        got = await connected.get_prompt("depot-expert", {"topic": "returns"})
        assert got.description == "Knows the depot"
        (first, system), (second, primed) = texts(got)
        assert (first, second) == ("user", "user")  # the protocol has no system role
        assert system.startswith("You know the depot.")
        assert "docs/returns.md" in primed
        roles = [role for role, _ in texts(await connected.get_prompt("courier", {"parcel": "red"}))]
        assert roles == ["user", "user", "assistant"]

    talked(world, talk, mode=era)


@pytest.mark.parametrize(
    ("name", "arguments", "said"),
    [
        ("depot-exprt", {}, "Did you mean depot-expert?"),
        ("depot-expert", {}, "needs the argument 'topic'"),
        ("depot-expert", {"topic": "x", "custmer": "y"}, "Did you mean customer?"),
        ("lost", {}, "{topc}"),
    ],
)
def test_a_prompt_that_cannot_be_got_says_why(world: World, name: str, arguments: dict[str, str], said: str) -> None:
    async def talk(connected: Client) -> MCPError:
        with pytest.raises(MCPError) as told:
            await connected.get_prompt(name, arguments)
        return told.value

    error = talked(world, talk)
    assert said in str(error)
    assert error.error.code == (-32603 if name == "lost" else -32602)


def test_values_of_arguments_are_completed(world: World) -> None:
    async def talk(connected: Client) -> dict[str, list[str]]:
        async def complete(prompt: str, argument: str, typed: str) -> list[str]:
            ref = PromptReference(type="ref/prompt", name=prompt)
            found = await connected.complete(ref, {"name": argument, "value": typed})
            return found.completion.values

        return {
            "inline": await complete("depot-expert", "topic", "re"),
            "part": await complete("depot-expert", "topic", "fund"),
            "script": await complete("courier", "parcel", ""),
            "severity": await complete("incident-responder", "severity", "p1"),
            "folders": await complete("incident-responder", "service", "dep"),
            "files": await complete("code-reviewer", "change", "ledger"),
            "none": await complete("depot-expert", "customer", ""),
        }

    assert talked(world, talk) == {
        "inline": ["returns", "retries", "refunds"],
        "part": ["refunds"],
        "script": ["red", "blue"],
        "severity": ["P1"],
        "folders": ["src/depot"],
        "files": ["src/depot/ledger.ts"],
        "none": [],
    }


@pytest.mark.parametrize("what", ["settings", "script", "new script"])
def test_a_change_of_settings_or_script_is_announced_and_seen(world: World, what: str) -> None:
    async def talk() -> None:
        changed = asyncio.Event()

        async def heard(message: Any) -> None:
            if isinstance(message, PromptListChangedNotification):
                changed.set()

        made = client(world.place, world.folder, mode="legacy", message_handler=heard)
        async with made as connected:
            before = {one.name: one.description for one in (await connected.list_prompts()).prompts}
            # The watch starts with the list; only later changes count.
            await asyncio.sleep(0)
            while not changed.is_set():
                change(world, what)
                try:
                    await asyncio.wait_for(changed.wait(), 3)
                except TimeoutError:
                    restore(world)  # it was created before the first look of the watch
            after = {one.name: one.description for one in (await connected.list_prompts()).prompts}
            assert after != before

    try:
        asyncio.run(asyncio.wait_for(talk(), PATIENCE))
    finally:
        restore(world)


def test_listeners_with_the_new_method_are_notified_too(world: World) -> None:
    async def talk(connected: Client) -> None:
        async with connected.listen(prompts_list_changed=True) as events:
            heard = asyncio.ensure_future(anext(aiter(events)))
            while not heard.done():
                change(world, "settings")
                await asyncio.wait({heard}, timeout=3)
                restore(world)
            assert type(heard.result()).__name__ == "PromptsListChanged"

    try:
        talked(world, talk, mode="auto")
    finally:
        restore(world)


def change(world: World, what: str) -> None:
    if what == "settings":
        world.write("llmc.toml", SETTINGS.replace("Knows the depot", "Knows it all"))
    elif what == "script":
        world.write("agents/courier.lua", COURIER.replace("Brings parcels", "Brings letters"))
    else:
        world.write("agents/other.lua", COURIER)
        world.write("llmc.toml", SETTINGS + "\n[agents.script.other]\npath = 'agents/other.lua'\n")


def restore(world: World) -> None:
    world.write("llmc.toml", SETTINGS)
    world.write("agents/courier.lua", COURIER)


def test_a_server_that_is_one_persona_has_its_tools_its_prompt_and_no_other(world: World) -> None:
    async def talk(connected: Client) -> None:
        said = connected.instructions or ""
        assert said.startswith("You know the depot.")
        assert "Answer about returns." in said
        assert "docs/returns.md" in said
        assert [tool.name for tool in (await connected.list_tools()).tools] == ["search", "read"]
        assert [one.name for one in (await connected.list_prompts()).prompts] == ["depot-expert"]
        with pytest.raises(MCPError, match="grep is not available to depot-expert: search, read"):
            await connected.call_tool("grep", {"pattern": "x"})
        with pytest.raises(MCPError, match="this server is depot-expert"):
            await connected.get_prompt("plain")
        found = await connected.call_tool("search", {"query": "retry policy"})
        assert not found.is_error

    talked(world, talk, "--agent", "depot-expert", "--arg", "topic=returns")


def test_a_persona_is_narrower_than_any_profile(world: World) -> None:
    async def names(connected: Client) -> list[str]:
        return [tool.name for tool in (await connected.list_tools()).tools]

    for profile in ("full", "research", "pruner"):
        assert talked(world, names, "--agent", "courier", "--profile", profile) == ["search", "grep", "get"]


def test_a_refusal_names_all_tools_of_the_persona(world: World) -> None:
    async def refused(connected: Client) -> None:
        with pytest.raises(MCPError, match="read is not available to courier: search, grep, get"):
            await connected.call_tool("read", {"target": "x"})

    talked(world, refused, "--agent", "courier")


@pytest.mark.parametrize("name", ["reed", "nonexistent"])
def test_a_name_that_does_not_exist_is_answered_with_the_tools_of_the_persona(world: World, name: str) -> None:
    async def refused(connected: Client) -> None:
        with pytest.raises(MCPError, match="Available: search, grep, get"):
            await connected.call_tool(name, {"target": "x"})

    talked(world, refused, "--agent", "courier")


@pytest.mark.parametrize(
    ("agent", "said"),
    [("depot-exprt", "Did you mean depot-expert?"), ("depot-expert", "needs the argument 'topic'")],
)
def test_a_server_whose_persona_cannot_be_made_says_so(world: World, agent: str, said: str) -> None:
    with raw(world.place, world.folder, "--agent", agent) as connected:
        assert said in connected.handshake()["result"]["instructions"]
        tools = connected.ask("tools/list")["result"]["tools"]
        assert [tool["name"] for tool in tools] == ([] if agent == "depot-exprt" else ["search", "read"])
