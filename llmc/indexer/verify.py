"""Compares the index with the disk, for `--verify`: every file is read again and compared with its row.

`Store.verify` compares the parts of the store with each other.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from llmc.indexer.changes import scan_limits
from llmc.indexer.pipeline import look
from llmc.indexer.scan import SkipReason, scan

if TYPE_CHECKING:
    from collections.abc import Callable

    from llmc.indexer.root_index import RootIndex
    from llmc.store.catalog.reader import Catalog

__all__ = ["Discrepancy", "verify_root"]


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
                continue  # gone since the folder was listed
            if state is None:
                found.append(Discrepancy(root, "missing", path, str(now.status)))
            elif (state.status, state.key) != (now.status, now.key):
                found.append(Discrepancy(root, "stale", path, f"{state.status} in the index, {now.status} on disk"))
        on_file(len(seen))
    found += [Discrepancy(root, "extra", path) for path in known if path not in seen]
    return found
