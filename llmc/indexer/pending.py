"""What is pending in a root: paths that changed and folders to walk again, until the store holds them.

The watcher marks; the writer thread takes, walks and settles; a query takes a snapshot. A mark made while its path is
being indexed outlives that round: only what was taken is settled.
"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["Pending", "PendingBatch", "PendingSnapshot"]


@dataclass(frozen=True, slots=True)
class PendingBatch:
    """One round of work. The numbers identify the marks that it covers."""

    paths: Mapping[str, int]
    folders: Mapping[str, int]
    reasons: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.paths or self.folders)


@dataclass(frozen=True, slots=True)
class PendingSnapshot:
    """`version` changes with every mark and every settlement. `folders` are still to be walked, each with a reason."""

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
    _owed_since: float = 0.0
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

    def expand(self, taken: PendingBatch, paths: Iterable[str]) -> PendingBatch:
        """The walk of the folders that were taken is done: what it found is pending. Returns the new batch. The folders
        stay marked until it is settled: a query that waits for a folder also waits for files that the walk found."""
        with self._changed:
            self._version += 1
            newest = max(taken.folders.values(), default=0)
            found = {path: self._paths.setdefault(path, newest) for path in paths if path not in taken.paths}
            self._walked |= taken.folders
            return PendingBatch({**found, **taken.paths}, taken.folders, taken.reasons)

    def settle(self, taken: PendingBatch, only: Iterable[str] | None = None) -> None:
        """The store holds what was taken, or `only` these paths of it."""
        with self._changed:
            if only is None:
                self._drop(self._folders, taken.folders)
                self._drop(self._paths, taken.paths)
            else:
                self._drop(self._paths, {path: taken.paths[path] for path in only if path in taken.paths})
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
        """Paths and folders at one moment: between two calls of `paths` and `folders` a walk may end."""
        with self._changed:
            unwalked = {folder for folder, number in self._folders.items() if self._walked.get(folder) != number}
            folders = {folder: self._reasons[folder] for folder in unwalked}
            return PendingSnapshot(self._version, frozenset(self._paths), folders)

    def quiet_for(self) -> float:
        """Seconds since the last mark."""
        with self._changed:
            return time.monotonic() - self._marked_at

    def owed_for(self) -> float:
        """Seconds since the first mark that is not settled."""
        with self._changed:
            return time.monotonic() - self._owed_since

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
            while self._owed(newest):
                left = deadline - time.monotonic()
                if left <= 0 or not self._changed.wait(left):
                    return not self._owed(newest)
            return True

    def _note(self) -> None:
        self._count += 1
        self._version += 1
        self._marked_at = time.monotonic()
        if not self._paths and not self._folders:
            self._owed_since = self._marked_at
        self._changed.notify_all()

    def _owed(self, newest: int) -> bool:
        return any(n <= newest for n in self._paths.values()) or any(n <= newest for n in self._folders.values())
