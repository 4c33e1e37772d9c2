"""The conversation of a delegate: a model asks for tools, gets what they answer, and at last says something.

Bounded in every direction: rounds, tokens, tools at once, and a deadline that whoever runs it sets. The last round has
no tools, so that a model which would go on for ever must answer. What it calls is looked up in the tools that it was
given, each time: a name that it made up, or was talked into, leads nowhere. Messages and providers are pydantic-ai's.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any

from llmc.answers.llm import open_model, request_slot
from llmc.base import logs
from llmc.base.errors import ConfigError, LlmcError, ModelError
from llmc.envelope.tokens import count

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator, Mapping

    from llmc.settings import Delegate, Provider

__all__ = ["ConversationRecord", "DelegateTools", "ModelToolCall", "converse", "warm"]

log = logs.get("delegates")

# More in one round is a model that has lost its way.
MOST_CALLS = 16
LONGEST_ANSWER = 4_096
EXTRAS = {"anthropic": "anthropic", "google": "google", "openai": "openai"}
LAST_ROUND = "No more tools can be used. Answer now, with what you have."
NOTHING_SAID = "You said nothing. Answer in words."


@dataclass(frozen=True, slots=True)
class DelegateTools:
    """A tool as the model sees it; `key` is how it is held."""

    key: str
    description: str
    schema: dict[str, Any]
    run: Callable[[dict[str, Any]], Awaitable[str]]


@dataclass(frozen=True, slots=True)
class ModelToolCall:
    """One call that the model made."""

    round: int
    name: str
    arguments: str
    answer: str
    seconds: float


@dataclass(slots=True)
class ConversationRecord:
    """What happened so far; it is kept whether the conversation ends well or not."""

    made: list[ModelToolCall] = field(default_factory=list)
    rounds: int = 0
    tokens: int = 0


@dataclass(frozen=True, slots=True)
class Conversation:
    """Who talks to whom, within which bounds."""

    model: Any
    provider: Provider
    delegate: Delegate
    tools: Callable[[], Mapping[str, DelegateTools]]
    record: ConversationRecord


async def converse(
    provider: Provider,
    delegate: Delegate,
    words: tuple[str, str],
    tools: Callable[[], Mapping[str, DelegateTools]],
    record: ConversationRecord,
) -> str:
    """The model's last words. `words` are what it is told and what it is asked; `tools` are looked at in each round."""
    with usable(provider):
        async with open_model(provider, delegate.model) as model:
            from pydantic_ai.messages import ModelRequest, SystemPromptPart, UserPromptPart  # noqa: PLC0415 - an extra

            system, question = words
            messages: list[Any] = [ModelRequest(parts=[SystemPromptPart(system), UserPromptPart(question)])]
            return await rounds(Conversation(model, provider, delegate, tools, record), messages)


def warm(provider: Provider) -> None:
    """Import what a conversation needs, in the caller's thread: it takes seconds, and others talk in the loop."""
    with contextlib.suppress(ImportError):  # whoever opens the model says what is missing
        import_module("pydantic_ai.direct")
        import_module(f"pydantic_ai.models.{EXTRAS[provider.kind]}")


@contextlib.contextmanager
def usable(provider: Provider) -> Iterator[None]:
    """A library that is not there is said by how to get it."""
    try:
        yield
    except ImportError as error:
        missing = EXTRAS[provider.kind]
        raise ConfigError(
            f"models of {missing} cannot be used",
            reason=f"{error.name or missing} is not installed",
            hint=f"pip install 'llmc[models]', or pip install 'pydantic-ai-slim[{missing}]'",
        ) from None


async def rounds(talk: Conversation, messages: list[Any]) -> str:
    from pydantic_ai.messages import ModelRequest, TextPart, ToolCallPart, UserPromptPart  # noqa: PLC0415 - an extra

    record, said_nothing = talk.record, False
    while True:
        record.rounds += 1
        is_last = record.rounds >= talk.delegate.max_steps or record.tokens >= talk.delegate.max_tokens
        if is_last and record.rounds > 1:
            messages.append(ModelRequest(parts=[UserPromptPart(LAST_ROUND)]))
        tools = {} if is_last and record.rounds > 1 else talk.tools()
        reply = await requested(talk, messages, tools)
        calls = [part for part in reply.parts if isinstance(part, ToolCallPart)]
        text = "\n".join(part.content for part in reply.parts if isinstance(part, TextPart)).strip()
        if text and not calls:
            return text
        if is_last or (said_nothing and not calls):
            why = "it did not come to an end" if calls else "it said nothing"
            raise ModelError("the model gave no answer", reason=f"{why} in {record.rounds} rounds")
        messages.append(reply)
        said_nothing = not calls
        parts = await answers(talk, calls, tools) if calls else [UserPromptPart(NOTHING_SAID)]
        messages.append(ModelRequest(parts=parts))


async def requested(talk: Conversation, messages: list[Any], tools: Mapping[str, DelegateTools]) -> Any:
    from pydantic_ai.direct import model_request  # noqa: PLC0415 - an extra
    from pydantic_ai.models import ModelRequestParameters  # noqa: PLC0415 - likewise
    from pydantic_ai.tools import ToolDefinition  # noqa: PLC0415 - likewise

    shown = [
        ToolDefinition(name=name, description=one.description, parameters_json_schema=one.schema, strict=False)
        for name, one in tools.items()
    ]
    wanted = ModelRequestParameters(function_tools=shown, allow_text_output=True)
    settings: Any = {"max_tokens": LONGEST_ANSWER, "temperature": 0.0}
    async with request_slot(talk.provider):
        try:
            reply = await model_request(
                talk.model, messages, model_settings=settings, model_request_parameters=wanted, instrument=False
            )
        except (LlmcError, ImportError):
            raise
        except Exception as error:  # noqa: BLE001 - whatever a client library raises
            log.info("a model failed", error=type(error).__name__)
            raise ModelError("the model did not answer", reason=reason_of(error)) from None
    talk.record.tokens += reply.usage.total_tokens or count(str(reply.parts))
    return reply


def reason_of(error: BaseException) -> str:
    """Its kind and status: the rest may hold what was sent."""
    status = getattr(error, "status_code", None)
    return f"{type(error).__name__}{f' {status}' if isinstance(status, int) else ''}"


async def answers(talk: Conversation, calls: list[Any], tools: Mapping[str, DelegateTools]) -> list[Any]:
    """What each call brought, in their order; some run at once."""
    from pydantic_ai.messages import ToolReturnPart  # noqa: PLC0415 - an extra

    slots = asyncio.Semaphore(talk.delegate.parallel)

    async def one(number: int, call: Any) -> Any:
        async with slots:
            text = "too many calls at once" if number >= MOST_CALLS else await answered(talk, call, tools)
        return ToolReturnPart(tool_name=call.tool_name, content=text, tool_call_id=call.tool_call_id)

    return list(await asyncio.gather(*(one(number, call) for number, call in enumerate(calls))))


async def answered(talk: Conversation, call: Any, tools: Mapping[str, DelegateTools]) -> str:
    """A failure is an answer too: the model may try another way."""
    began, arguments = time.perf_counter(), call.args
    wanted = tools.get(call.tool_name)
    if wanted is None:
        log.warning("a model called what it may not", tool=str(call.tool_name)[:80])
        text = f"{call.tool_name} is none of your tools: {', '.join(tools)}"
    else:
        try:
            text = await wanted.run(parsed(arguments))
        except LlmcError as error:
            text = f"error: {error}"
    said = arguments if isinstance(arguments, str) else json.dumps(arguments or {}, default=str)
    name = wanted.key if wanted else str(call.tool_name)
    seconds = round(time.perf_counter() - began, 3)
    log.debug("tool used", tool=name, round=talk.record.rounds, seconds=seconds, characters=len(text))
    talk.record.made.append(ModelToolCall(talk.record.rounds, name, said, text, seconds))
    return text


def parsed(arguments: Any) -> dict[str, Any]:
    try:
        found = json.loads(arguments) if isinstance(arguments, str) and arguments.strip() else arguments or {}
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise ModelError("the arguments are no JSON object")
    return found
