"""`tree`: folders with how much is in them, not five thousand names."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from llmc.envelope import Envelope, Group, Item, Row
from llmc.server.tools.base import Argument, Asked, Tool
from llmc.server.tools.words import freshness_notes, plural, shown_path

if TYPE_CHECKING:
    from collections.abc import Iterator

    from llmc.retrieval.view import View

# A folder with no more entries than this shows them; a larger one only says how many.
FEW = 12


@dataclass(slots=True)
class Folder:
    files: list[str] = field(default_factory=list)
    folders: dict[str, Folder] = field(default_factory=dict)

    def total(self) -> int:
        return len(self.files) + sum(folder.total() for folder in self.folders.values())


def run(asked: Asked) -> Envelope:
    workspace = asked.workspace
    paths = workspace.path_filter(asked.texts("path"))
    depth = asked.number("depth", 2)
    views = workspace.views()
    groups: list[Group] = []
    total = 0
    for view in views:
        listed = [path for path in known_paths(view) if paths.accepts(path)]
        total += len(listed)
        for base in sorted(set(paths.under) or {""}):
            below = [path for path in listed if not base or path.startswith(f"{base}/")]
            top = grow(path.removeprefix(f"{base}/" if base else "") for path in below)
            rows = tuple(Item((Row(text),), root=view.root.id, path=base) for text in written(top, depth))
            groups.append(Group(shown_path(workspace, view.root.id, base) or f"{view.root.name}/", rows, len(below)))
    notes = freshness_notes(sum(len(view.pending) for view in views), min(view.share for view in views))
    return Envelope("tree", plural(total, "file"), tuple(groups), notes, data={"files": total}, in_order=True)


def known_paths(view: View) -> list[str]:
    return sorted(set(view.store.catalog.files(view.root.id)) | view.pending)


def grow(paths: Iterator[str]) -> Folder:
    top = Folder()
    for path in paths:
        *folders, name = path.split("/")
        at = top
        for folder in folders:
            at = at.folders.setdefault(folder, Folder())
        at.files.append(name)
    return top


def written(folder: Folder, depth: int, indent: int = 0) -> Iterator[str]:
    for name, child in sorted(folder.folders.items()):
        label, inner = chained(name, child)
        yield f"{'  ' * indent}{label}/ · {inner.total():,}"
        if depth > 1:
            yield from written(inner, depth - 1, indent + 1)
    if len(folder.files) <= FEW:
        yield from (f"{'  ' * indent}{name}" for name in folder.files)
    else:
        endings = Counter(name.rpartition(".")[2] if "." in name else name for name in folder.files)
        kinds = ", ".join(f"{count} .{ending}" for ending, count in endings.most_common(4))
        yield f"{'  ' * indent}{len(folder.files):,} files ({kinds})"


def chained(name: str, folder: Folder) -> tuple[str, Folder]:
    """A chain of folders with nothing else in them is one line."""
    while len(folder.folders) == 1 and not folder.files:
        deeper, folder = next(iter(folder.folders.items()))
        name += f"/{deeper}"
    return name, folder


TOOL = Tool(
    name="tree",
    summary="Folders with their counts, to a depth.",
    run=run,
    arguments=(
        Argument("path", "strings", "A folder; without one, the roots."),
        Argument("depth", "integer", "How many levels (2)."),
        Argument("budget", "integer", "Tokens that the reply may take."),
        Argument("all", "boolean", "Everything, without a budget."),
    ),
    examples=("tree", "tree src --depth 3"),
)
