"""`read`: a file, some lines of it, a symbol, or what an earlier reply left out."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import partial
from typing import TYPE_CHECKING

from llmc.base.errors import LlmcError, NotFoundError, QueryError
from llmc.base.languages import role_of
from llmc.base.text import Binary, decode, split_lines
from llmc.envelope import Envelope, Group, Item, Row
from llmc.envelope.phrases import freshness_notes, plural
from llmc.retrieval.outline import OutlineRequest, outline
from llmc.tool import FOCUS, Argument, Tool, ToolRequest
from llmc.tools.handle_pages import read_item, read_page
from llmc.tools.nearest import with_nearest
from llmc.tools.outline import item_of as outline_item
from llmc.workspace import shown_path

if TYPE_CHECKING:
    from llmc.base.model import Symbol
    from llmc.indexer.root_index import RootIndex
    from llmc.retrieval.view import View

LARGEST_READ = 64 << 20
# A file up to this many lines is given whole, as far as the budget goes; a longer one is better told by its outline.
WHOLE_LINES = 250
HEAD_LINES = 30
# What is shorter has no body: a declaration, or a name that is handed on.
BODY_LINES = 3
MOST_PLACES = 5
MOST_TARGETS = 20
STEPS = "steps"  # behind the handle of a delegate's reply: what it did
TARGET = re.compile(r"(?P<path>.+?)(?:::(?P<symbol>[^:].*)|:(?P<start>\d+)(?:-(?P<end>\d*))?)?", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Target:
    """`end` 0 is the end of the file; `start` 0 is no range at all."""

    path: str
    start: int = 0
    end: int = 0
    symbol: str = ""
    named: bool = False  # the range is that of a name

    @property
    def length(self) -> int:
        return self.end - self.start


def run(asked: ToolRequest) -> Envelope:
    targets = asked.texts("target")
    if len(targets) > MOST_TARGETS:
        raise QueryError(f"{len(targets)} targets are too many at once", hint=f"Read at most {MOST_TARGETS}.")
    if len(targets) == 1:
        return read_one(asked, targets[0])
    return together(targets, [read_or_say(asked, target) for target in targets])


def read_or_say(asked: ToolRequest, target: str) -> Envelope | LlmcError:
    """Of several targets a wrong one takes nothing from the others."""
    try:
        return read_one(asked, target, alone=False)
    except LlmcError as error:
        return with_nearest(asked.workspace, error)


def together(targets: tuple[str, ...], results: list[Envelope | LlmcError]) -> Envelope:
    read = [one for one in results if isinstance(one, Envelope)]
    if not read:
        raise next(one for one in results if isinstance(one, LlmcError))
    groups: list[Group] = []
    for target, one in zip(targets, results, strict=True):
        if isinstance(one, Envelope):
            groups += titled(one)
        else:
            words = f"{one.message}. {one.hint}" if one.hint else one.message
            groups.append(Group(target, (Item((Row(words),)),)))
    share = "" if len(read) == len(targets) else f"{len(read)} of "
    return Envelope(
        "read",
        f"{share}{plural(len(targets), 'target')}",
        tuple(groups),
        tuple(dict.fromkeys(note for one in read for note in one.notes)),
        data={"targets": [one.data if isinstance(one, Envelope) else {"error": one.as_dict()} for one in results]},
        unit="line" if all(one.unit for one in read) else "",
    )


def titled(one: Envelope) -> tuple[Group, ...]:
    """Alone, its first line names a file; with others the group must."""
    first, *others = one.groups or (Group("", ()),)
    return replace(first, title=first.title or one.found), *others


def read_one(asked: ToolRequest, text: str, *, alone: bool = True) -> Envelope:
    name, _, number = text.partition(":")
    number = "" if number == STEPS else number
    if (not number or number.isdecimal()) and asked.is_handle(name):
        if not number:
            return read_page(asked, name)
        return read_item(asked, name, int(number[:9]), partial(read_span, asked))
    (root_index, path, target), *others = located(asked, parse_target(text))
    seen = root_index.root_fs.stat(path) if path else None
    if seen is None or str(seen.kind) == "folder":
        raise QueryError(f"{target.path} is a folder", hint="`outline` or `tree` show what is in it.")
    told = read_lines(asked, root_index, path, target, alone=alone)
    return replace(told, found=f"{told.found} · also {places_of(asked, others, 2)}") if others else told


Found = tuple["RootIndex", str, Target]


def located(asked: ToolRequest, target: Target) -> list[Found]:
    """A path; or a name that is none, such as `Parser.feed`: where it is defined, if one place is the obvious one. The
    other places follow."""
    try:
        return [(*asked.workspace.locate(target.path), target)]
    except NotFoundError:
        name = ".".join(filter(None, (target.path, target.symbol)))
        found = [] if target.start else defined(asked, name)
        if not found:
            raise
    found.sort(key=lambda one: (role_of(one[1]) != "code", -one[2].length))
    meant = obvious(found)
    if meant is None:
        reason = f"{plural(len(found), 'definition')} have this name"
        raise NotFoundError(f"{name} is no file", reason=reason, hint=f"Read one: {places_of(asked, found)}.")
    return [meant, *(one for one in found if one is not meant)]


def obvious(found: list[Found]) -> Found | None:
    """The only one; else the only one in code that is no test, stub or copy; else of those the only one with a body."""
    if len(found) == 1:
        return found[0]
    code = [one for one in found if role_of(one[1]) == "code"]
    bodies = [one for one in code if one[2].length >= BODY_LINES]
    return next((only[0] for only in (code, bodies) if len(only) == 1), None)


def places_of(asked: ToolRequest, found: list[Found], most: int = MOST_PLACES) -> str:
    shown = [f"{shown_path(asked.workspace, root_index.root.id, path)}:{one.start}" for root_index, path, one in found]
    return ", ".join(shown[:most]) + (f" and {len(shown) - most} more" if len(shown) > most else "")


def defined(asked: ToolRequest, name: str) -> list[Found]:
    """Of several with one name in one file (overloads) the longest, which has the body."""
    if not is_encodable(name):  # a file name that is not UTF-8, which the catalog cannot be asked for
        return []
    wanted = name.replace("::", ".").removesuffix("()")
    found: dict[tuple[str, str, str], Found] = {}
    last = wanted.rpartition(".")[2]
    for view in asked.workspace.views():
        places = view.store.catalog.places(view.root.id)
        known = view.store.catalog.symbols(name=wanted)
        spelled = [one for one in known if one.symbol.name == last] or known  # `Session` is not `session`
        for one in sorted(spelled, key=lambda one: length(one.symbol)):
            if (path := places.get(one.doc)) is not None:
                target = Target(path, one.symbol.start_line, one.symbol.end_line, named=True)
                key = view.root.id, path, one.symbol.qualified
                found[key] = asked.workspace.root_index(view.root.id), path, target
    return list(found.values())


def is_encodable(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def length(symbol: Symbol) -> int:
    return symbol.end_line - symbol.start_line


def read_span(asked: ToolRequest, root_index: RootIndex, path: str, start: int, end: int) -> Envelope:
    return read_lines(asked, root_index, path, Target(path, start, end))


def parse_target(text: str) -> Target:
    match = TARGET.fullmatch(text.strip())
    if match is None:
        raise QueryError("there is nothing to read", hint="Name a file, such as src/main.py or src/main.py:10-40.")
    start = int(match["start"] or 0)
    end = int(match["end"] or 0) if match["end"] is not None else start
    if match["end"] and end < start:
        raise QueryError(f"lines {start}-{end} run backwards", hint=f"Ask for {end}-{start}.")
    return Target(match["path"], start, end, match["symbol"] or "")


def read_lines(asked: ToolRequest, root_index: RootIndex, path: str, target: Target, *, alone: bool = True) -> Envelope:
    """A range, a symbol or a whole file; of a long one its map, unless it shares the reply with others."""
    lines = lines_of(root_index, path)
    views = [view for view in asked.workspace.views() if view.root.id == root_index.root.id]
    notes = freshness_notes(sum(path in view.pending for view in views), 1.0)
    if target.symbol:
        target = find_symbol(views[0], path, target)
    if target.start > len(lines):
        raise NotFoundError(f"{path} has {plural(len(lines), 'line')}", hint="Ask for lines within it.", path=path)
    start, end = max(1, target.start), min(target.end or len(lines), len(lines))
    rows = tuple(Row(line, number) for number, line in enumerate(lines[start - 1 : end], start))
    whole = Item(rows, "", root_index.root.id, path, start, end)
    place = {"root": root_index.root.id, "path": path, "start_line": start, "end_line": end, "lines": len(lines)}
    data = {**place, "text": "\n".join(lines[start - 1 : end])}
    title = shown_path(asked.workspace, root_index.root.id, path)
    found = f"{title} · {plural(len(lines), 'line')}"
    if target.start:
        span = f"{start}-{end}" if end > start else str(start)
        found = f"{title}:{span} of {plural(len(lines), 'line')}"
    long = len(rows) > WHOLE_LINES and alone and not asked.flag("all") and not asked.text(FOCUS.name)
    if long and not target.start:
        from llmc.tools.read_log import log_envelope  # noqa: PLC0415 - the readers of logs, which few need

        told = log_envelope(asked, root_index, path, title, lines)
        if told is not None:
            return told
    if long and (target.named or not target.start):
        return mapped(found, views[0], whole, notes, data)
    return Envelope("read", found, (Group("", (whole,)),), notes, data=data, unit="line")


def lines_of(root_index: RootIndex, path: str) -> list[str]:
    data, _ = root_index.root_fs.read(path, LARGEST_READ, follow=True)
    text = decode(data)
    if isinstance(text, Binary):
        raise QueryError(f"{path} is not text", reason=text.reason, hint="Only text can be read.")
    return split_lines(text.text)


def mapped(found: str, view: View, whole: Item, notes: tuple[str, ...], data: dict[str, object]) -> Envelope:
    """Of a long file or class the head, then the outline, then the rest as far as there is room: its map is worth its
    middle."""
    last = (whole.start or 1) + HEAD_LINES - 1
    head = replace(whole, rows=whole.rows[:HEAD_LINES], end=last)
    rest = replace(whole, rows=whole.rows[HEAD_LINES:], start=last + 1)
    from llmc.retrieval.globs import PathFilter  # noqa: PLC0415 - only here

    inside = range(last + 1, (whole.end or 0) + 1)
    files = outline([view], OutlineRequest(PathFilter(under=(whole.path,)))).files
    symbols = tuple(outline_item(file, one) for file in files for one in file.symbols if one.start_line in inside)
    groups = [Group("", (head,)), *([Group("outline", symbols)] if symbols else []), Group("", (rest,))]
    return Envelope("read", found, tuple(groups), notes, data=data, unit="line", in_order=True)


def find_symbol(view: View, path: str, target: Target) -> Target:
    catalog = view.store.catalog
    doc = catalog.doc_of(view.root.id, path)
    known = catalog.symbols(doc=doc) if doc is not None else []
    wanted = target.symbol.replace("::", ".").removesuffix("()")
    fitting = [
        one.symbol
        for one in known
        if wanted in {one.symbol.name, one.symbol.qualified} or one.symbol.qualified.endswith(f".{wanted}")
    ]
    if fitting:  # the first, but of overloads the one with the body
        symbol = max((one for one in fitting if one.qualified == fitting[0].qualified), key=length)
        return Target(path, symbol.start_line, symbol.end_line, named=True)
    near = get_close_matches(wanted, [one.symbol.qualified for one in known] + [one.symbol.name for one in known], 3)
    hint = f"Did you mean {', '.join(dict.fromkeys(near))}?" if near else "`outline` shows what it defines."
    raise NotFoundError(f"{path} defines no {target.symbol}", hint=hint, path=path)


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
        Argument("fresh", "boolean", "All of it, also what this session was given before."),
        Argument("fields", "strings", "Of a JSON file with a list of objects: a table of only these; * is all."),
        Argument("budget", "integer", "Tokens that the reply may take."),
        Argument("all", "boolean", "All of it, without a budget."),
    ),
    budget="read_budget",
    profiles=frozenset({"lean", "full"}),
    brief="path, path:10-40, path::symbol, Class.method, a handle or handle:3.",
    schema=("target", "context_focus_question"),
    topics=frozenset({"code", "docs", "tests"}),
    examples=("read src/main.py:10-40", "read src/parser.py::Parser.feed", "read h4k2:3"),
)
