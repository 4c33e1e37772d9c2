"""What a root still owes: paths that changed and folders to walk again, until the store holds them.

The watcher marks, the lane takes and settles, a query looks. A mark made while its path is being indexed outlives that
round: only what was taken is settled.
"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["Pending", "PendingBatch"]


@dataclass(frozen=True, slots=True)
class PendingBatch:
    """A round of work. The numbers say which marks it covers."""

    paths: Mapping[str, int]
    folders: Mapping[str, int]
    reasons: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.paths or self.folders)


@dataclass(slots=True)
class Pending:
    _paths: dict[str, int] = field(default_factory=dict)
    _folders: dict[str, int] = field(default_factory=dict)
    _reasons: dict[str, str] = field(default_factory=dict)
    _count: int = 0
    _marked_at: float = 0.0
    _owed_since: float = 0.0
    _changed: threading.Condition = field(default_factory=threading.Condition)

    def mark(self, paths: Iterable[str]) -> None:
        with self._changed:
            self._note()
            self._paths.update(dict.fromkeys(paths, self._count))

    def mark_folder(self, folder: str, reason: str) -> None:
        """Everything below this folder may differ from what the store says; "" is the whole root."""
        with self._changed:
            self._note()
            self._folders[folder] = self._count
            self._reasons[folder] = reason

    def take(self) -> PendingBatch:
        with self._changed:
            return PendingBatch(dict(self._paths), dict(self._folders), tuple(self._reasons.values()))

    def settle(self, taken: PendingBatch) -> None:
        with self._changed:
            for marks, done in ((self._paths, taken.paths), (self._folders, taken.folders)):
                for name, number in done.items():
                    if marks.get(name) == number:
                        del marks[name]
            for folder in taken.folders:
                if folder not in self._folders:
                    self._reasons.pop(folder, None)
            self._changed.notify_all()

    def paths(self) -> frozenset[str]:
        with self._changed:
            return frozenset(self._paths)

    def folders(self) -> dict[str, str]:
        with self._changed:
            return dict(self._reasons)

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

    def wait_settled(self, seconds: float) -> bool:
        """Whether everything that is owed now is settled within this time."""
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
        self._marked_at = time.monotonic()
        if not self._paths and not self._folders:
            self._owed_since = self._marked_at
        self._changed.notify_all()

    def _owed(self, newest: int) -> bool:
        return any(n <= newest for n in self._paths.values()) or any(n <= newest for n in self._folders.values())
