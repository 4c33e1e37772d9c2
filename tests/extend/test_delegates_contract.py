"""Guarantees for users of delegates: a bad file is refused at once, arguments are checked, and failures are reported
only to the client that has the delegate.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from daemons import until
from delegates_world import World, alone, said, sent_to, talk
from mcp_world import raw

if TYPE_CHECKING:
    from pathlib import Path

    from model_server import ModelServer


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (None, "cannot be opened: No such file"),
        ("{", "cannot be read: Expecting property name"),
        ('{"mcps": 5}', "mcps"),
        ('{"limits": {"call_timeout_ms": -1}}', "at least"),
    ],
)
def test_a_bad_config_ends_the_server_before_the_handshake(world: World, text: str | None, reason: str) -> None:
    path = world.folder / "bad.json"
    if text is not None:
        path.write_text(text)
    ended = world.place.llmc("serve", "--config", str(path), cwd=world.root, input="")
    assert ended.returncode == 2
    assert "bad.json" in ended.stderr
    assert reason in ended.stderr
    assert not ended.stdout


def test_an_entry_that_is_skipped_is_reported_when_the_server_starts(world: World) -> None:
    world.delegate("clerk", "say:I work.", {"llmc": ["search"]})
    world.delegate("search", "say:never", {"llmc": ["search"]})
    world.delegate("lost", "say:never", {"absent": ["read"]})
    started = world.place.llmc("serve", "--config", str(world.config), cwd=world.root, input="")
    assert started.returncode == 0
    assert "delegates.search" in started.stderr
    assert "delegates.lost" in started.stderr
    assert "I work." in alone(world)


def test_the_name_of_a_built_in_tool_is_reported_as_a_problem(world: World) -> None:
    world.delegate("search", "say:never", {"llmc": ["search"]})
    checked = world.place.llmc("config", "check", str(world.config), cwd=world.root)
    assert checked.returncode == 2
    assert "delegates.search: a built-in tool has this name; choose another name" in checked.stderr
    listed = world.llmc("delegate", "list")
    assert "search is the name of a built-in tool" in listed.stdout


def test_a_delegate_without_a_schema_takes_any_argument(world: World, model: ModelServer) -> None:
    world.delegate("clerk", "say:Understood.", {"llmc": ["search"]}, arguments={})
    assert "Understood." in alone(world, query="where is parcel 7?")
    assert "Understood." in alone(world, subject="parcel", count=7)
    first, second = sent_to(model, "say:Understood.")[-2:]
    assert "where is parcel 7?" in json.dumps(first["messages"])
    assert "count" in json.dumps(second["messages"])


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"count": 6}, "'count' of clerk is not valid: 6 is greater than the maximum of 5"),
        ({"count": 0}, "'count' of clerk is not valid: 0 is less than the minimum of 1"),
        ({"kind": "blue"}, "'kind' of clerk is not valid: 'blue' is not one of ['red', 'green']"),
        ({"where": {"x": "a"}}, "'where.x' of clerk is not valid: 'a' is not of type 'integer'"),
    ],
)
def test_the_bounds_of_a_schema_hold(world: World, model: ModelServer, given: dict[str, Any], reason: str) -> None:
    schema = {
        "type": "object",
        "properties": {
            "count": {"type": "integer", "minimum": 1, "maximum": 5},
            "kind": {"enum": ["red", "green"]},
            "where": {"type": "object", "properties": {"x": {"type": "integer"}}},
        },
    }
    steps = f"say:bounded {json.dumps(given)}"
    world.delegate("clerk", steps, {"llmc": ["search"]}, arguments=schema)
    assert reason in alone(world, **given)
    assert not sent_to(model, steps)
    assert "bounded" in alone(world, count=5, kind="red", where={"x": 1})


@pytest.mark.parametrize(
    ("step", "reason", "detail"),
    [
        ("failing", "the provider failed, status 500", "the weights are on fire"),
        ("limited", "the provider limits requests, status 429", "slow down, please"),
        ("refused", "the provider refused the key, status 401", ""),
        ("garbage", "the reply is not one of a model", ""),
    ],
)
def test_a_failure_names_delegate_address_status_and_message(
    world: World, model: ModelServer, step: str, reason: str, detail: str
) -> None:
    world.delegate("clerk", step, {"llmc": ["search"]})
    reply = alone(world)
    assert f"clerk: the model did not answer: {reason} ({model.url}" in reply
    assert detail in reply
    failed = [json.loads(line) for line in world.log().splitlines() if '"delegate failed"' in line][-1]
    assert failed["level"] == "warning"
    assert (failed["delegate"], failed["address"]) == ("clerk", model.url)
    assert reason in failed["reason"]
    assert failed["detail"] == detail or not detail
    status = int(reason.rpartition(" ")[2]) if "status" in reason else None
    assert failed.get("status") == status


def test_a_failure_hides_the_key_and_a_short_key_hides_nothing_else(world: World, model: ModelServer) -> None:
    """Local servers take any key, and people write "x"."""
    echoed = "every word the model server wrote about the-key-of-the-server"
    for name, key in (("short", "e"), ("long", "the-key-of-the-server")):
        world.more.setdefault("providers", {})[name] = {"base_url": model.url, "api_key": key}
        world.delegate(f"clerk_{name}", f"fail:{echoed}", {"llmc": ["search"]}, provider=name)
    assert echoed in alone(world, "clerk_short")
    assert "every word the model server wrote about [hidden]" in alone(world, "clerk_long")
    assert f'"detail": "{echoed}"' in world.log()


def test_a_client_reads_the_failures_of_its_own_delegates_and_servers_alone(world: World, tmp_path: Path) -> None:
    world.mcps["absent"] = {"command": "no-such-program-here", "args": []}
    world.delegate("clerk", "slow", {"llmc": ["search"]}, timeout_seconds=1)
    other_folder = tmp_path / "other"
    other_folder.mkdir()
    other = World(other_folder, world.place, world.model)
    other.twin("twin")
    mine, theirs = tmp_path / "mine", tmp_path / "theirs"
    options = ("--log-level", "info", "--log-pretty")
    with (
        mine.open("w") as first,
        theirs.open("w") as second,
        raw(world.place, world.root, "--config", str(world.config), *options, stderr=first) as using,
        raw(other.place, other.root, "--config", str(other.config), *options, stderr=second) as beside,
    ):
        using.handshake()
        beside.handshake()
        using.send("tools/call", name="clerk", arguments={"query": "?"})
        until(lambda: "delegate failed delegate=clerk" in mine.read_text())
        until(lambda: "server failed server=absent" in mine.read_text())
        until(lambda: "server ready server=twin" in theirs.read_text())
    assert "clerk timed out" in mine.read_text()
    assert "twin" not in mine.read_text()
    assert "clerk" not in theirs.read_text()
    assert "absent" not in theirs.read_text()


def test_openai_base_url_is_where_the_vendor_is_asked(
    world: World, model: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(world.place.environ, "OPENAI_BASE_URL", model.url)
    world.delegate("clerk", "say:At home.", {"llmc": ["search"]}, provider="openai")
    assert "At home." in alone(world)
    world.more = {"providers": {"own": {"kind": "openai"}}}
    world.delegate("other", "say:Configured.", {"llmc": ["search"]}, provider="own")

    async def act(using: Any) -> str:
        return await said(using, "other", query="?")

    assert "Configured." in talk(world, act)
    shown = world.place.llmc("config", "show", "--config", str(world.config), cwd=world.root).stdout
    assert "OPENAI_BASE_URL" in shown
