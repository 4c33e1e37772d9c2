"""The few words that tools have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from llmc.workspace import Workspace

__all__ = ["freshness_notes", "plural", "shown_path", "vector_notes"]


def plural(count: int, noun: str) -> str:
    """1 file, 2 files, 3 matches, 4 entries."""
    if count == 1:
        return f"1 {noun}"
    if noun.endswith("y"):
        return f"{count:,} {noun[:-1]}ies"
    return f"{count:,} {noun}{'es' if noun.endswith(('ch', 's', 'x')) else 's'}"


def freshness_notes(pending: int, share: float) -> tuple[str, ...]:
    notes = []
    if share < 1.0:
        notes.append(f"indexing, {share:.0%} done")
    if pending and share >= 1.0:
        notes.append(f"{plural(pending, 'file')} pending")
    return tuple(notes)


def vector_notes(workspace: Workspace) -> tuple[str, ...]:
    """An embedder that cannot be used costs the neighbours in meaning; whoever reads the answer must know."""
    embedder, trouble = workspace.registry.embedder(workspace.settings.embedder)
    return () if embedder else (f"by keywords alone, {trouble}",)


def shown_path(workspace: Workspace, root: str, path: str) -> str:
    """Root-relative; with several roots the root's name comes first."""
    if len(workspace.root_indexes) == 1:
        return path
    names = {root_index.root.id: root_index.root.name for root_index in workspace.root_indexes}
    return f"{names.get(root, '')}:{path}"
