"""Personas from the command line: listing, results, and reports of failures."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest
from agents_world import SECRET, SETTINGS, World, world_at

if TYPE_CHECKING:
    from collections.abc import Iterator

BUILT_IN = ["architect", "code-reviewer", "incident-responder", "onboarding", "writer"]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with world_at(tmp_path_factory.mktemp("agents")) as made:
        yield made


def resolved(world: World, name: str, *args: str) -> dict[str, Any]:
    given = [word for arg in args for word in ("--arg", arg)]
    code, out, err = world.llmc("agent", "test", name, *given, "--json")
    assert code == 0, err
    found: dict[str, Any] = json.loads(out)
    return found


def test_the_list_names_every_persona_its_tools_and_its_source(world: World) -> None:
    code, out, _ = world.llmc("agent", "list")
    assert code == 0
    names = [line.split()[0] for line in out.splitlines()]
    assert names == sorted([*BUILT_IN, "courier", "depot-expert", "forger", "lost", "plain"])
    (courier,) = (line for line in out.splitlines() if line.split()[0] == "courier")
    assert re.search(r"Brings parcels +\(tools: search, get, grep\)  \[lua\]$", courier)
    assert "(tools: all)" in out


def test_a_test_prints_source_tools_prompt_messages_time_and_tokens(world: World) -> None:
    code, out, err = world.llmc("agent", "test", "courier", "--arg", "parcel=red")
    assert code == 0, err
    shape = (
        r"\nAgent: courier\nSource: lua \(agents/courier\.lua\)\nTools: search, get, grep\n\n"
        r"System prompt \((\d+) chars\):\n  You bring red\. good morning 2 in depot\. src/depot/retry\.py\n\n"
        r"Messages \(2\):\n  \[system\] [\s\S]+\n  \[assistant\] Where to\?\n\n"
        r"Tokens: (\d+) \(system \d+, messages \d+\)\n"
        r"Resolved in \d+ms \(1 search query, 1 document fetch\)\n"
    )
    assert re.fullmatch(shape, out), out
    assert err == "note: asked for\tred\n"


def test_an_inline_persona_is_filled_in_and_primed(world: World) -> None:
    found = resolved(world, "depot-expert", "topic=returns")
    prompt = found["prompt"]
    assert prompt["system"] == 'You know the depot. JSON looks like {"a": 1} and {braces} stay.\nAnswer about returns.'
    assert prompt["tools"] == ["search", "read"]
    (primed,) = prompt["messages"]
    assert primed["role"] == "user"
    assert "docs/returns.md:1-" in primed["content"]
    assert " A customer may send a parcel back within fourteen days." in primed["content"]
    assert found["searches"] == 2
    assert found["message_tokens"] <= 400 + 40
    assert "Customer: Ada" in resolved(world, "depot-expert", "topic=returns", "customer=Ada")["prompt"]["system"]


def test_primed_context_is_redacted_and_cannot_pass_for_llmc_text(world: World) -> None:
    (primed,) = resolved(world, "depot-expert", "topic=stall")["prompt"]["messages"]
    text = primed["content"]
    assert "docs/runbook.md:" in text
    assert SECRET not in text
    assert "[redacted:aws" in text
    assert "\u202e" not in text
    assert "\\u202e" in text
    assert "\n src/depot/ledger.ts:1-2" in text
    assert "\nsrc/depot/ledger.ts:1-2" not in text


def test_show_says_what_a_persona_takes_and_where_it_is_written(world: World) -> None:
    code, out, _ = world.llmc("agent", "show", "depot-expert")
    assert code == 0
    assert out == (
        "Agent: depot-expert\n  Knows the depot\nSource: toml (llmc.toml)\nTools: search, read\n"
        "Arguments:\n  topic (required): What about\n  customer: Whose\n"
    )


@pytest.mark.parametrize("name", BUILT_IN)
def test_a_built_in_persona_is_useful_at_once(world: World, name: str) -> None:
    found = resolved(world, name)
    prompt = found["prompt"]
    assert len(prompt["system"]) > 400
    assert "{" not in prompt["system"]
    assert set(prompt["tools"]) <= {"search", "grep", "read", "outline", "refs", "tree"}
    assert found["searches"] >= 1
    assert found["message_tokens"] <= 1_400
    primed = [message["content"] for message in prompt["messages"] if message["role"] == "user"]
    assert any(re.search(r"^[\w/.-]+\.\w+:\d+-\d+$", text, re.MULTILINE) for text in primed)
    assert SECRET not in json.dumps(prompt)


def test_the_incident_responder_knows_service_severity_and_runbook(world: World) -> None:
    prompt = resolved(world, "incident-responder", "service=courier", "severity=p1")["prompt"]
    assert "the courier service. Severity: P1." in prompt["system"]
    assert "Stop the harm first" in prompt["system"]
    assert "docs/runbook.md" in prompt["messages"][0]["content"]
    assert prompt["messages"][-1]["role"] == "assistant"
    assert "P1" in prompt["messages"][-1]["content"]


@pytest.mark.parametrize(
    ("command", "code", "said"),
    [
        (("test", "depot-expert"), 2, "depot-expert needs the argument 'topic'"),
        (("test", "depot-expert", "--arg", "topic= "), 2, "needs the argument 'topic'"),
        (("test", "depot-expert", "--arg", "topci=x"), 2, "Did you mean topic?"),
        (("test", "depot-expert", "--arg", "topic"), 2, "is not NAME=VALUE"),
        (("test", "depot-expert", "--arg", f"topic={'x' * 9_000}"), 2, "longer than 8000 characters"),
        (("test", "depotexpert", "--arg", "topic=x"), 1, "Did you mean depot-expert?"),
        (("test", "zzz"), 1, "Available: architect, "),
        (("show", "corier"), 1, "Did you mean courier?"),
        (("test", "lost", "--arg", "topic=x"), 1, "{topc}"),
        (("init", "../evil"), 2, "invalid name"),
    ],
)
def test_invalid_requests_are_reported(world: World, command: tuple[str, ...], code: int, said: str) -> None:
    found, out, err = world.llmc("agent", *command)
    assert (found, out) == (code, "")
    assert said in err


def test_the_check_of_the_settings_names_what_a_persona_has_wrong(world: World) -> None:
    code, _, err = world.llmc("config", "check")
    assert code == 2
    assert 'agents.lost.tools: there is no tool "raed"; did you mean read?' in err
    assert "agents.lost.system_prompt: {topc} is not one of its arguments; did you mean {topic}?" in err
    assert re.search(r"llmc\.toml:\d+: agents\.lost\.tools", err)
    assert "problems: 2" in err
    # All other calls go on.
    assert world.llmc("search", "retry")[0] == 0


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("return {", "odd.lua has a syntax error: odd.lua:1:"),
        ("error('no luck')", "odd.lua failed: odd.lua:1: no luck"),
        ("return 7", "does not return a table `agent`"),
        ("return {}", "it does not define the function agent.resolve"),
        ("return { tools = 'search', resolve = function() end }", "agent.tools must be a list of strings"),
        (
            "return { tools = { 'serach' }, resolve = function() end }",
            'there is no tool "serach"; did you mean search?',
        ),
        ("return { arguments = { {} }, resolve = function() end }", "an argument has no name"),
    ],
)
def test_the_check_of_the_settings_looks_into_scripts(world: World, script: str, said: str) -> None:
    world.write("agents/odd.lua", script)
    world.write("odd.toml", "[agents.script.odd]\npath = 'agents/odd.lua'\n")
    code, _, err = world.llmc("config", "check", "odd.toml")
    assert code == 2
    assert said in err


def test_a_script_that_is_not_there_is_listed_with_the_reason(world: World) -> None:
    world.write("gone.toml", "[agents.script.gone]\npath = 'agents/gone.lua'\n")
    code, out, _ = world.llmc("--config", "gone.toml", "agent", "list")
    assert code == 0
    assert "not usable: the script of gone cannot be read" in out


def test_a_stranger_may_bring_a_prompt_and_no_script(world: World) -> None:
    user = f"{world.place.environ['XDG_CONFIG_HOME']}/llmc/llmc.toml"
    with open(user) as file:  # noqa: PTH123 - a test
        trusted = file.read()
    try:
        with open(user, "w") as file:  # noqa: PTH123 - as above
            file.write("")
        _, out, noted = world.llmc("agent", "list", "--json")
        refused = world.llmc("agent", "test", "courier", "--arg", "parcel=red")
    finally:
        with open(user, "w") as file:  # noqa: PTH123 - as above
            file.write(trusted)
    names = {one["name"] for one in json.loads(out)["agents"]}
    assert "plain" in names
    assert "courier" not in names
    for said in (noted, refused[2]):
        assert "agents.script.courier: is not taken from a workspace file" in said
    assert refused[0] == 1


def test_init_makes_a_lua_persona_that_works(world: World) -> None:
    code, out, err = world.llmc("agent", "init", "sre-helper")
    assert code == 0, err
    assert out.startswith(
        "Created: agents/sre-helper.lua\nAdd to config:\n\n"
        '  [agents.script.sre-helper]\n  path = "agents/sre-helper.lua"\n  timeout = 30\n'
    )
    world.write("sre.toml", '[agents.script.sre-helper]\npath = "agents/sre-helper.lua"\ntimeout = 30\n')
    code, out, err = world.llmc("--config", "sre.toml", "agent", "test", "sre-helper", "--arg", "topic=retry policy")
    assert code == 0, err
    assert "src/depot/retry.py" in out
    assert world.llmc("agent", "init", "sre-helper")[0] == 2  # it exists already


def test_init_makes_an_inline_persona_that_works(world: World) -> None:
    try:
        code, out, err = world.llmc("agent", "init", "guide", "--kind", "toml")
        assert (code, out.splitlines()[0]) == (0, "Created: llmc.toml"), err
        assert "Topic: returns" in resolved(world, "guide", "topic=returns")["prompt"]["system"]
        assert world.llmc("agent", "init", "guide", "--kind", "toml")[0] == 2
    finally:
        world.write("llmc.toml", SETTINGS)
