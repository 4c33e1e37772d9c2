"""The Linux watcher is built from watchdog's classes, and an unusable watchdog is reported."""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING

from daemons import private_place
from watch_world import BOUND, World, root_at, watching
from watchdog.events import DirModifiedEvent, FileSystemEvent, FileSystemEventHandler
from watchdog.observers.api import BaseObserver, EventEmitter

from llmc.indexer.watch.emitter import RootModifiedEvent
from llmc.indexer.watch.inotify import Inotify
from llmc.indexer.watch.linux import LinuxWatcher

if TYPE_CHECKING:
    from pathlib import Path


class Recorder(FileSystemEventHandler):
    def __init__(self) -> None:
        self.events: list[FileSystemEvent] = []
        self.called = threading.Event()

    def on_modified(self, event: FileSystemEvent) -> None:
        self.events.append(event)
        self.called.set()


def test_each_root_has_an_emitter_whose_events_reach_any_watchdog_handler(tmp_path: Path) -> None:
    world, one, two = World(), root_at(tmp_path / "one"), root_at(tmp_path / "two")
    for root in (one, two):
        os.mkdir(root.path)  # noqa: PTH102 - the path is a string
    watcher, recorder = LinuxWatcher(world.on_dirty, world.on_rescan), Recorder()
    with watching(watcher, world, one, two):
        observer = watcher._observer
        assert isinstance(observer, BaseObserver)
        assert all(isinstance(emitter, EventEmitter) for emitter in observer.emitters)
        assert {emitter.watch.path for emitter in observer.emitters} == {one.path, two.path}
        observer.add_handler_for_watch(recorder, watcher._watches[two.path])
        (tmp_path / "one" / "a.py").write_text("not for the recorder")
        (tmp_path / "two" / "b.py").write_text("for the recorder")
        assert recorder.called.wait(BOUND)
        assert watcher.barrier(BOUND) == {}
    for event in recorder.events:
        assert isinstance(event, DirModifiedEvent)
        assert isinstance(event, RootModifiedEvent)
        assert (event.src_path, event.changes.dirty) == (two.path, {"b.py"})


def test_a_removed_root_has_no_emitter(tmp_path: Path) -> None:
    world, root = World(), root_at(tmp_path)
    watcher = LinuxWatcher(world.on_dirty, world.on_rescan)
    with watching(watcher, world, root):
        watcher.remove(root)
        assert watcher._observer.emitters == set()


def test_child_processes_do_not_inherit_the_inotify_instance() -> None:
    kernel = Inotify()
    assert not os.get_inheritable(kernel._fd)
    kernel.close()


def test_a_watchdog_that_cannot_be_imported_is_reported_and_the_root_is_polled(tmp_path: Path) -> None:
    """From the command line: `status` names the reason and the remedy, and saved files are still found."""
    broken, project = tmp_path / "broken", tmp_path / "project"
    (broken / "watchdog").mkdir(parents=True)
    (broken / "watchdog" / "__init__.py").write_text("raise ImportError('no module named _watchdog')\n")
    (project / ".git").mkdir(parents=True)
    (project / "a.py").write_text("first = 1\n")
    with private_place() as place:
        place.environ["PYTHONPATH"] = f"{broken}{os.pathsep}{place.environ['PYTHONPATH']}"
        assert "first = 1" in place.llmc("grep", "first", cwd=project).stdout
        status = place.llmc("status", cwd=project).stdout
        assert "watchdog cannot be imported (no module named _watchdog)" in " ".join(status.split())
        assert "pip install" in status
        (project / "b.py").write_text("second = 2\n")
        assert "second = 2" in place.llmc("grep", "second", cwd=project).stdout
        assert "watchdog.observers cannot be imported" in place.llmc("doctor", cwd=project).stdout
