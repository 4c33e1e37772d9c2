"""`handle`: lists stored results, shows one of them, and deletes them."""

from __future__ import annotations

import time

from llmc.envelope import Envelope, Group, Item, Row
from llmc.envelope.fields import columns
from llmc.envelope.phrases import plural
from llmc.tool import ALL, BUDGET, Argument, Tool, ToolRequest
from llmc.tools.handle_pages import check_roots
from llmc.tools.handle_staleness import changed_words


def run(request: ToolRequest) -> Envelope:
    names = request.texts("name")
    if request.flag("drop"):
        return dropped(request, names)
    return shown(request, names[0]) if names else listed(request)


def listed(request: ToolRequest) -> Envelope:
    kept = list(request.handles.all(request.owner))
    now = time.time()
    table = [
        {"handle": one.id, "age": minutes(now - one.made), "left": one.left, "question": one.question} for one in kept
    ]
    head, lines = columns(table)
    groups = (Group(head, tuple(Item((Row(line),)) for line in lines)),) if kept else ()
    size = sum(one.size for one in kept)
    found = f"{plural(len(kept), 'handle')}, {max(1, size // 1000):,} KB" if kept else "no handles"
    data = {
        "handles": [
            {**row, "made": one.made, "expires": one.expires, "items": one.items, "bytes": one.size}
            for row, one in zip(table, kept, strict=True)
        ]
    }
    return Envelope("handle", found, groups, data=data, in_order=True)


def shown(request: ToolRequest, name: str) -> Envelope:
    """Its question and the places behind it, numbered as `read` opens them."""
    handle = request.handles.open(name, request.owner)
    check_roots(request, handle)
    items = handle.items()
    table = [
        {"item": number, "place": place(item), "text": item.title or next((row.text.strip() for row in item.rows), "")}
        for number, item in enumerate(items, 1)
    ]
    head, lines = columns(table)
    rows = tuple(
        Item((Row(line),), "", item.root, item.path, item.start, item.end)
        for line, item in zip(lines, items, strict=True)
    )
    data = {"handle": name, "question": handle.question, "made": handle.made, "items": table}
    found = f"{handle.question}: {plural(len(items), 'item')}, {len(handle.kept)} shown"
    return Envelope(
        "handle", found, (Group(head, rows),), changed_words(request.workspace, handle.files), data=data, in_order=True
    )


def dropped(request: ToolRequest, names: tuple[str, ...]) -> Envelope:
    for name in names:
        request.handles.drop(name, request.owner)
    count = len(names) if names else request.handles.drop_all(request.owner)
    return Envelope("handle", f"{plural(count, 'handle')} dropped", data={"dropped": count})


def place(item: Item) -> str:
    return f"{item.path}:{item.start}" if item.start else item.path


MINUTE, HOUR = 60, 3600


def minutes(seconds: float) -> str:
    if seconds < MINUTE:
        return f"{seconds:.0f} s"
    return f"{seconds // MINUTE:.0f} min" if seconds < HOUR else f"{seconds / HOUR:.0f} h"


TOOL = Tool(
    name="handle",
    summary="Kept results: list them, show one, or drop them.",
    run=run,
    arguments=(
        Argument("name", "strings", "Handles; without one, all are listed."),
        Argument("drop", "boolean", "Delete these, or all."),
        Argument("fields", "strings", "A table of only these: handle, age, question; * is all."),
        BUDGET,
        ALL,
    ),
    examples=("handle", "handle habcd", "handle habcd --drop"),
    repeatable=False,  # a repeated `drop` would take handles that were made in between
)
