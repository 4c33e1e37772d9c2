"""One model call for one ask role: which model, its prompt, the schema of its answer, and what it cost.

A role uses the model of its entry in `roles`, else the one of `crew`, else the one of `research`, else the one of
another ask role, so a single configured model serves all four. Each role is called once with a short prompt; output
that does not match the schema is sent back once. Requests, tool calls, tokens and seconds are bounded. Any failure is
a `ModelError`, and the pipeline continues without the model.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from llmc.answers.ask.values import CREW, Cost
from llmc.answers.llm import ModelRecord, ModelTask, TaskLimits, run_model_in_thread
from llmc.answers.providers import model_id
from llmc.answers.research.errors import CanceledError, DeadlineError
from llmc.base.errors import LlmcError, ModelError, ModelUnavailableError
from llmc.settings import RoleEntry as RoleSettings

if TYPE_CHECKING:
    from collections.abc import Mapping

    from llmc.answers.ask.context import AskContext
    from llmc.answers.llm import ModelTool
    from llmc.settings import Provider, Settings

__all__ = ["ModelStep", "RoleModel", "ask_model", "role_models"]

# Rounds and tool calls in each; a model that needs more is looping.
MOST_ROUNDS, MOST_CALLS = 5, 6
# The share of the remaining time that each role may use, so that a slow one leaves enough for those after it.
SHARES = {"beatrice": 0.25, "otto": 0.4, "rem": 0.4, "grace": 0.9}


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
    """`form` is a pydantic model; `tools` maps the names that the model sees."""

    instructions: str
    prompt: str
    form: Any
    tools: Mapping[str, ModelTool] = field(default_factory=dict)


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
    """The answer of the role's model in its schema; None without a model or when it fails, which a note reports.

    A model that was unavailable to an earlier role is not asked again."""
    role_model = context.models.get(role)
    if role_model is None or model_id(role_model.provider, role_model.settings.model) in context.unavailable:
        return None
    context.report_progress(role, "is thinking")
    started = time.monotonic()
    record = ModelRecord()
    ended = "ok"
    try:
        if context.tokens_left <= 0:
            raise ModelError("the model was not called", reason="the token budget of this question is used up")
        seconds = min(role_model.provider.timeout_ms / 1000, SHARES[role] * context.stop.left)
        task = task_of(context, role_model, step)
        return run_model_in_thread(task, record, seconds=seconds, stopped=context.stop.check)
    except CanceledError:
        raise
    except LlmcError as error:
        ended = error.reason or error.message
        context.model_failures[role] = "it timed out" if isinstance(error, DeadlineError) else ended
        if isinstance(error, ModelUnavailableError):
            context.unavailable.add(model_id(role_model.provider, role_model.settings.model))
        return None
    finally:
        context.costs.append(
            Cost(
                role,
                role_model.model,
                record.rounds,
                record.read,
                record.written,
                time.monotonic() - started,
                ended,
            )
        )


def task_of(context: AskContext, role_model: RoleModel, step: ModelStep) -> ModelTask:
    settings = role_model.settings
    return ModelTask(
        role_model.provider,
        settings.model,
        settings.system_prompt or step.instructions,
        context.clean(step.prompt),
        TaskLimits(MOST_ROUNDS, MOST_CALLS, context.tokens_left, settings.max_tokens),
        step.form,
        lambda: step.tools,
        settings.temperature,
        fatal=(DeadlineError, CanceledError),
    )
