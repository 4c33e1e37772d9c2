"""The same call again is answered from memory, and never differs from a reply that is made anew."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from search_world import write

from llmc.envelope.handles import Handles
from llmc.retrieval.cache import Answers
from llmc.server.tools import answer
from llmc.settings import EmbedderSettings, Settings
from llmc.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from llmc.server.tools import Reply

PLAIN = Settings(embedder=EmbedderSettings(kind="hash"))
CALLS: list[tuple[str, dict[str, Any]]] = [
    ("search", {"query": "retry policy", "budget": 60}),
    ("grep", {"pattern": "def", "budget": 60}),
    ("grep", {"pattern": r"\w+Policy"}),
    ("grep", {"pattern": "^$"}),
    ("refs", {"name": "RetryPolicy"}),
    ("outline", {"path": "src"}),
    ("tree", {"depth": 3}),
    ("find", {"name": "po", "long": True}),
    ("find", {"name": "*.bin"}),
    ("context", {"query": "how long does it wait"}),
]


class World:
    def __init__(self, workspace: Workspace, handles: Handles, folder: Path) -> None:
        self.workspace, self.handles, self.folder = workspace, handles, folder

    def ask(self, name: str, args: dict[str, Any]) -> Reply:
        return answer(self.workspace, self.handles, name, args)

    def anew(self, name: str, args: dict[str, Any]) -> Reply:
        """As a process would reply that has answered nothing yet."""
        kept, self.workspace.answers = self.workspace.answers, Answers()
        try:
            return self.ask(name, args)
        finally:
            self.workspace.answers = kept

    def settle(self) -> None:
        """Until no file is so young that it is always looked at anew."""
        while not self.from_memory("tree", {"depth": 1}):
            pass

    def from_memory(self, name: str, args: dict[str, Any]) -> bool:
        weight = self.ask(name, args).weight
        assert weight is not None
        return weight.cached


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
    assert again.weight is not None
    assert again.weight.cached


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
            assert world.ask(name, args).text == world.anew(name, args).text


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
    smaller = replace(PLAIN.envelope, grep_budget=60)
    world.workspace.settings = replace(world.workspace.settings, envelope=smaller)
    assert world.ask(name, args).text != whole


def test_everything_and_what_a_question_chooses_are_not_kept(world: World) -> None:
    world.settle()
    for more in ({"all": True}, {"context_focus_question": "how long does it wait?"}):
        assert not any(world.from_memory("grep", {"pattern": "def", **more}) for _ in range(2))
