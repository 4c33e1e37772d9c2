"""Replies for the output of a command: a summary or a page, and a handle to the whole output.

Other replies store in their handle whatever did not fit. An output is a separate file (`shell.outputs`), cleaned when
it was written, so its handles only contain the file and the first line.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from llmc.base.errors import NotFoundError
from llmc.envelope import fit, render
from llmc.envelope.clean import clean, clean_text
from llmc.envelope.redact.redactor import redactor_for
from llmc.envelope.render import frame_line, frame_of
from llmc.envelope.reply import Reply
from llmc.envelope.tokens import count_line
from llmc.tool import budget_of
from llmc.tools.accounting import with_weight

if TYPE_CHECKING:
    from llmc.envelope import Envelope, Fitted
    from llmc.envelope.handles import Handle
    from llmc.envelope.redact.redactor import Redactor
    from llmc.tool import Tool, ToolRequest

__all__ = ["build_output_reply", "is_output", "read_output"]

HANDLE_LINE = "+123456 lines → habcd"


def is_output(handle: Handle) -> bool:
    return "output" in handle.args


def build_output_reply(request: ToolRequest, wanted: Tool, envelope: Envelope) -> Reply:
    """`data["output"]` names the stored output; it is empty when the envelope has all of it."""
    rules = redactor_for(request.workspace.settings.redaction)
    source: dict[str, Any] = envelope.data["output"]
    if "verbatim" in envelope.data:
        return verbatim_reply(request, wanted, envelope, source)
    head = clean(replace(envelope, groups=(), data={}), rules)
    envelope = replace(envelope, found=head.found, notes=head.notes, data=clean_data(envelope.data, rules))
    total = sum(1 for _ in envelope.items())
    fitted = fit(envelope, budget_of(request, wanted) - (0 if envelope.unit else count_line(HANDLE_LINE)))
    ends = envelope.unit and fitted.rest is None and not beyond(envelope, source)
    if not source or request.unlimited or ends:
        reply = Reply(render(envelope), envelope.data, total, total, frame=frame_of(envelope))
    else:
        handle, left = kept(request, wanted, fitted, source)
        cut = (fitted.envelope, fitted.shown, fitted.total, handle.id, left)
        reply = Reply(render(*cut), envelope.data, fitted.shown, fitted.total, handle.id, frame=frame_of(*cut))
    return with_weight(request, wanted, envelope, reply, int(envelope.data.get("bytes") or 0))


def verbatim_reply(request: ToolRequest, wanted: Tool, envelope: Envelope, source: dict[str, Any]) -> Reply:
    """Text of files as the command printed it; a last line counts the lines beyond the cap."""
    text, frame, name = str(envelope.data["verbatim"]), "", ""
    total = int(envelope.data["lines"])
    if omitted := int(envelope.data["omitted"]):
        args = {"command": " ".join(envelope.data["command"]), "output": source["id"], "until": total}
        args["from"] = total - omitted + 1
        whole = replace(envelope, data={})
        name = request.handles.put("read", args, whole, {}, owner=request.owner, left=f"{omitted} lines").id
        frame = f"\n{frame_line(f'{omitted} lines', name)}"
    reply = Reply(text + frame, envelope.data, total - omitted, total, name, frame=frame)
    return with_weight(request, wanted, envelope, reply, int(envelope.data.get("bytes") or 0))


def kept(request: ToolRequest, wanted: Tool, fitted: Fitted, source: dict[str, Any]) -> tuple[Handle, str]:
    envelope = fitted.whole or fitted.envelope
    start, left = next_page(envelope, fitted, source)
    data = envelope.data
    if fitted.rest is None and data.get("cut"):
        left = str(data["cut"])
    words = " ".join(data.get("command") or ()) or str(data.get("question") or "")
    args = {
        "command": words,
        "output": source["id"],
        "from": start,
        "until": source["lines"],
        "agent": data.get("agent"),
    }
    shown = fitted.kept or {
        (at, index): len(item.rows)
        for at, group in enumerate(envelope.groups)
        for index, item in enumerate(group.items)
    }
    whole = replace(envelope, data={}, groups=() if envelope.unit else envelope.groups)
    name = "read" if envelope.unit else wanted.name
    given = {key: value for key, value in args.items() if value}
    return request.handles.put(name, given, whole, {} if envelope.unit else shown, owner=request.owner, left=left), left


def beyond(envelope: Envelope, source: dict[str, Any]) -> bool:
    """Whether the output continues after the rows of this page."""
    rows = sum(len(item.rows) for item in envelope.items())
    return int(source["from"]) + rows - 1 < int(source["lines"])


def next_page(envelope: Envelope, fitted: Fitted, source: dict[str, Any]) -> tuple[int, str]:
    """(line, phrase) of the next page: after a summary the output from its first line, after a page the lines below
    it."""
    start = int(source["from"])
    if envelope.unit:
        start += sum(len(item.rows) for item in fitted.envelope.items())
    lines = int(source["lines"]) - start + 1
    return start, f"{lines} line{'' if lines == 1 else 's'}"


def clean_data(data: dict[str, Any], redactor: Redactor) -> dict[str, Any]:
    """The output is clean already; the words that the caller typed may contain a secret."""
    command = [clean_text(word, redactor) for word in data.get("command") or ()]
    return {**data, "command": command} if command else data


def read_output(request: ToolRequest, handle: Handle, number: int | None) -> Envelope:
    """The next page of an output, or the lines that one item of the summary summarises."""
    from llmc.extend.shell.summarize import page_of  # noqa: PLC0415 - only here

    args = handle.args
    first, last = int(args["from"]), int(args["until"])
    if number is not None:
        items = handle.items()
        if not 1 <= number <= len(items):
            raise NotFoundError(f"{handle.id} has no item {number}", hint=f"It has {len(items)}.", handle=handle.id)
        first = max(1, items[number - 1].start)
        last = max(first, items[number - 1].end)
    page = page_of(request, args["command"], args["output"], first, last)
    return replace(page, data={**page.data, "question": args["command"], "agent": args.get("agent", "")})
