"""Beatrice, the planner: which tools to call, with which arguments, in which order.

Her model sees the question, the tools and what the session remembers. Without a model the plan follows from the kind
of question. Steps with a tool outside the route or with invalid arguments are dropped, and a note reports them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from llmc.answers.ask.model_step import ModelStep, ask_model
from llmc.answers.ask.values import QuestionKind, ToolStep
from llmc.base.errors import LlmcError
from llmc.tool_schema import call_form

if TYPE_CHECKING:
    from collections.abc import Iterable

    from llmc.answers.ask.context import AskContext

__all__ = ["PROMPT", "plan", "step_schema", "valid_steps"]

MOST_STEPS = 6
PROMPT = (
    "You are Beatrice, the planner. Given a question about a repository, list the tool calls that would find its "
    "answer, at most six, the most useful first. Use only the tools listed. Do not answer the question yourself."
)


def plan(context: AskContext) -> list[ToolStep]:
    reply = ask_model(context, "beatrice", ModelStep(PROMPT, prompt_for(context), plan_schema()))
    steps = valid_steps(context, "beatrice", reply.steps) if reply is not None else []
    return steps or default_plan(context)


def prompt_for(context: AskContext) -> str:
    offered = [context.request.tools.get(name) for name in context.route.tools]
    tools = "\n".join(f"- {call_form(one)}: {one.summary}" for one in offered)
    known = "\n".join(f"- {one}" for one in context.remembered)
    return "\n\n".join(
        filter(
            None,
            (
                f"Question ({context.route.kind}): {context.session.question.text}",
                f"Tools:\n{tools}",
                f"Known from earlier:\n{known}" if known else "",
            ),
        )
    )


def default_plan(context: AskContext) -> list[ToolStep]:
    """The plan without a model: the references of named symbols, then a search for the subject."""
    question, kind = context.session.question, context.route.kind
    if kind is QuestionKind.COMMAND and context.route.command and "shell" in context.route.tools:
        return [ToolStep("shell", {"command": context.route.command}, "the requested command")]
    names = [one.text for one in question.names[:2] if not one.is_file and "refs" in context.route.tools]
    steps = [ToolStep("refs", {"name": name}, "definition and uses") for name in names]
    if "search" in context.route.tools:
        steps.append(ToolStep("search", {"query": question.subject}, "places about the subject"))
    return steps


def valid_steps(context: AskContext, role: str, proposals: Iterable[Any], most: int = MOST_STEPS) -> list[ToolStep]:
    """The proposed steps that name a tool of the route and pass its argument checks."""
    steps: list[ToolStep] = []
    rejected: list[str] = []
    for one in list(proposals)[:most]:
        try:
            if one.tool not in context.route.tools:
                rejected.append(one.tool)
                continue
            args = {key: value for key, value in dict(one.args).items() if value not in (None, "")}
            context.request.tools.get(one.tool).check(args, context.workspace.settings.limits)
        except LlmcError as error:
            rejected.append(f"{one.tool} ({error.message})")
            continue
        steps.append(ToolStep(one.tool, args, one.why, role))
    if rejected:
        context.notes.append(
            context.clean(f"{role.title()} requested {', '.join(rejected)[:200]}, which was rejected.")
        )
    return steps


def step_schema() -> Any:
    from pydantic import Field, create_model  # noqa: PLC0415 - 0.1 s, and only needed with a model

    return create_model(
        "ToolStep",
        tool=(str, ...),
        args=(dict[str, Any], Field(description="The tool's arguments by name.")),
        why=(str, ""),
    )


def plan_schema() -> Any:
    from pydantic import Field, create_model  # noqa: PLC0415 - 0.1 s, and only needed with a model

    listed: Any = list[step_schema()]  # type: ignore[misc]
    return create_model("Plan", steps=(listed, Field(min_length=1)))
