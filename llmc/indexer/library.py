"""All roots of a process: their keepers, the lanes of their families, and the one watcher.

The daemon has one library for as long as it lives; a `Workspace` in one process has its own. Opening a root is cheap:
its store is opened or made, the watch is set, and its lane begins to bring it up to date.
"""

from __future__ import annotations

import os
import threading
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from llmc import logs, paths
from llmc.door import Door
from llmc.errors import CorruptStoreError
from llmc.indexer.ignore import Rules
from llmc.indexer.jobs import WAIT_SECONDS, try_embedder
from llmc.indexer.keeper import Keeper
from llmc.indexer.lane import Lane, built_anew
from llmc.indexer.watch import open_watcher
from llmc.store import Store
from llmc.turns import waiting

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from llmc.embed import Embedder
    from llmc.home import Home
    from llmc.indexer.keeper import Freshness
    from llmc.indexer.watch import Reason, Watcher
    from llmc.model import Root
    from llmc.settings import EmbedderSettings, Settings

__all__ = ["Library"]

log = logs.get("library")

# The very first question of a small repository is worth waiting for: it is indexed within this time. A larger one
# answers from what is there, and says how far it is.
FIRST_BUILD_SECONDS = 4.0


@dataclass(eq=False)
class Library:
    """`processes`: large work goes to worker processes. `watching`: roots are watched; else `settle` walks them."""

    home: Home
    watching: bool = True
    processes: bool = True
    on_commit: Callable[[Keeper, set[str]], None] = lambda _keeper, _paths: None
    keepers: dict[str, Keeper] = field(default_factory=dict)
    lanes: dict[str, Lane] = field(default_factory=dict)
    embedders: dict[EmbedderSettings, tuple[Embedder | None, str]] = field(default_factory=dict)
    _watcher: Watcher | None = None
    _lock: threading.RLock = field(default_factory=threading.RLock)

    def open(self, root: Root, settings: Settings) -> Keeper:
        """The keeper of a root; other settings than last time make the root be looked at anew."""
        with self._lock:
            keeper = self.keepers.get(root.id)
            if keeper is not None and (keeper.settings.index, keeper.settings.embedder) == (
                settings.index,
                settings.embedder,
            ):
                return keeper
            if keeper is not None:
                self.drop(root.id)
            lane = self._lane(root, settings)
            keeper = self._keeper(root, settings)
            self.keepers[root.id] = keeper
            keeper.watch()
            lane.keepers.append(keeper)
            lane.wake()
            return keeper

    def knows(self, root: Root) -> bool:
        """Whether there is an index of this root's family."""
        return root.family in self.lanes or os.path.isdir(os.path.join(self.home.stores, root.family))  # noqa: PTH112, PTH118

    def drop(self, root: str) -> None:
        """Stop keeping a root; its index stays."""
        with self._lock:
            keeper = self.keepers.pop(root, None)
            if keeper is not None:
                self.lanes[keeper.root.family].keepers.remove(keeper)
                keeper.unwatch()

    def lane(self, keeper: Keeper) -> Lane:
        return self.lanes[keeper.root.family]

    def settle(self, keepers: Sequence[Keeper], barrier: float, settle: float) -> list[Freshness]:
        """Wait, within bounds, until the store holds all that happened before this call; say what it does not."""
        uncovered = self._watcher.barrier(barrier, [keeper.root for keeper in keepers]) if self._watcher else {}
        for keeper in keepers:
            if self._watcher is None:
                keeper.pending.mark_folder("", "no watcher")
            if keeper.pending:
                self.lane(keeper).wake(hurry=True)
        deadline = time.monotonic() + settle
        for keeper in keepers:
            last = deadline if keeper.built else keeper.opened + FIRST_BUILD_SECONDS
            if keeper.pending:
                with waiting():
                    keeper.pending.wait_settled(max(0.0, last - time.monotonic()))
        notes = [(uncovered[keeper.root],) if keeper.root in uncovered else () for keeper in keepers]
        return [keeper.freshness(note) for keeper, note in zip(keepers, notes, strict=True)]

    def rest(self) -> None:
        """Nobody has asked for a while."""
        with self._lock:
            stores = [lane.store for lane in self.lanes.values()]
        for store in stores:
            store.rest()

    def catch_up(self, keepers: Sequence[Keeper], barrier: float) -> None:
        """Owe everything that a root may lack: a walk, unless its watcher vouches that nothing else has changed."""
        uncovered = self._watcher.barrier(barrier, [keeper.root for keeper in keepers]) if self._watcher else {}
        for keeper in keepers:
            if self._watcher is None or keeper.root in uncovered or not keeper.is_watched():
                keeper.pending.mark_folder("", "asked for")
            self.lane(keeper).wake(hurry=True)

    def close(self) -> None:
        with self._lock:
            for lane in self.lanes.values():
                lane.close()
            if self._watcher is not None:
                self._watcher.close()
            for keeper in self.keepers.values():
                keeper.door.close()
            for lane in self.lanes.values():
                lane.store.close()
            self.keepers.clear()
            self.lanes.clear()

    @property
    def busy(self) -> bool:
        return any(lane.busy for lane in self.lanes.values())

    def embedder(self, settings: EmbedderSettings) -> tuple[Embedder | None, str]:
        """(the embedder, why there is none)."""
        with self._lock:
            if settings not in self.embedders:
                self.embedders[settings] = try_embedder(settings)
            return self.embedders[settings]

    def _keeper(self, root: Root, settings: Settings) -> Keeper:
        door = Door(root.path)
        index = settings.index
        exclude = (*index.exclude, *self._own_folder(root))
        rules = Rules(door, include=index.include, exclude=exclude, hidden=index.hidden)
        if self.watching and self._watcher is None:
            self._watcher = open_watcher(self._on_dirty, self._on_rescan)
        return Keeper(root, settings, door, rules, self._watcher)

    def _own_folder(self, root: Root) -> tuple[str, ...]:
        """The index is never indexed, should its folder lie inside a root."""
        inside = paths.inside(self.home.path, root.path)
        return (f"/{inside}/",) if inside else ()

    def _lane(self, root: Root, settings: Settings) -> Lane:
        lane = self.lanes.get(root.family)
        if lane is None:
            folder = os.path.join(self.home.stores, root.family)  # noqa: PTH118 - strings, as in Home
            embedder, trouble = self.embedder(settings.embedder)
            if trouble:
                log.warning("no vectors", error=trouble)
            store, note = open_reader(folder, embedder)
            lane = Lane(root.family, folder, store, embedder, self.processes, self.on_commit, note=note)
            self.lanes[root.family] = lane
            lane.start()
        return lane

    def _on_dirty(self, root: Root, paths: set[str]) -> None:
        keeper = self.keepers.get(root.id)
        if keeper is not None and (
            wanted := {path for path in paths if not keeper.rules.ignored(path, is_folder=False)}
        ):
            keeper.mark(wanted)
            self.lane(keeper).wake()

    def _on_rescan(self, root: Root, folder: str, reason: Reason) -> None:
        keeper = self.keepers.get(root.id)
        if keeper is not None:
            keeper.mark_folder(folder, str(reason))
            self.lane(keeper).wake()


def open_reader(folder: str, embedder: Embedder | None) -> tuple[Store, str]:
    """Made, or repaired, by a first opening for writing. One that is damaged, or of an older format, is built anew:
    everything in it is on disk too. Then there is a sentence that says so.
    """
    name, dimension = (embedder.name, embedder.dimension) if embedder else (None, 0)
    note = ""
    try:
        Store.open(folder, name, dimension, write=True, wait=WAIT_SECONDS).close()
    except CorruptStoreError as error:
        note = built_anew(error)
        log.warning(note, folder=folder, error=str(error))
        Store.open(folder, name, dimension, write=True, rebuild=True, wait=WAIT_SECONDS).close()
    return Store.open(folder, name, dimension), note
