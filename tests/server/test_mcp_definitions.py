"""What a client pays before it has asked anything, counted as a model counts."""

from __future__ import annotations

import json

import jsonschema
import pytest

from llmc.envelope.tokens import count
from llmc.server.surface import definition_for
from llmc.settings import Server, Settings
from llmc.state.connected_sessions import ConnectedSession
from llmc.tool import FOCUS
from llmc.tool_schema import call_form, definition_of, signature
from llmc.tools.profiles import instructions_of, listed
from llmc.tools.registry import TOOLS, tool


def settings(profile: str) -> Settings:
    return Settings(server=Server.model_validate({"profile": profile}))


def tokens(profile: str, prefix: str = "") -> int:
    """Definitions as compact JSON, and the instructions."""
    entries = [definition_of(one).as_dict() for one in listed(settings(profile))]
    named = [{**entry, "name": prefix + entry["name"]} for entry in entries]
    text = json.dumps(named, separators=(",", ":"), ensure_ascii=False)
    return count(text) + count(instructions_of(profile))


def test_the_lean_profile_costs_less_than_300_tokens() -> None:
    assert tokens("lean") <= 300
    assert tokens("lean", "mcp__llmc__") <= 380


def test_the_full_profile_costs_less_than_2000_tokens() -> None:
    assert tokens("full") <= 2_000


def test_the_lean_profile_lists_four_tools_in_this_order() -> None:
    assert [one.name for one in listed(settings("lean"))] == ["search", "grep", "read", "llmc"]
    assert call_form(tool("search")) == "search(query, path?, budget?)"
    assert call_form(tool("llmc")) == "llmc(name?, args?)"


@pytest.mark.parametrize("name", TOOLS)
def test_every_tool_has_a_plain_schema_and_a_signature(name: str) -> None:
    wanted = tool(name)
    definition = definition_of(wanted)
    jsonschema.Draft202012Validator.check_schema(definition.schema)
    assert definition.name == wanted.name == name
    assert set(definition.schema) <= {"type", "properties", "required"}
    assert all(set(one) == {"type"} for one in definition.schema["properties"].values())
    assert set(wanted.schema) <= {FOCUS.name, *(one.name for one in wanted.arguments)}
    for argument in wanted.arguments:
        assert f" {argument.name}" in signature(wanted)
        assert argument.help.endswith(".")


def test_every_definition_outside_the_lean_profile_lists_the_focus_question() -> None:
    for profile in ("full", "research"):
        session = ConnectedSession("s", profile=profile)
        named = [
            FOCUS.name in definition_for(one, settings(profile), None, session).schema["properties"]
            for one in listed(settings(profile))
        ]
        assert named
        assert all(named)
    session = ConnectedSession("s", profile="lean")
    lean = [definition_for(one, settings("lean"), None, session).schema for one in listed(settings("lean"))]
    assert sum(FOCUS.name in schema["properties"] for schema in lean) < len(lean)


def test_a_session_may_be_narrowed() -> None:
    allowed = frozenset({"search", "find"})
    assert [one.name for one in listed(settings("full"), allowed)] == ["search", "find"]
