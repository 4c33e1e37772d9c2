"""`read`: a file, some lines of it, a symbol, or what an earlier reply left out."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import TYPE_CHECKING

from llmc.envelope import Envelope, Group, Item, Row
from llmc.envelope.handles import HANDLE
from llmc.errors import NotFoundError, QueryError
from llmc.retrieval.outline import OutlineRequest, outline
from llmc.server.tools.base import Argument, Asked, Tool
from llmc.server.tools.outline import item_of as outline_item
from llmc.server.tools.words import freshness_notes, plural, shown_path
from llmc.text import Binary, decode, split_lines

if TYPE_CHECKING:
    from llmc.indexer.keeper import Keeper
    from llmc.retrieval.view import View

LARGEST_READ = 64 << 20
# A file up to this many lines is given whole, as far as the budget goes; a longer one is better told by its outline.
WHOLE_LINES = 250
HEAD_LINES = 30
MOST_TARGETS = 20
TARGET = re.compile(r"(?P<path>.+?)(?:::(?P<symbol>[^:].*)|:(?P<start>\d+)(?:-(?P<end>\d*))?)?", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Target:
    """`end` 0 is the end of the file; `start` 0 is no range at all."""

    path: str
    start: int = 0
    end: int = 0
    symbol: str = ""


def run(asked: Asked) -> Envelope:
    targets = asked.texts("target")
    if len(targets) > MOST_TARGETS:
        raise QueryError(f"{len(targets)} targets are too many at once", hint=f"Read at most {MOST_TARGETS}.")
    envelopes = [read_one(asked, target) for target in targets]
    if len(envelopes) == 1:
        return envelopes[0]
    return replace(
        envelopes[0],
        found=plural(len(envelopes), "target"),
        groups=tuple(group for one in envelopes for group in one.groups),
        notes=tuple(dict.fromkeys(note for one in envelopes for note in one.notes)),
        data={"targets": [one.data for one in envelopes]},
    )


def read_one(asked: Asked, text: str) -> Envelope:
    name, _, number = text.partition(":")
    if HANDLE.fullmatch(name) and (not number or number.isdecimal()):
        return read_handle(asked, name, int(number) if number else None)
    return read_target(asked, parse_target(text))


def parse_target(text: str) -> Target:
    match = TARGET.fullmatch(text.strip())
    if match is None:
        raise QueryError("there is nothing to read", hint="Name a file, such as src/main.py or src/main.py:10-40.")
    start = int(match["start"] or 0)
    end = int(match["end"] or 0) if match["end"] is not None else start
    if match["end"] and end < start:
        raise QueryError(f"lines {start}-{end} run backwards", hint=f"Ask for {end}-{start}.")
    return Target(match["path"], start, end, match["symbol"] or "")


def read_handle(asked: Asked, name: str, number: int | None) -> Envelope:
    handle = asked.handles.open(name, asked.owner)
    if number is None:
        notes = changed_since(asked, handle.files)
        return replace(handle.rest, found=f"more of {handle.question}", notes=(*notes, *handle.rest.notes))
    items = list(handle.whole.items())
    if not 1 <= number <= len(items):
        raise NotFoundError(f"{name} has no item {number}", hint=f"It has {plural(len(items), 'item')}.", handle=name)
    item = items[number - 1]
    if not item.path:
        return Envelope("read", handle.question, (Group(item.title, (item,)),))
    keeper = asked.workspace.keeper(item.root)
    return read_lines(asked, keeper, item.path, Target(item.path, item.start, item.end))


def changed_since(asked: Asked, files: dict[str, str]) -> tuple[str, ...]:
    changed = [path for path, stamp in files.items() if asked.workspace.file_stamp(path) != stamp]
    if not changed:
        return ()
    names = ", ".join(path.rpartition("/")[2] for path in changed[:3])
    return (f"changed since: {names}{' …' if len(changed) > 3 else ''}",)  # noqa: PLR2004 - as many as named


def read_target(asked: Asked, target: Target) -> Envelope:
    keeper, path = asked.workspace.locate(target.path)
    seen = keeper.door.stat(path) if path else None
    if seen is None or str(seen.kind) == "folder":
        raise QueryError(f"{target.path} is a folder", hint="`outline` or `tree` show what is in it.")
    return read_lines(asked, keeper, path, target)


def read_lines(asked: Asked, keeper: Keeper, path: str, target: Target) -> Envelope:
    data, _ = keeper.door.read(path, LARGEST_READ, follow=True)
    text = decode(data)
    if isinstance(text, Binary):
        raise QueryError(f"{path} is not text", reason=text.reason, hint="Only text can be read.")
    lines = split_lines(text.text)
    views = [view for view in asked.workspace.views() if view.root.id == keeper.root.id]
    notes = freshness_notes(sum(path in view.pending for view in views), 1.0)
    if target.symbol:
        target = find_symbol(views[0], path, target)
    title = shown_path(asked.workspace, keeper.root.id, path)
    start, end = max(1, target.start), min(target.end or len(lines), len(lines))
    if target.start > len(lines):
        raise NotFoundError(f"{path} has {plural(len(lines), 'line')}", hint="Ask for lines within it.", path=path)
    rows = tuple(Row(line, number) for number, line in enumerate(lines[start - 1 : end], start))
    data_lines = {"root": keeper.root.id, "path": path, "start_line": start, "end_line": end, "lines": len(lines)}
    whole = Item(rows, "", keeper.root.id, path, start, end)
    if target.start or len(lines) <= WHOLE_LINES or asked.flag("all"):
        span = f" {start}-{end}" if target.start else ""
        return Envelope(
            "read",
            f"{title}{span} of {plural(len(lines), 'line')}"
            if target.start
            else f"{title} · {plural(len(lines), 'line')}",
            (Group("", (whole,)),),
            notes,
            data={**data_lines, "text": "\n".join(row.text for row in rows)},
            unit="line",
        )
    return long_file(title, views[0], whole, notes, {**data_lines, "text": "\n".join(lines)})


def long_file(title: str, view: View, whole: Item, notes: tuple[str, ...], data: dict[str, object]) -> Envelope:
    """The head, then the outline, then the rest as far as there is room: the map of a long file is worth its middle."""
    head = replace(whole, rows=whole.rows[:HEAD_LINES], end=HEAD_LINES)
    rest = replace(whole, rows=whole.rows[HEAD_LINES:], start=HEAD_LINES + 1)
    from llmc.retrieval.globs import PathFilter  # noqa: PLC0415 - only here

    mapped = outline([view], OutlineRequest(PathFilter(under=(whole.path,))))
    symbols = tuple(
        outline_item(file, symbol) for file in mapped.files for symbol in file.symbols if symbol.start_line > HEAD_LINES
    )
    groups = [Group("", (head,))]
    if symbols:
        groups.append(Group("outline", symbols))
    groups.append(Group("", (rest,)))
    found = f"{title} · {plural(len(whole.rows), 'line')}"
    return Envelope("read", found, tuple(groups), notes, data=data, unit="line", in_order=True)


def find_symbol(view: View, path: str, target: Target) -> Target:
    catalog = view.store.catalog
    doc = catalog.doc_of(view.root.id, path)
    known = catalog.symbols(doc=doc) if doc is not None else []
    wanted = target.symbol.replace("::", ".").removesuffix("()")
    for definition in known:
        symbol = definition.symbol
        if wanted in {symbol.name, symbol.qualified} or symbol.qualified.endswith(f".{wanted}"):
            return Target(path, symbol.start_line, symbol.end_line)
    near = get_close_matches(wanted, [one.symbol.qualified for one in known] + [one.symbol.name for one in known], 3)
    hint = f"Did you mean {', '.join(dict.fromkeys(near))}?" if near else "`outline` shows what it defines."
    raise NotFoundError(f"{path} defines no {target.symbol}", hint=hint, path=path)


TOOL = Tool(
    name="read",
    summary="A file, path:10-40, path::symbol, the rest of a reply (its handle), or item 3 of it (handle:3).",
    run=run,
    arguments=(
        Argument(
            "target",
            "strings",
            "path, path:10-40, path::symbol, handle or handle:3; several are read together.",
            required=True,
        ),
        Argument("budget", "integer", "Tokens that the reply may take."),
        Argument("all", "boolean", "All of it, without a budget."),
    ),
    budget="read_budget",
    profiles=frozenset({"lean", "full"}),
    examples=("read src/main.py:10-40", "read src/parser.py::Parser.feed", "read h4k2:3"),
)
