"""Replies to commands that print files or lists: cat, sed, rg, grep, find, ls, tree.

Text of files is printed byte by byte up to the cap; agents edit from it. Lists are regrouped (`envelope.logs.listings`)
if that takes fewer tokens, and otherwise printed as they are. What does not fit is counted and stored behind a handle.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from llmc.envelope import Envelope, render
from llmc.envelope.logs.listings import read_listing
from llmc.envelope.tokens import count, count_line
from llmc.tool import budget_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from llmc.envelope.logs.git import Compact
    from llmc.extend.shell.outputs import StoredOutput
    from llmc.extend.shell.summarize import FinishedCommand
    from llmc.tool import Tool, ToolRequest

__all__ = ["listing_envelope"]

# A regrouped list must save this much, or else the agent gets what it expects.
WORTH_IT = 0.95
SMALL_TOKENS = 12


def listing_envelope(request: ToolRequest, tool: Tool, finished: FinishedCommand, stored: StoredOutput) -> Envelope:
    """`data["store"]` is whether the whole output must be stored. With `verbatim`, that text is the reply; `raw`: it is
    what the command printed, so the client may print the bytes themselves."""
    whole = "\n".join(stored.lines)
    if not request.flag("all") and not finished.code:
        compact = read_listing(finished.words, stored.lines)
        envelope = regrouped(tool, compact, whole, budget_of(request, tool)) if compact else None
        if envelope is not None:
            return envelope
    total = len(stored.lines)
    shown = total if request.flag("all") else fitting(stored.lines, request.workspace.settings.envelope.cap)
    data: dict[str, Any] = {"verbatim": "\n".join(stored.lines[:shown]), "omitted": total - shown}
    data |= {"raw": not data["omitted"] and is_unchanged(finished, whole), "store": bool(data["omitted"])}
    return Envelope(tool.name, "", data=data)


def regrouped(tool: Tool, compact: Compact, whole: str, budget: int) -> Envelope | None:
    """None if the list would not become shorter. A complete list has no first line, as the command has none."""
    raw = count(whole)
    found = compact.found if compact.lost else ""
    envelope = Envelope(tool.name, found, compact.groups, data={"store": False}, in_order=compact.in_order)
    tokens = count(render(envelope))
    if raw < SMALL_TOKENS or tokens >= raw * WORTH_IT:
        return None
    return envelope if tokens <= budget else replace(envelope, found=compact.found, data={"store": True})


def fitting(lines: Sequence[str], cap: int) -> int:
    """How many of the lines fit into the cap."""
    tokens = 0
    for at, line in enumerate(lines):
        tokens += count_line(line)
        if tokens > cap:
            return at
    return len(lines)


def is_unchanged(finished: FinishedCommand, whole: str) -> bool:
    """Whether redaction and cleaning left the output as it was."""
    output = finished.output
    return not output.dropped and output.head.decode("utf-8", "replace").removesuffix("\n") == whole
