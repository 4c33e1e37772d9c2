"""Limits on the files and bytes that one question may read, enforced where files are opened.

A `ReadMeter` counts for one role and, through its parent, for the whole question; the stricter limit applies. Each
file counts once however often it is read, and its content is cached for the other roles of the question. A
`MeteredRootFs` replaces the `RootFs` of a view, so every read made by retrieval is counted, including the check of a
hit against the disk. A read over the limit is refused, and retrieval skips that file. Every read also checks the
deadline and cancellation.
"""

from __future__ import annotations

import os
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING

from llmc.answers.research.errors import OverBudgetError
from llmc.base.root_fs import ReadError, ReadRefusal, RootFs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from llmc.base.model import Stamp
    from llmc.base.root_fs import DirectoryEntry, StatResult

    Content = tuple[bytes, Stamp]

__all__ = ["Budget", "MeteredRootFs", "ReadMeter"]


@dataclass(frozen=True, slots=True)
class Budget:
    files: int
    bytes: int


class ReadMeter:
    """The files and bytes read so far, and the paths whose reads were refused. Thread-safe."""

    def __init__(self, budget: Budget, parent: ReadMeter | None = None) -> None:
        self.budget = budget
        self.parent = parent
        self._refused: set[str] = set()
        self._stopped = False
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
        return bool(self._refused or self._stopped)

    @property
    def note(self) -> str:
        """What the limits kept from being read or searched; empty if they were not reached."""
        notes = []
        if self._refused:
            candidates = self.files + len(self._refused)
            notes.append(f"Read {self.files} of {candidates} candidate files: the limit on files or bytes was reached.")
        if self._stopped:
            notes.append("A text search ran out of time: further files may match.")
        return " ".join(notes)

    def note_stopped(self) -> None:
        """A text search was stopped at its time limit."""
        self._stopped = True
        if self.parent:
            self.parent.note_stopped()

    def room(self, key: tuple[str, str]) -> int:
        """The number of bytes this file may have; -1 when no further file may be read."""
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
        self._refused.add(path)
        if self.parent:
            self.parent.refuse(path)
        return OverBudgetError(
            f"{path} was not read", reason="the file or byte limit of this question is reached", path=path
        )

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
    """A `RootFs` that charges every read to a meter and delegates it to the inner `RootFs`."""

    def __init__(self, inner: RootFs, meter: ReadMeter, check: Callable[[], None]) -> None:
        self.path = inner.path
        self.is_virtual = inner.is_virtual
        self.generation = inner.generation
        self.denylist = inner.denylist
        self._inner = inner
        self._meter = meter
        self._check = check

    def close(self) -> None:
        """The inner `RootFs` is owned by the registry and stays open."""

    def read(self, path: str, limit: int, *, follow: bool = False, walking: bool = False) -> Content:
        del walking  # metered reads are always counted as single files
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

    def expect(self, paths: Iterable[str]) -> None:
        self._inner.expect(paths)

    def open_folder(self, folder: str) -> int:
        return self._inner.open_folder(folder)

    def stat(self, path: str) -> StatResult | None:
        return self._inner.stat(path)

    def list(self, folder: str) -> list[DirectoryEntry]:
        return self._inner.list(folder)
