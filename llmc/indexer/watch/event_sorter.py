"""Interprets a batch of inotify events: names become dirty paths, folders appear and vanish, trouble is reported.

Events are only hints: whatever one says about a name, the response is to look at what is on disk now. So it does not
matter that the disk has moved on since, and after the last event about a name the table matches the disk. `supervisor`
decides what to do about a root in trouble (`TroubleHandler`).
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Protocol

from llmc.indexer.watch import inotify
from llmc.indexer.watch.change_batch import join
from llmc.indexer.watch.limits import is_limit
from llmc.indexer.watch.protocol import RULE_FILES, Reason, is_ignored

if TYPE_CHECKING:
    from llmc.indexer.watch.change_batch import ChangesByRoot
    from llmc.indexer.watch.placement import WatchPlacer
    from llmc.indexer.watch.watch_table import WatchedFolder, WatchedRoot, WatchTable

__all__ = ["EventSorter", "TroubleHandler"]

_REMOVED = inotify.MOVED_FROM | inotify.DELETE
_SELF = inotify.DELETE_SELF | inotify.MOVE_SELF
_SPECIAL = inotify.ISDIR | inotify.OVERFLOW | inotify.IGNORED | inotify.UNMOUNT | _SELF
_RULES = frozenset(map(os.fsencode, RULE_FILES))

# `git status` replaces the index too, and often. A checkout together with this many changed paths is worth a walk.
_BURST = 200


class TroubleHandler(Protocol):
    def on_overflow(self, changes: ChangesByRoot) -> None:
        """The kernel's queue was full: any event of any root may be missing."""

    def on_root_moved(self, owner: WatchedRoot, changes: ChangesByRoot) -> None:
        """The root's folder was moved, removed, unmounted or made unreadable, or may have been."""

    def on_watch_limit(self, owner: WatchedRoot, error: OSError, changes: ChangesByRoot) -> None:
        """No watch is left for a new folder of this root."""


class EventSorter:
    def __init__(self, table: WatchTable, placer: WatchPlacer, trouble: TroubleHandler) -> None:
        self._table = table
        self._placer = placer
        self._trouble = trouble

    def sort(self, buffer: bytes, changes: ChangesByRoot) -> None:
        """Names are gathered first, since most occur three times, and reported before an event changes the table."""
        names: dict[int, set[bytes]] = {}
        for wd, mask, name in inotify.events(buffer):
            if not mask & _SPECIAL:
                if (same := names.get(wd)) is None:
                    names[wd] = {name}
                else:
                    same.add(name)
            else:
                self._report_names(names, changes)
                names.clear()
                self._handle_special(wd, mask, name, changes)
        self._report_names(names, changes)

    def _report_names(self, names: dict[int, set[bytes]], changes: ChangesByRoot) -> None:
        for wd, padded in names.items():
            for folder in self._table.at(wd):
                self._report_files(folder, {name.rstrip(b"\0") for name in padded}, changes)

    def _report_files(self, folder: WatchedFolder, names: set[bytes], changes: ChangesByRoot) -> None:
        owner = folder.owner
        if folder.git:
            self._handle_git(folder, names, changes)
            return
        names.discard(b"")  # about the folder itself: its access time or mode, which its parent reports too
        owner.burst += len(names)
        prefix = f"{folder.path}/" if folder.path else ""
        found = changes[owner.root]
        found.dirty.update([prefix + os.fsdecode(name) for name in names])
        if not names.isdisjoint(_RULES):
            owner.stale.add(folder.path)
            found.rescan(folder.path, Reason.RULES)

    def _handle_git(self, folder: WatchedFolder, names: set[bytes], changes: ChangesByRoot) -> None:
        owner, checkout = folder.owner, _checkout(folder)
        if folder.name == "info":
            if b"exclude" in names:
                owner.stale.add(checkout)
                changes[owner.root].rescan(checkout, Reason.RULES)
            return
        if b"HEAD" in names or (b"index" in names and owner.burst >= _BURST):
            changes[owner.root].rescan(checkout, Reason.HEAD)
        if b"index" in names:
            owner.burst = 0

    def _handle_special(self, wd: int, mask: int, name: bytes, changes: ChangesByRoot) -> None:
        if mask & inotify.OVERFLOW:
            self._trouble.on_overflow(changes)
            return
        for folder in self._table.at(wd):
            if not folder.live:
                continue
            if name:
                self._handle_folder(folder, os.fsdecode(name.rstrip(b"\0")), mask, changes)
            elif folder.parent is None:
                self._handle_root(folder, mask, changes)
            elif mask & inotify.UNMOUNT:
                self._handle_folder(folder.parent, folder.name, inotify.MOVED_FROM, changes)
        if mask & inotify.IGNORED:
            self._table.mark_removed(wd)

    def _handle_root(self, folder: WatchedFolder, mask: int, changes: ChangesByRoot) -> None:
        """The inode of a removed folder may be given to a new one, so its identity proves nothing any more."""
        owner = folder.owner
        if mask & (inotify.IGNORED | inotify.DELETE_SELF | inotify.UNMOUNT):
            owner.identity = None
        self._trouble.on_root_moved(owner, changes)

    def _handle_folder(self, parent: WatchedFolder, name: str, mask: int, changes: ChangesByRoot) -> None:
        """A folder called `name` appeared, vanished, or changed its mode."""
        owner, known = parent.owner, parent.children.get(name)
        if parent.git and name != "info":
            return
        found = changes[owner.root]
        try:
            self._placer.update(parent, name, found)
        except OSError as error:
            if not is_limit(error):
                raise
            self._trouble.on_watch_limit(owner, error, changes)
        if name != ".git" and not parent.git:
            if self._must_walk(parent, name, known, mask):
                found.rescan(join(parent.path, name), Reason.FOLDER)
        elif parent.children.get(name) is not known:
            checkout = _checkout(parent)
            owner.stale.add(checkout)
            found.rescan(checkout, Reason.RULES)

    def _must_walk(self, parent: WatchedFolder, name: str, known: WatchedFolder | None, mask: int) -> bool:
        """May the catalog, or a walk under way, hold a file of this folder whose removal no event reports?

        In a new folder yes: a walk may have met a file that was removed before the folder had its watch. In a watched
        folder that was removed no: its files were removed first, each with an event.
        """
        now = parent.children.get(name)
        if now is known:
            path = join(parent.path, name)
            return bool(mask & _REMOVED) and (known is not None or not is_ignored(parent.owner.ignored, path))
        return now is not None or not mask & inotify.DELETE


def _checkout(folder: WatchedFolder) -> str:
    """The folder that a `.git`, or the `info` in one, belongs to."""
    while folder.git and folder.parent:
        folder = folder.parent
    return folder.path
