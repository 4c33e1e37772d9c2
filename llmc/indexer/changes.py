"""Which files differ from the store? A stat walk compared with the catalog; it finds what the watcher has missed."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from llmc.indexer.scan import ScanLimits, SkipReason, Tally, scan

if TYPE_CHECKING:
    from collections.abc import Collection

    from llmc.base.ignore import Rules
    from llmc.base.root_fs import RootFs
    from llmc.settings import Index
    from llmc.store.catalog.reader import Catalog

__all__ = ["Changes", "below", "find_changes", "scan_limits"]


@dataclass(slots=True)
class Changes:
    """`paths` are new, changed or gone; `tally` is what the walk passed over and why; `denied` is what the denylist
    names and nothing else hides. `complete` is False for a walk that was stopped at its deadline."""

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
    """One walk serves a folder and all below it."""
    kept: list[str] = []
    for folder in sorted(folders):
        if not any(below(folder, other) for other in kept):
            kept.append(folder)
    return kept


def below(path: str, folder: str) -> bool:
    return not folder or path == folder or path.startswith(f"{folder}/")
