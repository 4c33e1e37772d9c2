"""Guarantees of a stored session, in one process: versions, slices, bounds, recall, checkpoints, a damaged file."""

from __future__ import annotations

import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from research_world import TOKEN, World, opened, write
from tool_calls import answer

from llmc.base.errors import ConflictError, NewerFormatError, NotFoundError, QueryError, StoreError
from llmc.envelope.request import ClientInfo, RunningRequest
from llmc.envelope.tokens import count
from llmc.settings import SessionSettings
from llmc.state.connected_sessions import ConnectedSession, RequestContext
from llmc.state.sessions import Draft, Memory, SessionEntry, database
from llmc.state.sessions import memory as memory_module
from llmc.state.sessions.checkpoint import MOST_TOKENS, checkpoint
from llmc.state.sessions.join import memory_of, record_call

if TYPE_CHECKING:
    from collections.abc import Iterator

TRIES = 10_000  # updates by compare-and-set; with four threads a few dozen are enough


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    made = Memory(str(tmp_path / "sessions.sqlite"))
    yield made
    made.close()


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with opened(tmp_path_factory.mktemp("home"), write(tmp_path_factory.mktemp("tree") / "depot")) as made:
        yield made
        memory_of(made.workspace).close()


def say(world: World, session: ConnectedSession, /, **args: Any) -> dict[str, Any]:
    reply = answer(world.workspace, world.handles, "session", args, session=session)
    return {**reply.data, "text": reply.text, "code": reply.error}


def test_a_stale_version_is_refused_and_the_present_one_named(memory: Memory) -> None:
    kept = memory.open("local", "work")
    assert memory.put(kept, Draft("plan", ["a"], "otto")).version == 1
    with pytest.raises(ConflictError, match="plan is at version 1, by otto"):
        memory.put(kept, Draft("plan", ["b"], "rem"))
    with pytest.raises(ConflictError) as refused:
        memory.put(kept, Draft("plan", ["b"], "rem", version=0))
    assert refused.value.context["version"] == 1
    assert memory.put(kept, Draft("plan", ["a", "b"], "rem", version=1)).version == 2
    found = memory.get(kept, "plan")
    assert found is not None
    assert (found.value, found.writer, found.version) == (["a", "b"], "rem", 2)


def test_a_writer_may_replace_its_own_value(memory: Memory) -> None:
    kept = memory.open("local")
    memory.put(kept, Draft("goal", "one", "otto"))
    assert memory.put(kept, Draft("goal", "two", "otto")).version == 2


def test_a_dropped_key_keeps_counting_so_that_an_old_version_never_fits_again(memory: Memory) -> None:
    kept = memory.open("local")
    memory.put(kept, Draft("k", 1, "otto"))
    memory.put(kept, Draft("k", None, "otto", version=1))
    assert memory.get(kept, "k") is None
    with pytest.raises(ConflictError, match="k is not set"):
        memory.put(kept, Draft("k", 2, "rem", version=1))
    assert memory.put(kept, Draft("k", 2, "rem", version=0)).version == 3


def test_of_many_concurrent_compare_and_set_calls_every_success_is_its_own_version(tmp_path: Path) -> None:
    path = str(tmp_path / "sessions.sqlite")
    first = Memory(path)
    kept = first.open("local", "race")
    first.put(kept, Draft("sum", 0, "start"))

    def add(who: int) -> None:
        memory = Memory(path)  # a separate connection, as another process has
        for _ in range(20):
            for _ in range(TRIES):
                cell = memory.get(kept, "sum")
                assert cell is not None
                try:
                    memory.put(kept, Draft("sum", cell.value + 1, f"agent {who}", cell.version))
                    break
                except ConflictError:
                    continue
            else:
                pytest.fail(f"agent {who} could not set the key")
            memory.append(kept, SessionEntry("log", f"added by {who}"))
        memory.close()

    threads = [threading.Thread(target=add, args=(who,)) for who in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    cell = first.get(kept, "sum")
    assert cell is not None
    assert (cell.value, cell.version) == (80, 81)
    assert len(first.entries(kept, name="log")) == 80
    first.close()


def test_an_agent_sees_shared_entries_and_its_own_slice(memory: Memory) -> None:
    kept = memory.open("local")
    memory.put(kept, Draft("notes", "for all", "otto"))
    memory.put(kept, Draft("notes", "mine", "otto", agent="otto"))
    memory.append(kept, SessionEntry("log", "private", "otto", agent="otto"), SessionEntry("log", "public", "rem"))
    assert [cell.value for cell in memory.cells(kept, "rem")] == ["for all"]
    assert [one.text for one in memory.entries(kept, "rem")] == ["public"]
    own = memory.get(kept, "notes", "otto")
    assert own is not None
    assert own.value == "mine"
    assert [one.text for one in memory.entries(kept, "otto")] == ["private", "public"]


def test_what_belongs_to_another_is_not_there(memory: Memory) -> None:
    memory.open("one", "work")
    for name in ("work", "never"):
        with pytest.raises(NotFoundError, match=f"there is no session '{name}'"):
            memory.find("two", name)
    assert memory.all("two") == []
    assert memory.open("two", "work").id != memory.find("one", "work").id


def test_everything_has_a_bound(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "MOST_KEYS", 3)
    monkeypatch.setattr(database, "MOST_ENTRIES", 120)
    monkeypatch.setattr(memory_module, "MOST_SESSIONS", 2)
    kept = memory.open("local", "a")
    for number in range(3):
        memory.put(kept, Draft(f"k{number}", number, "x"))
    with pytest.raises(QueryError, match="at most 3 keys"):
        memory.put(kept, Draft("k4", 4, "x"))
    with pytest.raises(QueryError, match="larger than 64 KB"):
        memory.put(kept, Draft("k1", "x" * 70_000, "x"))
    with pytest.raises(QueryError, match="larger than 16 KB"):
        memory.append(kept, SessionEntry("log", "x" * 20_000))
    memory.append(kept, *(SessionEntry("log", f"entry {number}") for number in range(400)))
    left = memory.entries(kept)
    assert len(left) <= 120 + database.TRIM_EVERY
    assert left[-1].text == "entry 399"
    assert memory.find("local", "a").lost == 400 - len(left)
    for name in ("b", "c"):
        memory.open("local", name)
    assert [one.name for one in memory.all("local")] == ["c", "b"]


def test_old_sessions_are_swept(memory: Memory) -> None:
    old, young = memory.open("local", "old"), memory.open("local", "young")
    with memory.database.writing() as book:
        book.execute("UPDATE sessions SET used = ? WHERE id = ?", (time.time() - 10 * 3600, old.id))
    memory.sweep(9)
    assert [one.name for one in memory.all("local")] == [young.name]
    with pytest.raises(NotFoundError):
        memory.append(old, SessionEntry("log", "too late"))


def test_a_damaged_file_is_put_aside_and_a_newer_one_not_changed(tmp_path: Path) -> None:
    path = tmp_path / "sessions.sqlite"
    path.write_bytes(b"this is no database, however long it may be" * 100)
    memory = Memory(str(path))
    assert memory.open("local", "anew").name == "anew"
    assert (tmp_path / "sessions.sqlite.damaged").read_bytes().startswith(b"this is no")
    with memory.database.writing() as book:
        book.execute("PRAGMA user_version = 99")
    memory.close()
    with pytest.raises(NewerFormatError):
        Memory(str(path)).all("local")
    (tmp_path / "folder").mkdir()
    with pytest.raises(StoreError):
        Memory(str(tmp_path / "folder")).open("local")


def test_the_solution_from_earlier_is_found_by_words_and_by_meaning(world: World) -> None:
    session = ConnectedSession("mcp-recall", client="one")
    for text in ("we tried a longer timeout and it did not help", "lunch at noon", "the build is green"):
        say(world, session, action="append", value=text)
    say(world, session, action="append", value="double the wait after each attempt", act="solution")
    assert say(world, session, action="search", query="the solution from earlier")["found"][0]["text"].startswith(
        "double"
    )
    assert "double the wait" in say(world, session, action="search", query="retry backoff waiting")["text"]
    assert say(world, session, action="search", query="zorglub")["found"] == []


def test_secrets_are_redacted_before_they_are_kept(world: World) -> None:
    session = ConnectedSession("mcp-secret", client="one")
    say(world, session, action="set", key="env", value={"token": TOKEN, "password": "hunter2-very-Secret99"})
    say(world, session, action="append", value=f"the token is {TOKEN}")
    say(world, session, action="append", value=f"[2] list of {TOKEN}")
    files = Path(world.workspace.registry.home.path).glob("sessions.sqlite*")
    raw = b"".join(path.read_bytes() for path in files)
    assert TOKEN.encode() not in raw
    assert b"hunter2-very" not in raw
    assert b"[redacted:" in raw


def test_a_checkpoint_describes_the_state_of_the_work_in_300_tokens(memory: Memory) -> None:
    kept = memory.open("local", "long", place="depot")
    memory.put(kept, Draft("goal", "make couriers retry", "otto"))
    memory.put(kept, Draft("plan", [{"step": "read", "done": True}, {"step": "fix the loop"}], "otto"))
    for number in range(300):
        memory.append(kept, SessionEntry("log", f"remark {number} " + "about this and that " * 10, "otto", "said"))
    memory.append(kept, SessionEntry("log", "the wait must double", "rem", "decided"))
    lines = checkpoint(memory, kept)
    text = "\n".join(lines)
    assert count(text) <= MOST_TOKENS
    assert lines[0].startswith("session long in depot")
    for wanted in ("goal: make couriers retry", "1 of 2 steps done", "todo 2: fix the loop", "decided: the wait must"):
        assert wanted in text


def test_the_marks_of_a_budget_are_reported_once_in_the_frame(world: World) -> None:
    limited = SessionSettings(budget_tokens=2_000)
    settings = world.workspace.settings.model_copy(update={"session": limited})
    workspace = replace(world.workspace, settings=settings, owned=False)
    session = ConnectedSession("mcp-budget", client="one")
    visit = RequestContext(ClientInfo(1, "mcp-budget"), session)
    told = []
    for _ in range(100):
        reply = answer(workspace, world.handles, "read", {"target": "docs/returns.md", "fresh": True}, session=session)
        done = record_call(workspace, visit, "read", {"target": "docs/returns.md"}, reply)
        extra = done.text.removeprefix(reply.text).strip()
        told.append(extra.partition("; ")[2].partition(" ")[0] if "; " in extra else bool(extra))
        assert extra in done.frame
        if "over" in told:
            break
    assert [one for one in told if one] == ["checkpoint", "checkpoint", "over"]
    name = say(world, session, action="show")["session"]
    say(world, ConnectedSession("mcp-fresh", client="two"), action="resume", name=name)
    assert memory_of(workspace).find("local", name).served == 0


def test_calls_of_a_joined_connection_are_its_history_and_others_are_not(world: World) -> None:
    session = ConnectedSession("mcp-history", client="one")
    visit = RequestContext(ClientInfo(1, "mcp-history"), session)

    def call(name: str, /, **args: Any) -> None:
        answer(world.workspace, world.handles, name, args, session=session, client=visit.client)

    call("search", query="before anything is kept")
    say(world, session, action="set", key="goal", value="x")
    call("search", query=f"deliver {TOKEN}")
    call("llmc", name="refs", args={"name": "RetryPolicy"})
    call("session", action="show")
    told = say(world, session, action="get", key="tools")["entries"]
    assert [one["act"] for one in told] == ["search", "refs"]
    assert TOKEN not in told[0]["text"]
    assert told[1]["text"] == "refs RetryPolicy"
    assert memory_of(world.workspace).find("local", say(world, session, action="show")["session"]).calls == 3


def test_mistakes_say_what_would_be_right(world: World) -> None:
    session = ConnectedSession("mcp-mistakes", client="one")
    mistakes: list[tuple[dict[str, Any], str]] = [
        ({"action": "bogus"}, "There are show, list"),
        ({"action": "get", "key": "plan"}, "there is no session yet"),
        ({"action": "set", "key": "plan"}, "needs a value"),
        ({"action": "resume"}, "which session?"),
        ({"action": "resume", "name": "nope"}, "there is no session 'nope'"),
        ({"action": "set", "key": "k", "value": "v", "private": True}, "private to whom?"),
        ({"action": "append", "key": "tools", "value": "v"}, "written by llmc alone"),
    ]
    for args, hint in mistakes:
        found = say(world, session, **args)
        assert found["code"], args
        assert hint in found["text"], args


def test_first_calls_at_once_begin_one_session(world: World) -> None:
    session = ConnectedSession("mcp-together", client="one")
    together = threading.Barrier(6)

    def append(number: int) -> None:
        together.wait()
        say(world, session, action="append", value=f"entry {number}")

    threads = [threading.Thread(target=append, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert say(world, session, action="get", key="log")["total"] == 6


def test_a_session_that_was_dropped_is_recreated_by_the_client_that_names_it(world: World) -> None:
    session = ConnectedSession("by-name", client="one")
    call = RunningRequest(ClientInfo(1, "mcp-another"))

    def named(**args: Any) -> dict[str, Any]:
        return answer(world.workspace, world.handles, "session", args, session=session, call=call).data

    assert named(action="append", value="first")["session"] == "by-name"
    named(action="drop", name="by-name")
    assert named(action="append", value="second")["session"] == "by-name"
    assert [one["text"] for one in named(action="get", key="log")["entries"]] == ["second"]


def test_a_value_that_cannot_be_kept_is_refused(world: World) -> None:
    session = ConnectedSession("mcp-odd", client="one")
    deep: Any = []
    for _ in range(5_000):
        deep = [deep]
    assert "nested too deep" in say(world, session, action="set", key="k", value=deep)["text"]
    assert "valid Unicode" in say(world, session, action="append", value="half \ud800 a pair")["text"]
    assert say(world, session, action="set", key="k", value="half \ud800 a pair")["version"] == 1


def test_a_call_is_answered_although_its_session_cannot_be_written(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    newer = Memory(str(home / "sessions.sqlite"))
    newer.open("local")
    with newer.database.writing() as book:
        book.execute("PRAGMA user_version = 99")
    newer.close()
    with opened(home, write(tmp_path / "depot")) as world:
        session = ConnectedSession("mcp-unlucky", client="one")
        reply = answer(world.workspace, world.handles, "search", {"query": "courier"}, session=session)
        visit = RequestContext(ClientInfo(1, "mcp-unlucky"), session)
        assert record_call(world.workspace, visit, "search", {"query": "courier"}, reply) == reply
        assert say(world, session, action="list")["code"] == "store_newer"
