"""The tokens that a client pays before its first call, counted like a model does."""

from __future__ import annotations

import json

import jsonschema
import pytest

from llmc.envelope.tokens import count
from llmc.server.surface import definition_for
from llmc.settings import Server, Settings
from llmc.state.connected_sessions import ConnectedSession
from llmc.tool import FOCUS
from llmc.tool_schema import call_form, definition_of, described, signature
from llmc.tools.profiles import instructions_of, listed
from llmc.tools.registry import TOOLS, tool


def settings(profile: str) -> Settings:
    return Settings(server=Server.model_validate({"profile": profile}))


def tokens(profile: str, prefix: str = "") -> int:
    """Definitions as compact JSON, and the instructions."""
    shown = definition_of if profile == "lean" else described
    entries = [shown(one).as_dict() for one in listed(settings(profile))]
    named = [{**entry, "name": prefix + entry["name"]} for entry in entries]
    text = json.dumps(named, separators=(",", ":"), ensure_ascii=False)
    return count(text) + count(instructions_of(profile))


def test_the_lean_profile_costs_less_than_300_tokens() -> None:
    assert tokens("lean") <= 300
    assert tokens("lean", "mcp__llmc__") <= 380


def test_described_profiles_cost_a_bounded_number_of_tokens() -> None:
    assert tokens("full") <= 3_800
    assert tokens("research") <= 1_300


@pytest.mark.parametrize("name", TOOLS)
def test_every_field_of_a_described_tool_has_a_type_and_a_description(name: str) -> None:
    definition = described(tool(name))
    jsonschema.Draft202012Validator.check_schema(definition.schema)
    kinds = {one.name: one.kind for one in tool(name).arguments}
    for field, schema in definition.schema["properties"].items():
        assert schema["description"], field
        assert schema.get("type") or kinds[field] == "value", field
        assert kinds.get(field) != "strings" or schema["items"] == {"type": "string"}, field
    limits = definition.schema["properties"].get("constraints")
    if limits is not None:
        assert set(limits["properties"]) == {"maxFilesRead", "maxBytesRead", "deadlineMs", "maxTokens"}
        assert all(one["type"] == "integer" and one["description"] for one in limits["properties"].values())


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
