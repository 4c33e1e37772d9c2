"""How a tree gets its watches, without a gap through which a change could slip.

A folder is opened, watched, and only then listed, all by one descriptor: whatever appears in it later is an event,
whatever was there before is in the list. Which events lead here is `sorting`'s business, what a lack of watches means
is `linux`'s: this raises the OSError for it.

Folders are opened with the door's own resolver (`beneath`) and not through a `Door`: that holds the root's folder open,
and the kernel is silent about the removal of a folder that somebody holds.
"""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING

from llmc.base import openat as beneath
from llmc.indexer.watch.changed_paths import join
from llmc.indexer.watch.inotify import FOLDER, GIT, TOP, is_limit
from llmc.indexer.watch.protocol import RULE_FILES, Reason, left_out
from llmc.indexer.watch.watch_table import Folder

if TYPE_CHECKING:
    import threading
    from collections.abc import Iterable, Iterator

    from llmc.base.model import Root
    from llmc.indexer.watch.changed_paths import ChangedPaths
    from llmc.indexer.watch.inotify import Inotify
    from llmc.indexer.watch.watch_table import WatchedRoot, WatchTable

__all__ = ["WatchPlacer", "identity", "open_below", "opened"]

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC


def identity(root: Root) -> tuple[int, int] | None:
    """Which folder is at the root's path now; None when there is none that can be listed and passed through."""
    try:
        fd = os.open(f"{root.path}/.", _FOLDER)
    except OSError:
        return None
    found = os.fstat(fd)
    os.close(fd)
    return found.st_dev, found.st_ino


@contextmanager
def opened(root: Root) -> Iterator[int]:
    """The root's folder, by its path as it leads now, so that a root that was made again is found.

    Never kept for long: see above.
    """
    top = os.open(f"{root.path}/.", _FOLDER)
    try:
        yield top
    finally:
        os.close(top)


def open_below(top: int, path: str) -> int:
    """The final `.` asks for the right to pass through the folder as well: without it nothing below can be read."""
    return beneath.pick()(top, os.fsencode(path) + b"/.", _FOLDER)


def listing(fd: int) -> tuple[list[str], list[str]]:
    """The names of the folders and of everything else; a folder that vanishes meanwhile has none."""
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
    """Puts watches on folders. `lock` guards the table; it is free while a folder is listed, so that events go on."""

    def __init__(self, kernel: Inotify, table: WatchTable, lock: threading.RLock) -> None:
        self._kernel = kernel
        self._table = table
        self._lock = lock

    def plant(self, owner: WatchedRoot) -> None:
        """Watch the whole root, which has no watches yet. Raises OSError when its folder cannot be opened."""
        with opened(owner.root) as top:
            found = os.fstat(top)
            with self._lock:
                folder = self._table.put(Folder(owner, "", self._kernel.add(top, TOP)))
                owner.identity = found.st_dev, found.st_ino
            names, _ = listing(top)
            self._descend(top, folder, names)

    def uproot(self, owner: WatchedRoot) -> None:
        with self._lock:
            owner.identity = None
            owner.stale.clear()
            if owner.top:
                self._table.drop(owner.top)

    def look(self, parent: Folder, name: str, hints: ChangedPaths) -> None:
        """Something happened to the folder of this name: make the table true for what is there, tell what is new."""
        try:
            with opened(parent.owner.root) as top:
                self._descend(top, parent, (name,), hints)
        except OSError as error:
            if is_limit(error):
                raise  # otherwise the root is gone, and an event or a look at it will say so

    def realign(self, owner: WatchedRoot, path: str) -> None:
        """Enter every folder below `path` again, known or not: for rules that changed and events that were lost."""
        above, _, name = path.rpartition("/")
        with opened(owner.root) as top:
            if path:
                if parent := self._table.find(owner, above):
                    self._descend(top, parent, (name,), again=True)
            elif folder := owner.top:
                names, _ = listing(top)
                self._descend(top, folder, {*names, *folder.children}, again=True)

    def _descend(
        self, top: int, parent: Folder, names: Iterable[str], hints: ChangedPaths | None = None, *, again: bool = False
    ) -> None:
        todo = [(parent, name) for name in names]
        while todo:
            todo += self._enter(top, *todo.pop(), hints, again=again)

    def _enter(
        self, top: int, parent: Folder, name: str, hints: ChangedPaths | None, *, again: bool
    ) -> list[tuple[Folder, str]]:
        """Watch and list one folder; those in it come back.

        One that kept its watch number was watched and listed before: with `again` it is listed all the same.
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
            names, files = listing(fd)
        finally:
            if fd >= 0:
                os.close(fd)
        if hints:
            _tell(folder, files, hints)
        # Known folders that are missing from the list are looked at too, and then dropped; not here, since one of them
        # may have come after the listing, with an event that another thread has acted on.
        return [(folder, each) for each in ({*names, *folder.children} if again else names)]

    def _open(self, top: int, parent: Folder, name: str) -> int:
        """-1 for a folder that is not to be watched: ignored, gone, no folder any more, or closed to us."""
        path = join(parent.path, name)
        asked = name != ".git" and not parent.git
        if not parent.live:
            return -1
        try:
            fd = open_below(top, path)
        except OSError as error:
            if is_limit(error):
                raise
            return -1
        if asked and left_out(parent.owner.ignored, path, fd):
            os.close(fd)
            return -1
        return fd

    def _register(self, parent: Folder, name: str, fd: int) -> Folder | None:
        """Watch the open folder, and put it into the table in the place of what had its name."""
        wd = self._kernel.add(fd, GIT if name == ".git" else FOLDER) if fd >= 0 else None
        known = parent.children.get(name)
        if known and known.wd == wd:
            return known
        if known:
            self._table.drop(known)
        return None if wd is None else self._table.child(parent, name, wd)


def _tell(folder: Folder, files: list[str], hints: ChangedPaths) -> None:
    root = folder.owner.root
    hints.dirty[root].update(join(folder.path, name) for name in files)
    if not RULE_FILES.isdisjoint(files):
        folder.owner.stale.add(folder.path)
        hints.rescan(root, folder.path, Reason.RULES)
