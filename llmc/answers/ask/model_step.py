"""A model that speaks for one of the four: which one, what it is told, in which form it must answer, and at what cost.

A role's model is that of its entry in `roles`, else the crew's, else research's, else whichever one another of the four
has: with one model it plays all. It is asked once, with little to read; what does not fit the form is sent back once.
Rounds, calls, tokens and seconds are bounded, and whatever goes wrong is a `ModelError`: the crew goes on without it.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from llmc.answers.ask.values import CREW, Cost
from llmc.answers.llm import gate, opened
from llmc.answers.research.errors import CanceledError, DeadlineError
from llmc.answers.research.model_rewrite import waited
from llmc.base.errors import LlmcError, ModelError
from llmc.settings import RoleEntry as RoleSettings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from llmc.answers.ask.context import AskContext
    from llmc.settings import Provider, Settings

__all__ = ["ModelStep", "ModelVoice", "spoken", "voices_of"]

# A round is a request; a model that wants more of either goes round in circles.
MOST_REQUESTS, MOST_CALLS = 5, 6


@dataclass(frozen=True, slots=True)
class ModelVoice:
    role: str
    provider: Provider
    settings: RoleSettings

    @property
    def model(self) -> str:
        return self.settings.model or self.provider.model


@dataclass(frozen=True, slots=True)
class ModelStep:
    """`form` is a pydantic model, `tools` are pydantic-ai's; a server that enforces the form is given none."""

    instructions: str
    prompt: str
    form: Any
    tools: Sequence[Any] = ()


def voices_of(settings: Settings) -> dict[str, ModelVoice]:
    """Empty without a model."""
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
            found[name] = ModelVoice(name, settings.providers[provider], own if not spare else with_model(own, spare))
    return found


def model_of(named: dict[str, RoleSettings], provider: str) -> str:
    """Of a provider that has no model of its own, the one that another of the four uses there."""
    return next((one.model for one in reversed(named.values()) if one.provider == provider and one.model), "")


def with_model(settings: RoleSettings, model: str) -> RoleSettings:
    return RoleSettings(
        provider=settings.provider,
        model=model,
        system_prompt=settings.system_prompt,
        max_tokens=settings.max_tokens,
        temperature=settings.temperature,
    )


def spoken(desk: AskContext, role: str, speech: ModelStep) -> Any | None:
    """What the role's model says, in its form; None when it has none or says nothing of use, which a note tells."""
    voice = desk.voices.get(role)
    if voice is None:
        return None
    desk.tell(role, "is asked")
    began = time.monotonic()
    counted: list[Any] = []
    ended = "ok"
    try:
        if desk.tokens_left <= 0:
            raise ModelError("the model was not asked", reason="the tokens of this question are spent")
        with gate(voice.provider, desk.stop.check):
            return asyncio.run(asked(desk, voice, speech, counted))
    except CanceledError:
        raise
    except LlmcError as error:
        ended = error.reason or error.message
        timely = "" if not isinstance(error, DeadlineError) else "the time is over"
        desk.notes.append(f"{role.title()}'s model did not answer ({timely or ended}); llmc went on without it.")
        return None
    finally:
        usage = counted[0] if counted else None
        desk.costs.append(
            Cost(
                role,
                voice.model,
                getattr(usage, "requests", 0),
                getattr(usage, "input_tokens", 0),
                getattr(usage, "output_tokens", 0),
                time.monotonic() - began,
                ended,
            )
        )


async def asked(desk: AskContext, voice: ModelVoice, speech: ModelStep, counted: list[Any]) -> Any:
    async with opened(voice.provider, voice.settings.model) as model:
        from pydantic_ai import Agent, NativeOutput, PromptedOutput, UsageLimits  # noqa: PLC0415 - an extra
        from pydantic_ai.usage import RunUsage  # noqa: PLC0415 - likewise

        enforced = voice.provider.structured == "schema"
        agent: Any = Agent(
            model,
            output_type=NativeOutput(speech.form) if enforced else PromptedOutput(speech.form),
            instructions=voice.settings.system_prompt or speech.instructions,
            tools=[] if enforced else list(speech.tools),
            retries={"output": 1, "tools": 1},
            model_settings={"max_tokens": voice.settings.max_tokens, "temperature": voice.settings.temperature},
        )
        usage = RunUsage()
        counted.append(usage)
        limits = UsageLimits(
            request_limit=MOST_REQUESTS, tool_calls_limit=MOST_CALLS, total_tokens_limit=desk.tokens_left
        )
        running = asyncio.ensure_future(agent.run(desk.clean(speech.prompt), usage_limits=limits, usage=usage))
        return (await waited(running, desk.stop, voice.provider.timeout_ms / 1000)).output
