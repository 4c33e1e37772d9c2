"""The same call again is answered from memory, and never differs from a new reply; calls that wait
together share what is made after they came, and nothing that was made before."""

from __future__ import annotations

import random
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest
from daemons import private_place
from mcp_world import raw
from search_world import write
from tool_calls import answer

from llmc.base.concurrency import InFlightCache
from llmc.envelope.handles import Handles
from llmc.envelope.request import ClientInfo, RunningRequest
from llmc.retrieval.dependency_cache import DependencyCache
from llmc.settings import EmbedderSettings, Settings
from llmc.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from mcp_world import Raw

    from llmc.envelope.reply import Reply

PLAIN = Settings(embedder=EmbedderSettings(kind="hash"))
CALLS: list[tuple[str, dict[str, Any]]] = [
    ("search", {"query": "retry policy", "budget": 60}),
    ("grep", {"pattern": "def", "budget": 60}),
    ("grep", {"pattern": r"\w+Policy"}),
    ("grep", {"pattern": "^$"}),
    ("refs", {"name": "RetryPolicy"}),
    ("outline", {"path": "src"}),
    ("tree", {"depth": 3}),
    ("find", {"name": "po"}),
    ("find", {"name": "*.bin"}),
    ("context", {"query": "how long does it wait"}),
]

MOST_TRIES = 10_000


class World:
    def __init__(self, workspace: Workspace, handles: Handles, folder: Path) -> None:
        self.workspace, self.handles, self.folder = workspace, handles, folder

    def ask(
        self, name: str, args: dict[str, Any], call: RunningRequest | None = None, received_at: float | None = None
    ) -> Reply:
        return answer(self.workspace, self.handles, name, args, call=call, received_at=received_at)

    def uncached(self, name: str, args: dict[str, Any]) -> Reply:
        """As a process would reply that has answered nothing yet."""
        kept, self.workspace.cache = self.workspace.cache, DependencyCache()
        try:
            return self.ask(name, args)
        finally:
            self.workspace.cache = kept

    def both(self, name: str, args: dict[str, Any]) -> tuple[str, str]:
        """The reply that may be from memory and a new one, of one state of the index."""
        for _ in range(MOST_TRIES):
            before, kept, after = (ask(name, args).text for ask in (self.uncached, self.ask, self.uncached))
            if before == after:
                return kept, after
        pytest.fail("the index never settled")

    def settle(self) -> None:
        """Until no file is so recent that it is always read again."""
        for _ in range(MOST_TRIES):
            if self.from_memory("tree", {"depth": 1}):
                return
        pytest.fail("no reply was ever kept")

    def from_memory(self, name: str, args: dict[str, Any]) -> bool:
        return self.ask(name, args).cached


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    folder = write(tmp_path / "project")
    home = str(tmp_path / "home")
    with Workspace.open(str(folder), home=home, settings=PLAIN, watch=True) as workspace:
        workspace.index()
        handles = Handles(str(tmp_path / "handles"))
        yield World(workspace, handles, folder)
        handles.close()


@pytest.mark.parametrize(("name", "args"), CALLS, ids=str)
def test_the_second_reply_is_from_memory_and_the_same(world: World, name: str, args: dict[str, Any]) -> None:
    world.settle()
    first = world.ask(name, args)
    again = world.ask(name, args)
    assert (again.text, again.data, again.handle) == (first.text, first.data, first.handle)
    assert again.cached


def test_whatever_is_changed_the_reply_is_that_of_the_files_as_they_are(world: World) -> None:
    chance = random.Random(3)
    paths = sorted(path for path in world.folder.rglob("*") if path.is_file() and path.suffix == ".py")
    for step in range(25):
        path = chance.choice(paths)
        kind = chance.randrange(4)
        if kind == 0:
            path.write_text(f"class RetryPolicy{step}:\n    def wait{step}(self):\n        return {step}\n")
        elif kind == 1 and path.exists():
            path.write_text(path.read_text() + f"\ndef added_{step}():\n    return RetryPolicy\n")
        elif kind == 2:
            path.unlink(missing_ok=True)
        else:
            path.with_suffix(".bin").write_bytes(bytes(step + 9))
        for name, args in CALLS:
            kept, made = world.both(name, args)
            assert kept == made


def test_a_handle_that_was_dropped_is_made_again(world: World) -> None:
    world.settle()
    name, args = CALLS[1]
    handle = world.ask(name, args).handle
    assert world.from_memory(name, args)
    world.handles.drop(handle, "local")
    assert world.ask(name, args).handle == handle
    assert "def" in answer(world.workspace, world.handles, "read", {"target": handle}).text


def test_other_settings_are_another_question(world: World) -> None:
    world.settle()
    name, args = "grep", {"pattern": "def"}
    whole = world.ask(name, args).text
    smaller = PLAIN.envelope.model_copy(update={"grep_budget": 60})
    world.workspace.settings = world.workspace.settings.model_copy(update={"envelope": smaller})
    assert world.ask(name, args).text != whole


def test_everything_and_what_a_question_chooses_are_not_kept(world: World) -> None:
    world.settle()
    for more in ({"all": True}, {"context_focus_question": "how long does it wait?"}):
        assert not any(world.from_memory("grep", {"pattern": "def", **more}) for _ in range(2))


def test_sizes_and_dates_are_looked_up_each_time(world: World) -> None:
    world.settle()
    assert not any(world.from_memory("find", {"name": "po", "long": True}) for _ in range(2))


def test_callers_that_came_before_a_reply_was_begun_share_it_and_later_ones_get_a_new_one(world: World) -> None:
    name, args = "grep", {"pattern": "NEWS"}
    came = time.monotonic()
    made = world.ask(name, args, received_at=came)
    (world.folder / "src/depot/news.py").write_text("NEWS = 1\n")
    shared = world.ask(name, args, received_at=came)
    assert shared.text == made.text
    assert shared.cached
    assert "src/depot/news.py" in world.ask(name, args, received_at=time.monotonic()).text


def test_a_step_of_a_longer_work_sees_what_an_earlier_one_did(world: World) -> None:
    """As of a delegate, whose steps are all part of one call."""
    name, args, call = "grep", {"pattern": "NEWS"}, RunningRequest(ClientInfo(1, "a"))
    assert world.ask(name, args, call).text == "no matches"
    (world.folder / "src/depot/news.py").write_text("NEWS = 1\n")
    assert "src/depot/news.py" in world.ask(name, args, call).text


def test_only_what_was_begun_after_one_came_counts_and_the_oldest_is_forgotten() -> None:
    shared: InFlightCache[str] = InFlightCache(2)
    shared.put("a", "A", began=1.0)
    assert shared.get("a", newer_than=0.9) == "A"
    assert shared.get("a", newer_than=1.0) is None
    shared.put("b", "B", began=2.0)
    shared.put("a", "AA", began=3.0)
    shared.put("c", "C", began=4.0)
    assert [shared.get(key, newer_than=0.0) for key in "abc"] == ["AA", None, "C"]
    shared.clear()
    assert shared.get("a", newer_than=0.0) is None


def test_in_a_crowd_that_asks_the_same_everybody_finds_what_he_wrote_and_set_before_asking(tmp_path: Path) -> None:
    clients, rounds = 6, 12
    folder = write(tmp_path / "project")
    for number in range(clients):
        (folder / f"mark_{number}.py").write_text("")

    def write_and_ask(number: int, peer: Raw) -> None:
        for step in range(rounds):
            (folder / f"mark_{number}.py").write_text(f"MARK = 'mark-{number}-{step}-'\n")
            assert f"mark-{number}-{step}-" in said(peer, pattern="MARK = 'mark", budget=900)

    def set_and_ask(peer: Raw) -> None:
        for step in range(rounds):
            (folder / "llmc.toml").write_text(f"[envelope]\ngrep_budget = {(50, 2_000)[step % 2]}\n")
            assert ("→ h" in said(peer, pattern="def |class ", path="src")) == (step % 2 == 0)

    def act(number: int) -> None:
        with raw(place, folder) as peer:
            peer.handshake()
            write_and_ask(number, peer) if number else set_and_ask(peer)

    with private_place() as place, ThreadPoolExecutor(clients) as pool:
        done = place.llmc("index", "--once", cwd=folder)
        assert done.returncode == 0, done.stderr
        list(pool.map(act, range(clients)))


def said(peer: Raw, **arguments: Any) -> str:
    result = peer.call("grep", **arguments)["result"]
    assert not result.get("isError"), result
    text: str = result["content"][0]["text"]
    return text
