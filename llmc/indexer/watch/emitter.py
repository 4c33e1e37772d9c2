"""The watchdog classes of the Linux watcher: an observer, an emitter for each root, and the event that they pass on.

watchdog schedules handlers, queues events and dispatches them; its bindings make the system calls. Added here: all
roots share one inotify instance, whose queue keeps the order of their events, and the observer's own thread reads it
before it dispatches. That makes the barrier: the kernel queues an event before the system call that caused it returns,
so a caller asks how many bytes are queued and waits until that many have been read and dispatched. Nothing is written
to disk for it, and an idle system has nothing to wait for.

`EventSorter` interprets a batch of events: names become dirty paths, folders appear and vanish, trouble is reported to
`linux` (`TroubleHandler`). Events are only hints: the response to any event about a name is to check what is on disk
now. Later changes of the disk therefore do not matter, and after the last event about a name the table matches the
disk.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from typing import TYPE_CHECKING, Any, Protocol

from watchdog.events import DirModifiedEvent
from watchdog.observers.api import BaseObserver, EventEmitter

from llmc.indexer.watch import inotify
from llmc.indexer.watch.protocol import RULE_FILES, ChangesByRoot, Reason, is_ignored, is_limit, join

if TYPE_CHECKING:
    from watchdog.events import FileSystemEventHandler
    from watchdog.observers.api import EventQueue, ObservedWatch

    from llmc.indexer.watch.inotify import Inotify
    from llmc.indexer.watch.linux import RootSupervisor
    from llmc.indexer.watch.protocol import ChangeBatch
    from llmc.indexer.watch.watch_table import WatchedFolder, WatchedRoot, WatchPlacer, WatchTable

__all__ = ["RootEmitter", "RootModifiedEvent", "RootObserver"]

_REMOVED = inotify.MOVED_FROM | inotify.DELETE
_SELF = inotify.DELETE_SELF | inotify.MOVE_SELF
_SPECIAL = inotify.ISDIR | inotify.OVERFLOW | inotify.IGNORED | inotify.UNMOUNT | _SELF
_RULES = frozenset(map(os.fsencode, RULE_FILES))

# `git status` replaces the index too, and often, so only a checkout with this many changed paths causes a walk.
_BURST = 200
log = logging.getLogger(__name__)

# Events come in bursts, and a read costs as much as a hundred events, so reads are delayed by a few milliseconds. Only
# a barrier would have to wait for it, and it ends the delay.
_LINGER_SECONDS = 0.005

# The number of watches removed at once: the kernel sends an event for each, and the queue has room for 16,384.
_RETURNED_WATCHES = 2000


class TroubleHandler(Protocol):
    def on_overflow(self, changes: ChangesByRoot) -> None:
        """The kernel's queue was full: any event of any root may be missing."""

    def on_root_moved(self, owner: WatchedRoot, changes: ChangesByRoot) -> None:
        """The root's folder was moved, removed, unmounted or made unreadable, or may have been."""

    def on_watch_limit(self, owner: WatchedRoot, error: OSError, changes: ChangesByRoot) -> None:
        """No watch is left for a new folder of this root."""


class EventSorter:
    def __init__(self, table: WatchTable, placer: WatchPlacer, trouble: TroubleHandler) -> None:
        self._table = table
        self._placer = placer
        self._trouble = trouble

    def sort(self, buffer: bytes, changes: ChangesByRoot) -> None:
        """Interpret a batch. Names are collected first, since most occur three times, and reported before an event
        changes the table."""
        names: dict[int, set[bytes]] = {}
        for wd, mask, name in inotify.events(buffer):
            if not mask & _SPECIAL:
                if (same := names.get(wd)) is None:
                    names[wd] = {name}
                else:
                    same.add(name)
            else:
                self._report_names(names, changes)
                names.clear()
                self._handle_special(wd, mask, name, changes)
        self._report_names(names, changes)

    def _report_names(self, names: dict[int, set[bytes]], changes: ChangesByRoot) -> None:
        for wd, padded in names.items():
            for folder in self._table.at(wd):
                self._report_files(folder, {name.rstrip(b"\0") for name in padded}, changes)

    def _report_files(self, folder: WatchedFolder, names: set[bytes], changes: ChangesByRoot) -> None:
        owner = folder.owner
        if folder.git:
            self._handle_git(folder, names, changes)
            return
        names.discard(b"")  # about the folder itself: its access time or mode, which its parent reports too
        owner.burst += len(names)
        prefix = f"{folder.path}/" if folder.path else ""
        found = changes[owner.root]
        found.dirty.update([prefix + os.fsdecode(name) for name in names])
        if not names.isdisjoint(_RULES):
            owner.stale.add(folder.path)
            found.rescan(folder.path, Reason.RULES)

    def _handle_git(self, folder: WatchedFolder, names: set[bytes], changes: ChangesByRoot) -> None:
        owner, checkout = folder.owner, _checkout(folder)
        if folder.name == "info":
            if b"exclude" in names:
                owner.stale.add(checkout)
                changes[owner.root].rescan(checkout, Reason.RULES)
            return
        if b"HEAD" in names or (b"index" in names and owner.burst >= _BURST):
            changes[owner.root].rescan(checkout, Reason.HEAD)
        if b"index" in names:
            owner.burst = 0

    def _handle_special(self, wd: int, mask: int, name: bytes, changes: ChangesByRoot) -> None:
        if mask & inotify.OVERFLOW:
            self._trouble.on_overflow(changes)
            return
        for folder in self._table.at(wd):
            if not folder.live:
                continue
            if name:
                self._handle_folder(folder, os.fsdecode(name.rstrip(b"\0")), mask, changes)
            elif folder.parent is None:
                self._handle_root(folder, mask, changes)
            elif mask & inotify.UNMOUNT:
                self._handle_folder(folder.parent, folder.name, inotify.MOVED_FROM, changes)
        if mask & inotify.IGNORED:
            self._table.mark_removed(wd)

    def _handle_root(self, folder: WatchedFolder, mask: int, changes: ChangesByRoot) -> None:
        """The root itself was moved or removed. Its inode may be reused, so its identity is not compared any more."""
        owner = folder.owner
        if mask & (inotify.IGNORED | inotify.DELETE_SELF | inotify.UNMOUNT):
            owner.identity = None
        self._trouble.on_root_moved(owner, changes)

    def _handle_folder(self, parent: WatchedFolder, name: str, mask: int, changes: ChangesByRoot) -> None:
        """A folder called `name` appeared, vanished, or changed its mode."""
        owner, known = parent.owner, parent.children.get(name)
        if parent.git and name != "info":
            return
        found = changes[owner.root]
        try:
            self._placer.update(parent, name, found)
        except OSError as error:
            if not is_limit(error):
                raise
            self._trouble.on_watch_limit(owner, error, changes)
        if name != ".git" and not parent.git:
            if self._must_walk(parent, name, known, mask):
                found.rescan(join(parent.path, name), Reason.FOLDER)
        elif parent.children.get(name) is not known:
            checkout = _checkout(parent)
            owner.stale.add(checkout)
            found.rescan(checkout, Reason.RULES)

    def _must_walk(self, parent: WatchedFolder, name: str, known: WatchedFolder | None, mask: int) -> bool:
        """Whether the catalog or a running walk may contain a file of this folder whose removal no event reports.

        True for a new folder: a walk may have found a file that was removed before the folder had its watch. False for
        a watched folder that was removed, since its files were removed before, each with an event.
        """
        now = parent.children.get(name)
        if now is known:
            path = join(parent.path, name)
            return bool(mask & _REMOVED) and (known is not None or not is_ignored(parent.owner.ignored, path))
        return now is not None or not mask & inotify.DELETE


def _checkout(folder: WatchedFolder) -> str:
    """The folder that a `.git`, or the `info` in one, belongs to."""
    while folder.git and folder.parent:
        folder = folder.parent
    return folder.path


class RootModifiedEvent(DirModifiedEvent):
    """The changes below a root that one read of the kernel's queue reported.

    One event for a whole batch, because watchdog's queue costs more for an event than reading it from the kernel does.
    """

    def __init__(self, owner: WatchedRoot, changes: ChangeBatch) -> None:
        super().__init__(owner.root.path)
        self.owner = owner
        self.changes = changes

    # watchdog's queue drops an event that equals the one before; two batches of one root differ in their changes.
    __eq__ = object.__eq__
    __hash__ = object.__hash__


class RootEmitter(EventEmitter):
    """Emits the changes of one root. Its thread places the watches and ends; the observer's thread reads the events."""

    def __init__(
        self, event_queue: EventQueue, watch: ObservedWatch, *, supervisor: RootSupervisor, **options: Any
    ) -> None:
        super().__init__(event_queue, watch, **options)
        self.owner = supervisor.roots[watch.raw_path]
        self.error: Exception | None = None
        self._supervisor = supervisor

    def on_thread_start(self) -> None:
        self.owner.emit = self._emit

    def _emit(self, changes: ChangeBatch) -> None:
        self.queue_event(RootModifiedEvent(self.owner, changes))

    def run(self) -> None:
        try:
            self._supervisor.place(self.owner)
        except Exception as error:  # noqa: BLE001 - raised where the root was added
            self.error = error

    def on_thread_stop(self) -> None:
        self._supervisor.remove(self.owner)


class RootObserver(BaseObserver):
    """Reads the kernel's queue, passes the changes to the emitters, dispatches their events, and then counts the bytes
    as done."""

    def __init__(self, kernel: Inotify, supervisor: RootSupervisor) -> None:
        super().__init__(RootEmitter, supervisor=supervisor)
        self.name = "llmc-watch"
        self._kernel = kernel
        self._supervisor = supervisor
        self._sorter = EventSorter(supervisor.table, supervisor.placer, supervisor)
        self._progress = threading.Condition()  # guards the two counts
        self._bytes_read = 0
        self._bytes_done = 0
        self._waiting = 0  # barriers

    def schedule_root(self, owner: WatchedRoot, handler: FileSystemEventHandler) -> ObservedWatch:
        """Watch a root. Returns when its watches are placed; events of other roots are handled meanwhile."""
        with self._supervisor.lock:
            self._supervisor.roots[owner.root.path] = owner
        watch = self.schedule(handler, owner.root.path, recursive=True)
        emitter = self._emitter_for_watch[watch]
        emitter.join()
        if isinstance(emitter, RootEmitter) and emitter.error:
            self.unschedule(watch)
            raise emitter.error
        owner.placed = True
        self._supervisor.check_soon()
        return watch

    def wait_for_dispatch(self, timeout: float) -> bool:
        """Wait until all events that are in the kernel's queue now have been dispatched."""
        with self._progress:
            aim = self._bytes_read + self._kernel.pending()
            if self._bytes_done >= aim:
                return True
            self._waiting += 1
            self._kernel.wake()
            reached = self._progress.wait_for(lambda: self._bytes_done >= aim, timeout)
            self._waiting -= 1
            return reached

    def on_thread_stop(self) -> None:
        super().on_thread_stop()
        self._kernel.wake()

    def dispatch_events(self, event_queue: EventQueue) -> None:
        self._kernel.wait(self._pause())
        if not self._waiting:
            self._kernel.linger(_LINGER_SECONDS)
        with self._progress:
            buffer = self._kernel.read()
            self._bytes_read += len(buffer)
        for _ in range(self._queue_changes(buffer)):
            super().dispatch_events(event_queue)
        with self._progress:
            self._bytes_done += len(buffer)
            self._progress.notify_all()

    def _pause(self) -> float | None:
        supervisor = self._supervisor
        if supervisor.table.has_orphans:
            return 0
        return max(0.0, supervisor.next_check - time.monotonic()) if supervisor.roots else None

    def _queue_changes(self, buffer: bytes) -> int:
        """Let the emitters queue what the events mean; returns how many events of watchdog's they queued."""
        supervisor, changes = self._supervisor, ChangesByRoot()
        with supervisor.lock:
            try:
                self._sorter.sort(buffer, changes)
                supervisor.check_roots(changes)
            except Exception:  # an internal error costs a walk of every root, never a change
                log.exception("events could not be interpreted")
                supervisor.lose_all(changes)
            for wd in supervisor.table.take_orphans(_RETURNED_WATCHES):
                self._kernel.remove(wd)
            owners = [(supervisor.roots.get(root.path), found) for root, found in changes.items() if found]
        queued = 0
        for owner, found in owners:
            if owner and owner.emit:
                owner.emit(found)
                queued += 1
        return queued
