"""What a batch of inotify events means: names become dirty paths, folders come and go, trouble is reported.

Events are hints: whatever one says happened to a name, the answer is to look at what is there now. So it does not
matter that the disk has moved on since, and the last event about a name leaves the table as the disk is. What is to be
done about a root that is in trouble is `linux`'s business (`Trouble`).
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Protocol

from llmc.indexer.watch import inotify
from llmc.indexer.watch.changed_paths import join
from llmc.indexer.watch.inotify import is_limit
from llmc.indexer.watch.protocol import RULE_FILES, Reason, left_out

if TYPE_CHECKING:
    from llmc.indexer.watch.changed_paths import ChangedPaths
    from llmc.indexer.watch.placement import WatchPlacer
    from llmc.indexer.watch.watch_table import Folder, WatchedRoot, WatchTable

__all__ = ["EventSorter", "Trouble"]

_LEFT = inotify.MOVED_FROM | inotify.DELETE
_TOP = inotify.DELETE_SELF | inotify.MOVE_SELF
_SPECIAL = inotify.ISDIR | inotify.OVERFLOW | inotify.IGNORED | inotify.UNMOUNT | _TOP
_RULES = frozenset(map(os.fsencode, RULE_FILES))

# `git status` replaces the index too, and often. A checkout that goes with so many changed paths is worth a walk.
_BURST = 200


class Trouble(Protocol):
    def overflowed(self, hints: ChangedPaths) -> None:
        """The queue of the kernel was full: any event of any root may be missing."""

    def displaced(self, owner: WatchedRoot, hints: ChangedPaths) -> None:
        """The folder of the root was moved, removed, unmounted or closed to us, or may have been."""

    def limited(self, owner: WatchedRoot, error: OSError, hints: ChangedPaths) -> None:
        """There are no watches left for a new folder of this root."""


class EventSorter:
    def __init__(self, table: WatchTable, planter: WatchPlacer, trouble: Trouble) -> None:
        self._table = table
        self._planter = planter
        self._trouble = trouble

    def sort(self, buffer: bytes, hints: ChangedPaths) -> None:
        """Names are gathered first, since most come three times over, and told before an event changes the table."""
        names: dict[int, set[bytes]] = {}
        for wd, mask, name in inotify.events(buffer):
            if not mask & _SPECIAL:
                if (same := names.get(wd)) is None:
                    names[wd] = {name}
                else:
                    same.add(name)
            else:
                self._named(names, hints)
                names.clear()
                self._special(wd, mask, name, hints)
        self._named(names, hints)

    def _named(self, names: dict[int, set[bytes]], hints: ChangedPaths) -> None:
        for wd, padded in names.items():
            for folder in self._table.at(wd):
                self._files(folder, {name.rstrip(b"\0") for name in padded}, hints)

    def _files(self, folder: Folder, names: set[bytes], hints: ChangedPaths) -> None:
        owner = folder.owner
        if folder.git:
            self._git(folder, names, hints)
            return
        names.discard(b"")  # of the folder itself: its access time or mode, which `_folder` hears of from above
        owner.burst += len(names)
        prefix = f"{folder.path}/" if folder.path else ""
        hints.dirty[owner.root].update([prefix + os.fsdecode(name) for name in names])
        if not names.isdisjoint(_RULES):
            owner.stale.add(folder.path)
            hints.rescan(owner.root, folder.path, Reason.RULES)

    def _git(self, folder: Folder, names: set[bytes], hints: ChangedPaths) -> None:
        owner, checkout = folder.owner, _checkout(folder)
        if folder.name == "info":
            if b"exclude" in names:
                owner.stale.add(checkout)
                hints.rescan(owner.root, checkout, Reason.RULES)
            return
        if b"HEAD" in names or (b"index" in names and owner.burst >= _BURST):
            hints.rescan(owner.root, checkout, Reason.HEAD)
        if b"index" in names:
            owner.burst = 0

    def _special(self, wd: int, mask: int, name: bytes, hints: ChangedPaths) -> None:
        if mask & inotify.OVERFLOW:
            self._trouble.overflowed(hints)
            return
        for folder in self._table.at(wd):
            if not folder.live:
                continue
            if name:
                self._folder(folder, os.fsdecode(name.rstrip(b"\0")), mask, hints)
            elif folder.parent is None:
                self._top(folder, mask, hints)
            elif mask & inotify.UNMOUNT:
                self._folder(folder.parent, folder.name, inotify.MOVED_FROM, hints)
        if mask & inotify.IGNORED:
            self._table.dead(wd)

    def _top(self, folder: Folder, mask: int, hints: ChangedPaths) -> None:
        """The number of a removed folder may be given to a new one: its identity counts no more."""
        owner = folder.owner
        if mask & (inotify.IGNORED | inotify.DELETE_SELF | inotify.UNMOUNT):
            owner.identity = None
        self._trouble.displaced(owner, hints)

    def _folder(self, parent: Folder, name: str, mask: int, hints: ChangedPaths) -> None:
        """A folder called `name` came, went, or changed its mode."""
        owner, known = parent.owner, parent.children.get(name)
        if parent.git and name != "info":
            return
        try:
            self._planter.look(parent, name, hints)
        except OSError as error:
            if not is_limit(error):
                raise
            self._trouble.limited(owner, error, hints)
        if name != ".git" and not parent.git:
            if self._must_walk(parent, name, known, mask):
                hints.rescan(owner.root, join(parent.path, name), Reason.FOLDER)
        elif parent.children.get(name) is not known:
            checkout = _checkout(parent)
            owner.stale.add(checkout)
            hints.rescan(owner.root, checkout, Reason.RULES)

    def _must_walk(self, parent: Folder, name: str, known: Folder | None, mask: int) -> bool:
        """Is there a file in a catalog, or was there one in a walk, of which no event told or will tell?

        In a new folder yes: a walk may have met a file that was removed before the folder had its watch. In a watched
        one that was removed no: its files went first, each with an event.
        """
        now = parent.children.get(name)
        if now is known:
            path = join(parent.path, name)
            return bool(mask & _LEFT) and (known is not None or not left_out(parent.owner.ignored, path))
        return now is not None or not mask & inotify.DELETE


def _checkout(folder: Folder) -> str:
    """The folder that a `.git`, or the `info` in one, belongs to."""
    while folder.git and folder.parent:
        folder = folder.parent
    return folder.path
