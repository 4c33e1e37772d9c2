"""Commits straight from a git directory: no git program, no hooks, no configuration, no alternates.

Only ancestors of HEAD are read, newest first, and only so many of them. Objects are parsed by dulwich's object store,
which is opened by itself, without the repository class that would read configuration. Whatever is missing (a shallow
clone) or broken ends that line of history and nothing else. Importing dulwich takes a tenth of a second, so only the
reader process does.
"""

from __future__ import annotations

import heapq
import os
import re
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from dulwich.diff_tree import tree_changes
from dulwich.object_store import DiskObjectStore
from dulwich.objects import Commit as CommitObject

from llmc.base.git_folder import GitCommit

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from llmc.base.git_folder import GitFolder

__all__ = ["read_commits"]

LONGEST_MESSAGE: Final = 2_000
LONGEST_AUTHOR: Final = 80
# A commit of more files says little about which belong together, and often moves everything.
MOST_PATHS: Final = 60
_EMAIL = re.compile(r"\s*<[^>]*>?")


class _Objects(DiskObjectStore):
    """Objects of this folder only: alternates would name folders elsewhere."""

    def _read_alternate_paths(self) -> Iterator[str]:
        return iter(())


def read_commits(folder: GitFolder, known: Mapping[str, tuple[int, tuple[str, ...]]], most: int) -> Iterator[GitCommit]:
    """The newest ancestors of HEAD, HEAD included, that are not `known` (id → time and parents), newest first."""
    store = _Objects(folder.objects)
    try:
        waiting: list[tuple[int, str]] = []
        seen = {folder.head}
        _push(waiting, store, known, folder.head)
        for _ in range(most):
            if not waiting:
                return
            _, name = heapq.heappop(waiting)
            commit = None if name in known else _commit(store, name)
            for parent in known[name][1] if name in known else commit.parents if commit else ():
                if parent not in seen:
                    seen.add(parent)
                    _push(waiting, store, known, parent)
            if commit:
                yield commit
    finally:
        store.close()


def _push(waiting: list[tuple[int, str]], store: Any, known: Mapping[str, tuple[int, Any]], name: str) -> None:
    time = known[name][0] if name in known else getattr(_object(store, name), "commit_time", None)
    if time is not None:
        heapq.heappush(waiting, (-time, name))


def _object(store: Any, name: str) -> CommitObject | None:
    """None if the object is missing, broken, or not a commit."""
    try:
        found = store[name.encode()]
    except Exception:  # noqa: BLE001 - dulwich raises whatever a broken pack leads to
        return None
    return found if isinstance(found, CommitObject) else None


def _commit(store: Any, name: str) -> GitCommit | None:
    found = _object(store, name)
    if found is None:
        return None
    parents = tuple(parent.decode("ascii", "replace") for parent in found.parents)
    paths = _changed(store, found) if len(parents) <= 1 else []
    return GitCommit(
        name,
        found.commit_time,
        _EMAIL.sub("", found.author.decode("utf-8", "replace"))[:LONGEST_AUTHOR].strip(),
        found.message.decode("utf-8", "replace")[:LONGEST_MESSAGE].strip(),
        parents,
        tuple(paths[:MOST_PATHS]),
        len(paths) > MOST_PATHS,
    )


def _changed(store: Any, commit: CommitObject) -> list[str]:
    """Paths that differ from the parent, one more than is kept; none where the parent is missing."""
    parent = _object(store, commit.parents[0].decode("ascii", "replace")) if commit.parents else None
    if commit.parents and parent is None:
        return []
    try:
        changes = tree_changes(store, parent.tree if parent else None, commit.tree)
        found = [change.new or change.old for change in islice(changes, MOST_PATHS + 1)]
    except Exception:  # noqa: BLE001 - as above
        return []
    return [os.fsdecode(entry.path) for entry in found if entry is not None and entry.path]
