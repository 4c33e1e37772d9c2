"""`tree`: folders with how much is in them, not five thousand names."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from dataclasses import dataclass, replace
from os.path import commonpath
from typing import TYPE_CHECKING, NamedTuple

from llmc.envelope import Envelope, Group, Item, Row
from llmc.envelope.phrases import freshness_notes, plural
from llmc.retrieval.globs import NOWHERE
from llmc.tool import ALL, BUDGET, Argument, Tool, ToolRequest
from llmc.tools.scope import denied_notes
from llmc.workspace import shown_path

if TYPE_CHECKING:
    from collections.abc import Iterator

    from llmc.retrieval.view import View

# A folder with at most this many files lists them, more in the requested one; a larger one shows their number.
FEW = 12
MANY = 200
KINDS = 4


def run(request: ToolRequest) -> Envelope:
    workspace = request.workspace
    paths = workspace.path_filter(request.texts("path"))
    depth = max(1, request.number("depth", 2))
    views = request.views()
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
            below = Branch.of(listed, f"{base}/" if base else "")
            lines = list(written(below, depth))
            entries += [{"root": view.root.id, "path": line.path, "files": line.files} for line in lines]
            title = shown_path(workspace, view.root.id, base)
            # The first line has the number of files; only several folders need one each.
            count = below.files if len(views) * len(bases) > 1 else None
            groups.append(Group(title, tuple(item_of(view, line) for line in lines), count))
    pending = freshness_notes(sum(len(view.pending) for view in views), min(view.share for view in views))
    notes = (*pending, *denied_notes(workspace, views, paths, listing=True))
    data = {"files": total, "entries": entries}
    return Envelope("tree", plural(total, "file"), tuple(groups), notes, data=data, unit="line", in_order=True)


def item_of(view: View, line: TreeLine) -> Item:
    row = Row(f"{'  ' * line.depth}{line.text}")
    return Item((row,), root=view.root.id, path=line.path, level=line.depth)


def known_paths(view: View) -> list[str]:
    catalog = view.store.catalog
    paths = catalog.places(view.root.id).paths()
    others = {*catalog.without_document(view.root.id), *view.pending}
    return sorted([*paths, *others.difference(paths)] if others else paths)


@dataclass(frozen=True, slots=True)
class Branch:
    """A folder within sorted paths: everything below it is contiguous, so it is a start and a length.

    Only displayed folders are examined: for 7,000 files in 2,000 folders a tree takes 7 ms.
    """

    paths: list[str]
    at: str  # with its last slash; empty is the root
    start: int
    end: int

    @classmethod
    def of(cls, paths: list[str], folder: str, start: int = 0, end: int | None = None) -> Branch:
        start = bisect_left(paths, folder, start, end)
        # The character behind the slash: the first that no path below the folder begins with.
        after = bisect_left(paths, f"{folder[:-1]}0", start, end) if folder else len(paths)
        return cls(paths, folder, start, after)

    @property
    def files(self) -> int:
        return self.end - self.start

    def inside(self) -> tuple[list[Branch], list[str]]:
        """The folders and the files in it."""
        folders: list[Branch] = []
        files: list[str] = []
        at = self.start
        while at < self.end:
            name, slash, _ = self.paths[at][len(self.at) :].partition("/")
            if slash:
                folders.append(Branch.of(self.paths, f"{self.at}{name}/", at, self.end))
                at = folders[-1].end
            else:
                files.append(name)
                at += 1
        return sorted(folders, key=lambda folder: folder.at[:-1]), files

    def chained(self) -> Branch:
        """The end of a chain of folders with nothing else in them: it is one line."""
        first, last = (self.paths[at].rpartition("/")[0] for at in (self.start, self.end - 1))
        return replace(self, at=f"{commonpath([first, last])}/")


class TreeLine(NamedTuple):
    text: str
    path: str
    depth: int
    files: int


def written(branch: Branch, levels: int, depth: int = 0) -> Iterator[TreeLine]:
    folders, names = branch.inside()
    for folder in folders:
        inner = folder.chained()
        yield TreeLine(f"{inner.at[len(branch.at) :]} · {inner.files:,}", inner.at[:-1], depth, inner.files)
        if levels > 1:
            yield from written(inner, levels - 1, depth + 1)
    if len(names) <= (FEW if depth else MANY):
        yield from (TreeLine(name, f"{branch.at}{name}", depth, 1) for name in names)
    else:
        yield TreeLine(f"{len(names):,} files ({kinds_of(names)})", branch.at[:-1], depth, len(names))


def kinds_of(names: list[str]) -> str:
    """Counts of the commonest endings, and how many others there are."""
    endings = Counter(f".{name.rpartition('.')[2]}" if "." in name[1:] else name for name in names)
    common = endings.most_common(KINDS)
    words = [f"{count:,} {ending}" for ending, count in common]
    if others := len(names) - sum(count for _, count in common):
        words.append(f"{others:,} others")
    return ", ".join(words)


TOOL = Tool(
    name="tree",
    summary="Folders with file counts, down to a depth.",
    run=run,
    cacheable=True,
    reads_unindexed=True,
    cpu_bound=True,
    arguments=(
        Argument("path", "strings", "A folder; without one, the roots.", text="path"),
        Argument("depth", "integer", "Levels of folders (default: 2)."),
        Argument("fields", "strings", "A table of only these: path, files; * is all."),
        BUDGET,
        ALL,
    ),
    examples=("tree", "tree src --depth 3"),
)
