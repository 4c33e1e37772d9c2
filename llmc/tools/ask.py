"""`ask`: one question, answered by whoever is best at each part of it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from llmc.answers.ask import ask
from llmc.answers.ask.history import record_answer
from llmc.answers.research.report import first_sentence, groups_of
from llmc.base.errors import LlmcError
from llmc.envelope import Envelope, Group, Item, Row
from llmc.envelope.phrases import freshness_notes
from llmc.state.sessions.checkpoint import one_line
from llmc.tool import ALL, BUDGET, Argument, Tool, ToolRequest
from llmc.tools.session_arguments import remembered_for, required

if TYPE_CHECKING:
    from llmc.answers.ask import Answer
    from llmc.state.sessions import SessionRecord

REMEMBERED = 3
MOST_OUTPUT = 60


def run(request: ToolRequest) -> Envelope:
    question = request.text("question").strip()
    kept, new = required(request, request.text("name"))
    answer = ask(request, question, () if new else memories(request, kept, question))
    record_answer(request, kept, answer)
    return answer_envelope(request, kept, answer, new=new)


def memories(request: ToolRequest, kept: SessionRecord, question: str) -> tuple[str, ...]:
    """What the session knows of it already; a question never fails because of that."""
    try:
        return tuple(one_line(f"{one.of}: {one.text}") for one in remembered_for(request, kept, question, REMEMBERED))
    except LlmcError:
        return ()


def answer_envelope(request: ToolRequest, kept: SessionRecord, answer: Answer, *, new: bool) -> Envelope:
    result = answer.result
    root_indexes = request.workspace.root_indexes
    names = (
        {root_index.root.id: f"{root_index.root.name}:" for root_index in root_indexes} if len(root_indexes) > 1 else {}
    )
    head = first_sentence(result.summary)
    groups = [*words(answer, head), *groups_of(answer.report, names)]
    notes = (
        *((result.notes,) if result.notes else ()),
        *freshness_notes(answer.report.pending, answer.report.share),
        *((f"session {kept.name}",) if new else ()),
    )
    found = f"{head} · {answer.report.question.type} · confidence {result.confidence}"
    return Envelope("ask", found, tuple(groups), notes, data=data_of(kept, answer), in_order=True)


def words(answer: Answer, head: str) -> list[Group]:
    """The rest of a model's answer after its first sentence, and the output of a command."""
    lines: list[str] = []
    if answer.worded:
        rest = answer.result.summary[len(head) :].strip()
        lines = [*(re.split(r"(?<=[.!?])\s+", rest) if rest else ()), *answer.result.key_findings]
    groups = [Group("", tuple(Item((Row(one),)) for one in lines))] if lines else []
    if answer.output:
        rows = tuple(Item((Row(line),)) for line in answer.output.split("\n")[:MOST_OUTPUT])
        groups.insert(0, Group(f"output of {answer.route.command}", rows))
    return groups


def data_of(kept: SessionRecord, answer: Answer) -> dict[str, Any]:
    return {
        "question": answer.question,
        "kind": str(answer.route.kind),
        "tools": list(answer.route.tools),
        "answer": answer.result.as_dict(),
        "worded": answer.worded,
        "steps": [
            {"call": one.call, "by": one.by, "why": one.why, "places": list(one.places), "handle": one.handle,
             "error": one.error}
            for one in answer.steps
        ],
        "costs": [one.as_dict() for one in answer.costs],
        "command_output": answer.output,
        "session": kept.name,
    }  # fmt: skip


TOOL = Tool(
    name="ask",
    summary="Answers a question about code, docs or both: plans, looks, checks, and answers with path:line.",
    run=run,
    own_seconds=lambda settings: settings.crew.seconds,
    arguments=(
        Argument(
            "question",
            "string",
            "In a sentence; `run …` runs a command, where that is allowed.",
            required=True,
            text="free",
        ),
        Argument("name", "string", "Session to record it in instead of this connection's."),
        Argument("roots", "strings", "Only in these roots, by name or path, or in folders inside them.", text="path"),
        BUDGET,
        ALL,
    ),
    budget="research_budget",
    schema=("question",),
    examples=("ask 'how are sessions expired?'",),
    topics=frozenset({"code", "docs"}),
    repeatable=False,
)
