"""The files below an explicitly named path that are not indexed, since ripgrep searches any path that it is given.

An ignored file that is named is searched. In an ignored folder, all files are searched except those that ignore files
hide individually. A link is followed if it stays in the root. Files refused by the denylist or `index.exclude` stay
refused. Nothing is indexed here; retrieval reads these files from disk.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from llmc.base import paths
from llmc.base.ignore import Rules
from llmc.base.root_fs import FileKind
from llmc.indexer.changes import scan_limits
from llmc.indexer.scan import SkipReason, scan

if TYPE_CHECKING:
    from llmc.base.errors import ReadError
    from llmc.indexer.root_index import RootIndex

__all__ = ["UNREAD", "NamedPath", "named_path"]


# Reasons for skipping an entry that ripgrep would have searched or reported.
UNREAD = frozenset({SkipReason.UNREADABLE, SkipReason.DEEP, SkipReason.LONG, SkipReason.MANY})


@dataclass(frozen=True, slots=True)
class NamedPath:
    """`path` is the resolved path inside the root. `files` are those that are not indexed, `skipped` those of them that
    cannot be read; `refusal` is the error that reading the path raises."""

    path: str
    files: frozenset[str] = frozenset()
    skipped: frozenset[str] = frozenset()
    refusal: ReadError | None = None


def named_path(root_index: RootIndex, path: str) -> NamedPath:
    """`path` is relative to the root; "" is the root itself, which is indexed."""
    root_fs = root_index.root_fs
    seen = root_fs.stat(path) if path else None
    if seen is not None and seen.kind is FileKind.LINK:
        target = paths.inside(os.path.realpath(f"{root_fs.path}/{path}"), root_fs.path)
        seen = root_fs.stat(target) if target else None
        path = target or path
        if seen is None:
            return NamedPath(path, skipped=frozenset({path}))
    if seen is None:
        return NamedPath(path)
    is_folder = seen.kind is FileKind.FOLDER
    if (refusal := root_fs.refusal(path, is_folder=is_folder)) is not None:
        return NamedPath(path, refusal=refusal)
    if seen.kind is FileKind.OTHER:
        return NamedPath(path, skipped=frozenset({path}))
    if not root_index.leaves_out(path, is_folder=is_folder):
        return NamedPath(path)
    return walked(root_index, path) if is_folder else NamedPath(path, frozenset({path}))


def walked(root_index: RootIndex, folder: str) -> NamedPath:
    index = root_index.settings.index
    files: set[str] = set()
    skipped: set[str] = set()
    # Separate rules: those of the root's index must not treat the folder as indexed.
    rules = Rules(root_index.root_fs, hidden=index.hidden, nested_checkouts=True)
    for listing in scan(root_index.root_fs, rules, scan_limits(index), folder, named=True):
        files.update(path for path in listing.files if root_index.root_fs.refusal(path) is None)
        files.update(passed.path for passed in listing.passed if passed.why is SkipReason.LARGE)
        skipped.update(passed.path for passed in listing.passed if passed.why in UNREAD)
        skipped.update(listing.denied)
    return NamedPath(folder, frozenset(files), frozenset(skipped))
