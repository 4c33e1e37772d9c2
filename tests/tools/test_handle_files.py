"""A handle to a file that was deleted, ignored or denied since says so, and shows no denied text."""

from __future__ import annotations

import re
import sqlite3
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from daemons import CommandLine, private_place

if TYPE_CHECKING:
    from collections.abc import Iterator

FRAME = re.compile(r"\+\d+ (?:more|lines?) → (h[a-z2-7]{4,})")


@pytest.fixture
def world(tmp_path: Path) -> Iterator[CommandLine]:
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / ".git").mkdir()
    for number in range(30):
        lines = [f"needle {number} {each} of a long enough line\n" for each in range(5)]
        (folder / f"file{number:02}.txt").write_text("".join(lines))
    with private_place() as place:
        yield CommandLine(place, folder)


def handle_of(world: CommandLine) -> str:
    found = FRAME.search(world.text("grep", "needle"))
    assert found is not None
    return found[1]


def test_a_page_says_which_files_were_deleted_and_ignored(world: CommandLine) -> None:
    handle = handle_of(world)
    (world.folder / "file28.txt").unlink()
    (world.folder / ".gitignore").write_text("file29.txt\n")
    first = world.text("read", handle).split("\n")[0]
    assert "deleted since: file28.txt" in first
    assert "ignored since: file29.txt" in first


def test_an_item_of_a_deleted_file_says_so(world: CommandLine) -> None:
    handle = handle_of(world)
    for path in world.folder.glob("*.txt"):
        path.unlink()
    done = world("read", f"{handle}:1")
    assert done.returncode == 1
    assert "was deleted after this result was stored" in done.stdout + done.stderr


def test_denied_text_is_not_shown_by_a_handle(world: CommandLine, tmp_path: Path) -> None:
    handle = handle_of(world)
    own = tmp_path / "own.toml"
    own.write_text('[index]\ndeny = ["file2*.txt"]\n')
    denied = CommandLine(world.place, world.folder)
    page = denied.text("--config", str(own), "read", handle, "--all")
    assert not re.search(r"needle 2\d ", page)
    assert "denied since: file20.txt" in page.split("\n")[0]
    assert not re.search(r"needle 2\d ", denied("--config", str(own), "handle", "show", handle).stdout)
    item = next(n for n in range(1, 151) if "denylist" in denied("--config", str(own), "read", f"{handle}:{n}").stderr)
    assert item


def test_a_row_written_by_another_program_does_not_break_the_list(world: CommandLine) -> None:
    handle = handle_of(world)
    (cache,) = Path(world.place.home.path).glob("**/cache.db")
    with sqlite3.connect(cache) as rows:
        rows.execute("INSERT INTO Cache (key, raw, value) VALUES (7, 1, 'a number'), (x'8004', 0, 'pickled')")
    assert handle in world.text("handle", "list")
