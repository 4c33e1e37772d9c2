"""The scope of a question: the folders it may search and the limits it must keep.

A root is given by its name or path, or as a folder inside one; paths outside the roots are refused without revealing
whether they exist. Constraints can only tighten the limits from the settings: larger values are reduced to the limit,
and the report lists the limits used.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from llmc.answers.research.budget import Budget
from llmc.base.errors import LlmcError, OutsideError, QueryError
from llmc.retrieval.globs import PathFilter

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from llmc.indexer.root_index import RootIndex
    from llmc.settings import Settings
    from llmc.workspace import Workspace

__all__ = ["Constraints", "ResearchScope", "constraints_of", "is_inside", "paths_of", "scope_of"]


@dataclass(frozen=True, slots=True)
class Constraints:
    """`tokens` is the budget of the compact report."""

    files: int
    bytes: int
    deadline_ms: int
    tokens: int

    @property
    def budget(self) -> Budget:
        return Budget(self.files, self.bytes)

    def as_dict(self) -> dict[str, int]:
        return {
            "maxFilesRead": self.files,
            "maxBytesRead": self.bytes,
            "deadlineMs": self.deadline_ms,
            "maxTokens": self.tokens,
        }


@dataclass(frozen=True)
class ResearchScope:
    """`folders` and `thoughts` are disjoint lists of (root, folder in it), with "" for the whole root."""

    folders: tuple[tuple[str, str], ...]
    thoughts: tuple[tuple[str, str], ...] = ()
    several: bool = field(default=False)

    def searched(self) -> list[str]:
        """Absolute paths of all folders, for the report."""
        return [f"{root}/{folder}" if folder else root for root, folder in (*self.folders, *self.thoughts)]


def paths_of(folders: Sequence[tuple[str, str]], root: str, without: Sequence[tuple[str, str]] = ()) -> PathFilter:
    """The path filter for one root."""
    under = tuple(folder for name, folder in folders if name == root)
    hidden = tuple(f"!/{folder}/" for name, folder in without if name == root and folder)
    return PathFilter(under=() if "" in under else under, globs=hidden)


# The names that callers use for each constraint, and its smallest value.
_NAMES = {
    "files": ("maxFilesRead", "max_files_read", "maxFiles", "max_files", "files"),
    "bytes": ("maxBytesRead", "max_bytes_read", "maxBytes", "max_bytes", "bytes"),
    "deadline_ms": ("deadlineMs", "deadline_ms", "timeoutMs", "timeout_ms", "timeMs", "time_ms"),
    "tokens": ("maxTokens", "max_tokens", "tokens", "tokenBudget", "token_budget", "budget"),
}
_LEAST = {"files": 1, "bytes": 1, "deadline_ms": 1, "tokens": 50}


def constraints_of(limits: Mapping[str, Any], settings: Settings) -> Constraints:
    allowed = {
        "files": settings.limits.max_files_read,
        "bytes": settings.limits.max_bytes_read,
        "deadline_ms": settings.runtime.default_deadline_ms,
        "tokens": settings.envelope.cap,
    }
    values = {**allowed, "tokens": settings.envelope.research_budget}
    for name, value in limits.items():
        key = next((key for key, names in _NAMES.items() if name in names), None)
        if key is None:
            known = ", ".join(names[0] for names in _NAMES.values())
            raise QueryError(f"unknown constraint {name!r}", hint=f"Available: {known}.")
        if isinstance(value, bool) or not isinstance(value, int) or value < _LEAST[key]:
            raise QueryError(f"{name} must be an integer of at least {_LEAST[key]}", hint="Omit it to use the default.")
        values[key] = min(value, allowed[key])
    return Constraints(**values)


def scope_of(workspace: Workspace, roots: Sequence[str]) -> ResearchScope:
    thoughts = thoughts_of(workspace)
    if roots:
        limits = tuple(dict.fromkeys(folder_of(workspace, name) for name in roots))
        inside = tuple(one for one in limits if any(is_inside(one, other) for other in thoughts))
        folders = tuple(one for one in limits if one not in inside)
        kept = inside or tuple(one for one in thoughts if any(is_inside(one, other) for other in folders))
    else:
        folders = tuple((root_index.root.id, "") for root_index in workspace.root_indexes)
        folders, kept = tuple(one for one in folders if one not in thoughts), thoughts
    if not folders:  # a scope with only notes treats them like any other root
        folders, kept = kept, ()
    return ResearchScope(folders, kept, several=len({root for root, _ in (*folders, *kept)}) > 1)


def folder_of(workspace: Workspace, name: str) -> tuple[str, str]:
    """(root, folder) for the name of a root or the path of a folder in one."""
    for root_index in workspace.root_indexes:
        if name in {root_index.root.name, root_index.root.path, root_index.root.path + "/"}:
            return root_index.root.id, ""
    try:
        root_index, path = workspace.locate(name)
        seen = root_index.root_fs.stat(path) if path else None
    except OutsideError:
        names = ", ".join(root_index.root.name for root_index in workspace.root_indexes)
        raise OutsideError(f"{name!r} is outside the roots", hint=f"Available roots: {names}.") from None
    if seen is not None and str(seen.kind) != "folder":
        raise QueryError(f"{name!r} is not a folder", hint="Give the name of a root, or a folder inside one.")
    return root_index.root.id, path


def is_inside(one: tuple[str, str], other: tuple[str, str]) -> bool:
    return one[0] == other[0] and (one[1] == other[1] or not other[1] or one[1].startswith(f"{other[1]}/"))


def thoughts_of(workspace: Workspace) -> tuple[tuple[str, str], ...]:
    """The folder with notes: the one in the settings, or a root named `thoughts`."""
    named = workspace.settings.research.thoughts
    if named:
        try:
            return (folder_of(workspace, named),)
        except LlmcError:
            return ()
    return tuple((root_index.root.id, "") for root_index in workspace.root_indexes if is_thoughts(root_index))


def is_thoughts(root_index: RootIndex) -> bool:
    return root_index.root.name == "thoughts"
