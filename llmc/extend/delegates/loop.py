"""The conversation of a delegate: a model calls tools, receives their results, and finally answers.

Rounds, tokens and concurrent calls are bounded, and the caller sets a deadline. The last round offers no tools, so the
model must answer. Every call is looked up in the tools that the model was given, so invented names have no effect.
Messages and providers come from pydantic-ai.
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

__all__ = ["ConversationRecord", "DelegateTool", "ModelToolCall", "converse", "warm"]

log = logs.get("delegates")

# A model that makes more calls in one round has lost track.
MOST_CALLS = 16
LONGEST_ANSWER = 4_096
EXTRAS = {"anthropic": "anthropic", "google": "google", "openai": "openai"}
LAST_ROUND = "No more tool calls are possible. Answer now with what you have."
EMPTY_REPLY = "Your reply was empty. Answer in text."


@dataclass(frozen=True, slots=True)
class DelegateTool:
    """A tool as the model sees it; `key` is `server::tool`."""

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
    """What happened so far, available even if the conversation fails."""

    made: list[ModelToolCall] = field(default_factory=list)
    rounds: int = 0
    tokens: int = 0


@dataclass(frozen=True, slots=True)
class Conversation:
    """The model, its tools and the limits of a conversation."""

    model: Any
    provider: Provider
    delegate: Delegate
    tools: Callable[[], Mapping[str, DelegateTool]]
    record: ConversationRecord


async def converse(
    provider: Provider,
    delegate: Delegate,
    prompts: tuple[str, str],
    tools: Callable[[], Mapping[str, DelegateTool]],
    record: ConversationRecord,
) -> str:
    """The final answer of the model. `prompts` are system prompt and question; `tools` is called in each round."""
    with import_errors_as_config(provider):
        async with open_model(provider, delegate.model) as model:
            from pydantic_ai.messages import ModelRequest, SystemPromptPart, UserPromptPart  # noqa: PLC0415 - an extra

            system, question = prompts
            messages: list[Any] = [ModelRequest(parts=[SystemPromptPart(system), UserPromptPart(question)])]
            return await rounds(Conversation(model, provider, delegate, tools, record), messages)


def warm(provider: Provider) -> None:
    """Import the libraries in the caller's thread: it takes seconds and would block other conversations."""
    with contextlib.suppress(ImportError):  # opening the model reports what is missing
        import_module("pydantic_ai.direct")
        import_module(f"pydantic_ai.models.{EXTRAS[provider.kind]}")


@contextlib.contextmanager
def import_errors_as_config(provider: Provider) -> Iterator[None]:
    """Turn a missing library into an error that says how to install it."""
    try:
        yield
    except ImportError as error:
        missing = EXTRAS[provider.kind]
        raise ConfigError(
            f"{missing} models are not available",
            reason=f"{error.name or missing} is not installed",
            hint=f"pip install 'llmc[models]', or pip install 'pydantic-ai-slim[{missing}]'",
        ) from None


async def rounds(conversation: Conversation, messages: list[Any]) -> str:
    from pydantic_ai.messages import ModelRequest, TextPart, ToolCallPart, UserPromptPart  # noqa: PLC0415 - an extra

    record, was_empty = conversation.record, False
    while True:
        record.rounds += 1
        is_last = record.rounds >= conversation.delegate.max_steps or record.tokens >= conversation.delegate.max_tokens
        if is_last and record.rounds > 1:
            messages.append(ModelRequest(parts=[UserPromptPart(LAST_ROUND)]))
        tools = {} if is_last and record.rounds > 1 else conversation.tools()
        reply = await request_reply(conversation, messages, tools)
        calls = [part for part in reply.parts if isinstance(part, ToolCallPart)]
        text = "\n".join(part.content for part in reply.parts if isinstance(part, TextPart)).strip()
        if text and not calls:
            return text
        if is_last or (was_empty and not calls):
            why = "it kept calling tools" if calls else "its replies were empty"
            raise ModelError("the model gave no answer", reason=f"{why} in {record.rounds} rounds")
        messages.append(reply)
        was_empty = not calls
        parts = await run_tools(conversation, calls, tools) if calls else [UserPromptPart(EMPTY_REPLY)]
        messages.append(ModelRequest(parts=parts))


async def request_reply(conversation: Conversation, messages: list[Any], tools: Mapping[str, DelegateTool]) -> Any:
    from pydantic_ai.direct import model_request  # noqa: PLC0415 - an extra
    from pydantic_ai.models import ModelRequestParameters  # noqa: PLC0415 - loaded on first use
    from pydantic_ai.tools import ToolDefinition  # noqa: PLC0415 - loaded on first use

    shown = [
        ToolDefinition(name=name, description=one.description, parameters_json_schema=one.schema, strict=False)
        for name, one in tools.items()
    ]
    tool = ModelRequestParameters(function_tools=shown, allow_text_output=True)
    settings: Any = {"max_tokens": LONGEST_ANSWER, "temperature": 0.0}
    async with request_slot(conversation.provider):
        try:
            reply = await model_request(
                conversation.model, messages, model_settings=settings, model_request_parameters=tool, instrument=False
            )
        except (LlmcError, ImportError):
            raise
        except Exception as error:  # noqa: BLE001 - client libraries raise anything
            log.info("model call failed", error=type(error).__name__)
            raise ModelError("the model did not answer", reason=reason_of(error)) from None
    conversation.record.tokens += reply.usage.total_tokens or count(str(reply.parts))
    return reply


def reason_of(error: BaseException) -> str:
    """The type and HTTP status of an error; its message may contain the request."""
    status = getattr(error, "status_code", None)
    return f"{type(error).__name__}{f' {status}' if isinstance(status, int) else ''}"


async def run_tools(conversation: Conversation, calls: list[Any], tools: Mapping[str, DelegateTool]) -> list[Any]:
    """Run the calls with limited concurrency; results in the order of the calls."""
    from pydantic_ai.messages import ToolReturnPart  # noqa: PLC0415 - an extra

    slots = asyncio.Semaphore(conversation.delegate.parallel)

    async def one(number: int, call: Any) -> Any:
        async with slots:
            text = "too many calls at once" if number >= MOST_CALLS else await run_tool(conversation, call, tools)
        return ToolReturnPart(tool_name=call.tool_name, content=text, tool_call_id=call.tool_call_id)

    return list(await asyncio.gather(*(one(number, call) for number, call in enumerate(calls))))


async def run_tool(conversation: Conversation, call: Any, tools: Mapping[str, DelegateTool]) -> str:
    """The result of one call; a failure is returned as text, so the model can try something else."""
    started, arguments = time.perf_counter(), call.args
    tool = tools.get(call.tool_name)
    if tool is None:
        log.warning("model called an unknown tool", tool=str(call.tool_name)[:80])
        text = f"{call.tool_name} is not one of your tools: {', '.join(tools)}"
    else:
        try:
            text = await tool.run(parse_arguments(arguments))
        except LlmcError as error:
            text = f"error: {error}"
    argument_text = arguments if isinstance(arguments, str) else json.dumps(arguments or {}, default=str)
    name = tool.key if tool else str(call.tool_name)
    seconds = round(time.perf_counter() - started, 3)
    log.debug("tool used", tool=name, round=conversation.record.rounds, seconds=seconds, characters=len(text))
    conversation.record.made.append(ModelToolCall(conversation.record.rounds, name, argument_text, text, seconds))
    return text


def parse_arguments(arguments: Any) -> dict[str, Any]:
    try:
        found = json.loads(arguments) if isinstance(arguments, str) and arguments.strip() else arguments or {}
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise ModelError("the arguments are not a JSON object")
    return found
