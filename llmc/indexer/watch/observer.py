"""Watching with watchdog's own observer, for systems without inotify (macOS).

Its events arrive early, but without an order across roots, and lost events are not reported. They are therefore only
hints; `polling`, at a slower pace, finds every change and implements the barrier.
"""

from __future__ import annotations

import logging
import os
from typing import TYPE_CHECKING

from watchdog import events
from watchdog.observers import Observer

from llmc.indexer.watch.polling import PollingWatcher
from llmc.indexer.watch.protocol import RULE_FILES, ChangeBatch, Health, Mode, Reason, is_ignored

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from watchdog.observers.api import BaseObserver, ObservedWatch

    from llmc.base.model import Root
    from llmc.indexer.watch.protocol import Ignored, OnDirty, OnRescan

__all__ = ["ObserverWatcher"]

log = logging.getLogger(__name__)

_PAUSE = 60.0  # seconds between two walks; only changes that the events missed wait for one

# Without a filter, opening and reading files are events too, and on a large tree they displace all others.
_KINDS: list[type[events.FileSystemEvent]] = [
    events.FileCreatedEvent,
    events.FileModifiedEvent,
    events.FileDeletedEvent,
    events.FileMovedEvent,
    events.FileClosedEvent,
    events.DirCreatedEvent,
    events.DirDeletedEvent,
    events.DirMovedEvent,
]


class ObserverWatcher:
    def __init__(self, on_dirty: OnDirty, on_rescan: OnRescan, *, observer: BaseObserver | None = None) -> None:
        self._on_dirty = on_dirty
        self._on_rescan = on_rescan
        self._polling = PollingWatcher(on_dirty, self._walked, pause=_PAUSE)
        self._watches: dict[Root, tuple[_HintHandler, ObservedWatch | None]] = {}
        self._observer = observer or Observer()
        self._observer.start()

    def add(self, root: Root, ignored: Ignored) -> Health:
        self.remove(root)
        self._schedule(root, _HintHandler(root, ignored, self._deliver))
        self._polling.add(root, ignored)
        return self.health(root)

    def remove(self, root: Root) -> None:
        _, watch = self._watches.pop(root, (None, None))
        if watch:
            self._observer.unschedule(watch)
        self._polling.remove(root)

    def rewatch(self, root: Root, folder: str = "") -> None:
        self._polling.rewatch(root, folder)

    def healed(self, root: Root) -> None:
        self._polling.healed(root)

    def barrier(self, timeout: float, roots: Collection[Root] | None = None) -> dict[Root, str]:
        return self._polling.barrier(timeout, roots)

    def health(self, root: Root) -> Health:
        found = self._polling.health(root)
        _, watch = self._watches.get(root, (None, None))
        return Health(Mode.EVENTS, watches=1) if watch and found.mode is Mode.POLLING else found

    def close(self) -> None:
        self._polling.close()
        self._observer.stop()
        self._observer.join()

    def _schedule(self, root: Root, handler: _HintHandler) -> None:
        watch = None
        try:
            watch = self._observer.schedule(handler, root.path, recursive=True, event_filter=_KINDS)
        except OSError as error:
            log.warning("no events for %s, it is polled: %s", root.path, error)
        self._watches[root] = handler, watch

    def _walked(self, root: Root, folder: str, reason: Reason) -> None:
        """Handle a walk of `polling`. A root that was created again is a new folder, so it is observed again."""
        handler, watch = self._watches.get(root, (None, None))
        if handler and reason is Reason.BACK:
            if watch:
                self._observer.unschedule(watch)
            self._schedule(root, handler)
        self._on_rescan(root, folder, reason)

    def _deliver(self, root: Root, changes: ChangeBatch) -> None:
        """Deliver changes. If a callback fails, the next walk reports the change again."""
        changes.deliver(root, self._on_dirty, self._on_rescan)


class _HintHandler(events.FileSystemEventHandler):
    def __init__(self, root: Root, ignored: Ignored, deliver: Callable[[Root, ChangeBatch], None]) -> None:
        self._root = root
        self._ignored = ignored
        self._deliver = deliver
        self._base = os.path.realpath(root.path)

    def on_any_event(self, event: events.FileSystemEvent) -> None:
        changes = ChangeBatch()
        for path in (event.src_path, event.dest_path):
            if path:
                self._note(os.fsdecode(path), changes, is_folder=event.is_directory)
        self._deliver(self._root, changes)

    def _note(self, path: str, changes: ChangeBatch, *, is_folder: bool) -> None:
        relative = os.path.relpath(path, self._base)
        folder, _, name = relative.rpartition("/")
        if relative == "." or relative.startswith("../") or self._is_ignored(folder):
            return
        if is_folder:
            if not self._is_ignored(relative):
                changes.rescan(relative, Reason.FOLDER)
        elif name in RULE_FILES:
            changes.rescan(folder, Reason.RULES)
        else:
            changes.dirty.add(relative)

    def _is_ignored(self, folder: str) -> bool:
        """Whether the folder or a parent is ignored; events cover the whole tree, including ignored folders."""
        parts = folder.split("/") if folder else []
        return any(
            part == ".git" or is_ignored(self._ignored, "/".join(parts[: at + 1])) for at, part in enumerate(parts)
        )
