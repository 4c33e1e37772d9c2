"""Sessions from the command line, MCP over stdio and HTTP, and across kill -9."""

from __future__ import annotations

import json
import os
import signal
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest
from http_world import served
from mcp_world import Raw, raw

if TYPE_CHECKING:
    from pathlib import Path

    from daemons import Place

TRIES = 1_000  # updates by compare-and-set; with three agents a few are enough


def said(reply: dict[str, Any]) -> str:
    text: str = reply["result"]["content"][0]["text"]
    return text


def session(client: Raw, /, **args: Any) -> str:
    """Called through the gateway, as by a lean client."""
    return said(client.call("llmc", name="session", args=args))


def test_a_session_continues_in_a_new_client_after_the_daemon_was_killed(indexed_depot: tuple[Place, Path]) -> None:
    with raw(*indexed_depot) as first:
        first.handshake()
        begun = session(first, action="set", key="goal", value="make couriers retry")
        name = begun.rpartition(" ")[2]
        session(first, action="append", value="the wait must double", act="solution")
        assert "RetryPolicy" in said(first.call("search", query="RetryPolicy"))
        os.kill(indexed_depot[0].pid, signal.SIGKILL)
        indexed_depot[0].wait_until_free()
        # The relay connects to another daemon at the next repeatable call, and the connection still has its session.
        assert "RetryPolicy" in said(first.call("search", query="RetryPolicy"))
        assert session(first, action="get", key="goal").startswith("goal v1 by raw")
        assert session(first, action="set", key="goal", value="and wait longer") == "goal v2"
    with raw(*indexed_depot) as second:
        second.handshake()
        assert "there is no session yet" in session(second, action="get", key="goal")
        resumed = session(second, action="resume", name=name)
        assert resumed.startswith(f"session {name} in ")
        for wanted in ("goal: and wait longer", "solution: the wait must double", "last asked: search RetryPolicy"):
            assert wanted in resumed
        assert "goal is at version 2" in session(second, action="set", key="goal", value="stomp")
        assert session(second, action="set", key="goal", value="both", version=2) == "goal v3"
        assert "the wait must double" in session(second, action="search", query="the solution from earlier")


def test_a_request_that_names_a_session_is_in_it(indexed_depot: tuple[Place, Path]) -> None:
    with raw(*indexed_depot) as first, raw(*indexed_depot) as second:
        first.handshake()
        second.handshake()
        said(first.call("search", query="parcel", session_id="shared-work"))
        said(second.call("session", action="append", value="from the second", session_id="shared-work"))
        shown = said(first.call("session", action="show", session_id="shared-work"))
        assert "from the second" in shown
        assert "tools 1" in shown


def test_agents_at_once_in_one_session_lose_nothing(indexed_depot: tuple[Place, Path]) -> None:
    name = "crowd"

    def work(agent: str) -> None:
        with raw(*indexed_depot) as client:
            client.handshake()
            for number in range(8):
                client.call("session", action="append", key=agent, value=str(number), agent=agent, session_id=name)
                for _ in range(TRIES):
                    reply = client.call("session", action="get", key="sum", session_id=name)
                    text = said(reply)
                    version = int(text.split(" ")[1][1:]) if text.startswith("sum v") else 0
                    value = int(text.split("\n")[1]) if version else 0
                    done = client.call(
                        "session", action="set", key="sum", value=str(value + 1), version=version, session_id=name
                    )
                    if not done["result"].get("isError"):
                        break
                else:
                    pytest.fail(f"{agent} could not set the key")

    with ThreadPoolExecutor(3) as pool:
        list(pool.map(work, ("beatrice", "otto", "rem")))
    shown = json.loads(indexed_depot[0].llmc("session", "show", name, "--json", "--all", cwd=indexed_depot[1]).stdout)
    assert next(one for one in shown["keys"] if one["key"] == "sum")["value"] == "24"
    assert {agent: shown["lists"][agent] for agent in ("beatrice", "otto", "rem")} == {
        "beatrice": 8,
        "otto": 8,
        "rem": 8,
    }


def test_the_command_line_lists_shows_resumes_and_drops(indexed_depot: tuple[Place, Path]) -> None:
    def llmc(*words: str, code: int = 0) -> str:
        done = indexed_depot[0].llmc(*words, cwd=indexed_depot[1])
        assert done.returncode == code, done.stderr
        return done.stdout + done.stderr

    name = json.loads(llmc("ask", "where is RetryPolicy defined", "--json"))["session"]
    assert name in llmc("session", "list")
    assert "retry.py" in llmc("session", "resume", name)
    assert llmc("session", "set", name, "plan", '["one", "two"]', "--agent", "otto").startswith("plan v1")
    assert "plan is at version 1, by otto" in llmc("session", "set", name, "plan", "mine", "--agent", "rem", code=1)
    assert llmc("session", "set", name, "plan", "ours", "--agent", "rem", "--version", "1").startswith("plan v2")
    llmc("session", "append", name, "remember the milk", "--act", "decided")
    assert "remember the milk" in llmc("session", "search", name, "milk")
    assert "decided: remember the milk" in llmc("session", "checkpoint", name, "halfway")
    assert "ours" in llmc("session", "get", name, "plan")
    assert "dropped" in llmc("session", "drop", name)
    assert "there is no session" in llmc("session", "show", name, code=1)


def test_ask_answers_on_the_command_line(indexed_depot: tuple[Place, Path]) -> None:
    done = indexed_depot[0].llmc("ask", "where is RetryPolicy defined", cwd=indexed_depot[1])
    assert done.returncode == 0
    assert "src/depot/retry.py:6" in done.stdout
    missing = indexed_depot[0].llmc("ask", "where is ZorglubFactory defined", "--session", "none", cwd=indexed_depot[1])
    assert "there is no session 'none'" in missing.stderr


def test_over_http_a_session_belongs_to_its_token(tmp_path: Path) -> None:
    with served(tmp_path) as world:
        other = world.token("--client", "other")
        made = world.call("session", None, "mine", action="set", key="goal", value="x").json()
        name = made["data"]["session"]
        assert name == "mine"
        assert world.call("session", None, "mine", action="get", key="goal").json()["data"]["value"] == "x"
        foreign = world.call("session", other, "", action="resume", name=name)
        unknown = world.call("session", other, "", action="resume", name="never")
        assert foreign.status_code == unknown.status_code == 404
        assert foreign.text.replace("mine", "never") == unknown.text
        assert world.call("session", None, "", action="resume", name=name).json()["data"]["session"] == "mine"
        local = world.place.llmc("session", "list", cwd=world.folder)
        assert "mine" not in local.stdout
