"""`tree`: folders with how much is in them, not five thousand names."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from llmc.envelope import Envelope, Group, Item, Row
from llmc.retrieval.globs import NOWHERE
from llmc.server.tools.base import Argument, Asked, Tool
from llmc.server.tools.words import freshness_notes, plural, shown_path

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from llmc.retrieval.view import View

# A folder with no more files than this shows them, the one that was asked for more; a larger one says how many.
FEW = 12
MANY = 200
KINDS = 4


@dataclass(slots=True)
class Folder:
    files: list[str] = field(default_factory=list)
    folders: dict[str, Folder] = field(default_factory=dict)

    def total(self) -> int:
        return len(self.files) + sum(folder.total() for folder in self.folders.values())


def run(asked: Asked) -> Envelope:
    workspace = asked.workspace
    paths = workspace.path_filter(asked.texts("path"))
    depth = max(1, asked.number("depth", 2))
    views = workspace.views()
    groups: list[Group] = []
    entries: list[dict[str, object]] = []
    total = 0
    for view in views:
        here = paths.of(view.root.id)
        if here.under == NOWHERE:
            continue
        bases = sorted(set(here.under) or {""})
        listed = known_paths(view) if here.is_open else [path for path in known_paths(view) if here.accepts(path)]
        total += len(listed)
        for base in bases:
            below = [path[len(base) + 1 :] for path in listed if path.startswith(f"{base}/")] if base else listed
            lines = list(written(grow(below), depth, base))
            entries += [{"root": view.root.id, "path": line.path, "files": line.files} for line in lines]
            title = shown_path(workspace, view.root.id, base)
            # The first line has the number of files; only several folders need one each.
            count = len(below) if len(views) * len(bases) > 1 else None
            groups.append(Group(title, tuple(item_of(view, line) for line in lines), count))
    notes = freshness_notes(sum(len(view.pending) for view in views), min(view.share for view in views))
    data = {"files": total, "entries": entries}
    return Envelope("tree", plural(total, "file"), tuple(groups), notes, data=data, unit="line", in_order=True)


def item_of(view: View, line: Line) -> Item:
    row = Row(f"{'  ' * line.depth}{line.text}")
    return Item((row,), root=view.root.id, path=line.path, level=line.depth)


def known_paths(view: View) -> list[str]:
    catalog = view.store.catalog
    paths = catalog.places(view.root.id).paths()
    paths += {*catalog.without_document(view.root.id), *view.pending}.difference(paths)
    return sorted(paths)


def grow(paths: Iterable[str]) -> Folder:
    planted = {"": Folder()}
    for path in paths:
        folder, _, name = path.rpartition("/")
        at = planted.get(folder) or plant(planted, folder)
        at.files.append(name)
    return planted[""]


def plant(planted: dict[str, Folder], path: str) -> Folder:
    """The folder at the path, and those above it that are not there yet."""
    above, _, name = path.rpartition("/")
    parent = planted.get(above) or plant(planted, above)
    planted[path] = parent.folders[name] = Folder()
    return planted[path]


class Line(NamedTuple):
    text: str
    path: str
    depth: int
    files: int


def written(folder: Folder, levels: int, base: str, depth: int = 0) -> Iterator[Line]:
    for name, child in sorted(folder.folders.items()):
        label, inner = chained(name, child)
        path = f"{base}/{label}" if base else label
        total = inner.total()
        yield Line(f"{label}/ · {total:,}", path, depth, total)
        if levels > 1:
            yield from written(inner, levels - 1, path, depth + 1)
    if len(folder.files) <= (FEW if depth else MANY):
        yield from (Line(name, f"{base}/{name}" if base else name, depth, 1) for name in folder.files)
    else:
        kinds = kinds_of(folder.files)
        yield Line(f"{len(folder.files):,} files ({kinds})", base, depth, len(folder.files))


def kinds_of(names: list[str]) -> str:
    """Counts of the commonest endings, and how many others there are."""
    endings = Counter(f".{name.rpartition('.')[2]}" if "." in name[1:] else name for name in names)
    common = endings.most_common(KINDS)
    words = [f"{count:,} {ending}" for ending, count in common]
    if others := len(names) - sum(count for _, count in common):
        words.append(f"{others:,} others")
    return ", ".join(words)


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
        Argument("fields", "strings", "A table of only these: path, files; * is all."),
        Argument("budget", "integer", "Tokens that the reply may take."),
        Argument("all", "boolean", "Everything, without a budget."),
    ),
    examples=("tree", "tree src --depth 3"),
)
