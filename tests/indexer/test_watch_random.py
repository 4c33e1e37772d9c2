"""Random operations against an oracle: after a barrier nothing is missing and nothing is stale."""

from __future__ import annotations

import ctypes
import os
import random
import shutil
import threading
from pathlib import Path

import pytest
from watch_world import BOUND, World, root_at, watching

from llmc.indexer.watch.linux import LinuxWatcher

NAMES = ["a", "b", "c", "D", "d", "e.py", "f.py", "G.md", "g.md", "node_modules", "ü.txt", "with space", ".hidden"]


class Hand:
    """Does random operations below `top`, and in `outside`, which is on the same file system and not watched."""

    def __init__(self, top: Path, outside: Path, seed: int) -> None:
        self.top = top
        self.outside = outside
        self.random = random.Random(seed)
        self.count = 0
        self.log: list[str] = []

    def act(self, times: int) -> None:
        actions = [getattr(self, name) for name in dir(self) if name.startswith("do_")]
        for _ in range(times):
            action = self.random.choice(actions)
            try:
                action()
            except OSError:
                continue  # the place was taken, or empty, or below itself; any outcome is fine
            finally:
                self.log.append(action.__name__)

    def folder(self) -> Path:
        folders = [self.top, *(Path(here) for here, _, _ in os.walk(self.top))]
        return self.random.choice(folders)

    def low_folder(self) -> Path:
        """Prefers deep folders, so that the tree grows."""
        return max((self.folder() for _ in range(3)), key=lambda folder: len(folder.parts))

    def file(self) -> Path:
        files = [Path(here) / name for here, _, names in os.walk(self.top) for name in names]
        return self.random.choice(files) if files else self.top / "none"

    def place(self) -> Path:
        return self.folder() / self.random.choice(NAMES)

    def content(self) -> str:
        self.count += 1
        return f"content {self.count}\n"

    def do_create(self) -> None:
        self.place().write_text(self.content())

    def do_edit(self) -> None:
        with self.file().open("r+") as file:
            file.write(self.content())

    def do_append(self) -> None:
        with self.file().open("a") as file:
            file.write(self.content())

    def do_save_atomically(self) -> None:
        target = self.file()
        draft = target.with_name(".draft.tmp")
        draft.write_text(self.content())
        draft.rename(target)

    def do_delete(self) -> None:
        self.file().unlink()

    def do_rename_file(self) -> None:
        self.file().rename(self.place())

    def do_make_folder(self) -> None:
        self.place().mkdir()

    def do_make_deep(self) -> None:
        deep = self.place() / "x" / "y" / "z"
        deep.mkdir(parents=True)
        (deep / "deep.py").write_text(self.content())

    def do_remove_folder(self) -> None:
        folder = self.low_folder()
        if folder != self.top:
            shutil.rmtree(folder)

    def do_move_folder(self) -> None:
        folder = self.folder()
        if folder != self.top:
            folder.rename(self.place())

    def do_move_out(self) -> None:
        folder = self.low_folder()
        if folder != self.top:
            folder.rename(self.outside / f"out{self.count}")
            self.count += 1

    def do_move_in(self) -> None:
        moved = sorted(self.outside.iterdir())
        if moved:
            chosen = self.random.choice(moved)
            for file in chosen.rglob("*.py"):
                file.write_text(self.content())
            chosen.rename(self.place())

    def do_copy_folder(self) -> None:
        source, target = self.folder(), self.place()
        if not target.is_relative_to(source) and sum(1 for _ in source.rglob("*")) < 60:
            shutil.copytree(source, target, symlinks=True)

    def do_exchange(self) -> None:
        libc = ctypes.CDLL(None)
        one, two = os.fsencode(self.folder()), os.fsencode(self.folder())
        libc.renameat2(-100, one, -100, two, 2)

    def do_replace_file_by_folder(self) -> None:
        file = self.file()
        file.unlink()
        file.mkdir()
        (file / "inside.py").write_text(self.content())

    def do_replace_folder_by_file(self) -> None:
        folder = self.low_folder()
        if folder != self.top:
            shutil.rmtree(folder)
            folder.write_text(self.content())

    def do_link(self) -> None:
        self.place().symlink_to(self.folder())

    def do_replace_file_by_link(self) -> None:
        file, target = self.file(), self.file()
        file.unlink()
        file.symlink_to(target)

    def do_write_through_link(self) -> None:
        links = [file for file in self.top.rglob("*") if file.is_symlink()]
        if links:
            link = self.random.choice(links)
            if Path(os.path.realpath(link)).is_relative_to(self.top):
                with link.open("r+") as file:
                    file.write(self.content())

    def do_change_mode(self) -> None:
        self.file().chmod(self.random.choice([0o600, 0o644, 0o755]))

    def do_change_case(self) -> None:
        file = self.file()
        file.rename(file.with_name(file.name.swapcase()))


@pytest.mark.parametrize("seed", range(8))
def test_random_operations_leave_nothing_missing_and_nothing_stale(tmp_path: Path, seed: int) -> None:
    top, outside = tmp_path / "root", tmp_path / "outside"
    top.mkdir()
    outside.mkdir()
    world, root, hand = World(), root_at(top), Hand(top, outside, seed)
    hand.act(50)
    watcher = LinuxWatcher(world.on_dirty, world.on_rescan)
    with watching(watcher, world, root):
        for _ in range(40):
            hand.act(hand.random.choice([1, 1, 5, 30]))
            world.settle(watcher, root)


@pytest.mark.parametrize("seed", range(100, 104))
def test_operations_that_race_with_the_watcher_are_all_seen_in_the_end(tmp_path: Path, seed: int) -> None:
    top, outside = tmp_path / "root", tmp_path / "outside"
    top.mkdir()
    outside.mkdir()
    world, root, hand = World(), root_at(top), Hand(top, outside, seed)
    watcher = LinuxWatcher(world.on_dirty, world.on_rescan)
    with watching(watcher, world, root):
        worker = threading.Thread(target=hand.act, args=(400,))
        worker.start()
        while worker.is_alive():
            watcher.barrier(BOUND)
            world.catch_up(watcher, root)
        world.settle(watcher, root)
