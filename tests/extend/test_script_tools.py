"""Tools written in Lua, as clients use them: listed and called over MCP, REST and the command line, within limits."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest
from delegates_world import World, said, talk
from http_world import Served
from mcp import MCPError

from llmc.envelope.tokens import count

# Put together so that no scanner takes this file for a leak.
SECRET = "AKIA" + "Q3EGRWL7ZT5MXN2V"
OWNER = """
local tool = {}
tool.description = "Names the code of a service"
tool.arguments = {
  { name = "service", description = "Which service", required = true },
  { name = "limit", type = "integer", description = "How many places", default = 3 },
  { name = "style", values = { "short", "long" } },
}
function tool.execute(args, config, context)
  local found = context.search({ query = args.service, limit = args.limit })
  local document = context.get(found[1].id)
  return string.format("%s of %s in %s: limit %d\\n%s", config.label, args.service, context.sources()[1].name,
    args.limit, document.body)
end
return tool
"""
TOKEN = "local-token-4711"
HOSTILE = {
    "loops": ("while true do end", "took longer than 1 seconds"),
    "catches": ("while true do pcall(function() while true do end end) end", "took longer than 1 seconds"),
    "allocates": ("local s = 'x' while true do s = s .. s end", "not enough memory"),
    "raises": ("error('no luck')", "no luck"),
    "returns nothing": ("return nil", "it returned neither text nor a table"),
    "returns a number": ("return 7", "it returned neither text nor a table"),
    "returns a function": ("return { f = print }", "a value of type function cannot be returned"),
    "opens a file": ("return io.open('/etc/passwd'):read('a')", "attempt to index a nil value"),
    "leaves the root": ("return context.get('../../etc/passwd').body", "this path is not in the workspace"),
    "asks for ever": ("for _ = 1, 99 do pcall(context.search, 'parcel') end", "more than 50 times"),
}


def add(world: World, name: str, text: str, **options: Any) -> None:
    (world.folder / f"{name}.lua").write_text(text, "utf-8")
    scripts = world.more.setdefault("tools", {"script": {}})["script"]
    scripts[name] = {"path": f"{name}.lua", **options}


def body(text: str) -> str:
    return f"return {{ description = 'x', execute = function(args, config, context) {text} end }}"


def test_a_script_is_a_read_only_tool_with_typed_arguments(world: World) -> None:
    add(world, "owner_of", OWNER, label="owner")

    async def act(using: Any) -> tuple[list[Any], list[str]]:
        tools = (await using.list_tools()).tools
        replies = [
            await said(using, "owner_of", service="deliver"),
            await said(using, "llmc", name="owner_of", args={"service": "deliver", "limit": 1}),
            await said(using, "owner_of"),
            await said(using, "owner_of", service="deliver", limit="many"),
            await said(using, "owner_of", service="deliver", style="loud"),
            await said(using, "owner_of", servce="deliver"),
        ]
        return tools, replies

    tools, (direct, by_gateway, missing, mistyped, unlisted, misspelt) = talk(world, act)
    assert "run" not in [one.name for one in tools]  # nothing has side effects
    (owner,) = [one for one in tools if one.name == "owner_of"]
    assert owner.description == "Names the code of a service"
    assert owner.annotations.read_only_hint
    assert owner.input_schema["required"] == ["service"]
    assert owner.input_schema["properties"]["limit"]["type"] == "integer"
    assert direct.splitlines()[:2] == ["owner_of · 3 lines", " owner of deliver in work: limit 3"]
    assert "def deliver(parcel):" in direct
    assert "limit 1" in by_gateway
    assert "owner_of needs 'service'" in missing
    assert "'limit' of owner_of must be a whole number" in mistyped
    assert "'style' of owner_of is not valid" in unlisted
    assert "Did you mean service?" in misspelt


def test_a_command_line_lists_and_runs_scripts(world: World) -> None:
    add(world, "owner_of", OWNER, label="owner")
    add(world, "broken", "return { description = 'x',")
    listed = world.llmc("delegate", "list").stdout
    assert "script owner_of · ready" in listed
    assert "script broken · failed: broken.lua has a syntax error" in listed
    tried = world.llmc("delegate", "test", "owner_of", "service=deliver", "limit=2")
    assert tried.returncode == 0
    assert "owner of deliver in work: limit 2" in tried.stdout
    refused = world.llmc("delegate", "test", "owner_of", "service=deliver", "limit=2.5")
    assert refused.returncode == 1
    assert "must be a whole number" in refused.stderr


def test_a_table_is_shown_as_json_and_is_data_for_programs(world: World) -> None:
    add(world, "pair", body("print('seen') return { b = { 1, 2 }, a = 'x' }"))
    shown = world.llmc("delegate", "test", "pair").stdout
    assert [line.strip() for line in shown.splitlines()] == [
        "pair · 7 lines",
        *("{", '"a": "x",', '"b": [', "1,", "2", "]", "}"),
    ]
    data = json.loads(world.llmc("delegate", "test", "pair", "--json").stdout)["data"]
    assert data["result"] == {"a": "x", "b": [1, 2]}
    assert data["printed"] == ["seen"]


def test_arguments_that_llmc_has_too_belong_to_the_script(world: World) -> None:
    names = ("repo", "ref", "path", "all", "fields", "budget")
    arguments = ", ".join(f"{{ name = '{name}' }}" for name in names)
    run = "function(args) return args end"
    add(world, "mirror", f"return {{ description = 'x', arguments = {{ {arguments} }}, execute = {run} }}")
    given = {name: f"my-{name}" for name in names}
    pairs = (f"{name}={value}" for name, value in given.items())
    told = json.loads(world.llmc("delegate", "test", "mirror", *pairs, "--json").stdout)
    assert told["data"]["result"] == given


def test_one_invalid_script_is_reported_and_skipped(world: World) -> None:
    add(world, "owner_of", OWNER, label="owner")
    add(world, "broken", "return { description = 'x',")
    add(world, "nameless", "return { description = 'x' }")
    add(world, "untyped", "return { description = 'x', arguments = { { name = 'a', type = 'int' } }, execute = print }")
    add(world, "search", OWNER)

    async def act(using: Any) -> tuple[list[str], str, str]:
        names = [one.name for one in (await using.list_tools()).tools]
        return names, await said(using, "broken"), await said(using, "owner_of", service="deliver")

    names, refused, fine = talk(world, act)
    assert "owner_of" in names
    assert not {"broken", "nameless", "untyped"} & set(names)
    assert "broken.lua has a syntax error" in refused
    assert "def deliver(parcel):" in fine
    checked = world.llmc("config", "check")
    assert checked.returncode == 2
    for said_there in (
        "tools.script.broken: broken.lua has a syntax error",
        "tools.script.nameless: nameless.lua is invalid: it does not define the function tool.execute",
        "tools.script.untyped: untyped is invalid: the type of a must be one of string, integer",
        "tools.script.search: a built-in tool has this name",
    ):
        assert said_there in checked.stderr
    assert "script is not offered" in world.log()


def test_whatever_a_script_does_the_call_ends_with_the_reason(world: World) -> None:
    for number, (text, _) in enumerate(HOSTILE.values()):
        add(world, f"script{number}", body(text), timeout=1)
    add(world, "good", body("return 'still here'"))

    async def act(using: Any) -> tuple[list[str], str]:
        failures = [await said(using, f"script{number}") for number in range(len(HOSTILE))]
        return failures, await said(using, "good")

    failures, good = talk(world, act)
    for number, (reply, (name, (_, reason))) in enumerate(zip(failures, HOSTILE.items(), strict=True)):
        assert f"script{number} failed" in reply, name
        assert reason in reply, name
    assert "still here" in good


def test_replies_of_scripts_are_redacted_and_fitted_to_the_budget(world: World) -> None:
    add(world, "leaks", body(f"return 'key {SECRET[:10]}' .. '{SECRET[10:]}'"))
    add(world, "long", body("local t = {} for i = 1, 3000 do t[i] = 'line ' .. i end return table.concat(t, '\\n')"))

    async def act(using: Any) -> tuple[str, str, str]:
        long = await said(using, "long", budget=300)
        rest = await said(using, "read", target=long.rpartition("→ ")[2])
        return await said(using, "leaks"), long, rest

    leaks, long, rest = talk(world, act)
    assert SECRET not in leaks
    assert long.startswith("long · 3,000 lines")
    assert count(long) <= 300
    assert "line 2" in rest


def test_variables_in_the_settings_reach_the_script_and_no_reply(world: World) -> None:
    add(world, "ticket", body("return { length = #config.token, all = 'x' .. config.token }"), token="${TICKET_TOKEN}")
    add(world, "raises", body("error('with ' .. config.auth.header)"), auth={"header": "Bearer ${TICKET_TOKEN}"})
    world.place.environ["TICKET_TOKEN"] = TOKEN
    try:
        told = world.llmc("delegate", "test", "ticket", "--json").stdout
        failed = world.llmc("delegate", "test", "raises").stderr
    finally:
        del world.place.environ["TICKET_TOKEN"]
    assert json.loads(told)["data"]["result"] == {"length": len(TOKEN), "all": "x[hidden]"}
    assert "with Bearer [hidden]" in failed
    assert TOKEN not in told + failed
    unset = world.llmc("delegate", "test", "ticket")
    assert "the environment has no TICKET_TOKEN" in unset.stderr


def test_a_persona_can_use_a_script(world: World) -> None:
    add(world, "owner_of", OWNER, label="owner")
    add(world, "other", body("return 'x'"))
    world.more["agents"] = {"clerk": {"system_prompt": "You are a clerk.", "tools": ["owner_of"]}}

    async def act(using: Any) -> tuple[list[str], str]:
        names = [one.name for one in (await using.list_tools()).tools]
        with pytest.raises(MCPError, match="there is no tool 'other'"):
            await said(using, "other")
        with pytest.raises(MCPError, match="grep is not available to clerk: owner_of"):
            await said(using, "grep", pattern="x")
        return names, await said(using, "owner_of", service="deliver")

    names, allowed = talk(world, act, "--agent", "clerk")
    assert "owner_of" in names
    assert "other" not in names
    assert "def deliver(parcel):" in allowed
    assert world.llmc("config", "check").returncode == 0


def test_a_script_named_get_takes_the_place_of_the_persona_name_for_read(world: World) -> None:
    """A tool list with a name twice is refused by model providers."""
    add(world, "get", body("return 'from the script'"))
    world.more["agents"] = {"clerk": {"system_prompt": "You are a clerk.", "tools": ["get", "sources"]}}

    async def act(using: Any) -> tuple[list[str], str]:
        names = [one.name for one in (await using.list_tools()).tools]
        with pytest.raises(MCPError, match=r"not available to clerk: sources, get$"):
            await said(using, "grep", pattern="x")
        return names, await said(using, "get")

    names, reply = talk(world, act, "--agent", "clerk")
    assert sorted(names) == ["get", "sources"]
    assert "from the script" in reply


def test_a_script_of_an_untrusted_workspace_is_not_run(world: World) -> None:
    (world.root / "evil.lua").write_text(body("return 'ran'"))
    (world.root / "llmc.toml").write_text("[tools.script.evil]\npath = 'evil.lua'\n")
    checked = world.place.llmc("config", "check", cwd=world.root)
    assert "tools.script.evil: is not taken from a workspace file" in checked.stdout + checked.stderr
    tried = world.place.llmc("delegate", "test", "evil", cwd=world.root)
    assert "ran" not in tried.stdout


def test_rest_lists_and_calls_scripts(world: World) -> None:
    add(world, "owner_of", OWNER, label="owner")
    add(world, "raises", body("error('no luck')"))
    command = [sys.executable, "-m", "llmc", "serve", "--http", "127.0.0.1:0", "--json", "--config", str(world.config)]
    with subprocess.Popen(
        command, cwd=world.root, env=world.place.environ, text=True, stdout=subprocess.PIPE
    ) as process:
        try:
            assert process.stdout is not None
            server = Served(world.place, world.root, json.loads(process.stdout.readline())["url"], process)
            with server.client() as client:
                tools = {one["name"]: one for one in client.get("/tools/list").json()["tools"]}
            reply = server.call("owner_of", service="deliver")
            failed = server.call("raises")
        finally:
            process.terminate()
    assert tools["owner_of"]["description"] == "Names the code of a service"
    assert reply.status_code == 200
    assert "def deliver(parcel):" in reply.text
    assert "no luck" in failed.text
