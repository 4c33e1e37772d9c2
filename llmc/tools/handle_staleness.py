"""What lies behind a handle: which files, in which state, and which of them have changed since.

A file that is indexed is known by its document, which stands for its path and content: one that was changed and changed
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
    catalog = workspace.registry.writer_thread(root_index).store.catalog
    if len(paths) < MANY:
        found = catalog.docs_of(root_index.root.id, paths)
    else:
        wanted = set(paths)
        places = catalog.places(root_index.root.id)
        found = {path: doc for doc, path in zip(places, places.paths(), strict=True) if path in wanted}
    return {path: f"{DOCUMENT}{doc}" for path, doc in found.items()}


def changed_words(workspace: Workspace, files: Iterable[tuple[str, str, str]]) -> tuple[str, ...]:
    """What to say of the files that are no longer as they were; nothing when all are."""
    files = list(files)
    current: dict[tuple[str, str], str] = {}
    for view in workspace.views():  # everything that was saved before now is marked
        root, root_index = view.root.id, workspace.root_index(view.root.id)
        paths = [
            path for of, path, old in files if of == root and path not in view.pending and old.startswith(DOCUMENT)
        ]
        current |= {(root, path): stamp for path, stamp in documents(workspace, root_index, paths).items()}
    changed = [
        path.rpartition("/")[2]
        for root, path, old in files
        if old != (current.get((root, path)) if old.startswith(DOCUMENT) else workspace.file_stamp(path, root))
    ]
    if not changed:
        return ()
    more = f" and {len(changed) - NAMED} more" if len(changed) > NAMED else ""
    return (f"changed since: {', '.join(changed[:NAMED])}{more}",)
