"""Which folder does a watch number stand for? The tree of watched folders of each root, found by number.

One number may stand for several folders: roots may lie in each other, and a bind mount shows a folder twice. A number
that stands for none any more is an orphan; it is given back to the kernel later and a few at a time (see
`Inotify.remove`), and meanwhile serves again when its folder turns up elsewhere, as it does when a folder was renamed.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING

from llmc.indexer.watch.changed_paths import join
from llmc.indexer.watch.protocol import Health, Mode, Reason

if TYPE_CHECKING:
    from collections.abc import Iterator

    from llmc.base.model import Root
    from llmc.indexer.watch.protocol import Ignored

__all__ = ["Folder", "WatchTable", "WatchedRoot"]


DEAD = -1  # in the place of a watch number


@dataclass(slots=True, eq=False)
class WatchedRoot:
    """A root and how it is watched. `identity` is the device and inode of the folder that has the watches."""

    root: Root
    ignored: Ignored
    mode: Mode = Mode.EVENTS
    why: str = ""
    top: Folder | None = None
    identity: tuple[int, int] | None = None
    settled: bool = False  # `add` is done with it
    watches: int = 0
    limit: int = 0  # how many watches the system allowed when they ran out; 0 when they did not
    burst: int = 0  # paths that changed since git last replaced its index
    stale: set[str] = field(default_factory=set)  # folders below which the watches may be out of line
    lost: int = 0  # how often events were lost, how many of these a `rewatch` and then a walk have followed
    rewatched: int = 0
    healed: int = 0
    loss: Reason = Reason.LOST  # the last one

    @property
    def degraded(self) -> str:
        return self.why or (f"{self.loss}; a walk is to come" if self.healed < self.lost else "")

    def stands_at(self, found: tuple[int, int] | None) -> bool:
        """Is this the folder that has the watches? Not if the kernel took them: a new folder may get an old inode."""
        return found is not None and found == self.identity and self.top is not None and self.top.wd != DEAD

    def lose(self, reason: Reason = Reason.LOST) -> None:
        self.lost += 1
        self.loss = reason
        self.stale.add("")

    @property
    def health(self) -> Health:
        return Health(self.mode, self.degraded, self.watches)


@dataclass(slots=True, eq=False)
class Folder:
    """A watched folder. `git`: one named `.git`, watched for HEAD and index alone, or the `info` in it."""

    owner: WatchedRoot
    path: str
    wd: int
    parent: Folder | None = None
    git: bool = False
    live: bool = True
    children: dict[str, Folder] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]


class WatchTable:
    def __init__(self) -> None:
        self._by_wd: dict[int, list[Folder]] = {}
        self._orphans: dict[int, None] = {}

    def put(self, folder: Folder) -> Folder:
        self._by_wd.setdefault(folder.wd, []).append(folder)
        self._orphans.pop(folder.wd, None)
        folder.owner.watches += 1
        if folder.parent is None:
            folder.owner.top = folder
        else:
            folder.parent.children[folder.name] = folder
        return folder

    def child(self, parent: Folder, name: str, wd: int) -> Folder:
        return self.put(Folder(parent.owner, join(parent.path, name), wd, parent, git=name == ".git" or parent.git))

    def at(self, wd: int) -> list[Folder]:
        """A copy: what is done about an event changes the table."""
        return list(self._by_wd.get(wd, ()))

    def find(self, owner: WatchedRoot, path: str) -> Folder | None:
        folder = owner.top
        for name in path.split("/") if path else ():
            folder = folder.children.get(name) if folder else None
        return folder

    def drop(self, folder: Folder) -> None:
        """Forget the folder and everything below it."""
        if folder.parent is None:
            folder.owner.top = None
        elif folder.parent.children.get(folder.name) is folder:
            del folder.parent.children[folder.name]
        for each in _down(folder):
            self._forget(each)

    def _forget(self, folder: Folder) -> None:
        folder.live = False
        if folder.wd == DEAD:
            return
        folder.owner.watches -= 1
        same = self._by_wd[folder.wd]
        same.remove(folder)
        if not same:
            del self._by_wd[folder.wd]
            self._orphans[folder.wd] = None

    def dead(self, wd: int) -> None:
        """The kernel has taken the watch away, with the folder. It stays known until its parent tells of it."""
        for folder in self._by_wd.pop(wd, ()):
            folder.wd = DEAD
            folder.owner.watches -= 1
        self._orphans.pop(wd, None)

    def orphans(self, count: int) -> list[int]:
        """Up to `count` numbers to give back, the oldest first; they are the caller's then."""
        some = list(islice(self._orphans, count))
        for wd in some:
            del self._orphans[wd]
        return some

    @property
    def has_orphans(self) -> bool:
        return bool(self._orphans)


def _down(folder: Folder) -> Iterator[Folder]:
    todo = [folder]
    while todo:
        each = todo.pop()
        yield each
        todo += each.children.values()
