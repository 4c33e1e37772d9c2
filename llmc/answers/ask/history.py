"""Records a question in the session: its kind, the steps, the answer, its places and its cost."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from llmc.base.errors import LlmcError
from llmc.envelope.clean import clean_text
from llmc.envelope.redact.redactor import redactor_for
from llmc.state.sessions.checkpoint import one_line
from llmc.state.sessions.join import memory_of
from llmc.state.sessions.values import CONTEXT, LOG, Draft, SessionEntry

if TYPE_CHECKING:
    from llmc.answers.ask.values import Answer
    from llmc.state.sessions.values import SessionRecord
    from llmc.tool import ToolRequest

__all__ = ["record_answer"]

STEPS = "steps"
MOST_PLACES = 6
MOST_CLASSIFIED = 20


def record_answer(request: ToolRequest, record: SessionRecord, answer: Answer) -> None:
    memory = memory_of(request.workspace)
    clean = redactor_for(request.workspace.settings.redaction)
    question = one_line(clean_text(answer.question, clean), 400)
    steps = [
        SessionEntry(STEPS, one_line(clean_text(f"{step.call}: {step.text}", clean), 300), step.by,
              "failed" if step.error else "did",
              data={"handle": step.handle, "places": list(step.places)} if step.places or step.handle else {})
        for step in answer.steps
    ]  # fmt: skip
    known = {one.text for one in memory.entries(record, name=CONTEXT)}
    places = [one for one in answer.result.references[:MOST_PLACES] if one not in known]
    costs = [one.as_dict() for one in answer.costs]
    reply = clean_text(f"{question} → {answer.result.summary}", clean)
    asker = request.session.client if request.session else "cli"
    memory.append(
        record,
        SessionEntry(LOG, question, asker, "asked", data={"kind": answer.route.kind}),
        *steps,
        *(SessionEntry(CONTEXT, place, "ask", "place") for place in places),
        SessionEntry(LOG, one_line(reply, 1_200), "grace" if answer.worded else "llmc", "answer",
              data={"references": list(answer.result.references), "costs": costs}),
    )  # fmt: skip
    classify(request, record, question, str(answer.route.kind))


def classify(request: ToolRequest, record: SessionRecord, question: str, kind: str) -> None:
    """Store the kinds of recent questions under one key; a concurrent write may win, which is harmless."""
    memory = memory_of(request.workspace)
    cell = memory.get(record, "classification")
    known = dict(cell.value) if cell and isinstance(cell.value, dict) else {}
    known.pop(question, None)
    known[question] = kind
    last = dict(list(known.items())[-MOST_CLASSIFIED:])
    with contextlib.suppress(LlmcError):
        memory.put(record, Draft("classification", last, "router", cell.version if cell else 0))
