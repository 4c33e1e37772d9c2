"""The seam of the watcher: what every implementation promises, and the values that pass through it.

Implementations: `linux` (inotify), `polling` (stat walks, everywhere), `observer` (watchdog, for systems without
inotify) and `memory` (the twin for tests). One contract suite runs on all of them. The package's docstring says how
they are used.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol

from llmc.base import ignore
from llmc.base.errors import LlmcError

if TYPE_CHECKING:
    from collections.abc import Collection
    from collections.abc import Set as AbstractSet

    from llmc.base.model import Root

__all__ = ["GONE", "RULE_FILES", "Health", "Ignored", "Mode", "OnDirty", "OnRescan", "Reason", "Watcher", "left_out"]

# A change of one of these changes which files of the folder around it are indexed. `.git` counts when it is a file: it
# makes the folder a linked work tree, which is no part of the root around it.
RULE_FILES = frozenset({*ignore.RULE_FILES, ".git"})


GONE = "there is no folder at the root's path, or it cannot be read; waiting for it"


class Reason(StrEnum):
    """Why a folder must be walked, in the order of what that takes: from RULES on, its rules must be read anew too."""

    HEAD = "another commit was checked out"
    FOLDER = "a folder came, went or moved"
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
    """How a root is watched. `degraded` says why changes may come late or not at all, and is empty when all is well."""

    mode: Mode
    degraded: str = ""
    watches: int = 0


class Ignored(Protocol):
    """Whether a path is left out, whose parents are known not to be. `names`: what is in the folder, if it is one and
    that is known."""

    def __call__(self, path: str, is_folder: bool, names: AbstractSet[str] | None = None, /) -> bool: ...


OnDirty = Callable[["Root", set[str]], None]
OnRescan = Callable[["Root", str, Reason], None]


def left_out(ignored: Ignored, folder: str, fd: int | None = None) -> bool:
    """Rules that cannot be read, as when the root has just gone, leave nothing out. By the descriptor of the folder its
    names are known, and it need not be opened for them: half of the time to watch a large tree."""
    try:
        return ignored(folder, True, None if fd is None else frozenset(os.listdir(fd)))  # noqa: PTH208 - no Path
    except (LlmcError, OSError):
        return False


class Watcher(Protocol):
    """Every change below a root is told to `on_dirty` or `on_rescan`, or `barrier` and `health` say that it may not."""

    def add(self, root: Root, ignored: Ignored) -> Health:
        """Watch a root. Changes after this returns are told; what is there already is the caller's to walk, afterwards.

        `ignored` is asked for folders only, from any thread, and must know the rules of folders that are new.
        """

    def remove(self, root: Root) -> None: ...

    def rewatch(self, root: Root, folder: str = "") -> None:
        """Bring the watches below `folder` in line with the disk and the rules. Called before the walk that answers
        `on_rescan`, once `ignored` knows the new rules; cheap when there is nothing to do."""

    def healed(self, root: Root) -> None:
        """The whole root was walked after the last `rewatch`: what was lost until then is found again."""

    def barrier(self, timeout: float, roots: Collection[Root] | None = None) -> dict[Root, str]:
        """Wait until every change that ended before this call has been told to the callbacks.

        Returns the roots (of those asked for, by default all) for which that cannot be said, and why: none is the usual
        answer. Never waits longer than `timeout` seconds. Not to be called from a callback.
        """

    def health(self, root: Root) -> Health: ...

    def close(self) -> None:
        """No callback comes after this returns."""
