"""`read`: a file, some lines of it, a symbol, or what an earlier reply left out.

What is named exactly (lines, a symbol) is shown in full up to the cap. Of a long file there is an outline, of a very
long function its skeleton; several targets are read together, and those of one file that overlap are merged.
"""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import asdict, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from llmc.base.errors import LlmcError, NotFoundError, QueryError
from llmc.base.languages import has_statements, language_of
from llmc.base.model import CALLABLES
from llmc.envelope import Envelope, Group, Item, Row
from llmc.envelope.phrases import freshness_notes, plural
from llmc.retrieval.enclosing import symbols_of
from llmc.retrieval.line_kinds import FileText
from llmc.retrieval.outline import OutlineRequest, outline
from llmc.retrieval.skeleton import skeleton
from llmc.retrieval.targets import (
    BinaryFile,
    Target,
    find_symbol,
    overloads_with_body,
    parse_target,
    read_target,
)
from llmc.tool import BUDGET, FOCUS, Argument, Tool, ToolRequest
from llmc.tools.handle_pages import read_item, read_page
from llmc.tools.nearest import completed, with_nearest
from llmc.tools.outline_layout import file_layout
from llmc.tools.read_code import (
    LONG_FUNCTION,
    LONG_OF_SEVERAL,
    SKELETON,
    code_of,
    code_rows,
    is_shorter_as_code,
    skeleton_rows,
)
from llmc.tools.read_names import located, places_of
from llmc.tools.read_several import merged, together
from llmc.tools.remotes import local_target, read_remote
from llmc.tools.scope import written_together
from llmc.workspace import shown_path

if TYPE_CHECKING:
    from collections.abc import Sequence

    from llmc.indexer.root_index import RootIndex
    from llmc.retrieval.outline import FileOutline
    from llmc.retrieval.view import View

# A file up to this many lines is shown whole, as far as the budget goes; of a longer one the outline says more.
WHOLE_LINES = 250
# The share of the budget that an outline gets. Among several targets it is there for orientation, and must not take the
# room of the others.
MAP_SHARE, MAP_SHARE_OF_SEVERAL = 0.75, 0.3
HEAD_LINES = 12
# Of a long function: about 1,000 tokens; half of that for each of several.
MOST_STATEMENTS, STATEMENTS_OF_SEVERAL = 90, 45
FEW_STATEMENTS = 0.55  # of them: so many are shown whole and not as a skeleton
# Overloads that have together at most so many lines are shown together: they usually call each other.
SHORT_OVERLOADS = 60
MOST_OVERLOADS = 6  # places of others in the first line
MOST_TARGETS = 20
CODE_ALONE = "without comments and logging"
CODE_HINT = "--code is shorter: every statement, no comments"
STEPS = "steps"  # behind the handle of a delegate's reply: its steps


def run(request: ToolRequest) -> Envelope:
    targets = [part for text in request.texts("target") for part in separate(request, text)]
    if len(targets) > MOST_TARGETS:
        raise QueryError(f"{len(targets)} targets are too many at once", hint=f"Read at most {MOST_TARGETS}.")
    if len(targets) == 1:
        return read_one(request, targets[0])
    return together(*merged(targets, [read_or_say(request, target) for target in targets]))


def separate(request: ToolRequest, text: str) -> list[str]:
    """Several targets in one string, unless a file is called so."""
    parts = written_together(text)
    path = parse_target(text).path
    if len(parts) > 1 and path != parse_target(parts[0]).path:
        with suppress(NotFoundError):
            request.workspace.locate(path)
            return [text]
    return parts


def read_or_say(request: ToolRequest, target: str) -> Envelope | LlmcError:
    """Of several targets a wrong one takes nothing from the others."""
    try:
        return read_one(request, target, alone=False)
    except LlmcError as error:
        return with_nearest(request.workspace, error)


def read_one(request: ToolRequest, text: str, *, alone: bool = True) -> Envelope:
    name, _, number = text.partition(":")
    number = "" if number == STEPS else number
    if (not number or number.isdecimal()) and request.is_handle(name):
        if not number:
            return read_page(request, name)
        return read_item(request, name, int(number[:9]), partial(read_span, request))
    try:
        whole = completed(request.workspace, local_target(request.workspace, text))
        (root_index, path, target), *others = located(request, parse_target(whole))
    except NotFoundError:
        if (remote := read_remote(request, text)) is None:
            raise
        return remote
    seen = root_index.root_fs.stat(path) if path else None
    if seen is None or str(seen.kind) == "folder":
        raise QueryError(f"{target.path} is a folder", hint="`outline` or `tree` show what is in it.")
    told = read_lines(request, root_index, path, target, alone=alone)
    return replace(told, found=f"{told.found} · also {places_of(request, others, 2)}") if others else told


def read_span(request: ToolRequest, root_index: RootIndex, path: str, start: int, end: int) -> Envelope:
    return read_lines(request, root_index, path, Target(path, start, end))


def read_lines(
    request: ToolRequest, root_index: RootIndex, path: str, target: Target, *, alone: bool = True
) -> Envelope:
    """A range, a symbol or a whole file; of a long file its map."""
    lines = read_target(root_index.root_fs, path)
    if isinstance(lines, BinaryFile):
        return binary_envelope(request, root_index, path, lines)
    views = [view for view in request.workspace.views() if view.root.id == root_index.root.id]
    notes = freshness_notes(sum(path in view.pending for view in views), 1.0)
    if target.symbol:
        target = find_symbol(views[0], path, target)
    overloads = overloads_with_body(target, lines)
    if are_shown_together(request, target, overloads):
        return read_overloads(request, root_index, path, target, overloads)
    if target.start > len(lines):
        raise NotFoundError(f"{path} has {plural(len(lines), 'line')}", hint="Ask for lines within it.", path=path)
    start, end = max(1, target.start), min(target.end or len(lines), len(lines))
    rows = tuple(Row(line, number) for number, line in enumerate(lines[start - 1 : end], start))
    whole = Item(rows, "", root_index.root.id, path, start, end)
    most = 0 if request.flag("all") else MOST_STATEMENTS if alone else STATEMENTS_OF_SEVERAL
    shown = as_asked(request, target, rows, lines, path, LONG_FUNCTION if alone else LONG_OF_SEVERAL, most)
    if shown is not None:
        rows, notes = shown[0], (*notes, *shown[1])
        whole = replace(whole, rows=rows)
    place = {"root": root_index.root.id, "path": path, "start_line": start, "end_line": end, "lines": len(lines)}
    data = {**place, "text": "\n".join(lines[start - 1 : end])}
    title = shown_path(request.workspace, root_index.root.id, path)
    span = lines_words(target, start, end, len(lines))
    found = f"{title}{span}{inside_of(views[0], path, target)}{also_words(overloads)}"
    is_shared_range = bool(target.start) and not alone  # explicitly named lines and symbols are shown in full
    wanted = request.flag("all") or request.flag("code") or request.text(FOCUS.name)
    long = len(rows) > WHOLE_LINES and not is_shared_range and not wanted
    if long and alone and not target.start:
        from llmc.tools.read_log import log_envelope  # noqa: PLC0415 - the readers of logs, which few need

        told = log_envelope(request, root_index, path, title, lines)
        if told is not None:
            return told
    if shown is None:
        return shape(found, views[0], whole, notes, data, most, "\n".join(lines) + "\n")
    if long and (target.named or not target.start):
        return mapped(request, found, views[0], whole, notes, data, MAP_SHARE if alone else MAP_SHARE_OF_SEVERAL)
    explicit = bool(target.start) or not alone  # a short file beside ranges must not cut them
    return Envelope("read", found, (Group("", (whole,)),), notes, data=data, unit="line", explicit=explicit)


def lines_words(target: Target, start: int, end: int, total: int) -> str:
    if not target.start:
        return f" · {plural(total, 'line')}"
    return f":{f'{start}-{end}' if end > start else start} of {plural(total, 'line')}"


def are_shown_together(request: ToolRequest, target: Target, overloads: Sequence[tuple[int, int]]) -> bool:
    total = sum(end - start + 1 for start, end in (*overloads, (target.start, target.end)))
    return bool(overloads) and (request.flag("all") or total <= SHORT_OVERLOADS) and not request.flag("skeleton")


def read_overloads(
    request: ToolRequest, root_index: RootIndex, path: str, target: Target, overloads: Sequence[tuple[int, int]]
) -> Envelope:
    """All of them, in the order of the file. `data` is that of the longest, with the others in `overloads`."""
    spans = sorted([(target.start, target.end), *overloads])
    told = {
        (start, end): read_lines(request, root_index, path, replace(target, start=start, end=end, overloads=()))
        for start, end in spans
    }
    meant = told[target.start, target.end]
    title = shown_path(request.workspace, root_index.root.id, path)
    shown = ", ".join(f"{start}-{end}" if end > start else str(start) for start, end in spans)
    others = [{name: told[span].data[name] for name in ("start_line", "end_line", "text")} for span in overloads]
    return replace(
        meant,
        found=f"{title}:{shown} of {plural(meant.data['lines'], 'line')} · {len(spans)} overloads",
        groups=(Group("", tuple(item for one in told.values() for item in one.items())),),
        notes=tuple(dict.fromkeys(note for one in told.values() for note in one.notes)),
        data={**meant.data, "overloads": others},
        in_order=True,
    )


def also_words(overloads: Sequence[tuple[int, int]]) -> str:
    if not overloads:
        return ""
    shown = ", ".join(f":{start}-{end}" if end > start else f":{start}" for start, end in overloads[:MOST_OVERLOADS])
    more = len(overloads) - MOST_OVERLOADS
    return f" · also {plural(len(overloads), 'overload')}: {shown}{f' and {more} more' if more > 0 else ''}"


def inside_of(view: View, path: str, target: Target) -> str:
    """Of lines that begin inside a function, its name; those of later functions are in the lines."""
    if target.named or target.start <= 1:
        return ""
    around = [one for one in symbols_of(view, path).around(target.start) if one.kind in CALLABLES]
    return f" in {around[-1].qualified}" if around and around[-1].start_line < target.start else ""


def as_asked(  # noqa: PLR0917 - what is known of these lines
    request: ToolRequest, target: Target, rows: tuple[Row, ...], lines: Sequence[str], path: str, long: int, most: int
) -> tuple[tuple[Row, ...], tuple[str, ...]] | None:
    """The lines, or with `--code` and of a long function their statements, and what the first line says about that.
    None if a skeleton is wanted, or a long function has more than `most` statements."""
    if request.text(FOCUS.name):
        return (code_rows(rows, lines, path), (CODE_ALONE,)) if request.flag("code") else (rows, ())
    if request.flag("skeleton"):
        return None
    is_long = target.kind in CALLABLES and len(rows) > long and not (request.flag("all") or request.flag("code"))
    code = code_rows(rows, lines, path) if request.flag("code") or is_long else rows
    if is_long and len(code) > FEW_STATEMENTS * most:
        return None
    if len(code) < len(rows):
        return code, (CODE_ALONE if request.flag("code") else f"{CODE_ALONE}, --all shows them",)
    may_hint = LONG_OF_SEVERAL <= len(rows) <= WHOLE_LINES and not request.flag("all")
    may_hint = may_hint and has_statements(language_of(path))
    is_hinted = may_hint and is_shorter_as_code(rows, FileText("\n".join(lines) + "\n", language_of(path)))
    return rows, (CODE_HINT,) if is_hinted else ()


def binary_envelope(request: ToolRequest, root_index: RootIndex, path: str, file: BinaryFile) -> Envelope:
    root = root_index.root.id
    found = f"{shown_path(request.workspace, root, path)} · {file} · not text"
    return Envelope("read", found, (Group("", (Item((), "", root, path),)),), data={"path": path, **asdict(file)})


def shape(  # noqa: PLR0917 - what is known of these lines
    found: str, view: View, whole: Item, notes: tuple[str, ...], data: dict[str, object], most: int, text: str
) -> Envelope:
    """The skeleton of these lines, its deepest levels folded if it has more than `most` statements; all of them behind
    the handle."""
    starts = {symbol.start_line for symbol in symbols_of(view, whole.path).symbols}
    code = code_of(whole.path, text).part(whole.start, whole.end)
    rows = skeleton_rows(skeleton(code, whole.start, starts, most))
    # What follows the last statement are closing brackets.
    last = next((row.number for row in reversed(rows) if row.number is not None), whole.end)
    group = Group("", (replace(whole, rows=rows, end=last),))
    noted = (f"{SKELETON} {plural(len(whole.rows), 'line')}, --all shows them", *notes)
    return Envelope(
        "read", found, (group,), noted, data=data, unit="line", folded=(Group("", (whole,)),), explicit=True
    )


def mapped(  # noqa: PLR0917 - as `shape`, with the share of the call's budget
    request: ToolRequest,
    found: str,
    view: View,
    whole: Item,
    notes: tuple[str, ...],
    data: dict[str, Any],
    share: float,
) -> Envelope:
    """Of a long file or class its first lines and its outline; the rest is behind the handle. A file without symbols is
    shown from its beginning."""
    from llmc.retrieval.globs import PathFilter  # noqa: PLC0415 - only here

    size = head_size(whole)
    last = whole.start + size - 1
    inside = range(last + 1, whole.end + 1)
    files = outline([view], OutlineRequest(PathFilter(under=(whole.path,)))).files
    budget = round(share * request.number("budget", request.workspace.settings.envelope.read_budget))
    text = str(data["text"]) if whole.start == 1 else None
    symbols = tuple(
        item
        for file in files
        for group in file_layout(inner(file, inside), symbols_of(view, whole.path), "", budget, text).groups
        for item in group.items
    )
    if not symbols:
        return Envelope("read", found, (Group("", (whole,)),), notes, data=data, unit="line")
    head = replace(whole, rows=whole.rows[:size], end=last)
    rest = replace(whole, rows=whole.rows[size:], start=last + 1)
    groups = (Group("", (head,)), Group("outline", symbols))
    folded = (Group("", (rest,)),)
    return Envelope("read", found, groups, notes, data=data, unit="line", in_order=True, folded=folded)


def inner(file: FileOutline, lines: range) -> FileOutline:
    return replace(file, symbols=tuple(one for one in file.symbols if one.start_line in lines))


def head_size(whole: Item) -> int:
    """The lines up to the first import: a list of imports says less than the outline that follows."""
    for at, row in enumerate(whole.rows[:HEAD_LINES]):
        if IMPORTS.match(row.text):
            return max(at, 1)
    return min(HEAD_LINES, len(whole.rows))


IMPORTS = re.compile(r"(?:import|from|use|using|#include|require|const .*require)\b")


TOOL = Tool(
    name="read",
    summary="A file, path:10-40, path::symbol, the rest of a reply (its handle), or item 3 of it (handle:3).",
    run=run,
    cpu_bound=True,
    arguments=(
        Argument(
            "target",
            "strings",
            "path, path:10-40, path::symbol, Class.method, handle or handle:3; several are read together.",
            required=True,
            text="path",
        ),
        Argument("skeleton", "boolean", "Signatures, control flow and calls; the rest is folded."),
        Argument(
            "code",
            "boolean",
            "Every statement, without comments, logging and closing brackets: fewer tokens.",
        ),
        Argument("fresh", "boolean", "Include lines that this session already received."),
        Argument("fields", "strings", "Of a JSON file with a list of objects: a table of only these; * is all."),
        BUDGET,
        Argument("all", "boolean", "All of it, without a budget."),
    ),
    budget="read_budget",
    profiles=frozenset({"lean", "full"}),
    brief="path, path:10-40, Class.method, handle:3; several by spaces.",
    schema=("target", "code", "context_focus_question"),
    topics=frozenset({"code", "docs", "tests"}),
    examples=("read src/main.py:10-40", "read src/parser.py::Parser.feed", "read h4k2:3"),
)
