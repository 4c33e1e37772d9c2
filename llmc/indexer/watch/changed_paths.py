"""What one turn of a watcher found out: paths that may have changed and folders that must be walked, root by root.

Collected while events are read, told to the callbacks afterwards, when the watcher holds no lock: a callback may call
the watcher again.
"""

from __future__ import annotations

import logging
from collections import defaultdict
from typing import TYPE_CHECKING

from llmc.indexer.watch.protocol import Reason

if TYPE_CHECKING:
    from collections.abc import Iterator

    from llmc.base.model import Root
    from llmc.indexer.watch.protocol import OnDirty, OnRescan

__all__ = ["ChangedPaths", "beneath", "join"]

_GRAVITY = list(Reason)

log = logging.getLogger(__name__)


def join(folder: str, name: str) -> str:
    return f"{folder}/{name}" if folder else name


def beneath(path: str, folder: str) -> bool:
    """Is `path` the folder itself or anywhere below it?"""
    return not folder or path == folder or path.startswith(f"{folder}/")


class ChangedPaths:
    def __init__(self) -> None:
        self.dirty: defaultdict[Root, set[str]] = defaultdict(set)
        self._rescans: defaultdict[Root, dict[str, Reason]] = defaultdict(dict)

    def rescan(self, root: Root, folder: str, reason: Reason) -> None:
        _note(self._rescans[root], folder, reason)

    def rescans(self, root: Root) -> dict[str, Reason]:
        """Only the topmost folders, each with the gravest reason below it: one walk serves all of them."""
        folders = self._rescans[root]
        topmost: dict[str, Reason] = {}
        for folder, reason in folders.items():
            _note(topmost, next((above for above in _path_to(folder) if above in folders), folder), reason)
        return topmost

    def tell(self, on_dirty: OnDirty, on_rescan: OnRescan) -> list[Root]:
        """The roots whose hints a callback failed to take."""
        failed = []
        for root in {**self.dirty, **self._rescans}:
            try:
                if paths := self.dirty.get(root):
                    on_dirty(root, paths)
                for folder, reason in self.rescans(root).items():
                    on_rescan(root, folder, reason)
            except Exception:  # whatever it is, the watcher lives on and says that this root lost changes
                log.exception("changes below %s could not be noted", root.path)
                failed.append(root)
        return failed


def _note(folders: dict[str, Reason], folder: str, reason: Reason) -> None:
    folders[folder] = max(folders.get(folder, reason), reason, key=_GRAVITY.index)


def _path_to(folder: str) -> Iterator[str]:
    """The folders above, from the root itself ("") downwards."""
    yield ""
    at = folder.find("/")
    while at >= 0:
        yield folder[:at]
        at = folder.find("/", at + 1)
