"""The Linux watcher as watchdog knows it: an observer, an emitter for each root, and the event that they pass on.

watchdog schedules handlers, queues events and dispatches them; its bindings make the system calls. Added here: all
roots share one inotify instance, whose queue keeps the order of their events, and the observer's own thread reads it
before it dispatches. That makes the barrier: the kernel queues an event before the system call that caused it returns,
so a caller asks how many bytes are queued and waits until that many have been read and dispatched. Nothing is written
to disk for it, and an idle system has nothing to wait for.
"""

from __future__ import annotations

import logging
import threading
import time
from typing import TYPE_CHECKING, Any

from watchdog.events import DirModifiedEvent
from watchdog.observers.api import BaseObserver, EventEmitter

from llmc.indexer.watch.change_batch import ChangesByRoot
from llmc.indexer.watch.event_sorter import EventSorter

if TYPE_CHECKING:
    from watchdog.events import FileSystemEventHandler
    from watchdog.observers.api import EventQueue, ObservedWatch

    from llmc.indexer.watch.change_batch import ChangeBatch
    from llmc.indexer.watch.inotify import Inotify
    from llmc.indexer.watch.supervisor import RootSupervisor
    from llmc.indexer.watch.watch_table import WatchedRoot

__all__ = ["RootEmitter", "RootModifiedEvent", "RootObserver"]

log = logging.getLogger(__name__)

# Events come in bursts, and one read costs as much as a hundred of them. Only a barrier waits for the few milliseconds
# in which they gather, and it cuts them short.
_LINGER_SECONDS = 0.005

# Watch numbers returned to the kernel in one go: each is answered by an event, and the queue holds 16,384.
_RETURNED_WATCHES = 2000


class RootModifiedEvent(DirModifiedEvent):
    """Something below a root changed: all that one read of the kernel's queue reported about it.

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
    """Reads the kernel's queue, lets the emitters queue what it found, dispatches that, and only then counts the bytes
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
        """Watch a root. Returns when its watches are placed; other roots are served meanwhile."""
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
        """Wait until everything that is in the kernel's queue now has been dispatched."""
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
