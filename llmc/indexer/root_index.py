"""One root that is kept right: watched, its changes noted, brought up to date by its family's lane.

The watcher's thread only marks what changed (`pending`); the lane's thread does the work; a query's thread asks
`settle` and gets to know what the store does not hold yet. Nothing here blocks the watcher.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from llmc.base.root_fs import FileKind
from llmc.indexer.changes import below, find_changes
from llmc.indexer.pending import Pending
from llmc.indexer.watch import Mode

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from llmc.base.ignore import Rules
    from llmc.base.model import Root
    from llmc.base.root_fs import RootFs
    from llmc.indexer.scan import Tally
    from llmc.indexer.watch import Health, Watcher
    from llmc.settings import Settings
    from llmc.store.catalog.reader import Catalog

__all__ = ["BuildProgress", "Freshness", "RootIndex"]


@dataclass(frozen=True, slots=True)
class BuildProgress:
    """How far a build is."""

    stage: str
    done: int = 0
    total: int = 0
    rate: float = 0.0
    path: str = ""

    @property
    def eta(self) -> float | None:
        return (self.total - self.done) / self.rate if self.rate and self.total else None


@dataclass(frozen=True, slots=True)
class Freshness:
    """What a query must know: paths that the store may not hold as they are, and why it cannot know more."""

    pending: frozenset[str] = frozenset()
    folders: dict[str, str] = field(default_factory=dict)
    share: float = 1.0
    notes: tuple[str, ...] = ()


@dataclass(slots=True, eq=False)
class RootIndex:
    root: Root
    settings: Settings
    root_fs: RootFs
    rules: Rules
    watcher: Watcher | None = None
    pending: Pending = field(default_factory=Pending)
    progress: BuildProgress | None = None
    built: bool = False  # the store has held all of the root at least once since this keeper began
    owed: int | None = None  # files that the first walk found to be indexed; None until it has ended
    error: str = ""
    denied: frozenset[str] = frozenset()  # files and folders that only the denylist keeps out of the index
    tally: Tally | None = None  # what the last walk of the whole root passed over
    opened: float = field(default_factory=time.monotonic)
    last_change: float | None = None
    last_commit: float | None = None
    last_scan: float | None = None

    def watch(self) -> None:
        """Watch first, walk afterwards: what changes in between is told twice rather than never."""
        if self.watcher is not None:
            self.watcher.add(self.root, self.rules.ignored)
        self.pending.mark_folder("", "start")

    def unwatch(self) -> None:
        if self.watcher is not None:
            self.watcher.remove(self.root)
        self.root_fs.close()

    def mark(self, paths: Iterable[str]) -> None:
        self.last_change = time.time()
        self.pending.mark(paths)

    def mark_folder(self, folder: str, reason: str) -> None:
        self.last_change = time.time()
        self.rules.forget(folder)
        self.pending.mark_folder(folder, reason)

    def walk(self, catalog: Catalog, folders: Collection[str]) -> set[str]:
        """The paths below these folders that differ from the catalog. Rules and watches first, the walk afterwards."""
        for folder in folders:
            self.rules.forget(folder)
            if self.watcher is not None:
                self.watcher.rewatch(self.root, folder)
        changes = find_changes(
            self.root.id, self.root_fs, self.rules, catalog, settings=self.settings.index, folders=folders
        )
        self.denied = frozenset(
            {path for path in self.denied if not any(below(path, folder) for folder in folders)} | changes.denied
        )
        if "" in folders:
            self.tally = changes.tally
            self.owed = len(changes.paths)
        return changes.paths

    def note_denied(self, paths: Iterable[str]) -> None:
        """Keep count of denied files that come and go; everything else about them is ignored."""
        for path in paths:
            if self.rules.denies(path) and not self.rules.hides(path, is_folder=False):
                there = self.root_fs.stat(path) is not None
                self.denied = self.denied | {path} if there else self.denied - {path}

    def is_unindexed(self, path: str) -> bool:
        """Whether something is at the path that the index leaves out, or a link that may lead there."""
        seen = self.root_fs.stat(path)
        if seen is None:
            return False
        is_folder = seen.kind is FileKind.FOLDER
        return not (is_folder or seen.kind is FileKind.FILE) or self.rules.ignored(path, is_folder=is_folder)

    def sift(self, paths: Iterable[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """(what belongs to the root, what the rules leave out), each in order."""
        ordered = sorted(paths)
        hidden = {path for path in ordered if self.rules.ignored(path, is_folder=False)}
        return tuple(path for path in ordered if path not in hidden), tuple(path for path in ordered if path in hidden)

    def walked(self) -> None:
        """A walk of the whole root has been worked off."""
        self.built = True
        self.last_scan = time.time()
        if self.watcher is not None:
            self.watcher.healed(self.root)

    def health(self) -> Health | None:
        return self.watcher.health(self.root) if self.watcher is not None else None

    def is_watched(self) -> bool:
        """Whether the index has been right once and nothing can have changed since without being marked."""
        health = self.health()
        return (
            self.built and not self.error and health is not None and health.mode is Mode.EVENTS and not health.degraded
        )

    def freshness(self, notes: tuple[str, ...] = ()) -> Freshness:
        shown, _ = self.sift(self.pending.paths())
        return Freshness(frozenset(shown), self.pending.folders(), self.share(), notes)

    def share(self) -> float:
        """How much of the root is searchable while it is built, or after a time without a watcher."""
        if self.built or not self.tally or not self.tally.files or self.owed is None:
            return 1.0 if self.built else 0.0
        done = self.progress.done if self.progress else 0
        return min(1.0, max(0.0, 1.0 - (self.owed - done) / self.tally.files))
