"""Watching on Linux: watchdog's observer and emitters over one inotify instance (`emitter`), for every root.

A root without enough watches, or on a file system that does not report changes, is polled (`supervisor`).
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from watchdog.events import FileSystemEventHandler

from llmc.indexer.watch.change_batch import is_within
from llmc.indexer.watch.emitter import RootModifiedEvent, RootObserver
from llmc.indexer.watch.inotify import Inotify
from llmc.indexer.watch.polling import PollingWatcher
from llmc.indexer.watch.protocol import Health, Mode
from llmc.indexer.watch.supervisor import RootSupervisor
from llmc.indexer.watch.watch_table import WatchedRoot

if TYPE_CHECKING:
    from collections.abc import Collection

    from watchdog.events import FileSystemEvent
    from watchdog.observers.api import ObservedWatch

    from llmc.base.model import Root
    from llmc.indexer.watch.protocol import Ignored, OnDirty, OnRescan

__all__ = ["LinuxWatcher"]


class LinuxWatcher:
    def __init__(self, on_dirty: OnDirty, on_rescan: OnRescan, *, kernel: Inotify | None = None) -> None:
        self._kernel = kernel or Inotify()
        self._handler = _BatchHandler(on_dirty, on_rescan)
        self._polling = PollingWatcher(on_dirty, on_rescan)
        self._supervisor = RootSupervisor(self._kernel, self._polling)
        self._observer = RootObserver(self._kernel, self._supervisor)
        self._watches: dict[str, ObservedWatch] = {}
        self._closed = False
        self._observer.start()

    def add(self, root: Root, ignored: Ignored) -> Health:
        self.remove(root)
        self._watches[root.path] = self._observer.schedule_root(WatchedRoot(root, ignored), self._handler)
        return self.health(root)

    def remove(self, root: Root) -> None:
        if watch := self._watches.pop(root.path, None):
            self._observer.unschedule(watch)

    def rewatch(self, root: Root, folder: str = "") -> None:
        supervisor = self._supervisor
        with supervisor.lock:
            owner = supervisor.roots.get(root.path)
            if not owner or owner.mode is not Mode.EVENTS:
                return
            due = {path for path in owner.stale if is_within(path, folder)}
            owner.stale -= due
            lost = owner.lost
        try:
            for path in sorted(path for path in due if not any(is_within(path, other) for other in due - {path})):
                supervisor.placer.realign(owner, path)
        except OSError as error:
            supervisor.give_up_events(owner, error)
        if not folder:
            owner.rewatched = lost

    def healed(self, root: Root) -> None:
        with self._supervisor.lock:
            if owner := self._supervisor.roots.get(root.path):
                owner.healed = owner.rewatched

    def barrier(self, timeout: float, roots: Collection[Root] | None = None) -> dict[Root, str]:
        until = time.monotonic() + timeout
        reached = self._observer.wait_for_dispatch(timeout)
        with self._supervisor.lock:
            owners = [owner for owner in self._supervisor.roots.values() if roots is None or owner.root in roots]
        uncovered = {owner.root: why for owner in owners if (why := self._uncovered(owner, reached=reached))}
        if polled := [owner.root for owner in owners if owner.mode is Mode.POLLING]:
            uncovered |= self._polling.barrier(until - time.monotonic(), polled)
        return uncovered

    def health(self, root: Root) -> Health:
        owner = self._supervisor.roots.get(root.path)
        if not owner or owner.mode is Mode.POLLING:
            return self._polling.health(root)
        if why := self._supervisor.displacement(owner):
            return Health(Mode.GONE, why, owner.watches)
        return owner.health

    def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        self._polling.close()
        self._observer.stop()
        self._observer.join()
        self._kernel.close()

    def _uncovered(self, owner: WatchedRoot, *, reached: bool) -> str:
        if owner.mode is Mode.POLLING:
            return ""
        return self._supervisor.displacement(owner) or owner.degraded or ("" if reached else "the watcher is behind")


class _BatchHandler(FileSystemEventHandler):
    """Passes an emitter's changes to the callbacks. It must not raise: watchdog's dispatching thread would end."""

    def __init__(self, on_dirty: OnDirty, on_rescan: OnRescan) -> None:
        self._on_dirty = on_dirty
        self._on_rescan = on_rescan

    def on_any_event(self, event: FileSystemEvent) -> None:
        assert isinstance(event, RootModifiedEvent)
        if not event.changes.deliver(event.owner.root, self._on_dirty, self._on_rescan):
            event.owner.lose()
