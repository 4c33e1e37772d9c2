"""What a session remembers of a question: that it was asked, its kind, the steps, the answer, the places, the cost."""

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

__all__ = ["keep"]

STEPS = "steps"
MOST_PLACES = 6
MOST_CLASSIFIED = 20


def keep(asked: ToolRequest, kept: SessionRecord, answer: Answer) -> None:
    memory = memory_of(asked.workspace)
    clean = redactor_for(asked.workspace.settings.redaction)
    question = one_line(clean_text(answer.question, clean), 400)
    steps = [
        SessionEntry(STEPS, one_line(clean_text(f"{step.call}: {step.text}", clean), 300), step.by,
              "failed" if step.error else "did",
              data={"handle": step.handle, "places": list(step.places)} if step.places or step.handle else {})
        for step in answer.steps
    ]  # fmt: skip
    known = {one.text for one in memory.entries(kept, name=CONTEXT)}
    places = [one for one in answer.result.references[:MOST_PLACES] if one not in known]
    costs = [one.as_dict() for one in answer.costs]
    said = clean_text(f"{question} → {answer.result.summary}", clean)
    asker = asked.session.client if asked.session else "cli"
    memory.append(
        kept,
        SessionEntry(LOG, question, asker, "asked", data={"kind": answer.route.kind}),
        *steps,
        *(SessionEntry(CONTEXT, place, "ask", "place") for place in places),
        SessionEntry(LOG, one_line(said, 1_200), "grace" if answer.worded else "llmc", "answer",
              data={"references": list(answer.result.references), "costs": costs}),
    )  # fmt: skip
    classify(asked, kept, question, str(answer.route.kind))


def classify(asked: ToolRequest, kept: SessionRecord, question: str, kind: str) -> None:
    """The last few, under one key; another ask that writes it at the same moment may win."""
    memory = memory_of(asked.workspace)
    cell = memory.get(kept, "classification")
    known = dict(cell.value) if cell and isinstance(cell.value, dict) else {}
    known.pop(question, None)
    known[question] = kind
    last = dict(list(known.items())[-MOST_CLASSIFIED:])
    with contextlib.suppress(LlmcError):
        memory.put(kept, Draft("classification", last, "router", cell.version if cell else 0))
