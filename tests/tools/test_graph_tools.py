"""The tools of the code graph from every surface: command line, MCP gateway, HTTP; with every option."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from daemons import CommandLine
from http_world import Served, served
from mcp_world import raw

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from daemons import Place

CALLS = "src/depot/courier.py:11 Courier.deliver(parcel: str) -> bool"


@pytest.fixture(scope="module")
def typed(indexed_depot: tuple[Place, Any]) -> CommandLine:
    return CommandLine(*indexed_depot)


def test_every_command_answers_on_the_command_line(typed: CommandLine) -> None:
    assert CALLS in typed.text("calls", "Courier.deliver")
    assert CALLS in typed.text("calls", "src/depot/courier.py::Courier.deliver")
    assert "Courier.deliver" in typed.text("callers", "Courier.ring")
    assert "RetryPolicy.delay" in typed.text("path", "Courier.deliver", "RetryPolicy.delay")
    assert "1 test directly" in typed.text("tests", "RetryPolicy.delay")
    assert "1 use in code" in typed.text("impact", "Courier.ring")
    assert typed("impls", "Courier").returncode == 1  # nothing extends it


def test_depth_guesses_budget_and_json_are_options(typed: CommandLine) -> None:
    deep = typed.json("calls", "Courier.deliver", "--depth", "1", "--guesses", "--all")
    assert [one["name"] for one in deep["definitions"][0]["calls"]] == ["Courier.ring", "RetryPolicy.delay"]
    callers = typed.json("callers", "RetryPolicy.delay", "--depth", "3", "--guesses")["definitions"][0]["callers"]
    assert {one["name"] for one in callers} == {"Courier.deliver", "test_retry_policy_waits_longer_with_each_attempt"}
    assert "1 caller · 1 in tests" in typed.text("callers", "RetryPolicy", "--budget", "60")
    assert "tests\n tests/test_retry.py 5 test_retry_policy" in typed.text("callers", "RetryPolicy")
    assert "tests/test_retry.py" not in typed.text("callers", "RetryPolicy", "--no-tests")
    assert "tests/test_retry.py" not in typed.text("impact", "RetryPolicy", "--no-tests")
    assert "tests/test_retry.py (tests)\n5 test_retry_policy" in typed.text("callers", "RetryPolicy", "--all")
    assert "delay(attempt" in typed.text("calls", "Courier.deliver", "--signatures")
    assert typed("tests", "RetryPolicy.delay", "--depth", "1").returncode == 0
    assert typed("path", "Courier.deliver", "RetryPolicy.delay", "--guesses").returncode == 0
    refused = typed("calls", "no such name")
    assert refused.returncode == 2
    assert "is not a name" in refused.stderr


def test_callers_of_several_names_are_counted_each_by_itself(typed: CommandLine) -> None:
    text = typed.text("callers", "Courier.ring", "RetryPolicy.delay", "Courier.missing")
    assert text.startswith(
        "Courier.ring: 1 caller · RetryPolicy.delay: 1 caller · 1 in tests · Courier.missing: not found"
    )
    assert text.count("Courier.deliver") == 2
    listed = typed.json("callers", "Courier.ring", "RetryPolicy.delay")["definitions"]
    assert [one["name"] for one in listed] == ["Courier.ring", "RetryPolicy.delay"]
    assert typed("callers", "Courier.missing", "Courier.absent").returncode == 1


@pytest.mark.parametrize("command", ["callers", "impact"])
def test_uses_by_name_of_several_definitions_are_counted_once(place: Place, tmp_path: Path, command: str) -> None:
    (tmp_path / "parcel.py").write_text("class Parcel:\n    def label(self):\n        return 1\n")
    (tmp_path / "letter.py").write_text("class Letter:\n    def label(self):\n        return 2\n")
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_label.py").write_text("def test_label(thing):\n    assert thing.label()\n")
    first = CommandLine(place, tmp_path).text(command, "label").split("\n")[0]
    assert first.count("by name in tests") == 1


def test_grep_shows_the_function_around_a_match(typed: CommandLine) -> None:
    text = typed.text("grep", "-W", "RetryPolicy()", "-F", "src")
    assert "Courier.__init__ 7-9\n7 def __init__" in text
    assert "9     self.policy = RetryPolicy()" in text


def test_outline_of_a_class_lists_its_members(typed: CommandLine) -> None:
    assert "src/depot/courier.py:6 Courier" in typed.text("outline", "Courier", "--inherited")


def test_find_says_where_a_definition_has_the_name(typed: CommandLine) -> None:
    assert "RetryPolicy is defined in src/depot/" in typed("find", "RetryPolicy").stdout


def test_refs_take_the_new_kinds(typed: CommandLine) -> None:
    writes = typed.json("refs", "policy", "--kind", "write")["references"]
    assert [(one["path"], one["line"]) for one in writes] == [
        ("src/depot/courier.py", 9),
        ("tests/test_retry.py", 5),
    ]
    assert "Courier.__init__ 7-9\n9 self.policy = " in typed.text("grep", "policy", "--kind", "write")


@pytest.mark.parametrize(
    ("tool", "args"),
    [
        ("calls", {"name": "Courier.deliver", "depth": 2, "guesses": True}),
        ("calls", {"name": "Courier.deliver", "all": True}),
        ("callers", {"name": "RetryPolicy.delay", "depth": 2}),
        ("impls", {"name": "RetryPolicy"}),
        ("outline", {"path": "Courier", "inherited": True}),
        ("tests", {"name": "RetryPolicy.delay"}),
        ("path", {"source": "Courier.deliver", "target": "Courier.ring"}),
        ("impact", {"name": "RetryPolicy.delay"}),
    ],
)
def test_every_tool_answers_through_the_gateway(
    indexed_depot: tuple[Place, Any], tool: str, args: dict[str, Any]
) -> None:
    with raw(*indexed_depot) as client:
        client.handshake()
        reply = client.call("llmc", name=tool, args=args)["result"]
        assert not reply.get("isError"), reply
        assert reply["content"][0]["text"]


@pytest.fixture(scope="module")
def http(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(tmp_path_factory.mktemp("http")) as made:
        yield made


def test_every_tool_answers_over_http(http: Served) -> None:
    reply = http.call("calls", name="Courier.deliver")
    assert reply.status_code == 200
    assert CALLS in reply.json()["text"]
    for tool in ("callers", "impls", "tests", "impact"):
        assert http.call(tool, name="RetryPolicy").status_code == 200
    assert http.call("path", source="Courier.deliver", target="Courier.ring").status_code == 200
