"""What a command did, as an envelope: its exit code, what its output says, and where the whole of it is."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from signal import Signals
from typing import TYPE_CHECKING, Any

from llmc.envelope import Envelope, Group, Item, Row
from llmc.envelope.logs import summarise
from llmc.envelope.phrases import plural
from llmc.envelope.redact.redactor import redactor_for
from llmc.extend.shell.denied import refusal_of, without_denied_lines
from llmc.extend.shell.log_paths import namer
from llmc.extend.shell.outputs import Outputs, cleaned
from llmc.tool import FOCUS, budget_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from llmc.envelope.logs import Summary
    from llmc.extend.shell.capture import Captured
    from llmc.tool import Tool, ToolRequest

__all__ = ["FinishedCommand", "outputs_of", "page_of", "tell"]


@dataclass(frozen=True, slots=True)
class FinishedCommand:
    """A command that has run: `words` as asked for, `cwd` where. `code` is None when it was stopped."""

    words: Sequence[str]
    cwd: str
    output: Captured
    code: int | None
    signal: int = 0
    stopped: str = ""
    left: int = 0
    seconds: float = 0.0
    agent: str = ""


def outputs_of(asked: ToolRequest) -> Outputs:
    settings = asked.workspace.settings.envelope
    return Outputs(asked.workspace.registry.home, hours=settings.handle_ttl_hours, max_bytes=settings.handle_bytes)


def tell(asked: ToolRequest, wanted: Tool, done: FinishedCommand) -> Envelope:
    if (refusal := refusal_of(asked.workspace, done.cwd, list(done.words))) is not None:
        raise refusal
    kept = cleaned(done.output, redactor_for(asked.workspace.settings.redaction))
    kept = replace(kept, lines=without_denied_lines(asked.workspace, done.cwd, kept.lines))
    words = verdict(done)
    if kept.binary:
        words.append(f"{done.output.size:,} bytes that are no text ({kept.binary})")
    summary = summarise(
        kept.lines,
        command=done.words,
        exit_code=done.code if done.code is not None else -1,
        relative=namer(asked.workspace, done.cwd),
        budget=budget_of(asked, wanted) - HEAD_TOKENS,
    )
    if not kept.binary:
        words += summary.words
    if done.output.dropped:
        words.append(f"{done.output.dropped:,} bytes in the middle not kept")
    name = outputs_of(asked).put(kept.lines) if kept.lines and not summary.whole else ""
    data = machine(done, summary, kept.lines, name, text=asked.flag("all"))
    groups = summary.groups
    if asked.flag("all") or asked.text(FOCUS.name):  # a question is asked of all of it, not of its summary
        groups = (Group("", (Item(tuple(Row(line) for line in kept.lines)),)),) if kept.lines else ()
    return Envelope(wanted.name, " · ".join(words), groups, data=data, in_order=summary.in_order)


HEAD_TOKENS = 30


def verdict(done: FinishedCommand) -> list[str]:
    """`exit 1`, or how it ended otherwise."""
    words = [f"exit {done.code}"]
    if done.stopped:
        words = {"time": [f"stopped after {done.seconds:.0f} s"], "cancelled": ["cancelled"]}.get(
            done.stopped, ["killed"]
        )
    elif done.signal:
        words.append(signal_name(done.signal))
    if done.left and not done.stopped:
        words.append(f"ended {plural(done.left, 'process')} that it left running")
    return words


def signal_name(number: int) -> str:
    try:
        return Signals(number).name
    except ValueError:
        return f"signal {number}"


def machine(done: FinishedCommand, summary: Summary, lines: Sequence[str], name: str, *, text: bool) -> dict[str, Any]:
    report = summary.report
    return {
        "command": list(done.words),
        "exit": done.code,
        "signal": done.signal,
        "stopped": done.stopped,
        "seconds": round(done.seconds, 3),
        "agent": done.agent,
        "runner": report.runner if report else "",
        "verdict": report.verdict if report else "",
        "problems": [asdict(problem) for problem in report.problems] if report else [],
        "lines": len(lines),
        "bytes": done.output.size,
        "dropped_bytes": done.output.dropped,
        "output": {"id": name, "lines": len(lines), "from": 1} if name else {},
        **({"text": "\n".join(lines)} if text or summary.whole else {}),
    }


def page_of(asked: ToolRequest, question: str, name: str, first: int, last: int) -> Envelope:
    """Lines of an output, as many as a reply could hold; what does not fit is behind the next handle."""
    lines = outputs_of(asked).lines(name)
    last = min(last, len(lines))
    most = last if asked.flag("all") else first + asked.workspace.settings.envelope.cap
    rows = tuple(Row(line, number) for number, line in enumerate(lines[first - 1 : min(last, most)], first))
    found = f"{question} · lines {first}-{last}"
    data = {"output": {"id": name, "lines": last, "from": first}, "text": "\n".join(row.text for row in rows)}
    return Envelope("read", found, (Group("", (Item(rows, start=first, end=last),)),), data=data, unit="line")
