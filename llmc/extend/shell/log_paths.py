"""Maps paths in logs to paths in a root: absolute, relative to the command's folder, or package names."""

from __future__ import annotations

import os
from functools import lru_cache
from typing import TYPE_CHECKING

from llmc.base import paths
from llmc.workspace import shown_path

if TYPE_CHECKING:
    from collections.abc import Callable

    from llmc.indexer.root_index import RootIndex
    from llmc.workspace import Workspace

__all__ = ["namer"]


def namer(workspace: Workspace, cwd: str) -> Callable[[str], str]:
    """A function from a logged path to a displayed path; paths outside the roots are unchanged."""

    @lru_cache(maxsize=4096)
    def name(path: str) -> str:
        full = os.path.normpath(os.path.join(cwd, path))  # noqa: PTH118 - text, as in `paths`
        for root_index in workspace.root_indexes:
            inner = paths.inside(full, root_index.root.path)
            if inner and (os.path.isabs(path) or root_index.root_fs.stat(inner) is not None):  # noqa: PTH117 - strings, as in Home
                return shown_path(workspace, root_index.root.id, inner)
        for root_index in workspace.root_indexes:
            found = None if os.path.isabs(path) else by_ending(workspace, root_index, path)  # noqa: PTH117 - strings, as in Home
            if found:
                return shown_path(workspace, root_index.root.id, found)
        return path.removeprefix("./")

    return name


def by_ending(workspace: Workspace, root_index: RootIndex, path: str) -> str | None:
    """The only file that matches the end of the path, for logs with Go packages or Java classes."""
    known = workspace.store_of(root_index).catalog.files(root_index.root.id)
    parts = path.split("/")
    for start in range(len(parts)):
        tail = "/".join(parts[start:])
        if tail in known:
            return tail
        if start == 0 or start == len(parts) - 1:
            ending = [one for one in known if one.endswith(f"/{tail}")]
            if len(ending) == 1:
                return ending[0]
    return None
