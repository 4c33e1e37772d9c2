"""Which folders become roots automatically, `llmc roots` and `llmc forget`, from the command line."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
from daemons import CommandLine, Place

from llmc.base.errors import RootError
from llmc.settings.locations import implied_root


@pytest.mark.parametrize("command", [("search", "hello"), ("grep", "hello"), ("index", "--once"), ("tree",)])
def test_a_folder_outside_of_a_work_tree_must_be_named(place: Place, tmp_path: Path, command: tuple[str, ...]) -> None:
    (tmp_path / "a.txt").write_text("hello\n")
    refused = place.llmc(*command, cwd=tmp_path, work_tree=False)
    assert refused.returncode == 2
    assert "is not in a git work tree" in refused.stderr
    assert "--root" in refused.stderr
    assert not (Path(place.home.path) / "stores").exists() or not any((Path(place.home.path) / "stores").iterdir())


def test_a_named_folder_is_a_root_by_flag_and_by_setting(place: Place, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("hello\n")
    by_flag = place.llmc("--root", ".", "grep", "hello", cwd=tmp_path, work_tree=False)
    assert "a.txt" in by_flag.stdout
    (tmp_path / "llmc.toml").write_text('roots = ["."]\n')
    assert "a.txt" in place.llmc("grep", "hello", cwd=tmp_path, work_tree=False).stdout


@pytest.mark.parametrize(
    ("tree", "reason"),
    [
        ("/etc", "is a system directory"),
        ("/usr", "is a system directory"),
        ("/tmp", "is the temporary directory"),
        ("/", "is a system directory"),
    ],
)
def test_wide_folders_are_refused_with_the_reason(tree: str, reason: str) -> None:
    found = implied_root(Path(os.path.realpath(tree)), {"HOME": "/home/somebody"})
    assert isinstance(found, RootError)
    assert reason in found.reason


def test_home_and_the_temporary_folder_are_refused_even_as_work_trees(tmp_path: Path) -> None:
    home, temporary = tmp_path / "home", tmp_path / "tmp"
    for folder in (home / "notes", temporary / "project", home / "project"):
        folder.mkdir(parents=True, exist_ok=True)
    for tree in (home, temporary, home / "project", temporary / "project"):
        (tree / ".git").mkdir()
    env = {"HOME": str(home), "TMPDIR": str(temporary)}
    for folder, reason in ((home, "home folder"), (home / "notes", "home folder"), (temporary, "temporary directory")):
        found = implied_root(folder, env)
        assert isinstance(found, RootError)
        assert reason in found.reason
    assert implied_root(home / "project", env) == home / "project"
    assert implied_root(temporary / "project", env) == temporary / "project"


def git(folder: Path, *words: str) -> None:
    who = ["-c", "user.name=a", "-c", "user.email=a@b.c"]
    subprocess.run(["git", *who, *words], cwd=folder, check=True, capture_output=True)


def test_roots_are_listed_and_forgotten(place: Place, tmp_path: Path) -> None:
    one, two = CommandLine(place, made(tmp_path / "one")), CommandLine(place, made(tmp_path / "two"))
    assert "not indexed yet" in one.text("roots")
    one.text("grep", "hello")
    two.text("grep", "hello")
    listed = one.json("roots")
    assert [(root["path"], root["files"], root["state"]) for root in listed["roots"]] == [
        (str(one.folder), 1, "open"),
        (str(two.folder), 1, "open"),
    ]
    assert listed["named"] == [str(one.folder)]
    assert f"* {one.folder} · 1 file · " in one.text("roots")
    assert "forgot" in two.text("forget", str(one.folder))
    assert [root["path"] for root in two.json("roots")["roots"]] == [str(two.folder)]
    assert len(list((Path(place.home.path) / "stores").iterdir())) == 1
    assert "hello" in one.text("grep", "hello")  # it is indexed again
    assert two.json("forget", "two")["files"] == 1


def test_a_folder_that_is_not_a_root_cannot_be_forgotten(place: Place, tmp_path: Path) -> None:
    done = place.llmc("forget", "nowhere", cwd=tmp_path)
    assert done.returncode == 1
    assert "not an indexed root" in done.stderr
    assert json.loads(place.llmc("forget", "nowhere", "--json", cwd=tmp_path).stdout)["error"]["code"] == "not_found"


def test_a_root_is_forgotten_after_a_restart_and_results_with_its_text_go_too(place: Place, tmp_path: Path) -> None:
    folder = made(tmp_path / "one")
    for number in range(40):
        (folder / f"f{number}.txt").write_text("hello there, a line that is long enough to be cut\n" * 5)
    one = CommandLine(place, folder)
    handle = one.json("grep", "hello")["handle"]
    one.text("stop")
    one.text("forget", ".")
    assert "no handles" in one("handle", "list").stdout
    assert "no result has the handle" in one("read", handle).stderr


def test_other_work_trees_of_a_repository_keep_their_index(place: Place, tmp_path: Path) -> None:
    main, other = tmp_path / "main", tmp_path / "other"
    main.mkdir()
    git(main, "init", "-q")
    (main / "a.txt").write_text("hello\n")
    git(main, "add", "a.txt")
    git(main, "commit", "-qm", "a")
    git(main, "worktree", "add", "-q", str(other))
    (other / "only.txt").write_text("hello only here\n")
    one, two = CommandLine(place, main), CommandLine(place, other)
    one.text("grep", "hello")
    two.text("grep", "hello")
    one.text("forget", str(other))
    assert [root["path"] for root in one.json("roots")["roots"]] == [str(main)]
    assert "a.txt" in one.text("grep", "hello")
    assert one("index", "--verify").returncode == 0


def made(folder: Path) -> Path:
    folder.mkdir()
    (folder / "a.txt").write_text("hello\n")
    return folder
