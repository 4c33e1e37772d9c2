"""Which files differ from the store? A stat walk compared with the catalog; it finds what the watcher has missed.

For `--verify`, every file is read again and compared with its row. `Store.verify` compares the parts of the store with
each other.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from llmc.indexer.pipeline import look
from llmc.indexer.scan import ScanLimits, SkipReason, Tally, scan

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from llmc.base.ignore import Rules
    from llmc.base.root_fs import RootFs
    from llmc.indexer.root_index import RootIndex
    from llmc.settings import Index
    from llmc.store.catalog.reader import Catalog

__all__ = ["Changes", "Discrepancy", "below", "find_changes", "scan_limits", "verify_root"]


@dataclass(slots=True)
class Changes:
    """`paths` are new, changed or deleted files; `tally` counts what the walk skipped and why; `denied` are files that
    only the denylist hides. `complete` is False if the walk was stopped at its deadline."""

    paths: set[str] = field(default_factory=set)
    denied: set[str] = field(default_factory=set)
    tally: Tally = field(default_factory=Tally)
    complete: bool = True


def find_changes(
    root: str,
    root_fs: RootFs,
    rules: Rules,
    catalog: Catalog,
    *,
    settings: Index,
    folders: Collection[str] = ("",),
    deadline: float = math.inf,
) -> Changes:
    """Walk the folders ("" is the whole root) and compare each file's stamp with the catalog's. `deadline` is on the
    monotonic clock."""
    changes = Changes()
    known = catalog.stamps(root)
    for folder in topmost(folders):
        missing = {path for path in known if below(path, folder)} if folder else set(known)
        for listing in scan(root_fs, rules, scan_limits(settings), folder):
            if time.monotonic() > deadline:
                changes.complete = False
                return changes
            changes.tally.add(listing)
            changes.denied.update(listing.denied)
            found = dict(listing.files)
            found.update(
                (passed.path, passed.stamp)
                for passed in listing.passed
                if passed.why is SkipReason.LARGE and passed.stamp
            )
            for path, stamp in found.items():
                if known.get(path) != (stamp.size, stamp.mtime_ns, stamp.ctime_ns, stamp.inode):
                    changes.paths.add(path)
            missing.difference_update(found)
        changes.paths |= missing
    return changes


def scan_limits(settings: Index) -> ScanLimits:
    return ScanLimits(settings.max_file_bytes, settings.max_depth, settings.max_files)


def topmost(folders: Collection[str]) -> list[str]:
    """The folders that are not inside another one of them: one walk covers a folder and everything below it."""
    kept: list[str] = []
    for folder in sorted(folders):
        if not any(below(folder, other) for other in kept):
            kept.append(folder)
    return kept


def below(path: str, folder: str) -> bool:
    return not folder or path == folder or path.startswith(f"{folder}/")


@dataclass(frozen=True, slots=True)
class Discrepancy:
    """`missing`: on disk, not in the index. `extra`: in the index, not on disk. `stale`: both, with other content."""

    root: str  # or the store's folder, when the stores disagree with each other
    kind: str
    path: str
    detail: str = ""


def verify_root(
    root_index: RootIndex, catalog: Catalog, on_file: Callable[[int], None] = lambda _done: None
) -> list[Discrepancy]:
    root = root_index.root.path
    known = catalog.files(root_index.root.id)
    found: list[Discrepancy] = []
    seen: set[str] = set()
    limits = scan_limits(root_index.settings.index)
    for listing in scan(root_index.root_fs, root_index.rules, limits):
        paths = [*listing.files, *(passed.path for passed in listing.passed if passed.why is SkipReason.LARGE)]
        for path in paths:
            seen.add(path)
            state, now = known.get(path), look(root_index.root_fs, path, limits.max_file_bytes).state
            if now is None:
                continue  # deleted since the folder was listed
            if state is None:
                found.append(Discrepancy(root, "missing", path, str(now.status)))
            elif (state.status, state.key) != (now.status, now.key):
                found.append(Discrepancy(root, "stale", path, f"{state.status} in the index, {now.status} on disk"))
        on_file(len(seen))
    found += [Discrepancy(root, "extra", path) for path in known if path not in seen]
    return found
