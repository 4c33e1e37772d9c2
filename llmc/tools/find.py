"""`find`: files by name."""

from __future__ import annotations

import time

from llmc.envelope import Envelope, Group, Item
from llmc.envelope.phrases import freshness_notes, plural
from llmc.retrieval.find import FindRequest, find, parse_age, parse_size
from llmc.tool import Argument, Tool, ToolRequest
from llmc.tools.scope import scope_of
from llmc.workspace import shown_path


def run(asked: ToolRequest) -> Envelope:
    workspace = asked.workspace
    name = asked.text("name")
    scope = scope_of(asked, asked.texts("path"), name, globs=asked.texts("glob"), types=asked.texts("type"))
    request = FindRequest(
        name,
        paths=scope.paths,
        min_bytes=parse_size(asked.text("larger")) if asked.text("larger") else None,
        max_bytes=parse_size(asked.text("smaller")) if asked.text("smaller") else None,
        newer_than=parse_age(asked.text("newer")) if asked.text("newer") else None,
        older_than=parse_age(asked.text("older")) if asked.text("older") else None,
    )
    result = find(scope.views, request)
    long = asked.flag("long")
    groups = tuple(
        Group(
            shown_path(workspace, file.root, file.path) + (f" · {file.size:,} · {day(file.mtime)}" if long else ""),
            (Item(root=file.root, path=file.path),),
        )
        for file in result.files
    )
    found = plural(len(groups), "file") if groups else "no such file"
    if result.files and result.files[0].how == "fuzzy":
        found += " with these letters in order"
    notes = (*freshness_notes(result.pending, result.share), *scope.notes)
    data = {"files": [file._asdict() for file in result.files]} if asked.wants_data else {}
    return Envelope("find", found, groups, notes, data=data)


def day(seconds: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(seconds))


TOOL = Tool(
    name="find",
    summary="Files by name: part of it, a glob, or letters in order.",
    run=run,
    cacheable=True,
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
        Argument("budget", "integer", "Tokens that the reply may take."),
        Argument("all", "boolean", "Every file, without a budget."),
    ),
    examples=("find autoreload", "find '*_test.go' pkg --newer 2d"),
)
