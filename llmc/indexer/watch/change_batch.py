"""The changes that one read of a watcher found: paths that may differ and folders that must be walked, for each root.

They are collected while events are read and delivered afterwards, when the watcher holds no lock, so that a callback
may call the watcher.
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

__all__ = ["ChangeBatch", "ChangesByRoot", "is_within", "join"]

_SEVERITY = list(Reason)

log = logging.getLogger(__name__)


def join(folder: str, name: str) -> str:
    return f"{folder}/{name}" if folder else name


def is_within(path: str, folder: str) -> bool:
    """Is `path` the folder itself or anywhere below it?"""
    return not folder or path == folder or path.startswith(f"{folder}/")


class ChangeBatch:
    """Changes of one root. Truthy when there are any."""

    def __init__(self) -> None:
        self.dirty: set[str] = set()
        self._rescans: dict[str, Reason] = {}

    def __bool__(self) -> bool:
        return bool(self.dirty or self._rescans)

    def rescan(self, folder: str, reason: Reason) -> None:
        _keep_gravest(self._rescans, folder, reason)

    def rescans(self) -> dict[str, Reason]:
        """Only the topmost folders, each with the gravest reason below it: one walk covers all of them."""
        topmost: dict[str, Reason] = {}
        for folder, reason in self._rescans.items():
            _keep_gravest(topmost, next((up for up in _ancestors(folder) if up in self._rescans), folder), reason)
        return topmost

    def deliver(self, root: Root, on_dirty: OnDirty, on_rescan: OnRescan) -> bool:
        """Call the callbacks. False when one failed: this root has then lost changes, and the watcher goes on."""
        try:
            if self.dirty:
                on_dirty(root, self.dirty)
            for folder, reason in self.rescans().items():
                on_rescan(root, folder, reason)
        except Exception:
            log.exception("changes below %s could not be recorded", root.path)
            return False
        return True


class ChangesByRoot(defaultdict["Root", ChangeBatch]):
    def __init__(self) -> None:
        super().__init__(ChangeBatch)


def _keep_gravest(folders: dict[str, Reason], folder: str, reason: Reason) -> None:
    folders[folder] = max(folders.get(folder, reason), reason, key=_SEVERITY.index)


def _ancestors(folder: str) -> Iterator[str]:
    """The folders above, from the root itself ("") downwards."""
    yield ""
    at = folder.find("/")
    while at >= 0:
        yield folder[:at]
        at = folder.find("/", at + 1)
