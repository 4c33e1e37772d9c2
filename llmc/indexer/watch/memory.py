"""The in-memory watcher: tests report changes and errors to it, without a kernel.

Changes are kept until `deliver` or a barrier, as the kernel's queue keeps events, and are delivered from the calling
thread. `lose`, `vanish` and `return_` do what an overflow and a removed root do.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING

from llmc.indexer.watch.protocol import ROOT_MISSING, RULE_FILES, ChangesByRoot, Health, Mode, Reason

if TYPE_CHECKING:
    from collections.abc import Collection

    from llmc.base.model import Root
    from llmc.indexer.watch.protocol import Ignored, OnDirty, OnRescan

__all__ = ["MemoryWatcher"]


@dataclass(slots=True)
class _State:
    mode: Mode = Mode.EVENTS
    lost: int = 0
    rewatched: int = 0
    healed: int = 0

    @property
    def degraded(self) -> str:
        if self.mode is Mode.GONE:
            return ROOT_MISSING
        return Reason.LOST if self.healed < self.lost else ""


class MemoryWatcher:
    def __init__(self, on_dirty: OnDirty, on_rescan: OnRescan) -> None:
        self._on_dirty = on_dirty
        self._on_rescan = on_rescan
        self._roots: dict[Root, _State] = {}
        self._changes = ChangesByRoot()
        self._lock = threading.RLock()
        self.stuck = False  # a barrier times out while this is set

    def changed(self, root: Root, *paths: str) -> None:
        """Files were created, removed or edited."""
        with self._lock:
            self._changes[root].dirty.update(paths)
            for folder, _, name in (path.rpartition("/") for path in paths):
                if name in RULE_FILES:
                    self._changes[root].rescan(folder, Reason.RULES)

    def moved(self, root: Root, folder: str) -> None:
        """A folder was moved."""
        with self._lock:
            self._changes[root].rescan(folder, Reason.FOLDER)

    def lose(self, *roots: Root) -> None:
        with self._lock:
            for root in roots or self._roots:
                self._roots[root].lost += 1
                self._changes[root].rescan("", Reason.LOST)

    def vanish(self, root: Root) -> None:
        with self._lock:
            self._roots[root].mode = Mode.GONE

    def return_(self, root: Root) -> None:
        with self._lock:
            self._roots[root].mode = Mode.EVENTS
            self._roots[root].lost += 1
            self._changes[root].rescan("", Reason.BACK)

    def deliver(self) -> None:
        with self._lock:
            changes, self._changes = self._changes, ChangesByRoot()
            for root, found in changes.items():
                if not found.deliver(root, self._on_dirty, self._on_rescan):
                    self._roots[root].lost += 1

    def add(self, root: Root, ignored: Ignored) -> Health:  # noqa: ARG002 - the test that reports changes knows the rules
        with self._lock:
            self._roots[root] = _State()
        return self.health(root)

    def remove(self, root: Root) -> None:
        with self._lock:
            self._roots.pop(root, None)

    def rewatch(self, root: Root, folder: str = "") -> None:
        with self._lock:
            if not folder and (state := self._roots.get(root)):
                state.rewatched = state.lost

    def healed(self, root: Root) -> None:
        with self._lock:
            if state := self._roots.get(root):
                state.healed = state.rewatched

    def barrier(
        self,
        timeout: float,  # noqa: ARG002 - nothing to wait for
        roots: Collection[Root] | None = None,
    ) -> dict[Root, str]:
        if not self.stuck:
            self.deliver()
        asked = {root: state for root, state in self._roots.items() if roots is None or root in roots}
        behind = "the watcher is behind" if self.stuck else ""
        return {root: why for root, state in asked.items() if (why := state.degraded or behind)}

    def health(self, root: Root) -> Health:
        state = self._roots.get(root, _State(Mode.GONE))
        return Health(state.mode, state.degraded, watches=1)

    def close(self) -> None:
        with self._lock:
            self._roots.clear()
            self._changes = ChangesByRoot()
