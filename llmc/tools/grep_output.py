"""`grep X habcd` where the handle is a command's output: its lines that match, with their numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from llmc.base.errors import QueryError
from llmc.envelope import Envelope, Group, Item, Row
from llmc.envelope.phrases import plural
from llmc.extend.shell.summarize import outputs_of
from llmc.tools.command_output import is_output

if TYPE_CHECKING:
    from llmc.tool import ToolRequest

__all__ = ["grep_output"]

LONGEST_LINE = 400
MOST_MATCHES = 20_000


def grep_output(request: ToolRequest) -> Envelope | None:
    """None where no output is named."""
    names = [name for name in request.texts("path") if request.is_handle(name)]
    handles = [request.handles.open(name, request.owner) for name in names]
    outputs = [handle for handle in handles if is_output(handle)]
    if not outputs:
        return None
    if len(outputs) != len(request.texts("path")):
        raise QueryError("an output is searched by itself", hint="Name one handle, or files without it.")
    pattern = compiled(request)
    groups = []
    for handle in outputs:
        lines = outputs_of(request).lines(handle.args["output"])
        numbers = [at for at, line in enumerate(lines) if bool(pattern.search(line)) != request.flag("invert")]
        items = tuple(item_of(request, lines, at, pattern) for at in numbers[:MOST_MATCHES])
        if items:
            groups.append(Group(handle.args["command"] if len(outputs) > 1 else "", items, len(numbers)))
    total = sum(group.count or 0 for group in groups)
    found = (
        f"{total:,} match{'' if total == 1 else 'es'} in {plural(len(outputs), 'output')}" if total else "no matches"
    )
    data = {
        "matches": total,
        "lines": [[row.number, row.text] for group in groups for item in group.items for row in item.rows],
    }
    return Envelope("grep", found, tuple(groups), data=data)


def compiled(request: ToolRequest) -> Any:
    import re2  # noqa: PLC0415 - as elsewhere, when it is needed

    patterns = (request.text("pattern"), *request.texts("also"))
    parts = [re2.escape(each) if request.flag("fixed") else f"(?:{each})" for each in patterns]
    whole = "|".join(rf"\b(?:{part})\b" if request.flag("word") else part for part in parts)
    lower = request.flag("smart_case") and whole.islower()
    try:
        return re2.compile(f"(?i){whole}" if request.flag("ignore_case") or lower else whole)
    except re2.error as error:
        raise QueryError("the pattern cannot be read", reason=str(error)) from error


def item_of(request: ToolRequest, lines: list[str], at: int, pattern: Any) -> Item:
    match = pattern.search(lines[at]) if len(lines[at]) > LONGEST_LINE else None
    texts = (match.group(),) if match else ()
    around = request.number("context")
    first = max(0, at - request.number("before", around))
    last = min(len(lines), at + request.number("after", around) + 1)
    rows = tuple(
        Row(lines[each], each + 1, context=each != at, longest=LONGEST_LINE, around=texts)
        for each in range(first, last)
    )
    return Item(rows, start=at + 1, end=at + 1)
