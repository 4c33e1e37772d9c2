"""Watching by polling: a regular walk over the stamps of all files; whatever differs from the last walk is dirty.

For roots without events: no watches left, a file system that reports no events, no usable watchdog. The pause grows
with the tree, so that polling takes at most a twentieth of one core. A barrier is an extra walk if the caller's timeout
allows it (a few thousand files); otherwise it reports that changes may be missing.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from llmc.base.openat import open_below, open_root
from llmc.indexer.watch.protocol import ROOT_MISSING, RULE_FILES, ChangeBatch, Health, Mode, Reason, is_ignored, join

if TYPE_CHECKING:
    from collections.abc import Collection

    from llmc.base.model import Root
    from llmc.indexer.watch.protocol import Ignored, OnDirty, OnRescan

__all__ = ["PollingWatcher"]

log = logging.getLogger(__name__)

_MISSING_SECONDS = 1.0  # one call for each root
_SHARE = 20  # walks may take a twentieth of the time
# FAT stores times in steps of two seconds, and a file server has its own clock: a younger stamp is checked again.
_RACY_NS = 2_000_000_000

Snapshot = dict[str, dict[str, int]]  # folder -> name -> digest of the stamp


@dataclass(slots=True, eq=False)
class PolledRoot:
    root: Root
    ignored: Ignored
    why: str
    snapshot: Snapshot | None = None  # None: there was no folder to walk
    seconds: float = 0.0  # how long the last walk took
    due: float = 0.0
    requested: int = 0  # increased by each barrier; a walk that began afterwards completes it
    completed: int = 0


class PollingWatcher:
    def __init__(self, on_dirty: OnDirty, on_rescan: OnRescan, *, pause: float = 2.0, why: str = "") -> None:
        self._on_dirty = on_dirty
        self._on_rescan = on_rescan
        self._pause = pause
        self._why = why
        self._roots: dict[Root, PolledRoot] = {}
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._walks = 0
        self._closing = False

    def add(self, root: Root, ignored: Ignored, why: str = "") -> Health:
        state = PolledRoot(root, ignored, why or self._why)
        state.snapshot = self._walk(state)
        state.due = time.monotonic() + self._interval(state)
        with self._changed:
            self._roots[root] = state
            self._changed.notify_all()
            if not self._thread:
                self._thread = threading.Thread(target=self._run, name="llmc-poll", daemon=True)
                self._thread.start()
        return self.health(root)

    def remove(self, root: Root) -> None:
        with self._changed:
            self._roots.pop(root, None)
            self._changed.notify_all()

    def rewatch(self, root: Root, folder: str = "") -> None:
        """Does nothing: every walk reads the rules and the disk."""

    def healed(self, root: Root) -> None:
        """Does nothing: changes are found late, but never lost."""

    def barrier(self, timeout: float, roots: Collection[Root] | None = None) -> dict[Root, str]:
        with self._changed:
            asked = [state for root, state in self._roots.items() if roots is None or root in roots]
            late = {state.root: self._lateness(state) for state in asked if 2 * state.seconds > timeout}
            tickets = [(state, self._request(state)) for state in asked if state.root not in late]
            self._changed.wait_for(lambda: all(map(_is_complete, tickets)) or self._closing, max(0.0, timeout))
            for state, ticket in tickets:
                if not _is_complete((state, ticket)):
                    late[state.root] = self._lateness(state)
                elif state.snapshot is None:
                    late[state.root] = ROOT_MISSING
        return late

    def health(self, root: Root) -> Health:
        state = self._roots.get(root)
        if state is None or state.snapshot is None:
            return Health(Mode.GONE, ROOT_MISSING)
        return Health(Mode.POLLING, self._lateness(state))

    def close(self) -> None:
        with self._changed:
            self._closing = True
            self._changed.notify_all()
        if self._thread:
            self._thread.join()

    def _lateness(self, state: PolledRoot) -> str:
        every = f"checked every {self._interval(state):.0f} s"
        return f"{state.why}; {every}" if state.why else every

    def _interval(self, state: PolledRoot) -> float:
        return _MISSING_SECONDS if state.snapshot is None else max(self._pause, _SHARE * state.seconds)

    def _request(self, state: PolledRoot) -> int:
        state.requested += 1
        state.due = 0.0
        self._changed.notify_all()
        return state.requested

    def _run(self) -> None:
        while state := self._next():
            with self._changed:
                ticket = state.requested
            if self._walk_and_report(state):
                with self._changed:
                    state.completed = ticket
            with self._changed:
                state.due = 0.0 if state.requested > ticket else time.monotonic() + self._interval(state)
                self._changed.notify_all()

    def _next(self) -> PolledRoot | None:
        """Wait for a root whose walk is due; None when the watcher closes."""
        with self._changed:
            while not self._closing:
                state = min(self._roots.values(), key=lambda each: each.due, default=None)
                wait = state.due - time.monotonic() if state else None
                if state and wait is not None and wait <= 0:
                    return state
                self._changed.wait(wait)
        return None

    def _walk_and_report(self, state: PolledRoot) -> bool:
        """Walk and report differences. False if that failed; the next walk then reports them."""
        changes = ChangeBatch()
        try:
            snapshot = self._walk(state)
        except Exception:  # an error in the rules, for example, must not stop polling
            log.exception("%s could not be walked", state.root.path)
            return False
        if snapshot is not None and state.snapshot is None:
            changes.rescan("", Reason.BACK)
        elif snapshot is not None and state.snapshot is not None:
            _compare(state.snapshot, snapshot, changes)
        if not changes.deliver(state.root, self._on_dirty, self._on_rescan):
            return False
        state.snapshot = snapshot
        return True

    def _walk(self, state: PolledRoot) -> Snapshot | None:
        began = time.monotonic()
        self._walks += 1
        snapshot = walk(state.root, state.ignored, self._walks)
        state.seconds = time.monotonic() - began
        return snapshot


def _is_complete(request: tuple[PolledRoot, int]) -> bool:
    state, ticket = request
    return state.completed >= ticket


def walk(root: Root, ignored: Ignored, number: int) -> Snapshot | None:
    """The stamps of everything below the root that is not a folder; None when the root cannot be listed.

    A stamp so young that a later change might not alter it is replaced by the number of this walk, so that it differs
    in the next one.
    """
    try:
        with open_root(root) as top:
            return _walk_below(top, ignored, number)
    except OSError:
        return None


def _walk_below(top: int, ignored: Ignored, number: int) -> Snapshot:
    folders, stamps = _stamps(top, number)
    snapshot: Snapshot = {"": stamps}
    todo = [name for name in folders if name != ".git" and not is_ignored(ignored, name)]
    while todo:
        folder = todo.pop()
        try:
            fd = open_below(top, folder)
        except OSError:
            continue  # removed since it was listed, or not readable
        try:
            folders, snapshot[folder] = _stamps(fd, number)
        finally:
            os.close(fd)
        todo += [path for name in folders if name != ".git" and not is_ignored(ignored, path := join(folder, name))]
    return snapshot


def _stamps(fd: int, number: int) -> tuple[list[str], dict[str, int]]:
    folders: list[str] = []
    stamps: dict[str, int] = {}
    now = time.time_ns()
    with os.scandir(fd) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                folders.append(entry.name)
                continue
            try:
                found = entry.stat(follow_symlinks=False)
            except OSError:
                continue  # removed since it was listed, as the next walk will see
            stamp = (found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino, found.st_mode)
            young = now - max(found.st_mtime_ns, found.st_ctime_ns) < _RACY_NS
            stamps[entry.name] = -number if young else hash(stamp) & 0x7FFF_FFFF_FFFF_FFFF
    return folders, stamps


def _compare(before: Snapshot, after: Snapshot, changes: ChangeBatch) -> None:
    for folder in before.keys() | after.keys():
        old, new = before.get(folder, {}), after.get(folder, {})
        if old == new:
            continue
        names = {name for name in old.keys() | new.keys() if old.get(name) != new.get(name)}
        changes.dirty.update(join(folder, name) for name in names)
        if not RULE_FILES.isdisjoint(names):
            changes.rescan(folder, Reason.RULES)
