"""The bounds of the model loop, as a pydantic-ai model and toolset around those of a task.

Imported only when a model is used, since it loads pydantic-ai (0.8 s).
"""

from __future__ import annotations

import asyncio
import json
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pydantic_ai.messages import ModelRequest, TextPart, ToolCallPart, UserPromptPart
from pydantic_ai.models.wrapper import WrapperModel
from pydantic_ai.tools import ToolDefinition
from pydantic_ai.toolsets.abstract import AbstractToolset, ToolsetTool
from pydantic_core import SchemaValidator, core_schema

from llmc.answers.llm import ModelToolCall
from llmc.answers.providers import request_slot
from llmc.base import logs
from llmc.base.errors import LlmcError, ModelError
from llmc.envelope.tokens import count

if TYPE_CHECKING:
    from pydantic_ai import RunContext

    from llmc.answers.llm import ModelRecord, ModelTask, ModelTool

__all__ = ["BoundedModel", "BoundedTools"]

log = logs.get("models")

LAST_ROUND = "No more tool calls are possible. Answer now with what you have."
ANY_OBJECT = SchemaValidator(core_schema.dict_schema(core_schema.str_schema(), core_schema.any_schema()))


class BoundedModel(WrapperModel):
    """Waits for a slot of the provider, counts tokens, and makes the last round one without tools."""

    def __init__(self, wrapped: Any, task: ModelTask, record: ModelRecord) -> None:
        super().__init__(wrapped)
        self._task = task
        self._record = record
        self._is_empty = False

    async def request(self, messages: Any, model_settings: Any, model_request_parameters: Any) -> Any:
        task, record, parameters = self._task, self._record, model_request_parameters
        is_last = record.rounds + 1 >= task.limits.rounds or record.tokens >= task.limits.tokens
        if is_last and record.rounds > 0:
            messages = [*messages, ModelRequest(parts=[UserPromptPart(LAST_ROUND)])]
            parameters = replace(parameters, function_tools=[])
        record.rounds += 1
        async with request_slot(task.provider):
            reply = await self.wrapped.request(messages, model_settings, parameters)
        record.read += reply.usage.input_tokens
        record.written += reply.usage.output_tokens or count(str(reply.parts))
        self._check(reply, parameters, is_last=is_last)
        return reply

    def _check(self, reply: Any, parameters: Any, *, is_last: bool) -> None:
        """Stop where another request would not help: tool calls in the last round, and a second empty reply."""
        calls = [part.tool_name for part in reply.parts if isinstance(part, ToolCallPart)]
        known = {tool.name for tool in parameters.function_tools}
        for name in () if is_last else [name for name in calls if name not in known]:
            log.warning("model called an unknown tool", tool=str(name)[:80])
            self._record.made.append(ModelToolCall(self._record.rounds, str(name)[:80], "", "unknown tool", 0.0))
        was_empty = self._is_empty
        self._is_empty = not calls and not any(
            isinstance(part, TextPart) and part.content.strip() for part in reply.parts
        )
        if (is_last and calls) or (was_empty and self._is_empty):
            why = "it kept calling tools" if calls else "its replies were empty"
            raise ModelError("the model gave no answer", reason=f"{why} in {self._record.rounds} rounds")


class BoundedTools(AbstractToolset[Any]):
    """The tools of a task: looked up in each round, and run with limited concurrency. A failure is returned as text, so
    that the model can try something else."""

    def __init__(self, task: ModelTask, record: ModelRecord) -> None:
        self._task = task
        self._record = record
        self._slots = asyncio.Semaphore(task.limits.parallel)
        self._round = 0
        self._calls = 0

    @property
    def id(self) -> str:
        return "llmc"

    async def get_tools(self, ctx: RunContext[Any]) -> dict[str, ToolsetTool[Any]]:
        del ctx
        tools = {} if self._task.enforces_schema else self._task.tools()
        return {name: self._listed(name, tool) for name, tool in tools.items()}

    def _listed(self, name: str, tool: ModelTool) -> ToolsetTool[Any]:
        shown = ToolDefinition(
            name=name, description=tool.description, parameters_json_schema=tool.schema, strict=False
        )
        return ToolsetTool(
            toolset=self, tool_def=shown, max_retries=self._task.limits.rounds, args_validator=ANY_OBJECT
        )

    async def call_tool(self, name: str, tool_args: dict[str, Any], ctx: RunContext[Any], tool: Any) -> str:
        del ctx, tool
        number = self._number()
        async with self._slots:
            return await self._run(name, tool_args) if number <= self._task.limits.calls else "too many calls at once"

    def _number(self) -> int:
        """The number of this call within its round."""
        if self._round != self._record.rounds:
            self._round, self._calls = self._record.rounds, 0
        self._calls += 1
        return self._calls

    async def _run(self, name: str, arguments: dict[str, Any]) -> str:
        started = time.perf_counter()
        tool = self._task.tools().get(name)
        if tool is None:
            text = f"{name} is not one of your tools"
        else:
            try:
                text = await tool.run(arguments)
            except self._task.fatal:
                raise
            except LlmcError as error:
                text = f"error: {error}"
        key, seconds = tool.key if tool else name, round(time.perf_counter() - started, 3)
        argument_text = json.dumps(arguments, default=str, ensure_ascii=False)
        self._record.made.append(ModelToolCall(self._record.rounds, key, argument_text, text, seconds))
        return text
