"""Watching on Linux: watchdog's observer and emitters over one inotify instance (`emitter`), for every root.

`RootSupervisor` decides how each root is watched: by events, by polling, or not at all because its folder is missing.
It handles what goes wrong: a full event queue, a lack of watches, file systems that report nothing, and roots that are
moved, removed or replaced. Its methods are called with `lock` held, unless they say otherwise.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

from watchdog.events import FileSystemEventHandler

from llmc.base.openat import identity
from llmc.indexer.watch.emitter import RootModifiedEvent, RootObserver
from llmc.indexer.watch.inotify import Inotify
from llmc.indexer.watch.polling import PollingWatcher
from llmc.indexer.watch.protocol import ROOT_MISSING, Health, Mode, Reason, is_limit, is_within, limit_hint
from llmc.indexer.watch.watch_table import WatchedRoot, WatchPlacer, WatchTable

if TYPE_CHECKING:
    from collections.abc import Collection

    from watchdog.events import FileSystemEvent
    from watchdog.observers.api import ObservedWatch

    from llmc.base.model import Root
    from llmc.indexer.watch.protocol import ChangesByRoot, Ignored, OnDirty, OnRescan

__all__ = ["LinuxWatcher", "RootSupervisor"]

log = logging.getLogger(__name__)

# No event reports a moved parent, a mount over the root, or the removal of a root that is the current folder of a
# shell. One `stat` per root every ten seconds finds them, and a barrier checks too.
_CHECK_SECONDS = 10.0
_MISSING_SECONDS = 1.0
# File systems that do not report what other machines change. WSL mounts Windows drives as 9p; virtiofs, vboxsf and
# prl_fs are shared folders of virtual machines.
_SILENT = frozenset(
    [
        "9p",
        "afs",
        "ceph",
        "cifs",
        "drvfs",
        "glusterfs",
        "lustre",
        "ncpfs",
        "nfs",
        "nfs4",
        "prl_fs",
        "smb3",
        "smbfs",
        "vboxsf",
        "virtiofs",
    ]
)


class RootSupervisor:
    """`roots` is keyed by path. `lock` guards it and the table; it is not held while callbacks run."""

    def __init__(self, kernel: Inotify, polling: PollingWatcher) -> None:
        self.lock = threading.RLock()
        self.roots: dict[str, WatchedRoot] = {}
        self.table = WatchTable()
        self.placer = WatchPlacer(kernel, self.table, self.lock)
        self.next_check = 0.0
        self._kernel = kernel
        self._polling = polling

    def place(self, owner: WatchedRoot) -> None:
        """Place all watches of a root, or poll it. May be called without the lock: it takes it where needed."""
        if kind := silent_filesystem(owner.root.path):
            self._poll(owner, f"{kind} does not report changes made on other machines")
            return
        try:
            self.placer.place_all(owner)
        except OSError as error:
            self.give_up_events(owner, error)

    def remove(self, owner: WatchedRoot) -> None:
        """May be called without the lock."""
        with self.lock:
            if self.roots.get(owner.root.path) is owner:
                del self.roots[owner.root.path]
            self.placer.remove_all(owner)
        self._polling.remove(owner.root)
        self._kernel.wake()

    def give_up_events(self, owner: WatchedRoot, error: OSError) -> None:
        """Poll the root, or wait for it, because its watches could not be placed. May be called without the lock."""
        with self.lock:
            self.placer.remove_all(owner)
            if is_limit(error):
                owner.limit = self._kernel.limit()
                self._poll(owner, limit_hint(error))
            else:
                self._mark_missing(owner)

    def lose_all(self, changes: ChangesByRoot) -> None:
        for owner in self.roots.values():
            if owner.mode is Mode.EVENTS:
                owner.lose()
                changes[owner.root].rescan("", Reason.LOST)

    def on_overflow(self, changes: ChangesByRoot) -> None:
        log.warning("the kernel's event queue overflowed; every root will be walked")
        self.lose_all(changes)

    def on_root_moved(self, owner: WatchedRoot, changes: ChangesByRoot) -> None:
        """Place watches again if another folder has taken the root's place, otherwise wait for one."""
        found = identity(owner.root)
        if not owner.placed or owner.is_at(found):
            return
        was_there = owner.mode is Mode.EVENTS
        self.placer.remove_all(owner)
        if found:
            owner.mode, owner.why = Mode.EVENTS, ""
            owner.lose(Reason.BACK)
            changes[owner.root].rescan("", Reason.BACK)
            self.place(owner)
        elif was_there:
            log.warning("the root %s is missing", owner.root.path)
            self._mark_missing(owner)

    def on_watch_limit(self, owner: WatchedRoot, error: OSError, changes: ChangesByRoot) -> None:
        self.give_up_events(owner, error)
        changes[owner.root].rescan("", Reason.LOST)

    def check_roots(self, changes: ChangesByRoot) -> None:
        """Check periodically whether roots were moved or replaced, and whether watches are available again."""
        if time.monotonic() < self.next_check:
            return
        self.next_check = time.monotonic() + _CHECK_SECONDS
        for owner in list(self.roots.values()):
            if owner.limit and self._kernel.limit() > owner.limit:
                self._polling.remove(owner.root)
                owner.limit, owner.mode, owner.why = 0, Mode.GONE, ROOT_MISSING
            if owner.mode is not Mode.POLLING:
                self.on_root_moved(owner, changes)
        if any(owner.mode is Mode.GONE for owner in self.roots.values()):
            self.next_check = time.monotonic() + _MISSING_SECONDS

    def check_soon(self) -> None:
        """May be called without the lock."""
        self.next_check = 0.0
        self._kernel.wake()

    def displacement(self, owner: WatchedRoot) -> str:
        """Why the watched folder is not the one at the root's path, if so; the kernel may not have reported it.

        May be called without the lock.
        """
        found = identity(owner.root)
        if owner.mode is not Mode.EVENTS or not owner.placed or owner.is_at(found):
            return ""
        self.check_soon()
        return "another folder is at the root's path now" if found else ROOT_MISSING

    def _poll(self, owner: WatchedRoot, why: str) -> None:
        log.warning("%s is polled: %s", owner.root.path, why)
        owner.mode = Mode.POLLING
        self._polling.add(owner.root, owner.ignored, why)

    def _mark_missing(self, owner: WatchedRoot) -> None:
        owner.mode, owner.why = Mode.GONE, ROOT_MISSING
        self.check_soon()


def silent_filesystem(path: str, mounts: str = "/proc/self/mountinfo") -> str:
    """The type of the file system at `path` if changes on it may go unreported, else an empty string."""
    try:
        device = os.stat(path).st_dev  # noqa: PTH116 - the one field that Path.stat would give too
        lines = Path(mounts).read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    except OSError:
        return ""
    wanted = f"{os.major(device)}:{os.minor(device)}"
    for line in lines:
        fields = line.split()
        if fields[2] == wanted and "-" in fields:
            kind = fields[fields.index("-", 6) + 1]
            return kind if kind in _SILENT or kind.startswith("fuse.") else ""
    return ""


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
