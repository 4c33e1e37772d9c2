"""Rem, the verifier: decides whether the evidence is sufficient, and closes gaps once.

When nothing was found so far, one more search runs, with or without a model. The model sees the question, the tools
used and the places found, and may request two further steps. References are checked against the index elsewhere
(`AskContext.exists`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from llmc.answers.ask.model_step import ModelStep, ask_model
from llmc.answers.ask.planner import step_schema, valid_steps
from llmc.answers.ask.values import ToolStep

if TYPE_CHECKING:
    from collections.abc import Sequence

    from llmc.answers.ask.context import AskContext

__all__ = ["PROMPT", "check"]

MOST_GAPS = 2
PROMPT = (
    "You are Rem, the verifier of evidence. You see a question, the tools used and the places found. State whether "
    "they are enough to answer, what is doubtful, and at most two further tool calls that would close a gap. Use only "
    "the tools listed."
)


def check(context: AskContext, findings: Sequence[str], places: Sequence[str]) -> list[str]:
    """Run further steps where evidence is missing; return the doubts that the model states."""
    if not places and not any(step.places for step in context.steps) and "search" in context.route.tools:
        context.run_step(ToolStep("search", {"query": context.session.question.text}, "nothing found so far", "rem"))
    reply = ask_model(context, "rem", ModelStep(PROMPT, prompt_for(context, findings, places), check_schema(context)))
    if reply is None:
        return []
    if not reply.enough:
        for step in valid_steps(context, "rem", reply.gaps, MOST_GAPS):
            context.run_step(step)
    return [text for text in reply.doubts if text.strip()][:MOST_GAPS]


def prompt_for(context: AskContext, findings: Sequence[str], places: Sequence[str]) -> str:
    used = "\n".join(f"- {step.call}: {step.text.partition(chr(10))[0][:120]}" for step in context.steps)
    listed = [*places, *(place for step in context.steps for place in step.places)]
    return "\n\n".join(
        (
            f"Question: {context.session.question.text}",
            f"Available tools: {', '.join(context.route.tools)}",
            f"Tools used so far:\n{used or '- none'}",
            f"Findings:\n{chr(10).join(f'- {one}' for one in findings) or '- none'}",
            f"Places: {', '.join(dict.fromkeys(listed)) or 'none'}",
        )
    )


def check_schema(context: AskContext) -> Any:
    if "rem" not in context.models:
        return None
    from pydantic import Field, create_model  # noqa: PLC0415 - 0.1 s, and only needed with a model

    listed: Any = list[step_schema()]  # type: ignore[misc]
    return create_model(
        "Check",
        enough=(bool, ...),
        gaps=(listed, Field(default_factory=list)),
        doubts=(list[str], Field(default_factory=list)),
    )
