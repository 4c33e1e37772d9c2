"""The model loop: a model calls tools, receives their results, and finally answers.

    text = await run_model(ModelTask(provider, "qwen3", instructions, prompt, tools=tools), ModelRecord())
    answer = run_model_in_thread(task, record, seconds=20, stopped=stop.check)

Research roles, the ask roles and delegates all run here, on pydantic-ai's agent. Rounds, tool calls, tokens and time
are bounded. The last round offers no tools, so the model must answer. An answer that does not have the requested form
is sent back once. Every failure is a `ModelError` whose reason is one phrase that can be shown to a reader.
"""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any

from llmc.answers.providers import failure_of, missing_libraries_as_config, open_model
from llmc.base.errors import LlmcError, ModelUnavailableError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from llmc.settings import Provider

__all__ = [
    "ModelRecord",
    "ModelTask",
    "ModelTool",
    "ModelToolCall",
    "TaskLimits",
    "run_model",
    "run_model_in_thread",
    "warm",
]

# How often a waiting thread checks whether the call was cancelled.
POLL_SECONDS = 0.05


@dataclass(frozen=True, slots=True)
class ModelTool:
    """A tool as the model sees it; `key` is its name in records. `run` returns text or raises an `LlmcError`, which
    the model sees as text; an error of `ModelTask.fatal` ends the task."""

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
class ModelRecord:
    """What happened so far, available even if the task fails."""

    made: list[ModelToolCall] = field(default_factory=list)
    rounds: int = 0
    read: int = 0
    written: int = 0

    @property
    def tokens(self) -> int:
        return self.read + self.written


@dataclass(frozen=True, slots=True)
class TaskLimits:
    """`rounds` are requests, the last of which is for the answer; `calls` are tool calls in one round; `tokens` are
    read and written by all requests together, `answer_tokens` written by one."""

    rounds: int
    calls: int
    tokens: int
    answer_tokens: int
    parallel: int = 1


def no_tools() -> Mapping[str, ModelTool]:
    return {}


@dataclass(frozen=True, slots=True)
class ModelTask:
    """What a model is to do. `output` is the pydantic model of its answer, or None for text. `tools` is called in each
    round and maps the names that the model sees; a provider that enforces a schema gets none."""

    provider: Provider
    model: str
    instructions: str
    prompt: str
    limits: TaskLimits
    output: Any = None
    tools: Callable[[], Mapping[str, ModelTool]] = no_tools
    temperature: float = 0.0
    fatal: tuple[type[Exception], ...] = ()

    @property
    def enforces_schema(self) -> bool:
        return self.output is not None and self.provider.structured == "schema"


async def run_model(task: ModelTask, record: ModelRecord) -> Any:
    """The model's answer: text, or an instance of `task.output`."""
    with missing_libraries_as_config(task.provider):
        async with open_model(task.provider, task.model) as model:
            from pydantic_ai import Agent, NativeOutput, PromptedOutput  # noqa: PLC0415 - an extra

            from llmc.answers.model_bounds import BoundedModel, BoundedTools  # noqa: PLC0415 - pydantic-ai

            form: Any = str
            if task.output is not None:
                form = NativeOutput(task.output) if task.enforces_schema else PromptedOutput(task.output)
            agent: Any = Agent(
                BoundedModel(model, task, record),
                output_type=form,
                instructions=task.instructions,
                toolsets=[BoundedTools(task, record)],
                retries={"output": 1, "tools": task.limits.rounds * task.limits.calls},
                model_settings={"max_tokens": task.limits.answer_tokens, "temperature": task.temperature},
            )
            try:
                return (await agent.run(task.prompt)).output
            except (LlmcError, ImportError):
                raise
            except Exception as error:  # noqa: BLE001 - client libraries raise anything
                raise failure_of(error, task.provider) from None


def run_model_in_thread(task: ModelTask, record: ModelRecord, *, seconds: float, stopped: Callable[[], None]) -> Any:
    """Run a task in the calling thread for at most `seconds`, not counting the time to import pydantic-ai; `stopped`
    raises when the call was cancelled or is out of time."""
    warm(task.provider)
    stopped()
    return asyncio.run(_run_until(task, record, seconds, stopped))


async def _run_until(task: ModelTask, record: ModelRecord, seconds: float, stopped: Callable[[], None]) -> Any:
    running = asyncio.ensure_future(run_model(task, record))
    deadline = asyncio.get_running_loop().time() + seconds
    try:
        while not running.done():
            left = deadline - asyncio.get_running_loop().time()
            if left <= 0:
                had = round(seconds) if seconds >= 1 else round(seconds, 1)
                raise ModelUnavailableError(
                    "the model did not answer", reason=f"it was too slow for the {had} s it had"
                )
            await asyncio.wait([running], timeout=min(left, POLL_SECONDS))
            stopped()
        return running.result()
    finally:
        if not running.done():
            running.cancel()
            await asyncio.wait([running])


def warm(provider: Provider) -> None:
    """Import the libraries in the caller's thread: it takes seconds and would block other tasks of an event loop."""
    with contextlib.suppress(ImportError):  # opening the model reports what is missing
        import_module("llmc.answers.model_bounds")
        import_module(f"pydantic_ai.models.{provider.kind}")
