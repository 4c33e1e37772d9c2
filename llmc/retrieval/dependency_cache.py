"""Values cached together with their dependencies, so that a hit never differs from computing again.

Dependencies are the generation and the pending paths of every root, and the stamp of each file that was read. If any
of them has changed, the value is computed again.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import TYPE_CHECKING, Any, TypeVar

from llmc.base.cache_budget import cache_share
from llmc.base.concurrency import InFlightCache
from llmc.base.errors import LlmcError
from llmc.base.root_fs import settled

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Sequence

    from llmc.retrieval.search import FileDependency
    from llmc.retrieval.view import View

__all__ = ["DependencyCache"]

Value = TypeVar("Value")

MOST_VALUES = 256


class DependencyCache:
    """One per process, safe from any thread. At most `size` values are kept, and no more than fit into the share of
    replies in the budget of caches. `in_flight` shares values between calls that wait at the same time."""

    def __init__(self, size: int = MOST_VALUES, size_of: Callable[[Any], int] = lambda _value: 0) -> None:
        self._size = size
        self._size_of = size_of
        self._kept: OrderedDict[Hashable, tuple[Any, tuple[FileDependency, ...], int]] = OrderedDict()
        self._bytes = 0
        self._lock = threading.Lock()
        self.in_flight: InFlightCache[Any] = InFlightCache(size)
        self.hits = 0

    def clear(self) -> None:
        with self._lock:
            self._kept.clear()
            self._bytes = 0
        self.in_flight.clear()

    @property
    def memory(self) -> int:
        """The approximate size of the values in bytes."""
        return self._bytes

    def __len__(self) -> int:
        return len(self._kept)

    def get(
        self,
        views: Sequence[View],
        key: Hashable,
        compute: Callable[[list[FileDependency]], Value],
        is_valid: Callable[[Value], bool] = lambda _value: True,
        may_keep: Callable[[Value], bool] = lambda _value: True,
    ) -> tuple[Value, bool]:
        """The value for `key` and whether it came from the cache; `compute` appends the files that it reads to its
        argument."""
        full_key = (tuple(map(_state, views)), key)
        with self._lock:
            kept = self._kept.get(full_key)
        if kept is not None and is_valid(kept[0]) and all(map(_unchanged, kept[1])):
            self.hits += 1
            return kept[0], True
        read: list[FileDependency] = []
        value = compute(read)
        # Pending files were read too, whether or not the value shows them.
        if may_keep(value) and not any(view.pending for view in views):
            self._keep(full_key, value, read)
        return value, False

    def _keep(self, key: Hashable, value: object, read: Sequence[FileDependency]) -> None:
        size = self._size_of(value)
        with self._lock:
            if (before := self._kept.pop(key, None)) is not None:
                self._bytes -= before[2]
            self._kept[key] = (value, tuple(read), size)
            self._bytes += size
            while len(self._kept) > self._size or (self._bytes > cache_share("replies") and self._kept):
                self._bytes -= self._kept.popitem(last=False)[1][2]


def _state(view: View) -> Hashable:
    embedder = view.embedder.name if view.embedder else None
    generation = view.store.catalog.generation()
    paths = (view.pending, view.hidden, view.denied)
    return (view.root.id, str(view.store.folder), generation, embedder, *paths, view.share)


def _unchanged(file: FileDependency) -> bool:
    try:
        seen = file.view.root_fs.stat(file.path)
    except LlmcError:
        return False
    if file.stamp is None or seen is None:
        return file.stamp is None and seen is None
    return seen.stamp == file.stamp and settled(file.stamp)
