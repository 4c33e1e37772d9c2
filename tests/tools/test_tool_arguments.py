"""Arguments of tools are validated by pydantic: nearly correct input is accepted, everything else is explained."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from llmc.base.errors import QueryError
from llmc.settings import LimitSettings
from llmc.tool import Argument
from llmc.tool_model import schema_of, validated
from llmc.tool_schema import definition_of
from llmc.tools.registry import TOOLS, tool

KINDS = ("string", "integer", "number", "boolean", "strings", "object", "value")
ALL = tuple(Argument(kind, kind, f"A {kind}.") for kind in KINDS)


@pytest.mark.parametrize(
    ("kind", "sent", "received"),
    [
        ("integer", "5", 5),
        ("integer", 5.0, 5),
        ("number", "2.5", 2.5),
        ("number", 5, 5),
        ("boolean", "true", True),
        ("boolean", "no", False),
        ("boolean", 0, False),
        ("string", 5, "5"),
        ("strings", "a.py", ["a.py"]),
        ("strings", '["a.py", "b.py"]', ["a.py", "b.py"]),
        ("strings", "[ab]*.py", ["[ab]*.py"]),
        ("object", '{"a": 1}', {"a": 1}),
        ("value", [1, {"b": None}], [1, {"b": None}]),
    ],
)
def test_what_models_nearly_send_is_accepted(kind: str, sent: Any, received: Any) -> None:
    made = validated("example", ALL, {kind: sent})
    assert made == {kind: received}
    assert type(made[kind]) is type(received)


@pytest.mark.parametrize(
    ("kind", "sent", "reason"),
    [
        ("integer", True, "must be a whole number"),
        ("integer", "many", "must be a whole number"),
        ("integer", 5.5, "must be a whole number"),
        ("integer", -1, "must be at least 0"),
        ("integer", 10**30, "must be at most 1,000,000,000"),
        ("integer", "9" * 5_000, "must be a whole number"),
        ("number", float("nan"), "must be a number"),
        ("boolean", "perhaps", "must be true or false"),
        ("string", ["x"], "must be a string"),
        pytest.param("string", 10**5_000, "thousands of digits", id="enormous"),
        ("strings", 3, "must be a list of strings"),
        ("strings", [["x"]], "must be a list of strings"),
        ("object", "[1]", "must be an object"),
    ],
)
def test_anything_else_is_refused_with_the_reason(kind: str, sent: Any, reason: str) -> None:
    with pytest.raises(QueryError) as error:
        validated("example", ALL, {kind: sent})
    assert reason in str(error.value)


def test_an_unknown_argument_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(QueryError, match="search has no argument 'qurey'") as error:
        tool("search").check({"qurey": "x"}, LimitSettings())
    assert error.value.hint == "Did you mean query?"


@pytest.mark.parametrize("name", ["further", "\ud800", "x" * 1_000])
def test_any_unknown_name_is_refused_or_passed_on(name: str) -> None:
    with pytest.raises(QueryError, match="example has no argument"):
        validated("example", ALL, {name: 1})
    assert validated("example", ALL, {name: 1, "integer": "5"}, is_open=True) == {name: 1, "integer": 5}


@pytest.mark.parametrize("sent", [[], (), "", "[]", None])
def test_a_required_list_must_have_a_value(sent: Any) -> None:
    with pytest.raises(QueryError, match="example needs 'paths'"):
        validated("example", (Argument("paths", "strings", "Some.", required=True),), {"paths": sent})


@pytest.mark.parametrize("sent", [{}, {"query": None}, {"query": ""}])
def test_a_required_argument_must_have_a_value(sent: dict[str, Any]) -> None:
    with pytest.raises(QueryError, match="search needs 'query'"):
        tool("search").check(sent, LimitSettings())


def test_any_name_can_be_an_argument_of_a_downstream_tool() -> None:
    odd = tuple(Argument(name, "string", "x") for name in ("json", "_id", "model_fields", "class", "$ref", "a0"))
    given = {argument.name: "v" for argument in odd}
    assert validated("odd", odd, given) == given
    assert set(schema_of("odd", odd)["properties"]) == set(given)
    assert validated("odd", odd, {"further": 1, "a1": 2}, is_open=True) == {"further": 1, "a1": 2}


def test_schemas_of_all_tools_come_from_the_same_models() -> None:
    for one in map(tool, TOOLS):
        properties = schema_of(one.name, one.arguments)["properties"]
        assert set(properties) == {argument.name for argument in one.arguments}
        for argument in one.arguments:
            assert properties[argument.name]["description"] == argument.help
        for name, lean in definition_of(one).schema["properties"].items():
            assert set(lean) == {"type"}, name


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@settings(deadline=None)  # a busy machine is no failure
@given(st.dictionaries(st.sampled_from([*KINDS, "further"]), JSON, max_size=4))
def test_any_json_is_accepted_or_refused_and_never_anything_else(sent: dict[str, Any]) -> None:
    try:
        made = validated("example", ALL, sent)
    except QueryError:
        return
    assert set(made) == {name for name, value in sent.items() if value is not None}
