"""The watched folders of each root by watch number, and placing watches on a tree without a gap.

One number may belong to several folders: roots may contain each other, and a bind mount shows a folder twice. A number
without a folder is an orphan. Orphans are returned to the kernel later, a few at a time (see `Inotify.remove`); until
then a number is reused when its folder turns up elsewhere, as after a rename.

A folder is opened, watched, and only then listed, all through one descriptor: whatever appears in it later is an event,
whatever was there before is in the list. `emitter` decides which events lead here; `linux` decides what running out of
watches means, for which this raises the OSError.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING

from llmc.base.openat import open_below, open_root
from llmc.indexer.watch.inotify import FOLDER_MASK, GIT_MASK, ROOT_MASK
from llmc.indexer.watch.protocol import RULE_FILES, Health, Mode, Reason, is_ignored, is_limit, join

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Iterable, Iterator

    from llmc.base.model import Root
    from llmc.indexer.watch.inotify import Inotify
    from llmc.indexer.watch.protocol import ChangeBatch, Ignored

__all__ = ["WatchPlacer", "WatchTable", "WatchedFolder", "WatchedRoot"]

REMOVED = -1  # replaces a watch number


@dataclass(slots=True, eq=False)
class WatchedRoot:
    """A root and how it is watched. `identity` is the device and inode of the folder that has the watches."""

    root: Root
    ignored: Ignored
    mode: Mode = Mode.EVENTS
    why: str = ""
    emit: Callable[[ChangeBatch], None] | None = None
    top: WatchedFolder | None = None
    identity: tuple[int, int] | None = None
    placed: bool = False  # the first placement of its watches has ended
    watches: int = 0
    limit: int = 0  # the limit of watches when they ran out; 0 if they did not
    burst: int = 0  # paths that changed since git last replaced its index
    stale: set[str] = field(default_factory=set)  # folders below which the watches may not match the disk
    lost: int = 0  # how often events were lost
    rewatched: int = 0  # the number of losses that were followed by a `rewatch`
    healed: int = 0  # the number of losses that were followed by a walk
    loss: Reason = Reason.LOST  # the last one

    @property
    def degraded(self) -> str:
        return self.why or (f"{self.loss}; a walk will follow" if self.healed < self.lost else "")

    def is_at(self, found: tuple[int, int] | None) -> bool:
        """Whether the watches are on this folder. False if the kernel removed them, since inodes are reused."""
        return found is not None and found == self.identity and self.top is not None and self.top.wd != REMOVED

    def lose(self, reason: Reason = Reason.LOST) -> None:
        self.lost += 1
        self.loss = reason
        self.stale.add("")

    @property
    def health(self) -> Health:
        return Health(self.mode, self.degraded, self.watches)


@dataclass(slots=True, eq=False)
class WatchedFolder:
    """`git`: the folder is a `.git`, watched for HEAD and index only, or the `info` in one."""

    owner: WatchedRoot
    path: str
    wd: int
    parent: WatchedFolder | None = None
    git: bool = False
    live: bool = True
    children: dict[str, WatchedFolder] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]


class WatchTable:
    def __init__(self) -> None:
        self._by_wd: dict[int, list[WatchedFolder]] = {}
        self._orphans: dict[int, None] = {}

    def put(self, folder: WatchedFolder) -> WatchedFolder:
        self._by_wd.setdefault(folder.wd, []).append(folder)
        self._orphans.pop(folder.wd, None)
        folder.owner.watches += 1
        if folder.parent is None:
            folder.owner.top = folder
        else:
            folder.parent.children[folder.name] = folder
        return folder

    def put_child(self, parent: WatchedFolder, name: str, wd: int) -> WatchedFolder:
        git = name == ".git" or parent.git
        return self.put(WatchedFolder(parent.owner, join(parent.path, name), wd, parent, git=git))

    def at(self, wd: int) -> list[WatchedFolder]:
        """A copy, because handling an event changes the table."""
        return list(self._by_wd.get(wd, ()))

    def find(self, owner: WatchedRoot, path: str) -> WatchedFolder | None:
        folder = owner.top
        for name in path.split("/") if path else ():
            folder = folder.children.get(name) if folder else None
        return folder

    def drop(self, folder: WatchedFolder) -> None:
        """Forget the folder and everything below it."""
        if folder.parent is None:
            folder.owner.top = None
        elif folder.parent.children.get(folder.name) is folder:
            del folder.parent.children[folder.name]
        for each in _subtree(folder):
            self._forget(each)

    def _forget(self, folder: WatchedFolder) -> None:
        folder.live = False
        if folder.wd == REMOVED:
            return
        folder.owner.watches -= 1
        same = self._by_wd[folder.wd]
        same.remove(folder)
        if not same:
            del self._by_wd[folder.wd]
            self._orphans[folder.wd] = None

    def mark_removed(self, wd: int) -> None:
        """The kernel removed the watch, with the folder. The folder stays known until its parent reports it."""
        for folder in self._by_wd.pop(wd, ()):
            folder.wd = REMOVED
            folder.owner.watches -= 1
        self._orphans.pop(wd, None)

    def take_orphans(self, count: int) -> list[int]:
        """Up to `count` numbers, the oldest first, for the caller to return to the kernel."""
        some = list(islice(self._orphans, count))
        for wd in some:
            del self._orphans[wd]
        return some

    @property
    def has_orphans(self) -> bool:
        return bool(self._orphans)


def _subtree(folder: WatchedFolder) -> Iterator[WatchedFolder]:
    todo = [folder]
    while todo:
        each = todo.pop()
        yield each
        todo += each.children.values()


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
        """Update the table for a folder that was created, removed or changed, and report new files."""
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
        """Open the folder; -1 if it is not watched because it is ignored, missing, unreadable or not a folder any
        more."""
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
