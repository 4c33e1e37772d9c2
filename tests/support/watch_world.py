"""A root on disk, what a watcher said of it, and an oracle: does what it said lead to the truth?

The oracle is the smallest indexer there is: it remembers the content of every file, looks again at what is dirty, walks
what is to be walked, and nothing else. If the watcher missed a change, it differs from the disk.
"""

from __future__ import annotations

import os
import stat
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

from llmc.base import openat as beneath
from llmc.base.model import Root
from llmc.indexer.watch.linux import LinuxWatcher

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from llmc.indexer.watch import Reason, Watcher

BOUND = 60.0  # seconds that a test waits before it fails; nothing takes so long

IGNORED_NAMES = frozenset({"node_modules", "__pycache__"})


def ignored(path: str, is_folder: bool, names: object = None) -> bool:
    return path.rpartition("/")[2] in IGNORED_NAMES


def root_at(path: Path) -> Root:
    return Root(str(path), path.name, "family")


class World:
    """What the watcher said, and the oracle that acts on it. Pass `on_dirty` and `on_rescan` to a watcher."""

    def __init__(self) -> None:
        self.changed = threading.Condition()
        self.dirty: dict[Root, set[str]] = {}
        self.rescans: dict[Root, set[str]] = {}
        self.reasons: list[tuple[Root, str, Reason]] = []
        self.known: dict[Root, dict[str, bytes]] = {}

    def on_dirty(self, root: Root, paths: set[str]) -> None:
        with self.changed:
            self.dirty.setdefault(root, set()).update(paths)
            self.changed.notify_all()

    def on_rescan(self, root: Root, folder: str, reason: Reason) -> None:
        with self.changed:
            self.rescans.setdefault(root, set()).add(folder)
            self.reasons.append((root, folder, reason))
            self.changed.notify_all()

    def wait(self, condition: Callable[[], bool]) -> None:
        with self.changed:
            assert self.changed.wait_for(condition, BOUND)

    def said(self, root: Root, reason: Reason, folder: str = "") -> bool:
        return (root, folder, reason) in self.reasons

    def learn(self, root: Root) -> None:
        self.known[root] = dict(files(root))

    def catch_up(self, watcher: Watcher, root: Root) -> None:
        """Do what an indexer does about the hints so far."""
        with self.changed:
            dirty, folders = self.dirty.pop(root, set()), self.rescans.pop(root, set())
        known = self.known[root]
        for path in dirty:
            content = read(root, path)
            if content is None:
                known.pop(path, None)
            else:
                known[path] = content
        for folder in sorted(folders):
            watcher.rewatch(root, folder)
            for path in [path for path in known if not folder or path.startswith(f"{folder}/")]:
                del known[path]
            known.update(files(root, folder))
            if not folder:
                watcher.healed(root)

    def differences(self, root: Root) -> dict[str, tuple[bytes | None, bytes | None]]:
        """Path -> (what the oracle believes, what is there)."""
        known, there = self.known[root], dict(files(root))
        paths = known.keys() | there.keys()
        return {path: (known.get(path), there.get(path)) for path in paths if known.get(path) != there.get(path)}

    def settle(self, watcher: Watcher, root: Root) -> None:
        """After a barrier the oracle equals the disk. What is lost or gone is healed by the walk that it asks for."""
        until = time.monotonic() + BOUND
        while watcher.barrier(BOUND, [root]):
            self.catch_up(watcher, root)
            with self.changed:
                self.changed.wait_for(lambda: root in self.rescans, 0.01)
            assert time.monotonic() < until
        self.catch_up(watcher, root)
        assert self.differences(root) == {}


@contextmanager
def watching(watcher: Watcher, world: World, *roots: Root) -> Iterator[None]:
    try:
        for root in roots:
            watcher.add(root, ignored)
            world.learn(root)
        yield
    finally:
        watcher.close()


@contextmanager
def held_back(path: Path) -> Iterator[tuple[LinuxWatcher, World, Root, threading.Event]]:
    """The thread of the watcher hangs in a callback until the event is set."""
    world, root = World(), root_at(path)
    entered, go_on = threading.Event(), threading.Event()

    def slow(root: Root, paths: set[str]) -> None:
        entered.set()
        assert go_on.wait(BOUND)
        world.on_dirty(root, paths)

    watcher = LinuxWatcher(slow, world.on_rescan)
    with watching(watcher, world, root):
        (path / "first.py").write_text("the thread is busy with this one")
        assert entered.wait(BOUND)
        yield watcher, world, root, go_on


def read(root: Root, path: str) -> bytes | None:
    """The content of a regular file that is reached without a link and is not left out."""
    if any(part in IGNORED_NAMES or part == ".git" for part in path.split("/")[:-1]):
        return None
    try:
        top = os.open(root.path, os.O_RDONLY)
    except OSError:
        return None
    try:
        with os.fdopen(beneath.pick()(top, os.fsencode(path), beneath.READ), "rb") as file:
            return file.read() if stat.S_ISREG(os.fstat(file.fileno()).st_mode) else None
    except OSError:
        return None
    finally:
        os.close(top)


def files(root: Root, folder: str = "") -> Iterator[tuple[str, bytes]]:
    if folder and any(part in IGNORED_NAMES or part == ".git" for part in folder.split("/")):
        return
    for here, folders, names in os.walk(f"{root.path}/{folder}" if folder else root.path):
        folders[:] = [name for name in folders if name not in IGNORED_NAMES and name != ".git"]
        for name in names:
            path = f"{here}/{name}".removeprefix(f"{root.path}/")
            content = read(root, path)
            if content is not None:
                yield path, content
