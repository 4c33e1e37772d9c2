"""What lies behind a handle: which files, in which state, and which of them have changed since.

A file that is indexed is known by its document, which identifies its path and content: one that was changed and changed
back is the same. Any other is known by size and times.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from llmc.envelope import Envelope
    from llmc.indexer.root_index import RootIndex
    from llmc.workspace import Workspace

__all__ = ["changed_words", "stamps_of"]

NAMED = 3
DOCUMENT = "document "
# From here on one look at all documents of the root costs less than one at each.
MANY = 1_000


def stamps_of(workspace: Workspace, envelope: Envelope) -> list[tuple[str, str, str]]:
    """(root, path, stamp) of every file in the envelope."""
    places = dict.fromkeys((item.root, item.path) for item in envelope.items() if item.path)
    known: dict[tuple[str, str], str] = {}
    for root_index in workspace.root_indexes:
        root, pending = root_index.root.id, root_index.pending.paths()
        paths = [path for of, path in places if of == root and path not in pending]
        known |= {(root, path): stamp for path, stamp in documents(workspace, root_index, paths).items()}
    return [(root, path, known.get((root, path)) or workspace.file_stamp(path, root)) for root, path in places]


def documents(workspace: Workspace, root_index: RootIndex, paths: Collection[str]) -> dict[str, str]:
    """path → its document, for those that are indexed."""
    catalog = workspace.store_of(root_index).catalog
    if len(paths) < MANY:
        found = catalog.docs_of(root_index.root.id, paths)
    else:
        wanted = set(paths)
        places = catalog.places(root_index.root.id)
        found = {path: doc for doc, path in zip(places, places.paths(), strict=True) if path in wanted}
    return {path: f"{DOCUMENT}{doc}" for path, doc in found.items()}


def changed_words(workspace: Workspace, files: Iterable[tuple[str, str, str]]) -> tuple[str, ...]:
    """A phrase about files that have changed since; empty if none has."""
    by_state: dict[str, list[str]] = {}
    files = list(files)
    for root, path in (*changed_files(workspace, files), *denied_files(workspace, files)):
        name = path.rpartition("/")[2]
        names = by_state.setdefault(state_of(workspace, root, path), [])
        if name not in names:
            names.append(name)
    return tuple(f"{state} since: {listed(names)}" for state, names in sorted(by_state.items()))


def listed(names: list[str]) -> str:
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return ", ".join(names[:NAMED]) + more


def state_of(workspace: Workspace, root: str, path: str) -> str:
    """What became of a file that is not as it was."""
    root_index = workspace.root_index(root)
    if root_index.root_fs.denylist.denies(path):
        return "denied"
    if root_index.root_fs.stat(path) is None:
        return "deleted"
    return "ignored" if root_index.rules.ignored(path, is_folder=False) else "changed"


def denied_files(workspace: Workspace, files: Iterable[tuple[str, str, str]]) -> list[tuple[str, str]]:
    """They need not have changed: the user's settings have."""
    root_fses = {root_index.root.id: root_index.root_fs for root_index in workspace.root_indexes}
    return [(root, path) for root, path, _ in files if root in root_fses and root_fses[root].denylist.denies(path)]


def changed_files(workspace: Workspace, files: list[tuple[str, str, str]]) -> list[tuple[str, str]]:
    current: dict[tuple[str, str], str] = {}
    for view in workspace.views():  # everything that was saved before now is marked
        root, root_index = view.root.id, workspace.root_index(view.root.id)
        paths = [
            path for of, path, old in files if of == root and path not in view.pending and old.startswith(DOCUMENT)
        ]
        current |= {(root, path): stamp for path, stamp in documents(workspace, root_index, paths).items()}
    return [
        (root, path)
        for root, path, old in files
        if old != (current.get((root, path)) if old.startswith(DOCUMENT) else workspace.file_stamp(path, root))
    ]
