"""Folders that are created, moved, unreadable or ignored, and git, which does all of that at once."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import threading
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from watch_world import BOUND, World, held_back, root_at, watching

from llmc.indexer.watch import Reason
from llmc.indexer.watch.linux import LinuxWatcher

if TYPE_CHECKING:
    from collections.abc import Iterator

    from llmc.base.model import Root


@contextmanager
def watched(path: Path) -> Iterator[tuple[LinuxWatcher, World, Root]]:
    world, root = World(), root_at(path)
    watcher = LinuxWatcher(world.on_dirty, world.on_rescan)
    with watching(watcher, world, root):
        yield watcher, world, root


@contextmanager
def as_somebody() -> Iterator[Path]:
    """A folder owned by a user to whom mode bits apply, unlike root."""
    base = Path(tempfile.mkdtemp())
    user = os.geteuid()
    if user == 0:
        os.chown(base, 65534, -1)
        os.seteuid(65534)
    try:
        yield base
    finally:
        os.seteuid(user)
        shutil.rmtree(base)


def git(folder: Path, *words: str) -> None:
    safe = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull, "PATH": os.environ["PATH"]}
    who = ["-c", "user.name=nobody", "-c", "user.email=nobody@example.org"]
    subprocess.run(["git", *who, *words], cwd=folder, env=safe, check=True, capture_output=True)


def test_folders_made_in_a_hurry_are_watched_to_the_bottom(tmp_path: Path) -> None:
    with watched(tmp_path) as (watcher, world, root):
        for number in range(100):
            deep = tmp_path / f"a{number}/b/c/d"
            deep.mkdir(parents=True)
            (deep / "x.py").write_text("first")
            world.settle(watcher, root)
            (deep / "x.py").write_text("second")
            world.settle(watcher, root)


def test_files_of_a_new_folder_are_named_one_by_one(tmp_path: Path) -> None:
    made = tmp_path / "made"
    (made / "deep").mkdir(parents=True)
    (made / "deep/a.py").write_text("a")
    (tmp_path / "root").mkdir()
    with watched(tmp_path / "root") as (watcher, world, root):
        made.rename(tmp_path / "root/new")
        assert watcher.barrier(BOUND) == {}
        assert world.dirty[root] == {"new/deep/a.py"}


@pytest.mark.parametrize("all_of_it", [False, True])
def test_a_file_that_a_walk_met_before_its_folder_was_watched_is_not_kept(tmp_path: Path, all_of_it: bool) -> None:
    """Its removal is not an event, so what the walk found must be walked again."""
    with held_back(tmp_path) as (watcher, world, root, go_on):
        (tmp_path / "new").mkdir()
        (tmp_path / "new/a.py").write_text("gone before the watcher comes")
        world.learn(root)
        (tmp_path / "new/a.py").unlink()
        if all_of_it:
            (tmp_path / "new").rmdir()
        go_on.set()
        world.settle(watcher, root)


def test_ignored_folders_take_no_watch_and_git_takes_one(tmp_path: Path) -> None:
    (tmp_path / "node_modules/a/b").mkdir(parents=True)
    (tmp_path / ".git/objects/00").mkdir(parents=True)
    (tmp_path / "src/deep").mkdir(parents=True)
    with watched(tmp_path) as (watcher, _, root):
        assert watcher.health(root).watches == len({".", ".git", "src", "src/deep"})


def test_a_large_folder_that_moves_away_gives_its_watches_back(tmp_path: Path) -> None:
    top = tmp_path / "root"
    for number in range(2500):
        (top / "large" / str(number)).mkdir(parents=True)
    with watched(top) as (watcher, world, root):
        (top / "large").rename(tmp_path / "away")
        world.settle(watcher, root)
        assert watcher.health(root).watches == 1
        (tmp_path / "away/0/x.py").write_text("not ours any more")
        (tmp_path / "away").rename(top / "again")
        world.settle(watcher, root)
        (top / "again/2499/x.py").write_text("ours")
        world.settle(watcher, root)
        assert watcher.health(root).watches == 2502


def test_rules_that_free_a_folder_bring_its_files(tmp_path: Path) -> None:
    hidden = {"build"}
    (tmp_path / "build/deep").mkdir(parents=True)
    with watched(tmp_path) as (watcher, world, root):
        watcher.add(root, lambda path, _is_folder, _names=None: path in hidden)
        (tmp_path / "build/deep/x.py").write_text("unseen")
        assert watcher.barrier(BOUND) == {}
        assert world.dirty == {}
        hidden.clear()
        (tmp_path / ".gitignore").write_text("")
        world.settle(watcher, root)
        (tmp_path / "build/deep/x.py").write_text("seen")
        world.settle(watcher, root)
        hidden.add("build")
        (tmp_path / ".gitignore").write_text("build/")
        watcher.barrier(BOUND)
        watcher.rewatch(root)
        assert watcher.health(root).watches == 1


def test_a_folder_that_is_closed_and_opened_again_is_walked(tmp_path: Path) -> None:
    with as_somebody() as base:
        (base / "sub/deep").mkdir(parents=True)
        (base / "sub/deep/a.py").write_text("a")
        with watched(base) as (watcher, world, root):
            for mode in (0o000, 0o400, 0o100):
                (base / "sub").chmod(mode)
                watcher.barrier(BOUND)
                assert world.said(root, Reason.FOLDER, "sub")
                world.catch_up(watcher, root)
                world.reasons.clear()
                (base / "sub").chmod(0o700)
                (base / "sub/deep/a.py").write_text(f"after {mode}")
                world.settle(watcher, root)


def test_a_deep_chain_of_folders_is_watched(tmp_path: Path) -> None:
    deep = tmp_path.joinpath(*["d"] * 200)
    with watched(tmp_path) as (watcher, world, root):
        deep.mkdir(parents=True)
        (deep / "x.py").write_text("x")
        world.settle(watcher, root)
        (deep / "x.py").write_text("y")
        world.settle(watcher, root)


def test_odd_names_come_through_as_they_are(tmp_path: Path) -> None:
    names = [b"new\nline.py", b"quote'\".py", "émoji 🎈.py".encode(), b"not-utf8-\xff.py", b" ", b"x" * 255]
    with watched(tmp_path) as (watcher, world, root):
        for name in names:
            Path(os.fsdecode(os.fsencode(tmp_path) + b"/" + name)).write_text("text")
        world.settle(watcher, root)
        assert set(world.known[root]) == {os.fsdecode(name) for name in names}


def test_fifos_and_sockets_are_named_and_never_opened(tmp_path: Path) -> None:
    with watched(tmp_path) as (watcher, world, root):
        os.mkfifo(tmp_path / "pipe.py")
        assert watcher.barrier(BOUND) == {}
        assert world.dirty[root] == {"pipe.py"}


def test_a_link_in_the_place_of_a_folder_is_not_followed(tmp_path: Path) -> None:
    outside, top = tmp_path / "outside", tmp_path / "root"
    (outside / "deep").mkdir(parents=True)
    (top / "sub").mkdir(parents=True)
    with watched(top) as (watcher, world, root):
        (top / "sub").rmdir()
        (top / "sub").symlink_to(outside)
        world.settle(watcher, root)
        (outside / "secret.py").write_text("not ours")
        assert watcher.barrier(BOUND) == {}
        assert world.dirty == {}
        assert watcher.health(root).watches == 1


def test_many_barriers_at_once_all_hold(tmp_path: Path) -> None:
    missing: list[str] = []
    with watched(tmp_path) as (watcher, world, root):

        def client(number: int) -> None:
            for turn in range(20):
                (tmp_path / f"{number}-{turn}.py").write_text("mine")
                uncovered = watcher.barrier(BOUND)
                if uncovered or f"{number}-{turn}.py" not in world.dirty[root]:
                    missing.append(f"{number}-{turn}.py")

        clients = [threading.Thread(target=client, args=(number,)) for number in range(32)]
        for each in clients:
            each.start()
        for each in clients:
            each.join()
    assert missing == []


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """3,000 files; the branch `other` has changed, moved, added and removed most of them."""
    top = tmp_path_factory.mktemp("repository")
    git(top, "init", "-q", "-b", "main")
    for number in range(3000):
        place = top / f"package{number % 60}" / f"part{number % 7}" / f"file{number}.py"
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(f"value = {number}\n")
    git(top, "add", ".")
    git(top, "commit", "-q", "-m", "one")
    git(top, "checkout", "-q", "-b", "other")
    for number in range(0, 60, 3):
        shutil.rmtree(top / f"package{number}")
        (top / f"package{number + 1}").rename(top / f"moved{number}")
        for file in (top / f"package{number + 2}").rglob("*.py"):
            file.write_text(f"changed = {number}\n")
    git(top, "add", "-A")
    git(top, "commit", "-q", "-m", "two")
    git(top, "checkout", "-q", "main")
    return top


def test_the_ignore_file_inside_git_counts_too(tmp_path: Path) -> None:
    with watched(tmp_path) as (watcher, world, root):
        git(tmp_path, "init", "-q")
        world.settle(watcher, root)
        world.reasons.clear()
        (tmp_path / ".git/info").mkdir(exist_ok=True)
        (tmp_path / ".git/info/exclude").write_text("*.log")
        assert watcher.barrier(BOUND) == {}
        assert world.said(root, Reason.RULES)


def test_branch_switches_leave_no_difference(repository: Path) -> None:
    with watched(repository) as (watcher, world, root):
        for branch in ("other", "main", "other"):
            git(repository, "checkout", "-q", branch)
            world.settle(watcher, root)
            assert world.said(root, Reason.HEAD)
            world.reasons.clear()
        git(repository, "reset", "-q", "--hard", "main")
        world.settle(watcher, root)
        git(repository, "checkout", "-q", "main")


def test_a_status_of_git_asks_for_no_walk(repository: Path) -> None:
    file = next(repository.rglob("file1.py"))
    with watched(repository) as (watcher, world, root):
        os.utime(file)
        git(repository, "status")
        git(repository, "add", ".")
        assert watcher.barrier(BOUND) == {}
        assert world.reasons == []
        world.settle(watcher, root)


def test_a_work_tree_made_below_the_root_asks_for_its_rules(repository: Path) -> None:
    with watched(repository) as (watcher, world, root):
        git(repository, "worktree", "add", "-q", "trees/second", "other")
        assert watcher.barrier(BOUND) == {}
        assert world.said(root, Reason.RULES, "trees/second") or world.said(root, Reason.RULES, "trees")
        world.settle(watcher, root)
        git(repository, "worktree", "remove", "--force", "trees/second")
        world.settle(watcher, root)
