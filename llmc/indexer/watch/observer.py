"""Watching with watchdog's observer, for systems without inotify (macOS).

Its events come early but without an order across roots, and nothing says when one was lost. So they are early hints,
and `polling`, at a slower pace, is what finds every change and what answers a barrier.
"""

from __future__ import annotations

import logging
import os
from typing import TYPE_CHECKING

from watchdog import events
from watchdog.observers import Observer

from llmc.indexer.watch.changed_paths import ChangedPaths
from llmc.indexer.watch.polling import PollingWatcher
from llmc.indexer.watch.protocol import RULE_FILES, Health, Mode, Reason, left_out

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from watchdog.observers.api import BaseObserver, ObservedWatch

    from llmc.base.model import Root
    from llmc.indexer.watch.protocol import Ignored, OnDirty, OnRescan

__all__ = ["ObserverWatcher"]

log = logging.getLogger(__name__)

_PAUSE = 60.0  # between two walks: only what the events missed waits for one

# Without a filter an open or a read is an event too, and on a large tree nothing else comes through.
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
        self._watches: dict[Root, tuple[_Handler, ObservedWatch | None]] = {}
        self._observer = observer or Observer()
        self._observer.start()

    def add(self, root: Root, ignored: Ignored) -> Health:
        self.remove(root)
        self._schedule(root, _Handler(root, ignored, self._tell))
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

    def _schedule(self, root: Root, handler: _Handler) -> None:
        watch = None
        try:
            watch = self._observer.schedule(handler, root.path, recursive=True, event_filter=_KINDS)
        except OSError as error:
            log.warning("no events for %s, it is polled: %s", root.path, error)
        self._watches[root] = handler, watch

    def _walked(self, root: Root, folder: str, reason: Reason) -> None:
        """A root that is back is another folder: the old one's events have ended."""
        handler, watch = self._watches.get(root, (None, None))
        if handler and reason is Reason.BACK:
            if watch:
                self._observer.unschedule(watch)
            self._schedule(root, handler)
        self._on_rescan(root, folder, reason)

    def _tell(self, hints: ChangedPaths) -> None:
        """A callback that fails costs nothing here: the next walk tells it again."""
        hints.tell(self._on_dirty, self._on_rescan)


class _Handler(events.FileSystemEventHandler):
    def __init__(self, root: Root, ignored: Ignored, tell: Callable[[ChangedPaths], None]) -> None:
        self._root = root
        self._ignored = ignored
        self._tell = tell
        self._base = os.path.realpath(root.path)

    def on_any_event(self, event: events.FileSystemEvent) -> None:
        hints = ChangedPaths()
        for path in (event.src_path, event.dest_path):
            if path:
                self._note(os.fsdecode(path), hints, is_folder=event.is_directory)
        self._tell(hints)

    def _note(self, path: str, hints: ChangedPaths, *, is_folder: bool) -> None:
        relative = os.path.relpath(path, self._base)
        folder, _, name = relative.rpartition("/")
        if relative == "." or relative.startswith("../") or self._left_out(folder):
            return
        if is_folder:
            if not self._left_out(relative):
                hints.rescan(self._root, relative, Reason.FOLDER)
        elif name in RULE_FILES:
            hints.rescan(self._root, folder, Reason.RULES)
        else:
            hints.dirty[self._root].add(relative)

    def _left_out(self, folder: str) -> bool:
        """Is the folder or one above it ignored? The stream is of the whole tree, whatever the rules."""
        parts = folder.split("/") if folder else []
        return any(
            part == ".git" or left_out(self._ignored, "/".join(parts[: at + 1])) for at, part in enumerate(parts)
        )
