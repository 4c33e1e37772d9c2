"""`read habcd` and `read habcd:3`: the next page of a reply, and one of its items in full.

A handle is not a key: what it leads to must lie in the roots of whoever reads it now, and is redacted again on the way
out. Items count as a reader counts them, from the top of the reply and on through the next page.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from llmc.base.errors import NotFoundError
from llmc.envelope import Envelope, Group
from llmc.envelope.phrases import plural
from llmc.tools import tree
from llmc.tools.command_output import is_output, read_output
from llmc.tools.handle_staleness import changed_words
from llmc.tools.remotes import read_remote

if TYPE_CHECKING:
    from collections.abc import Callable

    from llmc.envelope import Item
    from llmc.envelope.handles import Handle
    from llmc.indexer.root_index import RootIndex
    from llmc.tool import ToolRequest

    Reader = Callable[[RootIndex, str, int, int], Envelope]

__all__ = ["read_item", "read_page"]

# A single line adds nothing to the reply: it is opened with the symbol or lines around it, if those are few.
FEW_LINES = 60
AROUND = 10
SINGLE = frozenset({"grep", "match", "over", "refs"})
MORE = "more of "


def read_page(request: ToolRequest, name: str) -> Envelope:
    handle = request.handles.open(name, request.owner)
    check_roots(request, handle)
    if is_output(handle):
        return read_output(request, handle, None)
    rest = handle.rest
    found = handle.whole.found if handle.whole.found.startswith(MORE) else f"{MORE}{handle.question}"
    old = tuple(note for note in rest.notes if "pending" not in note and " since: " not in note)
    return replace(rest, found=found, notes=(*changed_words(request.workspace, handle.files), *old))


def read_item(request: ToolRequest, name: str, number: int, reader: Reader) -> Envelope:
    handle = request.handles.open(name, request.owner)
    check_roots(request, handle)
    if is_output(handle):
        return read_output(request, handle, number)
    items = handle.items()
    if not 1 <= number <= len(items):
        raise NotFoundError(f"{name} has no item {number}", hint=f"It has {plural(len(items), 'item')}.", handle=name)
    item = items[number - 1]
    if not item.path:
        return Envelope("read", handle.question, (Group(item.title, (item,)),), unit="line")
    if not item.root and (remote := read_remote(request, remote_lines(item))) is not None:
        return remote
    if not item.root:  # a row of counts by folder
        located, path = request.workspace.locate(item.path.rstrip("*/") or ".")
        item = replace(item, root=located.root.id, path=path)
    root_index = request.workspace.root_index(item.root)
    seen = root_index.root_fs.stat(item.path)
    if (refusal := root_index.root_fs.refusal(item.path)) is not None:
        raise refusal
    if seen is None:
        raise NotFoundError(
            f"{item.path} was deleted after this result was stored", hint="Ask the question again.", path=item.path
        )
    if str(seen.kind) == "folder":
        return tree.run(replace(request, args={"path": [f"{root_index.root.path}/{item.path}"]}))
    start, end = surroundings(request, root_index, item) if handle.tool in SINGLE else (item.start, item.end)
    return reader(root_index, item.path, start, end)


def remote_lines(item: Item) -> str:
    """A place of a remote as a target; one line is opened with some around it."""
    if not item.start:
        return item.path
    spread = 0 if item.end > item.start else AROUND
    return f"{item.path}:{max(1, item.start - spread)}-{max(item.end, item.start) + spread}"


def check_roots(request: ToolRequest, handle: Handle) -> None:
    for root in {item.root for item in handle.whole.items() if item.root}:
        request.workspace.root_index(root)


def surroundings(request: ToolRequest, root_index: RootIndex, item: Item) -> tuple[int, int]:
    """The smallest symbol around a line, or some lines of it."""
    catalog = request.workspace.store_of(root_index).catalog
    doc = catalog.doc_of(root_index.root.id, item.path)
    symbols = [one.symbol for one in catalog.symbols(doc=doc)] if doc is not None else []
    spans = [(each.start_line, each.end_line) for each in symbols if each.start_line <= item.start <= each.end_line]
    start, end = min(spans, key=lambda span: span[1] - span[0], default=(1, item.end + AROUND))
    if end - start < FEW_LINES and end > start:
        return start, end
    return max(1, start if end > start else 1, item.start - AROUND), max(item.end, item.start + AROUND)
