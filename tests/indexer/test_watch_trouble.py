"""Lost events, limits and roots that disappear: reported, and recovered from."""

from __future__ import annotations

import errno
import os
import resource
import shutil
import threading
from pathlib import Path

import pytest
from watch_world import BOUND, World, held_back, ignored, root_at, watching

from llmc.indexer.watch import Mode, Reason, open_watcher
from llmc.indexer.watch.inotify import Inotify
from llmc.indexer.watch.linux import LinuxWatcher, silent_filesystem
from llmc.indexer.watch.polling import PollingWatcher


class Scarce(Inotify):
    """A kernel with fewer watches. `allowed` may be raised later, as with sysctl."""

    def __init__(self, allowed: int) -> None:
        super().__init__()
        self.allowed = allowed
        self.numbers: set[int] = set()

    def add(self, folder: int, mask: int) -> int:
        wd = super().add(folder, mask)
        if wd not in self.numbers and len(self.numbers) >= self.allowed:
            super().remove(wd)
            raise OSError(errno.ENOSPC, "No space left on device")
        self.numbers.add(wd)
        return wd

    def remove(self, wd: int) -> None:
        super().remove(wd)
        self.numbers.discard(wd)

    def limit(self) -> int:
        return self.allowed


def test_overflow_is_reported_and_healed_by_a_walk(tmp_path: Path) -> None:
    with held_back(tmp_path) as (watcher, world, root, go_on):
        (tmp_path / "second.py").write_text("")
        for _ in range(12_000):  # more than the 16,384 events that the kernel's queue can hold
            os.utime(tmp_path / "first.py")
            os.utime(tmp_path / "second.py")
        (tmp_path / "second.py").write_text("unseen")
        (tmp_path / "unseen").mkdir()
        assert watcher.barrier(0.0) == {root: "the watcher is behind"}
        go_on.set()
        assert "lost" in watcher.barrier(BOUND)[root]
        assert "lost" in watcher.health(root).degraded
        assert world.said(root, Reason.LOST)
        world.settle(watcher, root)
        assert watcher.health(root).degraded == ""
        (tmp_path / "unseen" / "later.py").write_text("its folder came while events were lost")
        world.settle(watcher, root)


def test_a_loss_during_the_walk_is_not_healed_by_it(tmp_path: Path) -> None:
    world, root = World(), root_at(tmp_path)
    watcher = LinuxWatcher(world.on_dirty, world.on_rescan)
    with watching(watcher, world, root):
        owner = watcher._supervisor.roots[root.path]
        owner.lose()
        watcher.rewatch(root)
        owner.lose()
        watcher.healed(root)
        assert watcher.health(root).degraded
        watcher.rewatch(root)
        watcher.healed(root)
        assert watcher.health(root).degraded == ""


def test_a_root_without_watches_is_polled_and_the_others_are_not(tmp_path: Path) -> None:
    small, large = root_at(tmp_path / "small"), root_at(tmp_path / "large")
    Path(small.path, "a").mkdir(parents=True)
    Path(large.path, "b/c/d/e/f").mkdir(parents=True)
    world = World()
    watcher = LinuxWatcher(world.on_dirty, world.on_rescan, kernel=Scarce(4))
    with watching(watcher, world, small, large):
        assert watcher.health(small).mode is Mode.EVENTS
        assert watcher.health(large).mode is Mode.POLLING
        assert "max_user_watches" in watcher.health(large).degraded
        Path(small.path, "a", "x.py").write_text("seen by an event")
        Path(large.path, "b/c/d/e/f/x.py").write_text("seen by a walk")
        world.settle(watcher, small)
        world.settle(watcher, large)


def test_watches_that_run_out_later_lose_no_change(tmp_path: Path) -> None:
    world, root = World(), root_at(tmp_path)
    watcher = LinuxWatcher(world.on_dirty, world.on_rescan, kernel=Scarce(3))
    with watching(watcher, world, root):
        (tmp_path / "a/b/c/d/e").mkdir(parents=True)
        (tmp_path / "a/b/c/d/e/x.py").write_text("one folder too many")
        world.settle(watcher, root)
        assert watcher.health(root).mode is Mode.POLLING
        (tmp_path / "a/b/c/d/e/x.py").write_text("and polled from now on")
        world.settle(watcher, root)


def test_a_raised_limit_brings_the_events_back(tmp_path: Path) -> None:
    world, root, kernel = World(), root_at(tmp_path), Scarce(1)
    (tmp_path / "a").mkdir()
    watcher = LinuxWatcher(world.on_dirty, world.on_rescan, kernel=kernel)
    with watching(watcher, world, root):
        assert watcher.health(root).mode is Mode.POLLING
        kernel.allowed = 100
        watcher._supervisor.check_soon()
        world.wait(lambda: world.said(root, Reason.BACK))
        assert watcher.health(root).mode is Mode.EVENTS
        (tmp_path / "a" / "x.py").write_text("seen by an event")
        world.settle(watcher, root)


def test_without_an_inotify_instance_everything_is_polled(tmp_path: Path) -> None:
    world, root = World(), root_at(tmp_path)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    lowest = os.open(tmp_path, os.O_RDONLY)
    os.close(lowest)
    resource.setrlimit(resource.RLIMIT_NOFILE, (lowest, hard))
    try:
        watcher = open_watcher(world.on_dirty, world.on_rescan)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert isinstance(watcher, PollingWatcher)
    with watching(watcher, world, root):
        assert "max_user_instances" in watcher.health(root).degraded
        (tmp_path / "a.py").write_text("a")
        world.settle(watcher, root)


@pytest.mark.parametrize("held_open", [False, True])
def test_a_root_that_is_deleted_and_made_again_is_walked(tmp_path: Path, held_open: bool) -> None:
    """The kernel does not report that a folder was removed which is the working directory of a shell."""
    root = root_at(tmp_path / "root")
    Path(root.path, "sub").mkdir(parents=True)
    world = World()
    watcher = LinuxWatcher(world.on_dirty, world.on_rescan)
    with watching(watcher, world, root):
        shell = os.open(root.path if held_open else "/", os.O_RDONLY)
        shutil.rmtree(root.path)
        assert watcher.health(root).mode is Mode.GONE
        assert root in watcher.barrier(BOUND)
        Path(root.path, "sub").mkdir(parents=True)
        Path(root.path, "sub", "new.py").write_text("new")
        world.wait(lambda: world.said(root, Reason.BACK))
        world.settle(watcher, root)
        assert watcher.health(root).mode is Mode.EVENTS
        os.close(shell)


def test_a_root_that_is_replaced_at_once_is_degraded_until_it_is_walked(tmp_path: Path) -> None:
    root = root_at(tmp_path / "root")
    Path(root.path).mkdir()
    world = World()
    watcher = LinuxWatcher(world.on_dirty, world.on_rescan)
    with watching(watcher, world, root):
        for number in range(20):
            Path(root.path).rename(tmp_path / f"old{number}")
            Path(root.path).mkdir()
            Path(root.path, f"{number}.py").write_text("in the new one")
            assert root in watcher.barrier(BOUND)
            world.wait(lambda: world.said(root, Reason.BACK))
            world.reasons.clear()
            world.settle(watcher, root)


def test_a_root_whose_parent_is_moved_is_gone_until_it_is_moved_back(tmp_path: Path) -> None:
    parent = tmp_path / "parent"
    root = root_at(parent / "root")
    Path(root.path).mkdir(parents=True)
    world = World()
    watcher = LinuxWatcher(world.on_dirty, world.on_rescan)
    with watching(watcher, world, root):
        parent.rename(tmp_path / "elsewhere")
        assert root in watcher.barrier(BOUND)
        (tmp_path / "elsewhere").rename(parent)
        Path(root.path, "a.py").write_text("a")
        world.settle(watcher, root)


def test_a_fault_in_the_rules_costs_a_walk_and_not_the_watcher(tmp_path: Path) -> None:
    world, root = World(), root_at(tmp_path)
    faulty = threading.Event()

    def rules(path: str, is_folder: bool, names: object = None) -> bool:
        if faulty.is_set():
            raise ValueError(path)
        return ignored(path, is_folder)

    watcher = LinuxWatcher(world.on_dirty, world.on_rescan)
    with watching(watcher, world, root):
        watcher.add(root, rules)
        faulty.set()
        (tmp_path / "sub").mkdir()
        assert "lost" in watcher.barrier(BOUND)[root]
        faulty.clear()
        (tmp_path / "sub" / "a.py").write_text("a")
        world.settle(watcher, root)


@pytest.mark.parametrize(
    ("kind", "silent"), [("nfs4", True), ("9p", True), ("fuse.sshfs", True), ("ext4", False), ("btrfs", False)]
)
def test_file_systems_of_other_machines_are_known_to_be_silent(tmp_path: Path, kind: str, silent: bool) -> None:
    device = tmp_path.stat().st_dev
    mounts = tmp_path / "mountinfo"
    mounts.write_text(
        f"21 1 0:99 / /proc rw - proc proc rw\n"
        f"36 35 {os.major(device)}:{os.minor(device)} / /mnt rw,noatime shared:1 - {kind} source rw\n"
    )
    assert silent_filesystem(str(tmp_path), str(mounts)) == (kind if silent else "")
