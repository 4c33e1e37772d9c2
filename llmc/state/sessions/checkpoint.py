"""Summarizes a session in at most 300 tokens, for an agent that was not present.

The summary is computed from stored state: first what agents wrote (goal, plan, decisions, open questions), then what
the server observed (files, results, recent questions). Lines are added in order of importance to a new reader, and
lines that do not fit are left out. Everything remains in the session, available by key or by search.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from llmc.envelope.tokens import count
from llmc.state.sessions.values import CHECKPOINTS, CONTEXT, TOOLS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from llmc.state.sessions.memory import Memory
    from llmc.state.sessions.values import SessionEntry, SessionRecord, SessionValue

__all__ = ["MOST_TOKENS", "checkpoint", "one_line", "value_lines"]

MOST_TOKENS: Final = 300
LONGEST_LINE: Final = 200
# Entries with these acts are results; other log entries describe the work.
RESULTS: Final = frozenset(
    {"answer", "decided", "decision", "found", "finding", "result", "solution", "solved", "fixed"}
)
LEADING: Final = ("goal", "task", "summary")
FEW: Final = 4


def checkpoint(
    memory: Memory, record: SessionRecord, agent: str = "", alive: Callable[[str], bool] = lambda _: True
) -> list[str]:
    """The lines of the summary; the first one identifies the session. `alive`: whether a handle can still be opened."""
    lines = [head(record)]
    left = MOST_TOKENS - count(lines[0])
    for line in state_lines(memory, record, agent, alive):
        short = one_line(line)
        cost = count("\n " + short)
        if cost <= left:
            lines.append(short)
            left -= cost
    return lines


def head(record: SessionRecord) -> str:
    where = f" in {one_line(record.place, 60)}" if record.place else ""
    return f"session {one_line(record.name, 60)}{where}: {record.calls} calls, {record.content + record.frame:,} tokens"


def state_lines(memory: Memory, record: SessionRecord, agent: str, alive: Callable[[str], bool]) -> Iterator[str]:
    cells = {one.key: one for one in memory.cells(record, agent)}
    entries = memory.entries(record, agent)
    checkpoints = [one for one in entries if one.list == CHECKPOINTS and one.text]
    yield from (one.text for one in checkpoints[-1:])
    for key in LEADING:
        if key in cells:
            yield f"{key}: {flat(cells[key].value)}"
    if "plan" in cells:
        yield from plan_lines(cells["plan"])
    results = [one for one in entries if one.act in RESULTS]
    yield from (f"{one.act}: {one.text}" for one in reversed(results[-FEW:]))
    yield from (f"open: {one.text}" for one in entries if one.list == "open")
    yield from other_lines(cells, entries, results)
    yield from activity_lines(memory.entries(record, agent, TOOLS, 50), entries, alive)


def plan_lines(plan: SessionValue) -> Iterator[str]:
    """The remaining steps one by one, and the number of completed steps."""
    steps = plan.value if isinstance(plan.value, list) else [plan.value]
    done = [one for one in steps if is_done(one)]
    if done:
        yield f"plan v{plan.version}: {len(done)} of {len(steps)} steps done"
    for number, step in enumerate(steps, 1):
        if not is_done(step):
            yield f"{'todo' if done else 'plan'} {number}: {flat(step)}"


def is_done(step: Any) -> bool:
    return isinstance(step, dict) and (step.get("done") is True or step.get("state") in {"done", "ok"})


def other_lines(
    cells: dict[str, SessionValue], entries: Sequence[SessionEntry], results: Sequence[SessionEntry]
) -> Iterator[str]:
    shown = {"plan", "budget", "classification", *LEADING}
    yield from (f"{key} (v{one.version}): {flat(one.value)}" for key, one in cells.items() if key not in shown)
    log = [one for one in entries if one.list == "log" and one.act != "asked" and one not in results]
    yield from (f"{one.speaker or 'log'}: {one.text}" for one in reversed(log[-FEW:]))


def activity_lines(
    calls: Sequence[SessionEntry], entries: Sequence[SessionEntry], alive: Callable[[str], bool]
) -> Iterator[str]:
    known = [one.text for one in entries if one.list == CONTEXT]
    files = [path for one in calls for path in one.data.get("files", [])]
    if places := list(dict.fromkeys(reversed([*files, *known])))[:8]:
        yield f"known: {', '.join(places)}"
    handles = [(one.data["handle"], one.text) for one in reversed(calls) if one.data.get("handle")]
    record = [f"{name} ({text})" for name, text in dict(handles).items() if alive(name)][:3]
    if record:
        yield f"results: {', '.join(record)}"
    if asked := [one.text for one in reversed(calls)][:3]:
        yield f"last asked: {'; '.join(dict.fromkeys(asked))}"


def flat(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        main = next((value[key] for key in ("text", "step", "title", "what", "task") if value.get(key)), None)
        return str(main) if main else json.dumps(value, ensure_ascii=False)
    return json.dumps(value, ensure_ascii=False)


def value_lines(value: Any) -> list[str]:
    """A value for display: strings unchanged, lists line by line, anything else as JSON."""
    if isinstance(value, str):
        return value.split("\n")
    if isinstance(value, list):
        return [f"{number}. {one if isinstance(one, str) else json.dumps(one, ensure_ascii=False)}"
                for number, one in enumerate(value, 1)]  # fmt: skip
    return json.dumps(value, ensure_ascii=False, indent=1).split("\n")


def one_line(text: str, most: int = LONGEST_LINE) -> str:
    text = " ".join(text.split())
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"
