"""Places watches on the folders of a tree without a gap through which a change could slip.

A folder is opened, watched, and only then listed, all through one descriptor: whatever appears in it later is an event,
whatever was there before is in the list. `event_sorter` decides which events lead here; `supervisor` decides what
running out of watches means, for which this raises the OSError.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from llmc.indexer.watch.change_batch import join
from llmc.indexer.watch.inotify import FOLDER_MASK, GIT_MASK, ROOT_MASK
from llmc.indexer.watch.limits import is_limit
from llmc.indexer.watch.open_folder import open_below, open_root
from llmc.indexer.watch.protocol import RULE_FILES, Reason, is_ignored
from llmc.indexer.watch.watch_table import WatchedFolder

if TYPE_CHECKING:
    import threading
    from collections.abc import Iterable

    from llmc.indexer.watch.change_batch import ChangeBatch
    from llmc.indexer.watch.inotify import Inotify
    from llmc.indexer.watch.watch_table import WatchedRoot, WatchTable

__all__ = ["WatchPlacer"]


def list_folder(fd: int) -> tuple[list[str], list[str]]:
    """The names of the folders and of everything else; none for a folder that vanishes meanwhile."""
    folders: list[str] = []
    others: list[str] = []
    try:
        with os.scandir(fd) as entries:
            for entry in entries:
                (folders if entry.is_dir(follow_symlinks=False) else others).append(entry.name)
    except OSError as error:
        if is_limit(error):
            raise
    return folders, others


class WatchPlacer:
    """`lock` guards the table; it is released while a folder is listed, so that events are handled meanwhile."""

    def __init__(self, kernel: Inotify, table: WatchTable, lock: threading.RLock) -> None:
        self._kernel = kernel
        self._table = table
        self._lock = lock

    def place_all(self, owner: WatchedRoot) -> None:
        """Watch the whole root, which has no watches yet. Raises OSError when its folder cannot be opened."""
        with open_root(owner.root) as top:
            found = os.fstat(top)
            with self._lock:
                folder = self._table.put(WatchedFolder(owner, "", self._kernel.add(top, ROOT_MASK)))
                owner.identity = found.st_dev, found.st_ino
            names, _ = list_folder(top)
            self._descend(top, folder, names)

    def remove_all(self, owner: WatchedRoot) -> None:
        with self._lock:
            owner.identity = None
            owner.stale.clear()
            if owner.top:
                self._table.drop(owner.top)

    def update(self, parent: WatchedFolder, name: str, changes: ChangeBatch) -> None:
        """Something happened to the folder of this name: match the table to the disk and report new files."""
        try:
            with open_root(parent.owner.root) as top:
                self._descend(top, parent, (name,), changes)
        except OSError as error:
            if is_limit(error):
                raise  # any other error means that the root is gone, which an event or the next check reports

    def realign(self, owner: WatchedRoot, path: str) -> None:
        """Enter every folder below `path` again, known or not, after rules changed or events were lost."""
        above, _, name = path.rpartition("/")
        with open_root(owner.root) as top:
            if path:
                if parent := self._table.find(owner, above):
                    self._descend(top, parent, (name,), again=True)
            elif folder := owner.top:
                names, _ = list_folder(top)
                self._descend(top, folder, {*names, *folder.children}, again=True)

    def _descend(
        self,
        top: int,
        parent: WatchedFolder,
        names: Iterable[str],
        changes: ChangeBatch | None = None,
        *,
        again: bool = False,
    ) -> None:
        todo = [(parent, name) for name in names]
        while todo:
            todo += self._enter(top, *todo.pop(), changes, again=again)

    def _enter(
        self, top: int, parent: WatchedFolder, name: str, changes: ChangeBatch | None, *, again: bool
    ) -> list[tuple[WatchedFolder, str]]:
        """Watch and list one folder; returns the folders in it.

        A folder that kept its watch number was watched and listed before; it is listed once more only with `again`.
        """
        fd = -1
        try:
            with self._lock:
                fd = self._open(top, parent, name)
                known = parent.children.get(name)
                folder = self._register(parent, name, fd)
            if not folder or (folder is known and not again):
                return []
            if folder.git:
                return [] if parent.git else [(folder, "info")]
            names, files = list_folder(fd)
        finally:
            if fd >= 0:
                os.close(fd)
        if changes is not None:
            _report_files(folder, files, changes)
        # Known folders that are missing from the list are entered too and dropped then, not here: one of them may have
        # appeared after the listing, with an event that another thread has handled.
        return [(folder, each) for each in ({*names, *folder.children} if again else names)]

    def _open(self, top: int, parent: WatchedFolder, name: str) -> int:
        """-1 for a folder that is not to be watched: ignored, missing, not a folder any more, or not readable."""
        path = join(parent.path, name)
        has_rules = name != ".git" and not parent.git
        if not parent.live:
            return -1
        try:
            fd = open_below(top, path)
        except OSError as error:
            if is_limit(error):
                raise
            return -1
        if has_rules and is_ignored(parent.owner.ignored, path, fd):
            os.close(fd)
            return -1
        return fd

    def _register(self, parent: WatchedFolder, name: str, fd: int) -> WatchedFolder | None:
        """Watch the open folder, and let it replace the table's entry of that name."""
        wd = self._kernel.add(fd, GIT_MASK if name == ".git" else FOLDER_MASK) if fd >= 0 else None
        known = parent.children.get(name)
        if known and known.wd == wd:
            return known
        if known:
            self._table.drop(known)
        return None if wd is None else self._table.put_child(parent, name, wd)


def _report_files(folder: WatchedFolder, files: list[str], changes: ChangeBatch) -> None:
    changes.dirty.update(join(folder.path, name) for name in files)
    if not RULE_FILES.isdisjoint(files):
        folder.owner.stale.add(folder.path)
        changes.rescan(folder.path, Reason.RULES)
