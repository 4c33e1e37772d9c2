"""The token budget of a session: warns when its client should write a checkpoint and start over.

The budget is `session.budget_tokens`, or the key `budget` of the session. It applies to one context: a client that
resumes starts at zero. Each threshold is reported once, in the frame of the reply that crosses it; over budget, every
reply reports it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from llmc.state.sessions.memory import Memory
    from llmc.state.sessions.values import SessionRecord

__all__ = ["MARKS", "advice", "budget_of"]

MARKS: Final = (100, 90, 75)


def budget_of(memory: Memory, record: SessionRecord, default: int) -> int:
    """The session's budget in tokens; 0 means no limit."""
    own = memory.get(record, "budget")
    try:
        return max(0, int(own.value)) if own else default
    except (TypeError, ValueError):
        return default


def advice(memory: Memory, record: SessionRecord, default: int) -> str:
    """The line to add to the frame of a reply; empty if no threshold was crossed."""
    budget = budget_of(memory, record, default)
    if not budget:
        return ""
    share = record.served * 100 // budget
    mark = next((one for one in MARKS if share >= one), 0)
    if not mark or (mark <= record.warned and mark < MARKS[0]):
        return ""
    if mark > record.warned:
        memory.warn(record, mark)
    used = f"session {record.name}: {share} % of {budget:,} tokens"
    return f"{used}; {ADVICE[mark]}" if mark > record.warned else used


ADVICE: Final = {
    75: "checkpoint soon (session checkpoint)",
    90: "checkpoint now, then session resume in a fresh client",
    100: "over budget: checkpoint and resume in a fresh client",
}
