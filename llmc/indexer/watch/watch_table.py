"""Which folder does a watch number belong to? The tree of watched folders of each root, indexed by watch number.

One number may belong to several folders: roots may contain each other, and a bind mount shows a folder twice. A number
without a folder is an orphan. Orphans are returned to the kernel later, a few at a time (see `Inotify.remove`); until
then a number is reused when its folder turns up elsewhere, as after a rename.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING

from llmc.indexer.watch.change_batch import join
from llmc.indexer.watch.protocol import Health, Mode, Reason

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from llmc.base.model import Root
    from llmc.indexer.watch.change_batch import ChangeBatch
    from llmc.indexer.watch.protocol import Ignored

__all__ = ["WatchTable", "WatchedFolder", "WatchedRoot"]


REMOVED = -1  # takes the place of a watch number


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
    limit: int = 0  # how many watches the system allowed when they ran out; 0 when they did not
    burst: int = 0  # paths that changed since git last replaced its index
    stale: set[str] = field(default_factory=set)  # folders below which the watches may not match the disk
    lost: int = 0  # how often events were lost
    rewatched: int = 0  # how many of those losses a `rewatch` has followed
    healed: int = 0  # and then a walk
    loss: Reason = Reason.LOST  # the last one

    @property
    def degraded(self) -> str:
        return self.why or (f"{self.loss}; a walk will follow" if self.healed < self.lost else "")

    def is_at(self, found: tuple[int, int] | None) -> bool:
        """Does this folder have the watches? Not if the kernel removed them: a new folder may get an old inode."""
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
