"""`outline`: the symbols of a file, a folder or the repository."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import TYPE_CHECKING

from llmc.base.errors import NotFoundError, QueryError
from llmc.envelope import Envelope, Group, Item, Row
from llmc.envelope.phrases import freshness_notes, plural
from llmc.retrieval.enclosing import symbols_of
from llmc.retrieval.outline import FEW_FILES, OutlineRequest, outline
from llmc.retrieval.targets import Target, parse_target
from llmc.tool import ALL, BUDGET, Argument, Tool, ToolRequest
from llmc.tools.nearest import completed
from llmc.tools.outline_layout import FileLayout, file_layout, folder_groups
from llmc.tools.outline_type import find_types, outline_types
from llmc.tools.scope import denied_notes
from llmc.workspace import shown_path

if TYPE_CHECKING:
    from collections.abc import Sequence

    from llmc.base.model import Symbol
    from llmc.graph.lookup import Lookup
    from llmc.retrieval.outline import FileOutline
    from llmc.retrieval.view import View
    from llmc.workspace import Workspace

LONGEST_SIGNATURE = 120


def run(request: ToolRequest) -> Envelope:
    workspace = request.workspace
    request = with_whole_paths(request)
    if (types := named_types(request)) is not None:
        return outline_types(request, types)
    targets, missing = existing(workspace, [parse_target(text) for text in request.texts("path")])
    names = tuple(one.symbol.replace("::", ".") for one in targets if one.symbol)
    paths = workspace.path_filter([one.path for one in targets])
    views = request.views()
    named = frozenset(one.path for one in targets)
    result = outline(views, OutlineRequest(paths, request.flag("deep"), names, named))
    files = [within(file, targets) for file in result.files if file.symbols]
    if names and not files and result.share == 1.0:
        raise NotFoundError(
            f"there is no {', '.join(names)} in {targets[0].path}", hint="`outline` shows what there is."
        )
    languages = ", ".join(f"{name} {count:,}" for name, count in list(result.languages.items())[:6] if name)
    symbols = sum(len(file.symbols) + file.hidden for file in files)
    found = f"{plural(symbols, 'symbol')} in {plural(len(result.files), 'file')}"
    denied = denied_notes(workspace, views, paths, by_name=True) if named and not result.files else ()
    layout = layout_of(request, views, files, named)
    return Envelope(
        "outline",
        f"{found} ({languages})" if len(files) > 1 and languages else found,
        groups=layout.groups,
        notes=(*freshness_notes(result.pending, result.share), *missing, *denied),
        data={"files": [data_of(file) for file in result.files], "languages": result.languages},
        folded=layout.folded,
    )


def with_whole_paths(request: ToolRequest) -> ToolRequest:
    texts = request.texts("path")
    return replace(request, args={**request.args, "path": whole_paths(request.workspace, texts)}) if texts else request


def whole_paths(workspace: Workspace, texts: Sequence[str]) -> list[str]:
    """Of several an ambiguous one takes nothing from the others."""
    whole = []
    for text in texts:
        try:
            whole.append(completed(workspace, text))
        except NotFoundError:
            if len(texts) == 1:
                raise
            whole.append(text)
    return whole


def named_types(request: ToolRequest) -> Lookup | None:
    """The types to list if the only target is not a path, or if inherited members are requested."""
    texts = request.texts("path")
    if len(texts) != 1:
        if request.flag("inherited"):
            raise QueryError("inherited members are those of one class", hint="outline Class --inherited")
        return None
    try:
        request.workspace.path_filter([parse_target(texts[0]).path])
    except NotFoundError:
        return find_types(request, texts[0])
    if not request.flag("inherited"):
        return None
    found = find_types(request, texts[0]) if parse_target(texts[0]).symbol else None
    if found is None:
        raise QueryError(f"{texts[0]} is not a class", hint="Name one: outline Class --inherited, or path::Class.")
    return found


def existing(workspace: Workspace, targets: list[Target]) -> tuple[list[Target], list[str]]:
    """Of several targets a missing one takes nothing from the others: those that exist, and a note on each other."""
    found: list[Target] = []
    errors: list[NotFoundError] = []
    for target in targets:
        try:
            workspace.path_filter([target.path])
        except NotFoundError as error:
            errors.append(error)
        else:
            found.append(target)
    if errors and not found:
        raise errors[0]
    return found, [error.message for error in errors]


def layout_of(
    request: ToolRequest, views: Sequence[View], files: list[FileOutline], named: frozenset[str]
) -> FileLayout:
    """Few files, and those that are named, with their members; others on one line each."""
    workspace = request.workspace

    def name(root: str, path: str) -> str:
        return shown_path(workspace, root, path)

    if request.flag("deep") or request.flag("all") or request.texts("fields"):
        return FileLayout(tuple(group_of(file, workspace) for file in files))
    settings = workspace.settings.envelope
    budget = min(request.number("budget", settings.search_budget), settings.cap) - HEAD_TOKENS
    detailed = files if len(files) <= FEW_FILES else [file for file in files if file.path in named][:MOST_DETAILED]
    others = [file for file in files if file not in detailed]
    share = budget // (len(detailed) + bool(others) or 1)
    by_root = {view.root.id: view for view in views}
    layouts = []
    for file in detailed:
        known = symbols_of(by_root[file.root], file.path)
        text = workspace.text_of(file.root, file.path)
        layouts.append(file_layout(file, known, name(file.root, file.path), share, text))
    if others:
        layouts.append(FileLayout(tuple(folder_groups(others, name, share))))
    groups = tuple(group for one in layouts for group in one.groups)
    return FileLayout(groups, tuple(group for one in layouts for group in one.folded))


HEAD_TOKENS = 40  # first line and handle
MOST_DETAILED = 8  # named files that are outlined with their members


def within(file: FileOutline, targets: Sequence[Target]) -> FileOutline:
    """Only definitions that begin within the requested lines."""
    spans = [(one.start, one.end or file.lines or 10**9) for one in targets if one.start]
    if not spans:
        return file
    kept = tuple(one for one in file.symbols if any(start <= one.start_line <= end for start, end in spans))
    return replace(file, symbols=kept)


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
    brief="Functions, classes and routes of a file or folder, tests apart; ~12 tokens each.",
    run=run,
    cacheable=True,
    cpu_bound=True,
    arguments=(
        Argument(
            "path",
            "strings",
            "A file, path:100-400, a folder, Class or path::Class; without one, everything.",
            text="path",
        ),
        Argument("deep", "boolean", "Include members, not only top-level symbols."),
        Argument("inherited", "boolean", "Of a class: also the members that it inherits, by base."),
        Argument("fields", "strings", "A table of only these: path, name, kind, start_line; * is all."),
        BUDGET,
        ALL,
    ),
    examples=("outline src/server.py::Server", "outline Server --inherited", "outline src --deep"),
)
