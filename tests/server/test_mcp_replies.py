"""MCP replies: never above the cap, never the same twice, with the part of a line that matched."""

from __future__ import annotations

import asyncio
import re
from typing import TYPE_CHECKING, Any

import pytest
import search_world
from daemons import Place, private_place
from mcp_world import client, text_of

from llmc.envelope.tokens import count

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

CAP = 8_000
Calls = list[tuple[str, dict[str, Any]]]


class World:
    def __init__(self, place: Place, folder: Path) -> None:
        self.place = place
        self.folder = folder

    def ask(self, calls: Calls, *arguments: str) -> list[str]:
        """The replies to calls of one session."""

        async def run() -> list[str]:
            async with client(self.place, self.folder, *arguments) as connected:
                return [text_of(await connected.call_tool(name, args)) for name, args in calls]

        return asyncio.run(run())


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    folder = search_world.write(tmp_path_factory.mktemp("depot"))
    many = "\n".join(f"PARCEL_{number} = {number}  # parcel number {number} of the depot" for number in range(4_000))
    (folder / "src/depot/parcels.py").write_text(f"{many}\n")
    for number in range(1_500):
        path = folder / f"src/shelves/row{number % 40}/shelf_of_the_depot_{number}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"class Shelf{number}:\n    def parcels(self):\n        return {number}\n")
    steps = "\n".join(f"    timetable.append(departure(route, weekday, after={hour}))" for hour in range(12))
    (folder / "src/depot/timetable.py").write_text(
        f"def make_timetable(route, weekday):\n    timetable = []\n{steps}\n    return timetable\n"
    )
    words = " ".join(f"crate{number}" for number in range(30_000))
    (folder / "data").mkdir()
    (folder / "data/crates.txt").write_text(f"{words} dirigiblexyz\n")
    with private_place() as place:
        done = place.llmc("index", "--once", cwd=folder)
        assert done.returncode == 0, done.stderr
        yield World(place, folder)


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("grep", {"pattern": "parcel"}),
        ("grep", {"pattern": "parcel", "context": 3}),
        ("grep", {"pattern": "parcel", "fields": ["*"]}),
        ("grep", {"pattern": "parcel", "files": True}),
        ("grep", {"pattern": "."}),
        ("find", {"name": ""}),
        ("find", {"name": "*.py", "fields": ["*"]}),
        ("read", {"target": "src/depot/parcels.py"}),
        ("read", {"target": ["src/depot/parcels.py", "data/crates.txt"]}),
        ("read", {"target": "src/depot/parcels.py", "context_focus_question": "which parcels are there?"}),
        ("outline", {"path": "src"}),
        ("tree", {"depth": 9}),
        ("search", {"query": "parcels of the depot", "limit": 500}),
        ("context", {"query": "parcels of the depot"}),
        ("refs", {"name": "parcels"}),
    ],
)
def test_no_reply_exceeds_the_cap_and_the_rest_is_behind_its_handle(
    world: World, name: str, args: dict[str, Any]
) -> None:
    (reply,) = world.ask([(name, {**args, "all": True})], "--set", "server.profile=full")
    assert count(reply) <= CAP
    if count(reply) > CAP // 2:
        assert re.search(r"^\+[\d,]+ .*→ h\w+$", reply.splitlines()[-1]), reply[-200:]


def test_pages_of_all_matches_complete_each_other(world: World) -> None:
    reply, *_ = world.ask([("grep", {"pattern": r"PARCEL_\d+ =", "all": True})])
    seen = set(re.findall(r"PARCEL_(\d+) =", reply))
    while handle := re.search(r"→ (h\w+)$", reply):
        (reply,) = world.ask([("read", {"target": handle[1], "all": True})])
        assert count(reply) <= CAP
        seen |= set(re.findall(r"PARCEL_(\d+) =", reply))
    assert len(seen) == 4_000


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("grep", {"pattern": "RetryPolicy|attempt"}),
        ("search", {"query": "how is the timetable of a weekday made"}),
        ("grep", {"pattern": r"PARCEL_1\d\d ", "context": 1, "budget": 400}),
    ],
)
def test_a_repeated_call_is_answered_by_its_places(world: World, name: str, args: dict[str, Any]) -> None:
    first, second, third = world.ask([(name, args), (name, args), (name, {**args, "fresh": True})])
    assert third == first
    assert count(second) < 0.7 * count(first)
    assert "as before, places only; fresh=true shows the text" in second.splitlines()[0]
    paths = re.findall(r"^(?:src|tests|docs|data)/\S+", first, re.MULTILINE)
    assert paths
    for path in paths:
        assert path in second
    numbers = {int(number) for number in re.findall(r"^(\d+)(?:-\d+)? ", first, re.MULTILINE)}
    assert numbers <= lines_in(second)
    assert re.findall(r"→ h\w+$", first) == re.findall(r"→ h\w+$", second)


def lines_in(text: str) -> set[int]:
    found: set[int] = set()
    for first, last in re.findall(r"\b(\d+)(?:-(\d+))?\b", text):
        found |= set(range(int(first), int(last or first) + 1))
    return found


def test_another_session_gets_the_whole_reply(world: World) -> None:
    call = ("grep", {"pattern": "RetryPolicy|attempt"})
    assert world.ask([call]) == world.ask([call])


def test_a_repeated_call_shows_what_has_changed_since(world: World) -> None:
    call = ("grep", {"pattern": "Zeppelin|attempt"})

    async def run() -> tuple[str, str]:
        async with client(world.place, world.folder) as connected:
            before = text_of(await connected.call_tool(*call))
            (world.folder / "src/zeppelin.py").write_text("class Zeppelin:\n    pass\n")
            return before, text_of(await connected.call_tool(*call))

    before, after = asyncio.run(run())
    assert "class Zeppelin" not in before
    assert "class Zeppelin" in after


def test_the_command_line_repeats_every_reply(world: World) -> None:
    first, second = (world.place.llmc("grep", "RetryPolicy|attempt", cwd=world.folder) for _ in range(2))
    assert first.stdout == second.stdout
    assert "def delay" in second.stdout


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("grep", {"pattern": "dirigiblexyz"}),
        ("grep", {"pattern": r"dirig\w+"}),
        ("search", {"query": "dirigiblexyz"}),
        ("context", {"query": "dirigiblexyz"}),
    ],
)
def test_a_word_at_the_end_of_a_very_long_line_is_shown(world: World, name: str, args: dict[str, Any]) -> None:
    (reply,) = world.ask([(name, args)], "--set", "server.profile=full")
    assert "crate29999 dirigiblexyz" in reply
    assert reply.count("crate") < 150


def test_a_secret_beside_a_match_in_a_very_long_line_is_redacted(world: World) -> None:
    secret = "ghp_" + "a1B2c3D4e5" * 3 + "f6G7h8"
    text = " ".join(f"word{number}" for number in range(9_000))
    (world.folder / "data/secret.txt").write_text(f"{text} {secret} needle_here {secret} {text}\n")
    replies = world.ask([("grep", {"pattern": "needle_here"}), ("search", {"query": "needle_here"})])
    for reply in replies:
        assert "needle_here" in reply
        assert secret[4:] not in reply
        assert "[redacted" in reply
