"""The interface that every watcher implements, and the values that pass through it.

Implementations: `linux` (watchdog emitters over inotify), `observer` (watchdog's own observer, for systems without
inotify), `polling` (stat walks, works everywhere) and `memory` (for tests). One contract suite runs on all of them. The
package docstring says how to use a watcher.

A `ChangeBatch` holds what one read found: paths that may differ and folders that must be walked, for each root. It is
filled while events are read and delivered afterwards, when the watcher holds no lock, so that a callback may call the
watcher.
"""

from __future__ import annotations

import errno
import logging
import os
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol

from llmc.base import ignore
from llmc.base.errors import LlmcError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from collections.abc import Set as AbstractSet

    from llmc.base.model import Root

__all__ = [
    "ROOT_MISSING",
    "RULE_FILES",
    "ChangeBatch",
    "ChangesByRoot",
    "Health",
    "Ignored",
    "Mode",
    "OnDirty",
    "OnRescan",
    "Reason",
    "Watcher",
    "is_ignored",
    "is_limit",
    "is_within",
    "join",
    "limit_hint",
]

# A change of one of these changes which files of its folder are indexed. `.git` counts when it is a file: it turns the
# folder into a linked work tree, which is not part of the root around it.
RULE_FILES = frozenset({*ignore.RULE_FILES, ".git"})

ROOT_MISSING = "there is no folder at the root's path, or it cannot be read; waiting for it"
_LIMITS = {errno.ENOSPC, errno.EMFILE, errno.ENFILE, errno.ENOMEM}


class Reason(StrEnum):
    """Why a folder must be walked, ordered by the work it takes: from RULES on, its ignore rules are reloaded too."""

    HEAD = "another commit was checked out"
    FOLDER = "a folder was created, removed or moved"
    RULES = "ignore rules changed"
    LOST = "events were lost"
    BACK = "the root is back"


class Mode(StrEnum):
    """EVENTS: the system reports changes. POLLING: a stat walk finds them. GONE: no folder is at the root's path."""

    EVENTS = "events"
    POLLING = "polling"
    GONE = "gone"


@dataclass(frozen=True, slots=True)
class Health:
    """How a root is watched. `degraded` says why changes may be seen late or not at all, and is empty otherwise."""

    mode: Mode
    degraded: str = ""
    watches: int = 0


class Ignored(Protocol):
    """Whether a path is ignored, given that its parents are not. `names`: the entries of the path, if it is a folder
    and they are known."""

    def __call__(self, path: str, is_folder: bool, names: AbstractSet[str] | None = None, /) -> bool: ...


OnDirty = Callable[["Root", set[str]], None]
OnRescan = Callable[["Root", str, Reason], None]


def is_ignored(ignored: Ignored, folder: str, fd: int | None = None) -> bool:
    """Whether a folder is ignored. If the rules cannot be read, as after the removal of a root, nothing is ignored.

    With the descriptor of the folder its entries are known and it need not be opened again, which halves the time to
    watch a large tree.
    """
    try:
        return ignored(folder, True, None if fd is None else frozenset(os.listdir(fd)))  # noqa: PTH208 - no Path
    except (LlmcError, OSError):
        return False


class Watcher(Protocol):
    """Reports every change below a root to `on_dirty` or `on_rescan`, or `barrier` and `health` say that it may not."""

    def add(self, root: Root, ignored: Ignored) -> Health:
        """Watch a root. Changes after this returns are reported; the caller walks what exists already, afterwards.

        `ignored` is called for folders only, from any thread, and must know the rules of new folders.
        """

    def remove(self, root: Root) -> None: ...

    def rewatch(self, root: Root, folder: str = "") -> None:
        """Update the watches below `folder` to match the disk and the rules. Called before the walk that follows
        `on_rescan`, when `ignored` knows the new rules; cheap if nothing changed."""

    def healed(self, root: Root) -> None:
        """Record that the whole root was walked after the last `rewatch`, so events lost before no longer matter."""

    def barrier(self, timeout: float, roots: Collection[Root] | None = None) -> dict[Root, str]:
        """Wait until every change that ended before this call has been reported to the callbacks.

        Returns the roots (of the given ones, by default all) that may have unreported changes, with the reasons;
        usually none. Never waits longer than `timeout` seconds. Must not be called from a callback.
        """

    def health(self, root: Root) -> Health: ...

    def close(self) -> None:
        """No callback is called after this returns."""


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
        _keep_most_severe(self._rescans, folder, reason)

    def rescans(self) -> dict[str, Reason]:
        """The topmost folders, each with the most severe reason below it, since one walk covers all of them."""
        topmost: dict[str, Reason] = {}
        for folder, reason in self._rescans.items():
            _keep_most_severe(topmost, next((up for up in _ancestors(folder) if up in self._rescans), folder), reason)
        return topmost

    def deliver(self, root: Root, on_dirty: OnDirty, on_rescan: OnRescan) -> bool:
        """Call the callbacks. False when one failed: this root has then lost changes, and the watcher keeps running."""
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


def _keep_most_severe(folders: dict[str, Reason], folder: str, reason: Reason) -> None:
    folders[folder] = max(folders.get(folder, reason), reason, key=_SEVERITY.index)


def _ancestors(folder: str) -> Iterator[str]:
    """The folders above, from the root itself ("") downwards."""
    yield ""
    at = folder.find("/")
    while at >= 0:
        yield folder[:at]
        at = folder.find("/", at + 1)


def is_limit(error: OSError) -> bool:
    """Whether the system ran out of watches, descriptors or memory, rather than that a folder is missing or
    unreadable."""
    return error.errno in _LIMITS


def limit_hint(error: OSError) -> str:
    """What ran out, and the setting that provides more of it."""
    if error.errno == errno.ENOSPC:
        return "out of inotify watches; raise the limit with: sysctl fs.inotify.max_user_watches=1048576"
    if error.errno == errno.EMFILE:
        return "out of inotify instances or open files; raise the limit with: sysctl fs.inotify.max_user_instances=512"
    return f"the system has no room for more watches ({error.strerror})"
