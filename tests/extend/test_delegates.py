"""Delegates from an MCP client: real downstream servers, a scripted model."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
from daemons import private_place, until
from delegates_world import World, alone, events, said, sent_to, talk, until_event
from mcp_world import raw

if TYPE_CHECKING:
    from pathlib import Path

    from model_server import ModelServer


def test_a_delegate_is_a_tool_that_answers_in_its_own_words(world: World, model: ModelServer) -> None:
    state = world.twin("twin")
    steps = 'use:twin__echo:{"text": "parcel 7"}+say:Parcel 7 is known.'
    world.delegate("clerk", steps, {"twin": ["echo"]})

    async def act(using: Any) -> tuple[list[Any], str, str]:
        tools = (await using.list_tools()).tools
        reply = await said(using, "clerk", query="where is parcel 7?")
        handle = reply.partition("→ ")[2].split()[0]
        return tools, reply, await said(using, "read", target=handle)

    tools, reply, steps_taken = talk(world, act)
    (clerk,) = [one for one in tools if one.name == "clerk"]
    assert clerk.description == "The clerk."
    assert clerk.input_schema["required"] == ["query"]
    assert " Parcel 7 is known." in reply.splitlines()
    assert "parcel 7" not in reply
    assert "twin::echo" in steps_taken
    assert "parcel 7" in steps_taken
    assert any("echo" in event for event in events(state))
    first, second = sent_to(model, steps)
    assert [tool["function"]["name"] for tool in first["tools"]] == ["twin__echo", "llmc__more"]
    assert "where is parcel 7?" in json.dumps(first["messages"])
    assert "parcel 7" in json.dumps(second["messages"][-1])


def test_a_server_that_cannot_start_takes_only_its_own_tools_along(world: World) -> None:
    world.twin("twin")
    world.mcps["absent"] = {"command": "no-such-program-here", "args": []}
    world.delegate("clerk", "say:I am here.", {"twin": ["echo"]})
    world.delegate("other", "say:never", {"twin": ["echo"], "absent": ["read"]})

    async def act(using: Any) -> tuple[list[str], str]:
        names = [one.name for one in (await using.list_tools()).tools]
        return names, await said(using, "other", query="?")

    names, refused = talk(world, act)
    assert "clerk" in names
    assert "other" not in names
    assert "absent is not running: program not found: no-such-program-here" in refused
    assert "I am here." in alone(world)
    assert "no-such-program-here" in world.log()


def test_a_delegate_of_an_unknown_provider_says_so_and_the_others_work(world: World) -> None:
    world.twin("twin")
    world.delegate("clerk", "say:I know mine.", {"twin": ["echo"]})
    world.delegate("lost", "say:never", {"twin": ["echo"]}, provider="nobody")
    assert "I know mine." in alone(world)
    assert "lost is not available: no provider is named 'nobody'" in alone(world, "lost", query="?")
    assert "delegate lost · failed: no provider is named 'nobody'" in world.llmc("delegate", "list").stdout


def test_a_model_calls_only_what_it_was_given(world: World, model: ModelServer) -> None:
    state = world.twin("twin")
    steps = "use:twin__env:{}&use:rm_rf:{}&use:twin::env:{}+say:I may not."
    world.delegate("clerk", steps, {"twin": ["echo"]})
    assert "I may not." in alone(world)
    assert not any(event.startswith("env") for event in events(state))
    refusals = json.dumps(sent_to(model, steps)[1]["messages"])
    assert refusals.count("Unknown tool name") == 3


def test_a_model_that_goes_round_in_circles_is_made_to_answer(world: World, model: ModelServer) -> None:
    world.twin("twin")
    step = 'use:twin__echo:{"text": "round"}'
    world.delegate("clerk", "+".join([step] * 3 + ["say:Enough."]), {"twin": ["echo"]}, max_steps=4)
    assert "Enough." in alone(world)
    world.delegate("endless", f"{step}+loop", {"twin": ["echo"]}, max_steps=4)
    reply = alone(world, "endless", query="?")
    assert "the model gave no answer: it kept calling tools in 4 rounds" in reply
    assert ":steps" in reply
    last = sent_to(model, f"{step}+loop")[-1]
    assert not last.get("tools")


def test_a_model_that_has_used_its_tokens_is_made_to_answer(world: World, model: ModelServer) -> None:
    world.twin("twin")
    step = 'use:twin__echo:{"text": "dear"}'
    world.delegate("dear", f"{step}+loop", {"twin": ["echo"]}, system_prompt="HEAVY", max_tokens=2_000, max_steps=10)
    assert "the model gave no answer" in alone(world, "dear", query="?")
    rounds = sent_to(model, f"{step}+loop")
    assert len(rounds) == 4  # 900 tokens each; the last is for the answer
    assert not rounds[-1].get("tools")


def test_a_model_that_says_nothing_is_asked_once_more(world: World) -> None:
    world.twin("twin")
    world.delegate("shy", "empty+say:Well then.", {"twin": ["echo"]})
    world.delegate("mute", "empty", {"twin": ["echo"]})
    assert "Well then." in alone(world, "shy", query="?")
    assert "its replies were empty" in alone(world, "mute", query="?")


def test_a_delegate_ends_at_its_deadline_and_the_server_hears_of_it(world: World) -> None:
    state = world.twin("twin", "hang")
    world.delegate("clerk", "use:twin__hang:{}+say:never", {"twin": ["hang"]}, timeout_seconds=2)
    assert "clerk timed out: it took longer than 2 s" in alone(world)
    until_event(state, "cancelled")


def test_giving_up_a_call_goes_down_to_the_servers(world: World) -> None:
    import asyncio

    state = world.twin("twin", "hang")
    world.delegate("clerk", "use:twin__hang:{}+say:never at all", {"twin": ["hang"]})

    async def act(using: Any) -> str:
        asking = asyncio.ensure_future(said(using, "clerk", query="?"))
        await asyncio.to_thread(until_event, state, "hang")
        asking.cancel()
        return await asyncio.to_thread(until_event, state, "cancelled")

    assert talk(world, act)


@pytest.mark.parametrize("step", ["refused", "busy", "garbage", "broken", "moved"])
def test_a_provider_that_fails_is_an_error_and_not_a_crash(world: World, step: str) -> None:
    world.twin("twin")
    world.delegate("clerk", step, {"twin": ["echo"]})
    assert "the model did not answer" in alone(world)


def test_llmcs_own_tools_can_be_inside(world: World, model: ModelServer) -> None:
    steps = 'use:llmc__search:{"query": "deliver a parcel"}&use:llmc__shell:{"command": "id"}+say:In parcel.py.'
    world.delegate("clerk", steps, {"llmc": ["search", "shell"]})
    assert "In parcel.py." in alone(world)
    first, second = sent_to(model, steps)
    assert [tool["function"]["name"] for tool in first["tools"]] == ["llmc__search", "llmc__more"]
    assert "parcel.py" in json.dumps(second["messages"])


def test_a_long_result_is_cut_and_the_rest_can_be_read(world: World, model: ModelServer) -> None:
    world.twin("twin", "big")
    steps = "use:twin__big:{}+say:Long."
    world.delegate("clerk", steps, {"twin": ["big"]})
    assert "Long." in alone(world)
    cut = sent_to(model, steps)[1]["messages"][-1]["content"]
    assert "line 0 of the answer" in cut
    assert "line 2999" not in cut
    handle = cut.rpartition("→ ")[2]
    world.delegate("reader", f'use:llmc__more:{{"handle": "{handle}"}}+say:More.', {"twin": ["big"]})
    assert "More." in alone(world, "reader", query="?")
    asked = [one for one in model.requests() if "llmc__more" in one["model"]]
    assert "of the answer" in asked[1]["messages"][-1]["content"]


def test_a_secret_never_reaches_the_model_nor_the_log_nor_the_steps(world: World, model: ModelServer) -> None:
    world.twin("twin", "secret", env={"TWIN_KEY": "entirely-private-phrase"})
    steps = "use:twin__secret:{}&use:twin__env:{}+say:The token is ghp_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8."
    world.delegate("clerk", steps, {"twin": ["secret"]})

    async def act(using: Any) -> str:
        reply = await said(using, "clerk", query="my key is ghp_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8")
        handle = reply.partition("→ ")[2].split()[0]
        return reply + await said(using, "read", target=handle)

    shown = talk(world, act)
    sent = json.dumps([request["messages"] for request in sent_to(model, steps)])
    for text in (shown, sent, world.log()):
        assert "a1B2c3D4e5F6" not in text
        assert "entirely-private-phrase" not in text
    assert "[redacted:" in sent


def test_a_short_variable_does_not_disguise_why_a_server_failed(world: World) -> None:
    reason = "error: key entirely-private-phrase is not accepted in zone 1"
    code = f"import sys; sys.exit({reason!r})"
    env = {"LEVEL": "1", "MODE": "e", "TWIN_KEY": "entirely-private-phrase"}
    world.mcps["strict"] = {"command": sys.executable, "args": ["-c", code], "env": env}
    world.delegate("clerk", "say:never", {"strict": ["echo"]})
    assert "error: key [hidden] is not accepted in zone 1" in world.llmc("delegate", "list").stdout


def test_a_server_gets_the_variables_that_its_entry_names_and_few_others(world: World, model: ModelServer) -> None:
    world.place.environ["LLMC_TEST_PRIVATE"] = "no business of a server"
    world.twin("twin", env={"NAMED": "given", "FROM_OURS": "${HOME}/x"})
    steps = "use:twin__env:{}+say:Seen."
    world.delegate("clerk", steps, {"twin": ["env"]})
    assert "Seen." in alone(world)
    shown = sent_to(model, steps)[1]["messages"][-1]["content"]
    assert '"NAMED": "given"' in shown
    assert "PATH" in shown
    assert "LLMC" not in shown
    assert "PYTHONPATH" not in shown


def test_tools_of_one_name_from_two_servers_are_distinguished(world: World, model: ModelServer) -> None:
    one, two = world.twin("one"), world.twin("two")
    steps = 'use:one__echo:{"text": "a"}&use:two__echo:{"text": "b"}+say:Both.'
    world.delegate("clerk", steps, {"one": ["echo"], "two": ["echo"]})
    assert "Both." in alone(world)
    assert 'echo {"text": "a"}' in events(one)
    assert 'echo {"text": "b"}' in events(two)


def test_servers_are_shared_between_sessions_and_leave_with_the_last(world: World) -> None:
    state = world.twin("twin")
    world.delegate("clerk", "say:Here.", {"twin": ["echo"]})

    async def act(using: Any) -> None:
        await said(using, "clerk", query="?")
        async with world.client() as second:
            await said(second, "clerk", query="?")

    talk(world, act)
    (started,) = [event for event in events(state) if event.startswith("started")]
    pid = int(started.split()[1])
    until(lambda: not alive(pid))


def alive(pid: int) -> bool:
    import os

    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_server_events_are_logged_to_stderr_on_request(world: World) -> None:
    world.twin("twin")
    world.mcps["absent"] = {"command": "no-such-program-here", "args": []}
    options = ("--config", str(world.config), "--log-level", "info", "--log-pretty")
    out = world.folder / "stderr"
    with out.open("w") as file, raw(world.place, world.root, *options, stderr=file) as using:
        using.handshake()
        until(lambda: "server ready server=twin" in out.read_text())
        until(lambda: "server failed server=absent" in out.read_text())
    assert "{" not in out.read_text()


def test_with_a_settings_file_failures_are_logged_to_stderr_of_each_client(world: World) -> None:
    """Without another option, and of a server that failed before this client was connected."""
    world.mcps["absent"] = {"command": "no-such-program-here", "args": []}
    outs = [world.folder / "first", world.folder / "second"]
    with contextlib.ExitStack() as stack:
        for out in outs:
            file = stack.enter_context(out.open("w"))
            using = stack.enter_context(raw(world.place, world.root, "--config", str(world.config), stderr=file))
            using.handshake()
            until(partial(reports_failure, out))


def reports_failure(log: Path) -> bool:
    return '"event": "server failed", "server": "absent"' in log.read_text()


def test_variables_that_the_settings_name_come_from_the_client_and_no_others(
    world: World, model: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(world.place.environ, "DEPOT_TOKEN", "from-the-client")
    monkeypatch.setitem(world.place.environ, "OTHER_TOKEN", "of-no-concern")
    world.twin("twin", env={"GIVEN": "${DEPOT_TOKEN}"})
    steps = "use:twin__env:{}+say:Variables."
    world.delegate("clerk", steps, {"twin": ["env"]})
    assert "Variables." in alone(world)
    shown = sent_to(model, steps)[1]["messages"][-1]["content"]
    assert '"GIVEN": "from-the-client"' in shown
    assert "of-no-concern" not in shown


def test_a_delegate_is_reached_over_http_too(world: World) -> None:
    from urllib.request import Request, urlopen

    world.twin("twin", expose=["echo"])
    world.delegate("clerk", "say:Over HTTP.", {"twin": ["echo"]})
    out = world.folder / "http"
    command = [sys.executable, "-m", "llmc", "serve", "--config", str(world.config), "--http", "127.0.0.1:0"]
    with out.open("w") as file:
        process = subprocess.Popen(command, env=world.place.environ, cwd=world.root, stdout=file, stderr=file)
    try:
        until(lambda: "http://" in out.read_text())
        url = "http://" + out.read_text().partition("http://")[2].split()[0].rstrip("/")
        token = world.place.llmc("token", "show").stdout.strip()
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        body = json.dumps({"query": "?"}).encode()
        with urlopen(Request(f"{url}/tools/clerk", body, headers), timeout=60) as reply:
            assert "Over HTTP." in reply.read().decode()
        with urlopen(Request(f"{url}/openapi.json", headers=headers), timeout=60) as reply:
            paths = json.load(reply)["paths"]
        assert {"/tools/clerk", "/tools/twin.echo", "/tools/search"} <= paths.keys()
        schema = paths["/tools/twin.echo"]["post"]["requestBody"]["content"]["application/json"]["schema"]
        assert "text" in schema["properties"]
    finally:
        process.terminate()
        process.communicate()


def test_an_extra_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    import asyncio

    from llmc.answers.llm import ModelRecord, ModelTask, TaskLimits, run_model
    from llmc.base.errors import ConfigError
    from llmc.settings import Provider

    monkeypatch.setitem(sys.modules, "anthropic", None)
    task = ModelTask(Provider(kind="anthropic"), "claude", "You are a clerk.", "?", TaskLimits(2, 2, 1_000, 100))
    with pytest.raises(ConfigError) as error:
        asyncio.run(run_model(task, ModelRecord()))
    assert "pip install 'llmc-index[models]'" in error.value.hint
    assert "anthropic is not installed" in error.value.reason


def test_a_client_that_wants_progress_hears_of_the_rounds(world: World) -> None:
    world.twin("twin", "hang")
    world.delegate("clerk", "use:twin__hang:{}+say:not this time", {"twin": ["hang"]}, timeout_seconds=1)
    heard: list[str | None] = []

    async def hear(_done: float, _total: float | None, message: str | None) -> None:
        heard.append(message)

    talk(world, lambda using: using.call_tool("clerk", {"query": "?"}, progress_callback=hear))
    assert "round 1" in heard


def test_without_a_daemon_a_tool_can_be_tried_and_nothing_is_left_behind(tmp_path: Path) -> None:
    with private_place() as here:
        world = World(tmp_path, here)
        state = world.twin("twin", expose="*")
        tried = world.llmc("delegate", "test", "twin.echo", "text=alone", "--no-daemon")
        assert '{"text": "alone"}' in tried.stdout
        (started,) = [event for event in events(state) if event.startswith("started")]
        assert not alive(int(started.split()[1]))
