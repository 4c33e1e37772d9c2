"""Beatrice plans: which tools, with what, in which order. She sees the question, the tools, and what is remembered.

Without a model the plan is that of the question's kind. A step that names a tool outside the route, or arguments that
the tool does not take, is left out, and a note says so.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from llmc.answers.ask.model_step import ModelStep, spoken
from llmc.answers.ask.values import QuestionKind, ToolStep
from llmc.base.errors import LlmcError
from llmc.tool_schema import call_form

if TYPE_CHECKING:
    from collections.abc import Iterable

    from llmc.answers.ask.context import AskContext

__all__ = ["PROMPT", "checked_steps", "plan", "step_form"]

MOST_STEPS = 6
PROMPT = (
    "You are Beatrice, the planner. Given a question about a repository, list the tool calls that would find its "
    "answer, at most six, the most telling first. Use only the tools that are named. Answer nothing yourself."
)


def plan(desk: AskContext) -> list[ToolStep]:
    said = spoken(desk, "beatrice", ModelStep(PROMPT, slice_of(desk), plan_form()))
    steps = checked_steps(desk, "beatrice", said.steps) if said is not None else []
    return steps or own_plan(desk)


def slice_of(desk: AskContext) -> str:
    offered = [desk.asked.tools.get(name) for name in desk.route.tools]
    tools = "\n".join(f"- {call_form(one)}: {one.summary}" for one in offered)
    known = "\n".join(f"- {one}" for one in desk.remembered)
    return "\n\n".join(
        filter(
            None,
            (
                f"Question ({desk.route.kind}): {desk.inquiry.question.text}",
                f"Tools:\n{tools}",
                f"Known from earlier:\n{known}" if known else "",
            ),
        )
    )


def own_plan(desk: AskContext) -> list[ToolStep]:
    """What a careful reader would look at first."""
    question, kind = desk.inquiry.question, desk.route.kind
    if kind is QuestionKind.COMMAND and desk.route.command and "shell" in desk.route.tools:
        return [ToolStep("shell", {"command": desk.route.command}, "the command that was asked for")]
    names = [one.text for one in question.names[:2] if not one.is_file and "refs" in desk.route.tools]
    steps = [ToolStep("refs", {"name": name}, "who defines and uses it") for name in names]
    if "search" in desk.route.tools:
        steps.append(ToolStep("search", {"query": question.subject}, "places for the subject"))
    return steps


def checked_steps(desk: AskContext, role: str, wanted: Iterable[Any], most: int = MOST_STEPS) -> list[ToolStep]:
    """Only tools of the route, only arguments that they take."""
    steps: list[ToolStep] = []
    refused: list[str] = []
    for one in list(wanted)[:most]:
        try:
            if one.tool not in desk.route.tools:
                refused.append(one.tool)
                continue
            args = {key: value for key, value in dict(one.args).items() if value not in (None, "")}
            desk.asked.tools.get(one.tool).check(args, desk.workspace.settings.limits)
        except LlmcError as error:
            refused.append(f"{one.tool} ({error.message})")
            continue
        steps.append(ToolStep(one.tool, args, one.why, role))
    if refused:
        desk.notes.append(desk.clean(f"{role.title()} wanted {', '.join(refused)[:200]}, which was refused."))
    return steps


def step_form() -> Any:
    from pydantic import Field, create_model  # noqa: PLC0415 - 0.1 s, and only where a model is

    return create_model(
        "ToolStep",
        tool=(str, ...),
        args=(dict[str, Any], Field(description="The tool's arguments by name.")),
        why=(str, ""),
    )


def plan_form() -> Any:
    from pydantic import Field, create_model  # noqa: PLC0415 - likewise

    listed: Any = list[step_form()]  # type: ignore[misc]
    return create_model("Plan", steps=(listed, Field(min_length=1)))
