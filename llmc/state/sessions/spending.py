"""How much has a session been served, and when should its client write down where it stands and begin afresh?

The budget is `session.budget_tokens`, or the session's own key `budget`. It is for one context: a client that resumes
begins at nothing. Each mark is told once, in the frame of the reply that passes it; past the whole, every
reply says so.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from llmc.state.sessions.memory import Memory
    from llmc.state.sessions.values import SessionRecord

__all__ = ["MARKS", "advice", "budget_of"]

MARKS: Final = (100, 90, 75)


def budget_of(memory: Memory, kept: SessionRecord, default: int) -> int:
    """0 is no limit."""
    own = memory.get(kept, "budget")
    try:
        return max(0, int(own.value)) if own else default
    except (TypeError, ValueError):
        return default


def advice(memory: Memory, kept: SessionRecord, default: int) -> str:
    """What the reply's frame says; empty when there is nothing to say."""
    budget = budget_of(memory, kept, default)
    if not budget:
        return ""
    share = kept.served * 100 // budget
    mark = next((one for one in MARKS if share >= one), 0)
    if not mark or (mark <= kept.warned and mark < MARKS[0]):
        return ""
    if mark > kept.warned:
        memory.warn(kept, mark)
    used = f"session {kept.name}: {share} % of {budget:,} tokens"
    return f"{used}; {ADVICE[mark]}" if mark > kept.warned else used


ADVICE: Final = {
    75: "checkpoint soon (session checkpoint)",
    90: "checkpoint now, then session resume in a fresh client",
    100: "over budget: checkpoint and resume in a fresh client",
}
