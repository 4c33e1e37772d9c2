"""What every watcher promises: inotify, polling, watchdog's observer and the in-memory twin."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from watch_world import BOUND, World, files, ignored, root_at, watching
from watchdog.observers.polling import PollingObserver

from llmc.indexer.watch import Mode, OnDirty, OnRescan, Reason, Watcher
from llmc.indexer.watch.linux import LinuxWatcher
from llmc.indexer.watch.memory import MemoryWatcher
from llmc.indexer.watch.observer import ObserverWatcher
from llmc.indexer.watch.polling import PollingWatcher

if TYPE_CHECKING:
    from collections.abc import Iterator

    from llmc.base.model import Root


@dataclass
class Stage:
    """A watcher, the oracle that hears it, and hands that change the disk. The twin gets each change."""

    watcher: Watcher
    world: World
    base: Path

    def root(self, name: str = "root") -> Root:
        path = self.base / name
        path.mkdir(parents=True, exist_ok=True)
        return root_at(path)

    def watch(self, root: Root) -> None:
        self.watcher.add(root, ignored)
        self.world.learn(root)

    def write(self, root: Root, path: str, text: str = "text") -> None:
        place = Path(root.path, path)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
        self.tell(root, path)

    def remove(self, root: Root, path: str) -> None:
        Path(root.path, path).unlink()
        self.tell(root, path)

    def rename(self, root: Root, old: str, new: str) -> None:
        Path(root.path, old).rename(Path(root.path, new))
        self.tell(root, old, new, *(path for path, _ in files(root, new)))
        if isinstance(self.watcher, MemoryWatcher):
            self.watcher.moved(root, old)

    def delete_root(self, root: Root) -> None:
        shutil.rmtree(root.path)
        if isinstance(self.watcher, MemoryWatcher):
            self.watcher.vanish(root)

    def make_root(self, root: Root) -> None:
        Path(root.path).mkdir()
        if isinstance(self.watcher, MemoryWatcher):
            self.watcher.return_(root)
            self.watcher.deliver()

    def tell(self, root: Root, *paths: str) -> None:
        if isinstance(self.watcher, MemoryWatcher):
            self.watcher.changed(root, *(path for path in paths if "node_modules" not in path))

    def agrees(self, root: Root) -> None:
        self.world.settle(self.watcher, root)


def observing(on_dirty: OnDirty, on_rescan: OnRescan) -> Watcher:
    """watchdog's polling observer replaces that of another system: the same events through the same queue."""
    return ObserverWatcher(on_dirty, on_rescan, observer=PollingObserver(timeout=0.05))


@pytest.fixture(
    params=[LinuxWatcher, PollingWatcher, observing, MemoryWatcher], ids=["inotify", "polling", "observer", "memory"]
)
def stage(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Stage]:
    world = World()
    watcher: Watcher = request.param(world.on_dirty, world.on_rescan)
    yield Stage(watcher, world, tmp_path)
    watcher.close()


def test_new_edited_and_removed_files_are_reported(stage: Stage) -> None:
    root = stage.root()
    stage.watch(root)
    stage.write(root, "a.py", "one")
    stage.agrees(root)
    stage.write(root, "a.py", "two")
    stage.agrees(root)
    stage.remove(root, "a.py")
    stage.agrees(root)
    assert stage.world.known[root] == {}


def test_a_renamed_file_is_reported_under_both_names(stage: Stage) -> None:
    root = stage.root()
    stage.write(root, "old.py")
    stage.watch(root)
    stage.rename(root, "old.py", "new.py")
    stage.agrees(root)
    assert set(stage.world.known[root]) == {"new.py"}


def test_files_in_new_nested_folders_are_reported(stage: Stage) -> None:
    root = stage.root()
    stage.watch(root)
    stage.write(root, "a/b/c/d/deep.py")
    stage.agrees(root)
    stage.write(root, "a/b/c/d/deep.py", "changed")
    stage.agrees(root)


def test_a_moved_folder_leaves_nothing_behind(stage: Stage) -> None:
    root = stage.root()
    stage.write(root, "old/sub/a.py")
    stage.watch(root)
    stage.rename(root, "old", "new")
    stage.agrees(root)
    stage.write(root, "new/sub/a.py", "changed after the move")
    stage.agrees(root)
    assert set(stage.world.known[root]) == {"new/sub/a.py"}


def test_a_changed_ignore_file_asks_for_a_walk_of_its_folder(stage: Stage) -> None:
    root = stage.root()
    stage.write(root, "sub/x.py")
    stage.watch(root)
    stage.write(root, "sub/.gitignore", "*.log")
    stage.watcher.barrier(BOUND)
    assert stage.world.said(root, Reason.RULES, "sub")


def test_ignored_folders_are_not_reported(stage: Stage) -> None:
    root = stage.root()
    stage.write(root, "node_modules/x/index.js")
    stage.watch(root)
    stage.write(root, "node_modules/x/index.js", "changed")
    stage.write(root, "node_modules/y/index.js")
    stage.watcher.barrier(BOUND)
    assert not any("node_modules/" in path for path in stage.world.dirty.get(root, set()))


def test_changes_in_nested_roots_are_reported_for_both(stage: Stage) -> None:
    outer, inner, other = stage.root(), stage.root("root/inner"), stage.root("other")
    for root in (outer, inner, other):
        stage.watch(root)
    stage.write(inner, "a.py")
    stage.tell(outer, "inner/a.py")
    stage.agrees(outer)
    stage.agrees(inner)
    assert other not in stage.world.dirty


def test_a_removed_root_is_silent(stage: Stage) -> None:
    root, other = stage.root(), stage.root("other")
    stage.watch(root)
    stage.watch(other)
    stage.watcher.remove(root)
    stage.write(other, "b.py")
    Path(root.path, "a.py").write_text("unseen")
    assert stage.watcher.barrier(BOUND) == {}
    assert root not in stage.world.dirty
    assert stage.watcher.health(root).mode is Mode.GONE


def test_a_barrier_on_an_idle_root_holds_at_once_and_for_no_roots_too(stage: Stage) -> None:
    assert stage.watcher.barrier(BOUND) == {}
    root = stage.root()
    stage.watch(root)
    assert stage.watcher.barrier(BOUND, [root]) == {}
    assert stage.watcher.barrier(BOUND, []) == {}


def test_a_root_that_goes_is_degraded_and_walked_when_it_is_back(stage: Stage) -> None:
    root = stage.root()
    stage.write(root, "a.py")
    stage.watch(root)
    stage.delete_root(root)
    assert root in stage.watcher.barrier(BOUND)
    stage.make_root(root)
    stage.world.wait(lambda: stage.world.said(root, Reason.BACK))
    stage.write(root, "b.py")
    stage.agrees(root)
    assert set(stage.world.known[root]) == {"b.py"}
    assert stage.watcher.health(root).mode is not Mode.GONE


def test_a_root_that_is_not_there_yet_is_waited_for(stage: Stage) -> None:
    root = root_at(stage.base / "later")
    stage.watch(root)
    if isinstance(stage.watcher, MemoryWatcher):
        stage.watcher.vanish(root)
    assert stage.watcher.health(root).mode is Mode.GONE
    stage.make_root(root)
    stage.world.wait(lambda: stage.world.said(root, Reason.BACK))
    stage.write(root, "a.py")
    stage.agrees(root)


def test_a_callback_that_fails_costs_no_change(stage: Stage) -> None:
    root = stage.root()
    stage.watch(root)
    noted, stage.world.dirty = stage.world.dirty, None  # type: ignore[assignment] # makes `on_dirty` fail
    stage.write(root, "a.py")
    assert root in stage.watcher.barrier(1.0)
    stage.world.dirty = noted
    stage.watcher.rewatch(root)
    stage.world.learn(root)
    stage.watcher.healed(root)
    stage.write(root, "b.py")
    stage.agrees(root)


def test_nothing_is_reported_after_close(stage: Stage) -> None:
    root = stage.root()
    stage.watch(root)
    stage.watcher.close()
    stage.write(root, "a.py")
    assert stage.world.dirty == {}


def test_an_observer_reports_changes_before_any_walk(tmp_path: Path) -> None:
    world, root = World(), root_at(tmp_path)
    watcher = observing(world.on_dirty, world.on_rescan)
    with watching(watcher, world, root):
        (tmp_path / "new").mkdir()
        (tmp_path / "new" / "a.py").write_text("a")
        (tmp_path / ".ignore").write_text("*.log")
        world.wait(lambda: "new/a.py" in world.dirty.get(root, set()))
        world.wait(lambda: world.said(root, Reason.FOLDER, "new"))
        world.wait(lambda: world.said(root, Reason.RULES))
