"""`llmc`, the gateway: a menu, signatures on request, and access to every tool."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from mcp_world import Raw, raw

from llmc.tools.registry import TOOLS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from daemons import Place


@pytest.fixture
def served(indexed_depot: tuple[Place, Any]) -> Iterator[Raw]:
    with raw(*indexed_depot) as made:
        made.handshake()
        yield made


def said(reply: dict[str, Any]) -> str:
    text: str = reply["result"]["content"][0]["text"]
    return text


def test_the_menu_has_a_line_for_each_tool_that_is_not_listed(served: Raw) -> None:
    first, *lines = said(served.call("llmc")).split("\n")
    names = [line.split("(")[0].strip() for line in lines]
    assert first == f"{len(names)} tools"
    assert (
        {"find", "outline", "refs", "context", "tree"} <= set(names) <= set(TOOLS) - {"search", "grep", "read", "llmc"}
    )
    assert all(len(line) < 200 for line in lines)


def test_a_wish_in_words_brings_the_tools_that_fit_and_names_the_rest(served: Raw) -> None:
    lines = said(served.call("llmc", name="who calls this function")).split("\n")
    assert {"calls", "callers"} <= {line.strip().partition("(")[0] for line in lines[1:3]}
    assert lines[-1].startswith(" also ")
    assert "tree" in lines[-1]
    by_query = said(served.call("llmc", query="who calls this function")).split("\n")
    assert by_query == lines


def test_a_signature_is_given_once_and_then_as_a_reminder(served: Raw) -> None:
    whole = said(served.call("llmc", name="refs"))
    assert "\n kind? (strings): Only these" in whole
    assert said(served.call("llmc", name="refs")) == "refs(name, kind?, path?)"
    assert said(served.call("llmc", name="refs", fresh=True)) == whole


def test_args_run_the_tool_as_an_object_or_as_text(served: Raw) -> None:
    direct = said(served.call("refs", name="RetryPolicy"))
    assert said(served.call("llmc", name="refs", args={"name": "RetryPolicy"})) == direct
    assert said(served.call("llmc", name="refs", args='{"name": "RetryPolicy"}')) == direct
    assert "courier.py" in said(served.call("llmc", name="tree", args={}))


def test_a_wrong_name_or_argument_names_the_nearest(served: Raw) -> None:
    mistakes: list[tuple[dict[str, Any], str]] = [
        ({"name": "outlinez"}, "Did you mean outline?"),
        ({"name": "outlin", "args": {}}, "Did you mean outline?"),
        ({"name": "refs", "args": {"nam": "x"}}, "Did you mean name?"),
        ({"name": "refs", "args": "name=x"}, "must be an object"),
        ({"nam": "refs"}, "Did you mean name?"),
    ]
    for wrong, right in mistakes:
        reply = served.call("llmc", **wrong)
        assert reply["result"]["isError"], wrong
        assert right in said(reply), wrong


def test_the_menu_follows_what_the_session_asks_for(served: Raw) -> None:
    names = [line.split("(")[0].strip() for line in said(served.call("llmc")).split("\n")[1:]]
    for _ in range(5):
        served.call("outline", path="src/depot/retry.py")
    again = [line.split("(")[0].strip() for line in said(served.call("llmc")).split("\n")[1:]]
    assert sorted(again) == sorted(names)
    assert again.index("outline") <= names.index("outline")


def test_a_request_may_name_its_session(indexed_depot: tuple[Place, Any]) -> None:
    """By `_meta` or by an argument, so that it works on any connection."""
    wanted = {"name": "llmc", "arguments": {"name": "outline"}, "_meta": {"llmc/session": "s1"}}
    named = {"name": "llmc", "arguments": {"name": "outline", "session_id": "s1"}}
    with raw(*indexed_depot) as first, raw(*indexed_depot) as second:
        first.handshake()
        second.handshake()
        whole = said(first.ask("tools/call", **wanted))
        assert whole.startswith("outline: ")
        assert said(second.ask("tools/call", **wanted)).startswith("outline(")
        assert said(second.ask("tools/call", **named)).startswith("outline(")
        assert said(second.call("llmc", name="outline")) == whole


def test_a_reply_that_found_nothing_says_once_what_else_to_try(served: Raw) -> None:
    assert said(served.call("grep", pattern="xyzzy")).endswith("no matches\nperhaps search, for the meaning")
    assert said(served.call("grep", pattern="xyzzy")) == "no matches"
    assert "perhaps" not in said(served.call("grep", pattern="Ledger"))
