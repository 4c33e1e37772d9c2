"""Summarizes a finished command as an envelope: exit code, summary of the output, and a handle to all of it.

Commands that print files or lists (cat, sed, rg, grep, find, ls, tree) are not summarized. Text of files is printed
byte by byte up to the cap, since agents edit from it. Lists are regrouped (`envelope.logs.listings`) if that saves
tokens, and otherwise printed as they are. What does not fit is counted and stored behind a handle.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from signal import Signals
from typing import TYPE_CHECKING, Any

from llmc.base.listing_programs import MATCHING, is_listing, program_of
from llmc.envelope import Envelope, Group, Item, Row, render
from llmc.envelope.logs import Summary, summarise
from llmc.envelope.logs.listings import shortest_listing
from llmc.envelope.phrases import plural
from llmc.envelope.redact.redactor import redactor_for
from llmc.envelope.tokens import count, count_line
from llmc.extend.shell.denied import refusal_of, without_denied_lines
from llmc.extend.shell.log_paths import namer
from llmc.extend.shell.outputs import Outputs, cleaned
from llmc.tool import FOCUS, budget_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from llmc.envelope.logs.git import Compact
    from llmc.extend.shell.capture import Captured
    from llmc.extend.shell.outputs import StoredOutput
    from llmc.tool import Tool, ToolRequest

__all__ = ["FinishedCommand", "outputs_of", "page_of", "summarize_command"]

SMALL_TOKENS = 12  # of a list that is printed unchanged
CUT = "cut text"  # describes the handle if every line is shown, but some are truncated


@dataclass(frozen=True, slots=True)
class FinishedCommand:
    """A command that has run: `words` as requested, in `cwd`. `code` is None when it was stopped."""

    words: Sequence[str]
    cwd: str
    output: Captured
    code: int | None
    signal: int = 0
    stopped: str = ""
    left: int = 0
    seconds: float = 0.0
    agent: str = ""


def outputs_of(request: ToolRequest) -> Outputs:
    settings = request.workspace.settings.envelope
    return Outputs(request.workspace.registry.home, hours=settings.handle_ttl_hours, max_bytes=settings.handle_bytes)


def summarize_command(request: ToolRequest, tool: Tool, finished: FinishedCommand) -> Envelope:
    if (refusal := refusal_of(request.workspace, finished.cwd, list(finished.words))) is not None:
        raise refusal
    stored = cleaned(finished.output, redactor_for(request.workspace.settings.redaction))
    stored = replace(stored, lines=without_denied_lines(request.workspace, finished.cwd, stored.lines))
    if is_listing(finished.words) and not stored.binary and not finished.stopped and not request.text(FOCUS.name):
        return summarize_listing(request, tool, finished, stored)
    summary_words = verdict(finished)
    if stored.binary:
        summary_words.append(f"{finished.output.size:,} bytes of binary data ({stored.binary})")
    summary = summarise(
        stored.lines,
        command=finished.words,
        exit_code=finished.code if finished.code is not None else -1,
        relative=namer(request.workspace, finished.cwd),
        budget=budget_of(request, tool) - HEAD_TOKENS,
    )
    if not stored.binary:
        summary_words += summary.words
    if finished.output.dropped:
        summary_words.append(f"{finished.output.dropped:,} bytes in the middle omitted")
    name = outputs_of(request).put(stored.lines) if stored.lines and not summary.whole else ""
    data = data_of(finished, summary, stored.lines, name, text=request.unlimited)
    groups, unit = summary.groups, ""
    if request.flag("all") or request.text(FOCUS.name):  # a focus question applies to the whole output
        groups = (Group("", (Item(tuple(Row(line) for line in stored.lines)),)),) if stored.lines else ()
        unit = "line" if name else ""  # the handle continues where the reply ends
    words = " · ".join(summary_words)
    return Envelope(tool.name, words, groups, data=data, in_order=summary.in_order, unit=unit)


HEAD_TOKENS = 30


def summarize_listing(request: ToolRequest, tool: Tool, finished: FinishedCommand, stored: StoredOutput) -> Envelope:
    envelope = listing_envelope(request, tool, finished, stored)
    name = outputs_of(request).put(stored.lines) if envelope.data["store"] else ""
    data = data_of(finished, Summary((), (), whole=True), stored.lines, name, text=request.flag("all"))
    return replace(envelope, data={**data, **envelope.data})


def verdict(finished: FinishedCommand) -> list[str]:
    """`exit 1`, or how else it ended."""
    summary_words = [f"exit {finished.code}"]
    if finished.stopped:
        summary_words = {"time": [f"stopped after {finished.seconds:.0f} s"], "cancelled": ["cancelled"]}.get(
            finished.stopped, ["killed"]
        )
    elif finished.signal:
        summary_words.append(signal_name(finished.signal))
    if finished.left and not finished.stopped:
        summary_words.append(f"killed {plural(finished.left, 'process')} that it left running")
    return summary_words


def signal_name(number: int) -> str:
    try:
        return Signals(number).name
    except ValueError:
        return f"signal {number}"


def data_of(
    finished: FinishedCommand, summary: Summary, lines: Sequence[str], name: str, *, text: bool
) -> dict[str, Any]:
    report = summary.report
    return {
        "command": list(finished.words),
        "exit": finished.code,
        "signal": finished.signal,
        "stopped": finished.stopped,
        "seconds": round(finished.seconds, 3),
        "agent": finished.agent,
        "runner": report.runner if report else "",
        "verdict": report.verdict if report else "",
        "problems": [asdict(problem) for problem in report.problems] if report else [],
        "lines": len(lines),
        "bytes": finished.output.size,
        "dropped_bytes": finished.output.dropped,
        "output": {"id": name, "lines": len(lines), "from": 1} if name else {},
        **({"text": "\n".join(lines)} if text or summary.whole else {}),
    }


def page_of(request: ToolRequest, question: str, name: str, first: int, last: int) -> Envelope:
    """Lines of a stored output, as many as a reply can hold; the next handle continues."""
    lines = outputs_of(request).lines(name)
    last = min(last, len(lines))
    most = last if request.flag("all") else first + request.workspace.settings.envelope.cap
    rows = tuple(Row(line, number) for number, line in enumerate(lines[first - 1 : min(last, most)], first))
    found = f"{question} · lines {first}-{last}"
    data = {"output": {"id": name, "lines": last, "from": first}, "text": "\n".join(row.text for row in rows)}
    return Envelope("read", found, (Group("", (Item(rows, start=first, end=last),)),), data=data, unit="line")


def listing_envelope(request: ToolRequest, tool: Tool, finished: FinishedCommand, stored: StoredOutput) -> Envelope:
    """`data["store"]`: the whole output must be stored. `verbatim` is the text of the reply, if set; `raw`: it equals
    the output of the command, so the client may print the original bytes."""
    whole = "\n".join(stored.lines)
    if not request.flag("all") and (not finished.code or program_of(finished.words) in MATCHING):
        envelope = regrouped(tool, finished.words, stored.lines, budget_of(request, tool))
        if envelope is not None:
            return envelope
    total = len(stored.lines)
    shown = total if request.flag("all") else fitting(stored.lines, request.workspace.settings.envelope.cap)
    data: dict[str, Any] = {"verbatim": "\n".join(stored.lines[:shown]), "omitted": total - shown}
    data |= {"raw": not data["omitted"] and is_unchanged(finished, whole), "store": bool(data["omitted"])}
    return Envelope(tool.name, "", data=data)


def regrouped(tool: Tool, command: Sequence[str], lines: Sequence[str], budget: int) -> Envelope | None:
    """The regrouped list; None if it would not be shorter. A complete list has no first line, like the command's
    output."""

    def envelope_of(compact: Compact) -> Envelope:
        data = {"store": compact.cut, "cut": CUT if compact.cut else ""}
        found = compact.found if compact.lost else ""
        return Envelope(tool.name, found, compact.groups, data=data, in_order=compact.in_order)

    def tokens_of(compact: Compact) -> int:
        return count(render(envelope_of(compact), handle="habcd" if compact.cut else "", left=CUT))

    raw = count("\n".join(lines))
    found = shortest_listing(command, lines, raw, tokens_of) if raw >= SMALL_TOKENS else None
    if found is None:
        return None
    compact, tokens = found
    envelope = envelope_of(compact)
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
