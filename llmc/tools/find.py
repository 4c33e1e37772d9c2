"""`find`: files by name."""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING

from llmc.base.languages import role_of
from llmc.envelope import Envelope, Group, Item, Row
from llmc.envelope.phrases import freshness_notes, plural
from llmc.graph.facts import CALLABLE_KINDS, TYPE_KINDS
from llmc.retrieval.find import FindRequest, find, parse_age, parse_size
from llmc.tool import BUDGET, FOCUS, Argument, Tool, ToolRequest, budget_of
from llmc.tools.folder_counts import files_by_folder
from llmc.tools.grep_rows import cost
from llmc.tools.scope import scope_of
from llmc.workspace import shown_path

if TYPE_CHECKING:
    from collections.abc import Sequence

    from llmc.retrieval.find import FindResult, FoundFile
    from llmc.retrieval.view import View
    from llmc.workspace import Workspace


def run(request: ToolRequest) -> Envelope:
    workspace = request.workspace
    name = request.text("name")
    scope = scope_of(request, request.texts("path"), name, globs=request.texts("glob"), types=request.texts("type"))
    query = FindRequest(
        name,
        paths=scope.paths,
        min_bytes=parse_size(request.text("larger")) if request.text("larger") else None,
        max_bytes=parse_size(request.text("smaller")) if request.text("smaller") else None,
        newer_than=parse_age(request.text("newer")) if request.text("newer") else None,
        older_than=parse_age(request.text("older")) if request.text("older") else None,
    )
    result = find(scope.views, query)
    flat = tuple(group_of(file, workspace, long=request.flag("long")) for file in result.files)
    groups, folded = (flat, ()) if is_flat(request, result) else summarised(request, result, flat)
    found = plural(len(flat), "file") if flat else "no such file"
    if result.files and result.files[0].how == "fuzzy":
        found += " with these letters in order"
    freshness = freshness_notes(result.pending, result.share, unsure=result.unsure, scanned=True)
    data = {"files": [file._asdict() for file in result.files]} if request.wants_data else {}
    notes = (*freshness, *scope.notes, *symbol_notes(request, scope.views, name))
    return Envelope("find", found, groups, notes, data=data, folded=folded, provisional=bool(result.unsure))


def symbol_notes(request: ToolRequest, views: Sequence[View], name: str) -> tuple[str, ...]:
    """Where code defines this very name, if that is in few places: it may be what is looked for."""
    if not IDENTIFIER.fullmatch(name):
        return ()
    last = name.rpartition(".")[2]
    places = [
        f"{shown_path(request.workspace, view.root.id, path)}:{one.symbol.start_line}"
        for view in views
        for one in view.store.catalog.symbols(name=name)
        if one.symbol.name == last
        and one.symbol.kind in CALLABLE_KINDS | TYPE_KINDS
        and (path := view.store.catalog.places(view.root.id).get(one.doc)) is not None
        and path not in view.hidden
        and role_of(path) == "code"
    ]
    return (f"{name} is defined in {', '.join(places)}",) if 0 < len(places) <= MOST_SYMBOLS else ()


IDENTIFIER = re.compile(r"[^\W\d]\w*(?:\.[^\W\d]\w*)*")
MOST_SYMBOLS = 3


def group_of(file: FoundFile, workspace: Workspace, *, long: bool) -> Group:
    more = f" · {file.size:,} · {day(file.mtime)}" if long else ""
    return Group(shown_path(workspace, file.root, file.path) + more, (Item(root=file.root, path=file.path),))


def is_flat(request: ToolRequest, result: FindResult) -> bool:
    """Whether each file has its own line, the best match first."""
    wanted = any(request.flag(name) for name in ("long", "all")) or request.texts("fields") or request.text(FOCUS.name)
    return bool(wanted) or len(result.files) <= MOST_FLAT


def summarised(
    request: ToolRequest, result: FindResult, flat: tuple[Group, ...]
) -> tuple[tuple[Group, ...], tuple[Group, ...]]:
    """(shown part, part behind the handle): many files are listed by folder; too many are counted."""
    workspace = request.workspace
    folders: dict[tuple[str, str], list[str]] = {}
    for file in result.files:
        folder, _, name = file.path.rpartition("/")
        folders.setdefault((file.root, folder), []).append(name)
    listed = tuple(
        folder_group(workspace, root, folder, sorted(names)) for (root, folder), names in sorted(folders.items())
    )
    budget = budget_of(request, TOOL) - HEAD_TOKENS
    if cost(listed, budget) <= budget:
        return listed, ()
    return tuple(files_by_folder([group.title for group in flat])), flat


def folder_group(workspace: Workspace, root: str, folder: str, names: list[str]) -> Group:
    if len(names) == 1:
        path = f"{folder}/{names[0]}" if folder else names[0]
        return Group(shown_path(workspace, root, path), (Item(root=root, path=path),))
    title = f"{shown_path(workspace, root, folder or '.')}/"
    return Group(title, (Item((Row(", ".join(names)),), "", root, folder),))


HEAD_TOKENS = 40  # first line and handle
MOST_FLAT = 30


def day(seconds: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(seconds))


TOOL = Tool(
    name="find",
    summary="Files by name: part of it, a glob, or letters in order.",
    brief="Files by name, a glob, or letters in order; complete, ~10 tokens each.",
    run=run,
    cacheable=True,
    reads_unindexed=True,
    uncached_args=("newer", "older", "larger", "smaller", "long", "fields"),
    names_only=True,
    cpu_bound=True,
    arguments=(
        Argument("name", "string", "Part of a path, a glob, or letters in order; empty lists all.", text="glob"),
        Argument("path", "strings", "Only below this folder.", text="path"),
        Argument("glob", "strings", "Only files that match, or with ! do not.", text="glob"),
        Argument("type", "strings", "Only files of this type, such as py."),
        Argument("larger", "string", "At least this size: 20k, 3M."),
        Argument("smaller", "string", "At most this size."),
        Argument("newer", "string", "Changed within 2h, 3d, 1w, or since 2026-01-31."),
        Argument("older", "string", "Not changed since."),
        Argument("long", "boolean", "With size and date."),
        Argument("fields", "strings", "A table of only these: path, size, mtime; * is all."),
        BUDGET,
        Argument("all", "boolean", "Every file, without a budget."),
    ),
    examples=("find autoreload", "find '*_test.go' pkg --newer 2d"),
)
