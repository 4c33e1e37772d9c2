"""`over`: count, group, sort, filter and join the items of an earlier result, without reading them.

The rows are those of the call behind the handle, made again from the index, so that they are complete and current; of
what cannot be repeated (the output of a command, a model's answer) they are what was kept.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from llmc.base.errors import QueryError
from llmc.base.languages import role_of
from llmc.envelope import Envelope, Group, Item, Row
from llmc.envelope.expressions import FUNCTIONS, evaluate
from llmc.envelope.fields import columns, records_of
from llmc.envelope.phrases import plural
from llmc.extend.shell.summarize import outputs_of
from llmc.tool import ALL, BUDGET, FOCUS, Argument, Tool, ToolRequest
from llmc.tools.command_output import is_output
from llmc.tools.handle_pages import check_roots

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from llmc.envelope.handles import Handle

    Rows = list[dict[str, Any]]

# Tools whose calls are repeated: they read the index, and nothing that costs.
REPEATED = frozenset(
    {"search", "grep", "match", "find", "outline", "refs", "calls", "callers", "impls", "tests", "impact", "history"}
    | {"tree", "path"}
)
BRANCHES = ("calls", "callers")  # lists of edges that have such lists themselves
AMOUNTS = frozenset({"budget", "fields", "fresh", FOCUS.name})
MOST_ROWS = 200_000
SHOWN_VALUES = 200  # characters of a cell


def run(request: ToolRequest) -> Envelope:
    names = request.texts("handle")
    tables = {name: rows_of(request, request.handles.open(name, request.owner)) for name in names}
    value: Any = tables[names[0]] if len(names) == 1 else tables
    text = request.text("expression").strip()
    if not text:
        return described(tables)
    found = evaluate(text, value)
    return shown(found, sum(map(len, tables.values())))


def rows_of(request: ToolRequest, handle: Handle) -> Rows:
    check_roots(request, handle)
    if is_output(handle):
        lines = outputs_of(request).lines(handle.args["output"])[:MOST_ROWS]
        return [{"line": number, "text": line} for number, line in enumerate(lines, 1)]
    if handle.tool not in REPEATED:
        return [kept_row(item) for item in handle.items()][:MOST_ROWS]
    args = {name: value for name, value in handle.args.items() if name not in AMOUNTS}
    reply = request.tools.call(
        replace(request, name=handle.tool, args=args, client=None, data=True, received_at=None, ledger=None, tool=None)
    )
    if reply.error:
        raise QueryError(f"the call behind {handle.id} failed: {reply.text.partition(chr(10))[0]}")
    branches = [edge for one in reply.data.get("definitions", ()) if isinstance(one, dict) for edge in edges_of(one)]
    rows = branches or [match_row(row) for row in records_of(reply.data) if row.get("matched", True)]
    return [with_place(row) for row in rows[:MOST_ROWS]]


def match_row(row: dict[str, Any]) -> dict[str, Any]:
    """A line of a grep counts once; a file whose matches were only counted, as often as it has matches."""
    if "matched" in row:
        return {key: value for key, value in row.items() if key not in {"matched", "count"}}
    return {key: value for key, value in row.items() if key != "lines"} if "count" in row else row


def edges_of(node: dict[str, Any], depth: int = 1) -> Iterator[dict[str, Any]]:
    """The edges of a tree of calls, each with its depth and its parent."""
    for name in BRANCHES:
        for edge in node.get(name) or ():
            bare = {key: value for key, value in edge.items() if key not in BRANCHES}
            yield {**bare, "of": node.get("name"), "depth": depth}
            yield from edges_of(edge, depth + 1)


def kept_row(item: Item) -> dict[str, Any]:
    text = "\n".join(row.text for row in item.rows)
    place = {"root": item.root, "path": item.path, "line": item.start, "end_line": item.end} if item.path else {}
    return with_place({**place, "title": item.title, "text": text})


def with_place(row: dict[str, Any]) -> dict[str, Any]:
    """With the parts of a path that queries need most."""
    path = row.get("path")
    if not isinstance(path, str) or not path:
        return row
    folder, _, file = path.rpartition("/")
    return {**row, "folder": folder, "file": file, "test": role_of(path) == "test"}


def described(tables: dict[str, Rows]) -> Envelope:
    """Without an expression: which fields there are."""
    items = []
    for name, rows in tables.items():
        fields = list(dict.fromkeys(key for row in rows for key in row))
        items.append(Item((Row(f"{name}: {plural(len(rows), 'row')}: {', '.join(fields)}"),)))
    data = {"rows": {name: len(rows) for name, rows in tables.items()}}
    return Envelope("over", "fields of each row", (Group("", tuple(items)),), data=data, in_order=True)


def shown(found: Any, total: int) -> Envelope:
    data = {"result": found, "rows": total}
    of = f"of {plural(total, 'row')}"
    if isinstance(found, dict):
        found = [{"key": key, "value": value} for key, value in found.items()]
    if not isinstance(found, list):
        return Envelope("over", f"{text_of(found)} ({of})", data=data)
    if not found:
        return Envelope("over", f"nothing {of}", data=data)
    records = [one if isinstance(one, dict) else {"value": one} for one in found]
    head, lines = columns([{name: text_of(value) for name, value in record.items()} for record in visible(records)])
    items = tuple(item_of(record, line) for record, line in zip(records, lines, strict=True))
    title = "" if head.strip() == "value" else head
    return Envelope("over", f"{len(found):,} {of}", (Group(title, items),), data=data, in_order=True)


def visible(records: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Without the root, which all rows of a workspace share, and without columns that are equal in all rows."""
    hidden = {"root", "folder", "file"} if all("path" in record for record in records) else {"root"}
    return [{name: value for name, value in record.items() if name not in hidden} for record in records]


def text_of(value: Any) -> Any:
    """A cell: rows inside rows are counted."""
    if isinstance(value, list) and value and all(isinstance(one, dict) for one in value):
        return plural(len(value), "row")
    return value[:SHOWN_VALUES] if isinstance(value, str) else value


def item_of(record: dict[str, Any], line: str) -> Item:
    start = record.get("line") or record.get("start_line") or 0
    place = (str(record.get("root") or ""), str(record.get("path") or "")) if record.get("root") else ("", "")
    return Item((Row(line),), "", *place, start, record.get("end_line") or start)


TOOL = Tool(
    name="over",
    summary="Count, group, sort, filter or join the items behind handles with a JMESPath expression.",
    brief="Count, group, filter or join the items behind a handle (JMESPath); costs only what it returns.",
    run=run,
    cpu_bound=True,
    arguments=(
        Argument(
            "handle", "strings", "Handles of earlier replies; of several, each is a table of its name.", required=True
        ),
        Argument(
            "expression",
            "string",
            f"JMESPath over the rows; also {FUNCTIONS}. Without one, the fields are listed.",
            text="pattern",
        ),
        BUDGET,
        ALL,
    ),
    schema=("handle", "expression"),
    examples=(
        "over habcd 'count_by(@, &folder)'",
        "over habcd \"[?!test && kind=='def'].path | unique(@)\"",
        "over habcd hefgh 'join_on(habcd, hefgh, &path)'",
    ),
)
