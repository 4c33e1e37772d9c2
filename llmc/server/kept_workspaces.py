"""Caches the workspaces of the daemon's clients while their settings and roots are unchanged.

A workspace is created again if its settings were reloaded (`settings.cache`), if a root was replaced, forgotten or
reopened with other settings, or if the `.git` that determines its family has changed. Nested roots depend on ignore
files, so workspaces with such roots are not cached.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from llmc.base import paths
from llmc.settings.cache import path_stamps

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from llmc.settings import Loaded, RootEntry
    from llmc.workspace import Workspace

__all__ = ["KeptWorkspace", "KeptWorkspaces", "stamp_of_roots"]

MOST_WORKSPACES = 64


@dataclass(frozen=True, slots=True)
class KeptWorkspace:
    """`stamp` was taken before the workspace was built; None if a root had just been changed."""

    workspace: Workspace
    loaded: Loaded
    entries: Sequence[RootEntry]
    stamp: Hashable

    def is_current(self, loaded: Loaded) -> bool:
        return loaded is self.loaded and self.workspace.is_open and stamp_of_roots(self.entries) == self.stamp


class KeptWorkspaces:
    """Thread-safe."""

    def __init__(self, size: int = MOST_WORKSPACES) -> None:
        self._size = size
        self._kept: OrderedDict[Hashable, KeptWorkspace] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Hashable, loaded: Loaded) -> Workspace | None:
        with self._lock:
            kept = self._kept.get(key)
        return kept.workspace if kept is not None and kept.is_current(loaded) else None

    def put(self, key: Hashable, kept: KeptWorkspace) -> None:
        if kept.stamp is None or is_nested(kept.entries):
            return
        with self._lock:
            self._kept[key] = kept
            self._kept.move_to_end(key)
            while len(self._kept) > self._size:
                self._kept.popitem(last=False)

    def clear(self) -> None:
        with self._lock:
            self._kept.clear()


def stamp_of_roots(entries: Sequence[RootEntry]) -> Hashable:
    """Changes when a root, a link to it or its `.git` is replaced; None while they change."""
    return path_stamps(path for entry in entries for path in (str(entry.path), f"{entry.path}/.git"))


def is_nested(entries: Sequence[RootEntry]) -> bool:
    places = [str(entry.path) for entry in entries]
    return any(one is not other and paths.inside(one, other) is not None for one in places for other in places)
