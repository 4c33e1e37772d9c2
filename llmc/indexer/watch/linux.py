"""Watching with inotify: one instance, one thread, every root.

A turn of the thread is: read what the kernel has, sort it (`sorting`, which plants watches through `planting`), tell
the callbacks, and only then count the bytes as done. That makes the barrier: the kernel queues an event before the
system call that caused it returns, so a caller asks how many bytes are queued and waits until so many are done. Nothing
is written for it, no queue is so full that it would be lost in it, and on an idle system there is nothing to wait for.

A root for which there are no watches, or whose file system does not report changes, is handed to `polling`.
"""

from __future__ import annotations

import logging
import threading
import time
from typing import TYPE_CHECKING

from llmc.indexer.watch.changed_paths import ChangedPaths, beneath
from llmc.indexer.watch.event_sorter import EventSorter
from llmc.indexer.watch.filesystems import silent_filesystem
from llmc.indexer.watch.inotify import Inotify, is_limit, limit_hint
from llmc.indexer.watch.placement import WatchPlacer, identity
from llmc.indexer.watch.polling import PollingWatcher
from llmc.indexer.watch.protocol import GONE, Health, Mode, Reason
from llmc.indexer.watch.watch_table import WatchedRoot, WatchTable

if TYPE_CHECKING:
    from collections.abc import Collection

    from llmc.base.model import Root
    from llmc.indexer.watch.protocol import Ignored, OnDirty, OnRescan

__all__ = ["LinuxWatcher"]

log = logging.getLogger(__name__)

# A parent that is moved, or a mount over the root, is no event; nor is the removal of a root in which some shell
# stands. One `stat` a root in ten seconds finds them, and a barrier looks for itself.
_LOOK_SECONDS = 10.0
_GONE_SECONDS = 1.0

# Events come in bursts, and a turn costs as much as a hundred of them. Nobody waits for the few milliseconds in which
# they gather but a barrier, and that cuts them short.
_LINGER_SECONDS = 0.005

# Numbers given back in one turn: each comes back as an event, and the queue holds 16,384.
_SWEEP = 2000


class LinuxWatcher:
    def __init__(self, on_dirty: OnDirty, on_rescan: OnRescan, *, kernel: Inotify | None = None) -> None:
        self._on_dirty = on_dirty
        self._on_rescan = on_rescan
        self._kernel = kernel or Inotify()
        self._polling = PollingWatcher(on_dirty, on_rescan)
        self._roots: dict[Root, WatchedRoot] = {}
        self._lock = threading.RLock()  # guards the table and the roots; not held while callbacks run
        self._table = WatchTable()
        self._planter = WatchPlacer(self._kernel, self._table, self._lock)
        self._sorter = EventSorter(self._table, self._planter, self)
        self._turned = threading.Condition()  # guards the two counts
        self._bytes_read = 0
        self._bytes_done = 0
        self._waiting = 0  # barriers
        self._look_at = 0.0  # when the roots are to be looked after
        self._closing = False
        self._thread = threading.Thread(target=self._run, name="llmc-watch", daemon=True)
        self._thread.start()

    def add(self, root: Root, ignored: Ignored) -> Health:
        self.remove(root)
        owner = WatchedRoot(root, ignored)
        with self._lock:
            self._roots[root] = owner
        self._plant(owner)
        owner.settled = True
        self._look_soon()
        return self.health(root)

    def remove(self, root: Root) -> None:
        with self._lock:
            if owner := self._roots.pop(root, None):
                self._planter.uproot(owner)
        self._polling.remove(root)
        self._kernel.wake()

    def rewatch(self, root: Root, folder: str = "") -> None:
        with self._lock:
            owner = self._roots.get(root)
            if not owner or owner.mode is not Mode.EVENTS:
                return
            due = {path for path in owner.stale if beneath(path, folder)}
            owner.stale -= due
            lost = owner.lost
        try:
            for path in sorted(path for path in due if not any(beneath(path, other) for other in due - {path})):
                self._planter.realign(owner, path)
        except OSError as error:
            self._stumbled(owner, error)
        if not folder:
            owner.rewatched = lost

    def healed(self, root: Root) -> None:
        with self._lock:
            if owner := self._roots.get(root):
                owner.healed = owner.rewatched

    def barrier(self, timeout: float, roots: Collection[Root] | None = None) -> dict[Root, str]:
        until = time.monotonic() + timeout
        held = self._caught_up(timeout)
        with self._lock:
            owners = [owner for root, owner in self._roots.items() if roots is None or root in roots]
        uncovered = {owner.root: why for owner in owners if (why := self._uncovered(owner, held=held))}
        if polled := [owner.root for owner in owners if owner.mode is Mode.POLLING]:
            uncovered |= self._polling.barrier(until - time.monotonic(), polled)
        return uncovered

    def health(self, root: Root) -> Health:
        owner = self._roots.get(root)
        if not owner or owner.mode is Mode.POLLING:
            return self._polling.health(root)
        if why := self._displacement(owner):
            return Health(Mode.GONE, why, owner.watches)
        return owner.health

    def close(self) -> None:
        if self._closing:
            return
        self._polling.close()
        self._closing = True
        self._kernel.wake()
        self._thread.join()
        self._kernel.close()

    def _caught_up(self, timeout: float) -> bool:
        with self._turned:
            aim = self._bytes_read + self._kernel.pending()
            if self._bytes_done >= aim:
                return True
            self._waiting += 1
            self._kernel.wake()
            held = self._turned.wait_for(lambda: self._bytes_done >= aim, timeout)
            self._waiting -= 1
            return held

    # What `Sorter` reports, in the watcher's thread and with the lock held.

    def overflowed(self, hints: ChangedPaths) -> None:
        log.warning("the kernel's event queue overflowed; every root is to be walked")
        self._lose(hints)

    def displaced(self, owner: WatchedRoot, hints: ChangedPaths) -> None:
        """Plant again if another folder has taken the place, otherwise wait for one."""
        found = identity(owner.root)
        if not owner.settled or owner.stands_at(found):
            return
        was_there = owner.mode is Mode.EVENTS
        self._planter.uproot(owner)
        if found:
            owner.mode, owner.why = Mode.EVENTS, ""
            owner.lose(Reason.BACK)
            hints.rescan(owner.root, "", Reason.BACK)
            self._plant(owner)
        elif was_there:
            log.warning("the root %s is gone", owner.root.path)
            self._mark_gone(owner)

    def limited(self, owner: WatchedRoot, error: OSError, hints: ChangedPaths) -> None:
        self._stumbled(owner, error)
        hints.rescan(owner.root, "", Reason.LOST)

    # The thread.

    def _run(self) -> None:
        while not self._closing:
            self._kernel.wait(self._pause())
            if not self._waiting:
                self._kernel.linger(_LINGER_SECONDS)
            self._turn()

    def _pause(self) -> float | None:
        if self._table.has_orphans:
            return 0
        return max(0.0, self._look_at - time.monotonic()) if self._roots else None

    def _turn(self) -> None:
        hints = ChangedPaths()
        with self._turned:
            buffer = self._kernel.read()
            self._bytes_read += len(buffer)
        with self._lock:
            try:
                self._sorter.sort(buffer, hints)
                self._look_after_roots(hints)
            except Exception:  # a fault of ours costs a walk of every root, never a change
                log.exception("events could not be sorted")
                self._lose(hints)
            for wd in self._table.orphans(_SWEEP):
                self._kernel.remove(wd)
        self._tell(hints)
        with self._turned:
            self._bytes_done += len(buffer)
            self._turned.notify_all()

    def _tell(self, hints: ChangedPaths) -> None:
        if self._closing:
            return
        for root in hints.tell(self._on_dirty, self._on_rescan):
            if owner := self._roots.get(root):
                owner.lose()

    def _look_after_roots(self, hints: ChangedPaths) -> None:
        if time.monotonic() < self._look_at:
            return
        self._look_at = time.monotonic() + _LOOK_SECONDS
        for owner in list(self._roots.values()):
            if owner.limit and self._kernel.limit() > owner.limit:
                self._polling.remove(owner.root)
                owner.limit, owner.mode, owner.why = 0, Mode.GONE, GONE
            if owner.mode is not Mode.POLLING:
                self.displaced(owner, hints)
        if any(owner.mode is Mode.GONE for owner in self._roots.values()):
            self._look_at = time.monotonic() + _GONE_SECONDS

    def _look_soon(self) -> None:
        self._look_at = 0.0
        self._kernel.wake()

    # Changes of how a root is watched.

    def _plant(self, owner: WatchedRoot) -> None:
        if kind := silent_filesystem(owner.root.path):
            self._poll(owner, f"{kind} does not report what other machines change")
            return
        try:
            self._planter.plant(owner)
        except OSError as error:
            self._stumbled(owner, error)

    def _stumbled(self, owner: WatchedRoot, error: OSError) -> None:
        with self._lock:
            self._planter.uproot(owner)
            if is_limit(error):
                owner.limit = self._kernel.limit()
                self._poll(owner, limit_hint(error))
            else:
                self._mark_gone(owner)

    def _poll(self, owner: WatchedRoot, why: str) -> None:
        log.warning("%s is polled: %s", owner.root.path, why)
        owner.mode = Mode.POLLING
        self._polling.add(owner.root, owner.ignored, why)

    def _mark_gone(self, owner: WatchedRoot) -> None:
        owner.mode, owner.why = Mode.GONE, GONE
        self._look_soon()

    def _lose(self, hints: ChangedPaths) -> None:
        for owner in self._roots.values():
            if owner.mode is Mode.EVENTS:
                owner.lose()
                hints.rescan(owner.root, "", Reason.LOST)

    def _uncovered(self, owner: WatchedRoot, *, held: bool) -> str:
        if owner.mode is Mode.POLLING:
            return ""
        return self._displacement(owner) or owner.degraded or ("" if held else "the watcher is behind")

    def _displacement(self, owner: WatchedRoot) -> str:
        """Whether the root's path leads away from the folder that is watched; the kernel need not have said so."""
        found = identity(owner.root)
        if owner.mode is not Mode.EVENTS or not owner.settled or owner.stands_at(found):
            return ""
        self._look_soon()
        return "another folder is at the root's path now" if found else GONE
