"""A downstream tool called through the gateway: its cost, its arguments and its result."""

from __future__ import annotations

import json
from typing import Any

from delegates_world import World, gateway, said, talk

from llmc.envelope.tokens import count


def tokens_of(tools: Any) -> int:
    listed = [{"name": one.name, "description": one.description, "inputSchema": one.input_schema} for one in tools]
    return count(json.dumps(listed, separators=(",", ":")))


def test_twenty_six_tools_cost_a_gateway_and_a_menu_line(world: World) -> None:
    async def definitions(using: Any) -> int:
        return tokens_of((await using.list_tools()).tools)

    plain = talk(world, definitions)
    world.twin("desktop-commander", "many", expose="*")

    async def act(using: Any) -> tuple[int, str, str]:
        more = tokens_of((await using.list_tools()).tools) - plain
        return more, await said(using, "llmc"), await said(using, "llmc", name="desktop-commander")

    more, menu, listing = talk(world, act)
    (line,) = [line for line in menu.splitlines() if "desktop-commander" in line]
    assert "26 tools" in line
    assert more + count(line) <= 110
    assert listing.startswith("desktop-commander · 26 tools")
    assert "tool25(text?) Does a thing at length." in listing


def test_a_tool_is_explained_once_and_then_in_one_line(world: World) -> None:
    world.twin("twin", expose=["echo"])
    world.more["providers"] = {"none": {"base_url": "http://127.0.0.1:9/v1"}}
    world.delegate("clerk", "any", {"twin": ["echo"]}, provider="none", listed=False)

    async def act(using: Any) -> list[str]:
        await using.list_tools()
        names = ("twin.echo", "twin.echo", "clerk", "clerk")
        return [await said(using, "llmc", name=name) for name in names]

    first, second, delegate, again = talk(world, act)
    assert "text?: Anything." in first
    assert second == "twin.echo(text?)"
    assert "query: " in delegate
    assert again == "clerk(query)"


def test_fields_make_a_table_of_a_downstream_result(world: World) -> None:
    world.twin("twin", "table", expose=["rows"])

    async def act(using: Any) -> tuple[str, str]:
        return await gateway(using, "twin.rows"), await gateway(using, "twin.rows", fields=["name", "size"])

    whole, table = talk(world, act)
    assert "noise" in whole
    assert table.splitlines()[1].split() == ["name", "size"]
    assert table.splitlines()[2].split() == ["row0", "0"]
    assert "noise" not in table
    assert count(table) < count(whole) / 2


def test_tools_that_are_not_exposed_do_not_exist(world: World) -> None:
    world.twin("twin", expose=["echo"])

    async def act(using: Any) -> tuple[str, str, str]:
        by_gateway = await gateway(using, "twin.env")
        listing = await said(using, "llmc", name="twin")
        return by_gateway, listing, await said(using, "twin.echo", text="by its own name")

    by_gateway, listing, direct = talk(world, act)
    assert "there is no tool 'twin.env'" in by_gateway
    assert "env" not in listing
    assert "by its own name" in direct


def test_a_wrong_argument_is_reported_before_the_server_is_asked(world: World) -> None:
    world.twin("twin", expose=["echo"])
    refused = talk(world, lambda using: gateway(using, "twin.echo", txt="a"))
    assert "twin.echo has no argument 'txt'" in refused
    assert "Did you mean text?" in refused


def test_a_long_answer_is_cut_and_its_handle_leads_on(world: World) -> None:
    world.twin("twin", "big", expose=["big"])

    async def act(using: Any) -> tuple[str, str]:
        reply = await gateway(using, "twin.big", budget=300)
        return reply, await said(using, "read", target=reply.rpartition("→ ")[2])

    reply, rest = talk(world, act)
    assert reply.startswith("twin.big · 3,000 lines")
    assert count(reply) <= 300
    assert "of the answer" in rest


def test_a_command_line_tries_a_tool_and_lists_what_runs(world: World) -> None:
    world.twin("twin", expose=["ecko"])
    world.twin("other", expose=["echo"])
    told = world.llmc("delegate", "list").stdout
    assert "server twin · ready · 2 tools" in told
    assert "unknown tool: ecko; did you mean echo?" in told
    tried = world.llmc("delegate", "test", "other.echo", "text=hello")
    assert '{"text": "hello"}' in tried.stdout
    missing = world.llmc("delegate", "test", "other.ecko")
    assert missing.returncode == 1
    assert "Did you mean other.echo?" in missing.stderr


def test_a_persona_sees_only_the_servers_that_it_may_use(world: World) -> None:
    world.twin("twin", expose=["echo"])
    world.twin("other", expose=["echo"])
    world.more["agents"] = {"clerk": {"system_prompt": "You are a clerk.", "tools": ["llmc", "twin"]}}

    async def act(using: Any) -> tuple[str, str, str]:
        menu = await said(using, "llmc")
        return menu, await gateway(using, "twin.echo", text="mine"), await gateway(using, "other.echo", text="theirs")

    menu, mine, theirs = talk(world, act, "--agent", "clerk")
    assert "twin: 1 tool" in menu
    assert "other" not in menu
    assert "mine" in mine
    assert "not available to this session" in theirs
