"""The index of one root, which is watched, and which the writer thread of its family keeps up to date.

The watcher only marks changes, the writer thread processes the marks, and `freshness` tells a query which paths are not
in the store yet. Nothing here blocks the watcher. `Pending` contains the marks: changed paths, and folders to walk
again. A mark that is set while its path is being indexed stays for the next round.
"""

from __future__ import annotations

import math
import threading
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from llmc.base.errors import RootError
from llmc.base.root_fs import FileKind
from llmc.indexer.changes import below, find_changes
from llmc.indexer.watch import Mode

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from llmc.base.ignore import Rules
    from llmc.base.model import Root
    from llmc.base.root_fs import RootFs
    from llmc.indexer.changes import Changes
    from llmc.indexer.scan import Tally
    from llmc.indexer.watch import Health, Watcher
    from llmc.settings import Settings
    from llmc.store.catalog.reader import Catalog

__all__ = ["BuildProgress", "Freshness", "PendingBatch", "RootIndex"]


@dataclass(frozen=True, slots=True)
class PendingBatch:
    """The marks that one round of work covers, with their numbers."""

    paths: Mapping[str, int]
    folders: Mapping[str, int]
    reasons: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.paths or self.folders)


@dataclass(frozen=True, slots=True)
class PendingSnapshot:
    """`version` changes with every mark and every settlement. `folders` must still be walked, each with a reason."""

    version: int
    paths: frozenset[str]
    folders: Mapping[str, str]


@dataclass(slots=True)
class Pending:
    _paths: dict[str, int] = field(default_factory=dict)
    _folders: dict[str, int] = field(default_factory=dict)
    _reasons: dict[str, str] = field(default_factory=dict)
    _walked: dict[str, int] = field(default_factory=dict)  # folders that were walked; files found there are pending
    _count: int = 0
    _version: int = 0
    _marked_at: float = 0.0
    _unsettled_since: float = 0.0
    _changed: threading.Condition = field(default_factory=threading.Condition)

    def mark(self, paths: Iterable[str]) -> None:
        with self._changed:
            self._note()
            self._paths.update(dict.fromkeys(paths, self._count))

    def mark_folder(self, folder: str, reason: str) -> None:
        """Everything below this folder may differ from the store; "" is the whole root."""
        with self._changed:
            self._note()
            self._folders[folder] = self._count
            self._reasons[folder] = reason

    def take(self) -> PendingBatch:
        with self._changed:
            return PendingBatch(dict(self._paths), dict(self._folders), tuple(self._reasons.values()))

    def expand(self, batch: PendingBatch, paths: Iterable[str]) -> PendingBatch:
        """Replace the folders of a batch by the changed files that the walk found in them. The folders stay marked
        until the new batch is settled, so a query that waits for a folder also waits for these files."""
        with self._changed:
            self._version += 1
            newest = max(batch.folders.values(), default=0)
            found = {path: self._paths.setdefault(path, newest) for path in paths if path not in batch.paths}
            self._walked |= batch.folders
            return PendingBatch({**found, **batch.paths}, batch.folders, batch.reasons)

    def settle(self, batch: PendingBatch, only: Iterable[str] | None = None) -> None:
        """Remove the marks of the batch, or of `only` these paths: the store contains them now."""
        with self._changed:
            if only is None:
                self._drop(self._folders, batch.folders)
                self._drop(self._paths, batch.paths)
            else:
                self._drop(self._paths, {path: batch.paths[path] for path in only if path in batch.paths})
            self._changed.notify_all()

    def _drop(self, marks: dict[str, int], done: Mapping[str, int]) -> None:
        """Remove marks, except those that were renewed in the meantime."""
        self._version += 1
        for name, number in done.items():
            if marks.get(name) == number:
                del marks[name]
        self._reasons = {folder: why for folder, why in self._reasons.items() if folder in self._folders}
        self._walked = {folder: number for folder, number in self._walked.items() if folder in self._folders}

    def paths(self) -> frozenset[str]:
        with self._changed:
            return frozenset(self._paths)

    def folders(self) -> dict[str, str]:
        with self._changed:
            return dict(self._reasons)

    def snapshot(self) -> PendingSnapshot:
        """Paths and folders at the same moment; a walk may end between separate calls of `paths` and `folders`."""
        with self._changed:
            unwalked = {folder for folder, number in self._folders.items() if self._walked.get(folder) != number}
            folders = {folder: self._reasons[folder] for folder in unwalked}
            return PendingSnapshot(self._version, frozenset(self._paths), folders)

    def quiet_for(self) -> float:
        """Seconds since the last mark."""
        with self._changed:
            return time.monotonic() - self._marked_at

    def unsettled_for(self) -> float:
        """Seconds since the first mark that is not settled."""
        with self._changed:
            return time.monotonic() - self._unsettled_since

    def __bool__(self) -> bool:
        with self._changed:
            return bool(self._paths or self._folders)

    def __len__(self) -> int:
        """How many paths are pending."""
        return len(self._paths)

    def wait_settled(self, seconds: float) -> bool:
        """Whether everything that is pending now is settled within this time."""
        deadline = time.monotonic() + seconds
        with self._changed:
            newest = self._count
            while self._has_unsettled(newest):
                left = deadline - time.monotonic()
                if left <= 0 or not self._changed.wait(left):
                    return not self._has_unsettled(newest)
            return True

    def _note(self) -> None:
        self._count += 1
        self._version += 1
        self._marked_at = time.monotonic()
        if not self._paths and not self._folders:
            self._unsettled_since = self._marked_at
        self._changed.notify_all()

    def _has_unsettled(self, newest: int) -> bool:
        return any(n <= newest for n in self._paths.values()) or any(n <= newest for n in self._folders.values())


@dataclass(frozen=True, slots=True)
class BuildProgress:
    """The progress of a build."""

    stage: str
    done: int = 0
    total: int = 0
    rate: float = 0.0
    path: str = ""

    @property
    def eta(self) -> float | None:
        return (self.total - self.done) / self.rate if self.rate and self.total else None


# A query walks the folders that the writer thread has not reached yet, unless the walk of the root takes longer than
# this; the reply then reports it. 30,000 files take 0.4 s.
QUERY_WALK_SECONDS = 1.0

# The number of ignore verdicts that are cached between the watcher's mark and the writer's batch.
MOST_VERDICTS = 10_000
ALMOST = 0.99  # everything is committed except the vectors


@dataclass(frozen=True, slots=True)
class Freshness:
    """What a query needs to know: the paths whose current content may not be in the store, those that the store may
    contain although the rules exclude them now, and the indexed share of the root. `unsure` is the reason why there may
    be further paths."""

    pending: frozenset[str] = frozenset()
    hidden: frozenset[str] = frozenset()
    share: float = 1.0
    unsure: str = ""


PathSplit = tuple[frozenset[str], frozenset[str]]  # paths that belong to the root, paths that the rules exclude
NOTHING: PathSplit = (frozenset(), frozenset())


def as_sets(split: tuple[Iterable[str], Iterable[str]]) -> PathSplit:
    return frozenset(split[0]), frozenset(split[1])


@dataclass(slots=True, eq=False)
class RootIndex:
    root: Root
    settings: Settings
    root_fs: RootFs
    rules: Rules
    watcher: Watcher | None = None
    pending: Pending = field(default_factory=Pending)
    progress: BuildProgress | None = None
    built: bool = False  # the store was complete at least once since it was opened
    walk_seconds: float = 0.0  # how long the last walk of the whole root took
    error: str = ""
    denied: frozenset[str] = frozenset()  # files and folders that only the denylist keeps out of the index
    tally: Tally | None = None  # what the last walk of the whole root skipped
    opened: float = field(default_factory=time.monotonic)
    last_change: float | None = None
    last_commit: float | None = None
    last_scan: float | None = None
    _verdicts: tuple[int, dict[str, bool]] = (-1, {})  # version of `rules`, path → whether they ignore it
    _split: tuple[int, int, PathSplit] = (-1, -1, NOTHING)  # versions of `pending` and `rules`, the split of its paths

    def watch(self) -> None:
        """Place the watches, then schedule a walk: in this order a change in between is reported twice, not missed."""
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
        """The paths below these folders that differ from the catalog. Rules and watches are updated before the walk."""
        for folder in folders:
            self.rules.forget(folder)
            if self.watcher is not None:
                self.watcher.rewatch(self.root, folder)
        started = time.monotonic()
        changes = self._changes(catalog, folders)
        self.denied = frozenset(
            {path for path in self.denied if not any(below(path, folder) for folder in folders)} | changes.denied
        )
        if "" in folders:
            self.tally = changes.tally
            self.walk_seconds = time.monotonic() - started
        return changes.paths

    def _changes(self, catalog: Catalog, folders: Collection[str], deadline: float = math.inf) -> Changes:
        return find_changes(
            self.root.id,
            self.root_fs,
            self.rules,
            catalog,
            settings=self.settings.index,
            folders=folders,
            deadline=deadline,
        )

    def leaves_out(self, path: str, *, is_folder: bool) -> bool:
        """Whether a path is not indexed because it is too deep for a walk or the rules ignore it."""
        too_deep = path.count("/") + is_folder > self.settings.index.max_depth
        return too_deep or self.rules.ignored(path, is_folder=is_folder)

    def ignores(self, path: str) -> bool:
        """Whether a file is not indexed; evaluated once per path until the rules change."""
        version, verdicts = self._verdicts
        if version != self.rules.version or len(verdicts) >= MOST_VERDICTS:
            verdicts = {}
            self._verdicts = self.rules.version, verdicts
        verdict = verdicts.get(path)
        if verdict is None:
            verdict = verdicts[path] = self.leaves_out(path, is_folder=False)
        return verdict

    def note_denied(self, paths: Iterable[str]) -> None:
        """Update the set of denied files, which is all that is recorded about them."""
        for path in paths:
            if self.rules.denies(path) and not self.rules.hides(path, is_folder=False):
                there = self.root_fs.stat(path) is not None
                self.denied = self.denied | {path} if there else self.denied - {path}

    def is_unindexed(self, path: str) -> bool:
        """Whether something exists at the path that is not indexed, or a link that may lead to it."""
        seen = self.root_fs.stat(path)
        if seen is None:
            return False
        is_folder = seen.kind is FileKind.FOLDER
        return not (is_folder or seen.kind is FileKind.FILE) or self.leaves_out(path, is_folder=is_folder)

    def split_by_rules(self, paths: Iterable[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """(paths that belong to the root, paths that the rules exclude), each in order."""
        ordered = sorted(paths)
        hidden = {path for path in ordered if self.ignores(path)}
        return tuple(path for path in ordered if path not in hidden), tuple(path for path in ordered if path in hidden)

    def walked(self) -> None:
        """Record that the store contains everything that a walk of the whole root found."""
        self.built = True
        self.last_scan = time.time()
        if self.watcher is not None:
            self.watcher.healed(self.root)

    def health(self) -> Health | None:
        return self.watcher.health(self.root) if self.watcher is not None else None

    def is_watched(self) -> bool:
        """Whether the index was complete once, and every change since then has been marked."""
        health = self.health()
        return (
            self.built and not self.error and health is not None and health.mode is Mode.EVENTS and not health.degraded
        )

    def freshness(self, catalog: Catalog, uncovered: str = "") -> Freshness:
        """`uncovered` is the reason why the watcher may have missed changes; empty if it has not."""
        seen = self.pending.snapshot()
        (shown, hidden), unsure = self._split_of(seen), ""
        folders = {"", *seen.folders} if uncovered else set(seen.folders)
        if folders:
            (found, excluded), unsure = self._walk_for_query(catalog, folders, uncovered)
            shown, hidden = shown | found, hidden | excluded
        return Freshness(shown, hidden, self.share(), unsure)

    def _walk_for_query(self, catalog: Catalog, folders: set[str], uncovered: str) -> tuple[PathSplit, str]:
        """(paths that differ from the catalog, why there may be more). The writer thread may be busy for minutes with
        an earlier batch, and the watcher may be behind."""
        reason = uncovered or "a folder is still being listed"
        if self.walk_seconds > QUERY_WALK_SECONDS:
            return NOTHING, reason
        try:
            changes = self._changes(catalog, folders, time.monotonic() + QUERY_WALK_SECONDS)
        except RootError as error:
            return NOTHING, error.message
        return as_sets(self.split_by_rules(changes.paths)), "" if changes.complete else reason

    def _split_of(self, seen: PendingSnapshot) -> PathSplit:
        """The pending paths, split by the rules; cached, since a build has thousands and the rules take 10 µs for
        each."""
        version, rules, split = self._split
        if (version, rules) != (seen.version, self.rules.version):
            rules = self.rules.version
            split = as_sets(self.split_by_rules(seen.paths))
            self._split = seen.version, rules, split
        return split

    def share(self) -> float:
        """The share of the root that is searchable, below 1 during a build or after a time without a watcher."""
        if self.built or not self.tally or not self.tally.files:
            return 1.0 if self.built else 0.0
        return min(ALMOST, max(0.0, 1.0 - len(self.pending) / self.tally.files)) if len(self.pending) else 1.0
