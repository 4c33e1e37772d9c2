"""How much may a question cost? Files and bytes are counted at the door, where nothing can go round them.

A `ReadMeter` counts for one role, and through its parent for the whole pipeline: the narrower of the two decides. Each
file counts once however often it is read, and its content is kept for the next role of the same question. A
`MeteredRootFs` stands in the place of a view's door, so that every read of retrieval (the check of a hit against the
disk included) is paid for; a read that there is no room for is refused, which retrieval takes as a file to pass by.
Deadlines and cancellation are looked at on the same occasion: a task that is to end reads no further file.
"""

from __future__ import annotations

import os
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING

from llmc.answers.research.errors import OverBudgetError
from llmc.base.root_fs import ReadError, ReadRefusal, RootFs

if TYPE_CHECKING:
    from collections.abc import Callable

    from llmc.base.model import Stamp
    from llmc.base.root_fs import DirectoryEntry, StatResult

    Content = tuple[bytes, Stamp]

__all__ = ["Budget", "MeteredRootFs", "ReadMeter"]


@dataclass(frozen=True, slots=True)
class Budget:
    files: int
    bytes: int


class ReadMeter:
    """What was read so far, and whether anything was refused for it; safe from many threads."""

    def __init__(self, budget: Budget, parent: ReadMeter | None = None) -> None:
        self.budget = budget
        self.parent = parent
        self.refused = 0
        self._sizes: dict[tuple[str, str], int] = {}
        self.held: dict[tuple[str, str], Content] = parent.held if parent else {}
        self.lock: threading.RLock = parent.lock if parent else threading.RLock()

    @property
    def files(self) -> int:
        return len(self._sizes)

    @property
    def size(self) -> int:
        return sum(self._sizes.values())

    @property
    def truncated(self) -> bool:
        return self.refused > 0

    def room(self, key: tuple[str, str]) -> int:
        """How many bytes this file may have; -1 when no further file may be read."""
        if key in self._sizes:
            mine = self._sizes[key]
        else:
            mine = self.budget.bytes - self.size if self.files < self.budget.files else -1
        return mine if self.parent is None else min(mine, self.parent.room(key))

    def charge(self, key: tuple[str, str], size: int) -> None:
        self._sizes.setdefault(key, size)
        if self.parent:
            self.parent.charge(key, size)

    def refuse(self, path: str) -> OverBudgetError:
        self.refused += 1
        if self.parent:
            self.parent.refuse(path)
        return OverBudgetError(f"{path} was not read", reason="the limit of files or bytes is reached", path=path)

    def read(self, root_fs: RootFs, path: str, limit: int, *, follow: bool) -> Content:
        key = (root_fs.path, path)
        with self.lock:
            room = self.room(key)
            held = self.held.get(key)
            if room < 0 or (held is not None and len(held[0]) > room):
                raise self.refuse(path)
            if held is None:
                held = self.held[key] = self._fetch(root_fs, path, min(limit, room), limit, follow=follow)
            self.charge(key, len(held[0]))
            return held

    def _fetch(self, root_fs: RootFs, path: str, allowed: int, limit: int, *, follow: bool) -> Content:
        try:
            return root_fs.read(path, allowed, follow=follow)
        except ReadError as error:
            if error.refusal is ReadRefusal.TOO_LARGE and allowed < limit:
                raise self.refuse(path) from None
            raise


class MeteredRootFs(RootFs):
    """A door that counts. It opens nothing itself: whatever it lets through goes to the door behind it."""

    def __init__(self, inner: RootFs, meter: ReadMeter, check: Callable[[], None]) -> None:
        self.path = inner.path
        self.generation = inner.generation
        self.denylist = inner.denylist
        self._inner = inner
        self._meter = meter
        self._check = check

    def close(self) -> None:
        """The door behind belongs to the library."""

    def read(self, path: str, limit: int, *, follow: bool = False, walking: bool = False) -> Content:
        del walking  # each file counts, and is looked at as one
        self._check()
        return self._meter.read(self._inner, path, limit, follow=follow)

    def head(self, path: str, size: int, *, follow: bool = False) -> bytes:
        return self.read(path, max(size, self._meter.budget.bytes), follow=follow)[0][:size]

    def open(self, path: str, *, follow: bool = False) -> int:
        self._check()
        fd = self._inner.open(path, follow=follow)
        key, size = (self.path, path), os.fstat(fd).st_size
        if size > self._meter.room(key):
            os.close(fd)
            raise self._meter.refuse(path)
        self._meter.charge(key, size)
        return fd

    def open_folder(self, folder: str) -> int:
        return self._inner.open_folder(folder)

    def stat(self, path: str) -> StatResult | None:
        return self._inner.stat(path)

    def list(self, folder: str) -> list[DirectoryEntry]:
        return self._inner.list(folder)
