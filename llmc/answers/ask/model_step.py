"""One model call for one ask role: which model, its prompt, the schema of its answer, and what it cost.

A role uses the model of its entry in `roles`, else the one of `crew`, else the one of `research`, else the one of
another ask role, so a single configured model serves all four. Each role is called once with a short prompt; output
that does not match the schema is sent back once. Requests, tool calls, tokens and seconds are bounded. Any failure is
a `ModelError`, and the pipeline continues without the model.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from llmc.answers.ask.values import CREW, Cost
from llmc.answers.llm import open_model, provider_slot
from llmc.answers.research.errors import CanceledError, DeadlineError
from llmc.answers.research.model_rewrite import await_output
from llmc.base.errors import LlmcError, ModelError
from llmc.settings import RoleEntry as RoleSettings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from llmc.answers.ask.context import AskContext
    from llmc.settings import Provider, Settings

__all__ = ["ModelStep", "RoleModel", "ask_model", "role_models"]

# Model requests and tool calls per role; a model that needs more is looping.
MOST_REQUESTS, MOST_CALLS = 5, 6


@dataclass(frozen=True, slots=True)
class RoleModel:
    role: str
    provider: Provider
    settings: RoleSettings

    @property
    def model(self) -> str:
        return self.settings.model or self.provider.model


@dataclass(frozen=True, slots=True)
class ModelStep:
    """`form` is a pydantic model, `tools` are pydantic-ai tools; providers that enforce a schema get no tools."""

    instructions: str
    prompt: str
    form: Any
    tools: Sequence[Any] = ()


def role_models(settings: Settings) -> dict[str, RoleModel]:
    """The model of each role; empty when none is configured."""
    named = {name: settings.roles[name] for name in CREW if name in settings.roles}
    others = [
        settings.crew.provider,
        settings.research.provider,
        *(named[one].provider for one in reversed(CREW) if one in named),
    ]
    found = {}
    for name in CREW:
        own = named.get(name, RoleSettings())
        provider = next((one for one in (own.provider, *others) if one), "")
        if provider in settings.providers:
            spare = "" if own.provider or own.model else model_of(named, provider)
            found[name] = RoleModel(name, settings.providers[provider], own if not spare else with_model(own, spare))
    return found


def model_of(named: dict[str, RoleSettings], provider: str) -> str:
    """The model that another role uses with this provider, for a provider without a default model."""
    return next((one.model for one in reversed(named.values()) if one.provider == provider and one.model), "")


def with_model(settings: RoleSettings, model: str) -> RoleSettings:
    return RoleSettings(
        provider=settings.provider,
        model=model,
        system_prompt=settings.system_prompt,
        max_tokens=settings.max_tokens,
        temperature=settings.temperature,
    )


def ask_model(context: AskContext, role: str, step: ModelStep) -> Any | None:
    """The answer of the role's model in its schema; None without a model or when it fails, which a note reports."""
    role_model = context.models.get(role)
    if role_model is None:
        return None
    context.report_progress(role, "is thinking")
    started = time.monotonic()
    counted: list[Any] = []
    ended = "ok"
    try:
        if context.tokens_left <= 0:
            raise ModelError("the model was not called", reason="the token budget of this question is used up")
        with provider_slot(role_model.provider, context.stop.check):
            return asyncio.run(run_agent(context, role_model, step, counted))
    except CanceledError:
        raise
    except LlmcError as error:
        ended = error.reason or error.message
        timely = "" if not isinstance(error, DeadlineError) else "it timed out"
        context.notes.append(f"{role.title()}'s model did not answer ({timely or ended}); llmc continued without it.")
        return None
    finally:
        usage = counted[0] if counted else None
        context.costs.append(
            Cost(
                role,
                role_model.model,
                getattr(usage, "requests", 0),
                getattr(usage, "input_tokens", 0),
                getattr(usage, "output_tokens", 0),
                time.monotonic() - started,
                ended,
            )
        )


async def run_agent(context: AskContext, role_model: RoleModel, step: ModelStep, counted: list[Any]) -> Any:
    async with open_model(role_model.provider, role_model.settings.model) as model:
        from pydantic_ai import Agent, NativeOutput, PromptedOutput, UsageLimits  # noqa: PLC0415 - an extra
        from pydantic_ai.usage import RunUsage  # noqa: PLC0415 - an extra

        enforced = role_model.provider.structured == "schema"
        agent: Any = Agent(
            model,
            output_type=NativeOutput(step.form) if enforced else PromptedOutput(step.form),
            instructions=role_model.settings.system_prompt or step.instructions,
            tools=[] if enforced else list(step.tools),
            retries={"output": 1, "tools": 1},
            model_settings={
                "max_tokens": role_model.settings.max_tokens,
                "temperature": role_model.settings.temperature,
            },
        )
        usage = RunUsage()
        counted.append(usage)
        limits = UsageLimits(
            request_limit=MOST_REQUESTS, tool_calls_limit=MOST_CALLS, total_tokens_limit=context.tokens_left
        )
        running = asyncio.ensure_future(agent.run(context.clean(step.prompt), usage_limits=limits, usage=usage))
        return (await await_output(running, context.stop, role_model.provider.timeout_ms / 1000)).output
