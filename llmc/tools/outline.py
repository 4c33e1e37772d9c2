"""`outline`: the symbols of a file, a folder or the repository."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from llmc.base.errors import NotFoundError
from llmc.envelope import Envelope, Group, Item, Row
from llmc.envelope.phrases import freshness_notes, plural
from llmc.retrieval.outline import OutlineRequest, outline
from llmc.tool import Argument, Tool, ToolRequest
from llmc.workspace import shown_path

if TYPE_CHECKING:
    from llmc.base.model import Symbol
    from llmc.retrieval.outline import FileOutline
    from llmc.workspace import Workspace

LONGEST_SIGNATURE = 120


def run(asked: ToolRequest) -> Envelope:
    workspace = asked.workspace
    parts = [text.partition("::") for text in asked.texts("path")]
    names = tuple(name.replace("::", ".") for _, _, name in parts if name)
    paths = workspace.path_filter([path for path, _, _ in parts])
    result = outline(asked.views(), OutlineRequest(paths, asked.flag("deep"), names))
    files = [file for file in result.files if file.symbols]
    if names and not files and result.share == 1.0:
        raise NotFoundError(f"there is no {', '.join(names)} in {parts[0][0]}", hint="`outline` shows what there is.")
    languages = ", ".join(f"{name} {count:,}" for name, count in list(result.languages.items())[:6] if name)
    symbols = sum(len(file.symbols) + file.hidden for file in files)
    found = f"{plural(symbols, 'symbol')} in {plural(len(result.files), 'file')}"
    return Envelope(
        "outline",
        f"{found} ({languages})" if len(files) > 1 and languages else found,
        groups=tuple(group_of(file, workspace) for file in files),
        notes=freshness_notes(result.pending, result.share),
        data={"files": [data_of(file) for file in result.files], "languages": result.languages},
    )


def data_of(file: FileOutline) -> dict[str, object]:
    return {**asdict(file), "symbols": [symbol._asdict() for symbol in file.symbols]}


def group_of(file: FileOutline, workspace: Workspace) -> Group:
    items = tuple(item_of(file, symbol) for symbol in file.symbols)
    if file.hidden:
        items = (*items, Item((Row(f"… {plural(file.hidden, 'member')}"),), root=file.root, path=file.path))
    return Group(shown_path(workspace, file.root, file.path), items)


def item_of(file: FileOutline, symbol: Symbol) -> Item:
    depth = symbol.container.count(".") + 1 if symbol.container else 0
    text = symbol.signature or f"{symbol.kind} {symbol.name}"
    row = Row("  " * depth + text, symbol.start_line, longest=LONGEST_SIGNATURE)
    return Item((row,), root=file.root, path=file.path, start=symbol.start_line, end=symbol.end_line, level=depth)


TOOL = Tool(
    name="outline",
    summary="The symbols of a file, a folder or the whole repository: a map.",
    run=run,
    cacheable=True,
    cpu_bound=True,
    arguments=(
        Argument("path", "strings", "A file, a folder, or path::Class; without one, everything.", text="path"),
        Argument("deep", "boolean", "Members too, not only what stands at the top of files."),
        Argument("fields", "strings", "A table of only these: path, name, kind, start_line; * is all."),
        Argument("budget", "integer", "Tokens that the reply may take."),
        Argument("all", "boolean", "Everything, without a budget."),
    ),
    examples=("outline src/server.py::Server", "outline src --deep"),
)
