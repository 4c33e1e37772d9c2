"""Explicitly named ignored paths are searched as ripgrep searches them."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

import pytest
from daemons import CommandLine, private_place

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def fill(folder: Path) -> None:
    files = {
        ".gitignore": "build/\n*.log\n/generated/*\n",
        "a.txt": "needle a\n",
        "build/out.txt": "needle out\n",
        "build/deep/more.txt": "needle deep\n",
        "build/trace.log": "needle trace\n",
        "build/.env": "needle denied\n",
        "generated/x.py": "needle generated\n",
        "debug.log": "needle log\n",
    }
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    (folder / ".git").mkdir()
    (folder / "link.txt").symlink_to("build/out.txt")
    (folder / "build" / "binary.bin").write_bytes(b"needle\0" * 10)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CommandLine]:
    folder = tmp_path_factory.mktemp("work")
    fill(folder)
    with private_place() as place:
        standing = CommandLine(place, folder)
        standing.text("index", "--once")
        yield standing


def files_in(reply: str) -> set[str]:
    return {
        line.partition(" · ")[0]
        for line in reply.rstrip("\n").split("\n")[1:]
        if not line[:1].isdigit() and not line.startswith(" ")
    }


def test_ignored_files_are_left_out_unless_they_are_named(world: CommandLine) -> None:
    assert files_in(world.text("grep", "needle")) == {"a.txt"}


@pytest.mark.parametrize(
    ("named", "found"),
    [
        (("build/out.txt",), {"build/out.txt"}),
        (("debug.log",), {"debug.log"}),
        (("a.txt", "build/out.txt"), {"a.txt", "build/out.txt"}),
        (("build",), {"build/out.txt", "build/deep/more.txt"}),
        (("build/deep",), {"build/deep/more.txt"}),
        (("generated/x.py",), {"generated/x.py"}),
        (("link.txt",), {"build/out.txt"}),
    ],
)
def test_grep_searches_paths_that_are_named(world: CommandLine, named: tuple[str, ...], found: set[str]) -> None:
    assert files_in(world.text("grep", "needle", *named)) == found


@pytest.mark.parametrize("named", [("build/out.txt",), ("debug.log",), ("a.txt", "build/out.txt"), ("build",)])
def test_te_shows_every_named_file_that_grep_finds_except_denied_ones(
    world: CommandLine, named: tuple[str, ...]
) -> None:
    grep = ["grep", "-rIH", "needle", *named]
    found = subprocess.run([*grep, "-l"], cwd=world.folder, capture_output=True, text=True, check=True).stdout.split()
    printed = world.text("te", *grep)
    # Output of many files is regrouped by folder.
    assert all(path.rpartition("/")[2] in printed for path in found if not path.endswith(".env"))
    assert "needle denied" not in printed


def test_grep_names_a_path_that_there_is_none_of_and_searches_the_others(world: CommandLine) -> None:
    shown = world.text("grep", "needle", "nowhere/at/all", "a.txt")
    assert "no such path: nowhere/at/all" in shown.split("\n")[0]
    assert files_in(shown) == {"a.txt"}
    alone = world("grep", "needle", "nowhere/at/all")
    assert alone.returncode != 0
    assert "there is no 'nowhere/at/all'" in alone.stderr


def test_a_named_path_that_is_searched_twice_is_read_twice(world: CommandLine) -> None:
    changing = world.folder / "build" / "changing.txt"
    changing.write_text("nothing here\n")
    assert world("grep", "needle", "build/changing.txt").returncode == 1
    changing.write_text("needle here\n")
    assert files_in(world.text("grep", "needle", "build/changing.txt")) == {"build/changing.txt"}
    changing.unlink()


def test_find_lists_paths_that_are_named(world: CommandLine) -> None:
    assert files_in(world.text("find", "out.txt", "build")) == {"build/out.txt"}
    assert files_in(world.text("find", "build/out.txt")) == {"build/out.txt"}
    printed = world.text("te", "find", "build", "-type", "f", "-name", "*.txt").split()
    assert {"build/out.txt", "build/deep/more.txt"} <= set(printed)


def test_denied_and_unreadable_files_below_a_named_folder_are_counted(world: CommandLine) -> None:
    first = world.text("grep", "needle", "build").split("\n")[0]
    assert "skipped: build/.env" in first
    if os.geteuid() != 0:
        locked = world.folder / "build" / "locked"
        locked.mkdir(mode=0)
        assert "build/locked" in world.text("grep", "needle", "build").split("\n")[0]
        locked.chmod(0o700)


def test_a_named_fifo_is_skipped_and_counted(world: CommandLine) -> None:
    os.mkfifo(world.folder / "pipe")
    try:
        assert "skipped: pipe" in world.text("grep", "needle", "a.txt", "pipe").split("\n")[0]
    finally:
        (world.folder / "pipe").unlink()


def test_what_a_walk_could_not_enter_is_counted(world: CommandLine) -> None:
    deep = world.folder / "one" / "two" / "three"
    deep.mkdir(parents=True)
    (deep / "far.txt").write_text("needle far\n")
    shallow = ("--set", "index.max_depth=1")
    first = world.text(*shallow, "grep", "needle").split("\n")[0]
    assert "1 skipped (too deep)" in first
    assert "skipped" not in world.text(*shallow, "grep", "needle", "a.txt").split("\n")[0]
    assert "skipped" not in world.text("grep", "needle").split("\n")[0]


def test_a_file_below_the_deepest_folder_is_left_out_even_if_it_was_indexed_or_is_new(world: CommandLine) -> None:
    deep = world.folder / "one" / "two" / "four"
    deep.mkdir(parents=True)
    (deep / "old.txt").write_text("abyss old\n")
    shallow = ("--set", "index.max_depth=1")
    assert "old.txt" in world.text("grep", "abyss")
    assert world(*shallow, "grep", "abyss").returncode == 1
    (deep / "new.txt").write_text("abyss new\n")
    assert world(*shallow, "grep", "abyss").returncode == 1
    named = world.text(*shallow, "grep", "abyss", "one/two/four/new.txt")
    assert "1 abyss new" in named
    assert "new.txt" in world.text("grep", "abyss")
