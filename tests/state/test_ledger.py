"""The ledger: the output of `llmc stats` after calls by MCP, HTTP and the command line."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from http_world import Served, served
from mcp_world import client

if TYPE_CHECKING:
    from collections.abc import Iterator

SECRET = "AKIA" + "IOSFODNN7" + "ABCDEFG"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(tmp_path_factory.mktemp("ledger")) as made:
        yield made


def stats(server: Served, *arguments: str) -> dict[str, Any]:
    done = server.place.llmc("stats", "--json", *arguments, cwd=server.folder)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_a_whole_reply_saves_nothing_and_has_no_frame(server: Served) -> None:
    server.call("read", None, "whole", target="src/depot/retry.py:1-5")
    found = stats(server, "--session", "whole")
    tokens = found["tokens"]
    assert (tokens["calls"], tokens["frame"], tokens["kept_back"], tokens["negative"]) == (1, 0, 0, 0)
    assert tokens["raw"] == tokens["content"] > 0
    assert (found["net"], found["share"]) == (0, 0.0)


def test_what_was_kept_back_and_fetched_later_counts_against_us(server: Served) -> None:
    first = server.call("grep", None, "pages", pattern=".", budget=100).json()
    kept = stats(server, "--session", "pages")["tokens"]
    assert kept["kept_back"] > kept["fetched"] == 0
    server.call("read", None, "pages", target=first["handle"])
    found = stats(server, "--session", "pages")
    assert found["tokens"]["kept_back"] == kept["kept_back"]
    assert found["tokens"]["fetches"] == 1
    assert found["net"] < kept["raw"] - kept["content"] - kept["frame"]


def test_a_file_shown_in_part_and_read_on_by_lines_is_fetched_too(server: Served) -> None:
    server.call("read", None, "lines", target="src/depot/retry.py", budget=60)
    server.call("read", None, "lines", target="src/depot/retry.py:10-12")
    tokens = stats(server, "--session", "lines")["tokens"]
    assert (tokens["calls"], tokens["fetches"]) == (2, 1)


def test_definitions_are_counted_once_for_a_session(server: Served) -> None:
    with server.client(**{"Llmc-Session": "lists"}) as http:
        for _ in range(3):
            http.get("/tools/list")
    server.call("search", None, "lists", query="retry")
    found = stats(server, "--session", "lists")
    assert found["listings"] == 1
    assert 0 < found["definitions"] + found["instructions"] <= 300
    assert found["overhead"] == found["definitions"] + found["instructions"] + found["tokens"]["frame"]


def test_menus_of_the_gateway_are_overhead_and_what_it_runs_is_the_tools(server: Served) -> None:
    server.call("llmc", None, "menus")
    menu = stats(server, "--session", "menus")["tokens"]
    assert menu["content"] == 0 < menu["frame"]
    assert menu["negative"] == 1
    server.call("llmc", None, "menus", name="find", args={"name": "retry"})
    tools = [one["tool"] for one in stats(server, "--session", "menus")["tools"]]
    assert sorted(tools) == ["find", "llmc"]


def test_a_repeated_search_is_from_the_cache_and_errors_are_counted(server: Served) -> None:
    for _ in range(2):
        server.call("search", None, "again", query="who waits between attempts")
    server.call("read", None, "again", target="nowhere.py")
    tokens = stats(server, "--session", "again")["tokens"]
    assert (tokens["cached"], tokens["errors"]) == (1, 1)


def test_mcp_and_the_command_line_are_written_down(server: Served) -> None:
    async def converse() -> None:
        async with client(server.place, server.folder) as agent:
            await agent.list_tools()
            await agent.call_tool("grep", {"pattern": "class"})

    asyncio.run(converse())
    server.place.llmc("find", "retry", cwd=server.folder)
    found = stats(server)
    assert {one["surface"] for one in found["sessions"]} >= {"mcp", "cli", "http"}
    assert [one["tool"] for one in stats(server, "--tool", "find", "--session", "cli")["tools"]] == ["find"]


def test_commands_under_te_and_the_pruner_profile_are_written_down(server: Served) -> None:
    async def converse() -> None:
        async with client(server.place, server.folder, "--profile", "pruner") as agent:
            await agent.list_tools()
            await agent.call_tool("read", {"file_path": "src/depot/retry.py"})

    asyncio.run(converse())
    server.place.llmc("te", "seq", "5000", cwd=server.folder)
    found = stats(server)
    tools = {one["tool"]: one["tokens"] for one in found["tools"]}
    assert tools["te"]["kept_back"] > 1_000
    assert any(one["surface"] == "mcp" and one["calls"] == 1 and one["overhead"] > 100 for one in found["sessions"])


def test_no_question_path_or_secret_is_kept(server: Served) -> None:
    server.call("search", None, f"name-{SECRET}", query="xylophone retries")
    server.call("read", None, "quiet", target="src/depot/retry.py")
    stats(server)
    written = b"".join(path.read_bytes() for path in Path(server.place.home.path).glob("ledger.db*"))
    assert b"quiet" in written
    for word in (b"xylophone", b"retry.py", b"depot", SECRET.encode()):
        assert word not in written


def test_the_figures_are_shown_for_people(server: Served) -> None:
    server.call("grep", None, "people", pattern=".", budget=100)
    shown = server.place.llmc("stats", "--plain", "--since", "2h", cwd=server.folder).stdout
    for word in ("overhead", "served", "held back", "net", "negative", "p95", "slowest", "largest", "people"):
        assert word in shown
    assert server.place.llmc("stats", "--since", "1s", "--session", "nobody", cwd=server.folder).returncode == 0


def test_a_time_that_is_none_is_refused_with_examples(server: Served) -> None:
    done = server.place.llmc("stats", "--since", "yesterday", cwd=server.folder)
    assert done.returncode != 0
    assert "2h" in done.stderr


def test_the_file_is_for_its_owner_alone(server: Served) -> None:
    stats(server)
    assert Path(server.place.home.ledger).stat().st_mode & 0o077 == 0


def test_a_damaged_file_is_put_aside_and_reported(tmp_path: Path) -> None:
    with served(tmp_path) as server:
        server.call("search", query="retry")
        stats(server)
        server.place.llmc("stop", cwd=server.folder)
        Path(server.place.home.ledger).write_bytes(b"no database at all, " * 500)
        server.place.llmc("find", "retry", cwd=server.folder)
        found = stats(server)
    assert found["tokens"]["calls"] == 1
    assert any("was restarted" in note for note in found["notes"])
