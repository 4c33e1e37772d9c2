"""Rem checks: is what was found enough, and is it there? She fills gaps, once, and drops what does not exist.

Every place is held against the index, with or without a model. Where the chosen side had nothing, the other is looked
at: docs for a question about code, code for one about docs. Her model sees the question, what was used and the places,
and may ask for two further steps.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from llmc.answers.ask.model_step import ModelStep, spoken
from llmc.answers.ask.planner import checked_steps, step_form
from llmc.answers.ask.values import ToolStep

if TYPE_CHECKING:
    from collections.abc import Sequence

    from llmc.answers.ask.context import AskContext

__all__ = ["PROMPT", "check"]

MOST_GAPS = 2
PROMPT = (
    "You are Rem, who checks evidence. You see a question, the tools that were used and the places that were found. "
    "Say whether they are enough to answer, what is doubtful, and at most two further tool calls that would close a "
    "gap. Use only the tools that were named."
)


def check(desk: AskContext, findings: Sequence[str], places: Sequence[str]) -> list[str]:
    """What is doubtful, in words; further steps are done."""
    if not places and not any(step.places for step in desk.steps) and "search" in desk.route.tools:
        desk.act(ToolStep("search", {"query": desk.inquiry.question.text}, "nothing was found so far", "rem"))
    said = spoken(desk, "rem", ModelStep(PROMPT, slice_of(desk, findings, places), check_form(desk)))
    if said is None:
        return []
    if not said.enough:
        for step in checked_steps(desk, "rem", said.gaps, MOST_GAPS):
            desk.act(step)
    return [text for text in said.doubts if text.strip()][:MOST_GAPS]


def slice_of(desk: AskContext, findings: Sequence[str], places: Sequence[str]) -> str:
    used = "\n".join(f"- {step.call}: {step.text.partition(chr(10))[0][:120]}" for step in desk.steps)
    listed = [*places, *(place for step in desk.steps for place in step.places)]
    return "\n\n".join(
        (
            f"Question: {desk.inquiry.question.text}",
            f"Tools there are: {', '.join(desk.route.tools)}",
            f"Tools used so far:\n{used or '- none'}",
            f"Findings:\n{chr(10).join(f'- {one}' for one in findings) or '- none'}",
            f"Places: {', '.join(dict.fromkeys(listed)) or 'none'}",
        )
    )


def check_form(desk: AskContext) -> Any:
    if "rem" not in desk.voices:
        return None
    from pydantic import Field, create_model  # noqa: PLC0415 - 0.1 s, and only where a model is

    listed: Any = list[step_form()]  # type: ignore[misc]
    return create_model(
        "Check",
        enough=(bool, ...),
        gaps=(listed, Field(default_factory=list)),
        doubts=(list[str], Field(default_factory=list)),
    )
