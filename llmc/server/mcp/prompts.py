"""Personas as MCP prompts: listed, resolved, completed, and announced when they change.

The protocol has no system role in prompts, so the system text is the first message. Clients that have listed prompts
are notified when settings or scripts change; files are checked once a second while such a client is connected.
"""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

import mcp_types as types
from mcp.server.subscriptions import ListenHandler, PromptsListChanged
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from llmc.base import logs
from llmc.base.errors import LlmcError
from llmc.envelope.request import RunningRequest
from llmc.server.mcp.threads import in_thread
from llmc.server.personas import NOT_THERE

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp.server.connection import Connection
    from mcp.server.context import ServerRequestContext
    from mcp.server.subscriptions import InMemorySubscriptionBus

    from llmc.extend.personas.model import AgentInfo, AgentPrompt
    from llmc.server.personas import Personas
    from llmc.state.connected_sessions import RequestContext

    Context = ServerRequestContext[Any, Any]
    Enter = Callable[[Context], RequestContext]

__all__ = ["Prompts"]

log = logs.get("mcp")

LOOK_SECONDS = 1.0
MOST_VALUES = 100  # the protocol's limit
CALLER_ERRORS = ("not_found", "bad_request", "query")


class Prompts:
    """The prompt handlers of one server."""

    def __init__(self, personas: Personas, enter: Enter, bus: InMemorySubscriptionBus) -> None:
        self._personas = personas
        self._enter = enter
        self._bus = bus
        self._listen = ListenHandler(bus)
        self._connections: WeakSet[Connection] = WeakSet()
        self._listening = 0
        self._watching: asyncio.Task[None] | None = None

    def handlers(self) -> dict[str, Any]:
        """The handlers by the parameter names of the SDK's server."""
        return {
            "on_list_prompts": self.list_prompts,
            "on_get_prompt": self.get_prompt,
            "on_completion": self.complete,
            "on_subscriptions_listen": self.listen,
        }

    async def list_prompts(
        self, sdk_context: Context, _params: types.PaginatedRequestParams | None
    ) -> types.ListPromptsResult:
        context = self._enter(sdk_context)
        if sdk_context.protocol_version not in MODERN_PROTOCOL_VERSIONS:
            self._connections.add(sdk_context.session._connection)  # noqa: SLF001 - the SDK gives what lasts no other name
            self._begin(context)
        infos = await with_protocol_errors(partial(self._personas.infos, context))
        return types.ListPromptsResult(prompts=[prompt_entry(info) for info in infos])

    async def get_prompt(self, sdk_context: Context, params: types.GetPromptRequestParams) -> types.GetPromptResult:
        context = self._enter(sdk_context)
        self._require(context, params.name)
        call = RunningRequest(context.client)
        resolve = partial(self._personas.resolve, context.client, params.name, params.arguments or {}, call)
        resolved = await with_protocol_errors(resolve)
        missing = [note for note in resolved.notes if note.endswith(NOT_THERE)]
        description = " · ".join([resolved.info.description, *missing])
        return types.GetPromptResult(description=description, messages=messages(resolved.prompt))

    async def complete(self, sdk_context: Context, params: types.CompleteRequestParams) -> types.CompleteResult:
        """Complete arguments of personas; handles, the only resource template, have no completions."""
        if not isinstance(params.ref, types.PromptReference):
            return types.CompleteResult(completion=types.Completion(values=[], total=0, has_more=False))
        context = self._enter(sdk_context)
        self._require(context, params.ref.name)
        wanted = (params.ref.name, params.argument.name, params.argument.value)
        values = await with_protocol_errors(partial(self._personas.complete, context.client, *wanted))
        more = len(values) > MOST_VALUES
        return types.CompleteResult(
            completion=types.Completion(values=values[:MOST_VALUES], total=len(values), has_more=more)
        )

    async def listen(
        self, sdk_context: Context, params: types.SubscriptionsListenRequestParams
    ) -> types.SubscriptionsListenResult:
        self._listening += 1
        try:
            if params.notifications.prompts_list_changed:
                self._begin(self._enter(sdk_context))
            return await self._listen(sdk_context, params)
        finally:
            self._listening -= 1

    def _require(self, context: RequestContext, name: str) -> None:
        if context.session.agent not in ("", name):
            raise MCPError(types.INVALID_PARAMS, f"unknown prompt {name!r}: this server is {context.session.agent}")

    # ---- changes ----

    def _begin(self, context: RequestContext) -> None:
        if self._watching is None or self._watching.done():
            self._watching = asyncio.get_running_loop().create_task(self._watch(context))

    async def _watch(self, context: RequestContext) -> None:
        watch = await in_thread(partial(self._personas.watch, context.client))
        while self._connections or self._listening:
            await asyncio.sleep(LOOK_SECONDS)
            if await in_thread(watch.changed):
                await self._announce()

    async def _announce(self) -> None:
        for connection in list(self._connections):
            await connection.send_prompt_list_changed()
        await self._bus.publish(PromptsListChanged())


async def with_protocol_errors(act: Callable[[], Any]) -> Any:
    """Run in a thread and convert `LlmcError`s to protocol errors: invalid parameters or internal errors."""
    try:
        return await in_thread(act)
    except LlmcError as error:
        code = types.INVALID_PARAMS if error.code in CALLER_ERRORS else types.INTERNAL_ERROR
        raise MCPError(code, str(error), {"code": error.code}) from None


def prompt_entry(info: AgentInfo) -> types.Prompt:
    arguments = [
        types.PromptArgument(name=one.name, description=one.description, required=one.required)
        for one in info.arguments
    ]
    return types.Prompt(name=info.name, description=info.description, arguments=arguments)


def messages(prompt: AgentPrompt) -> list[types.PromptMessage]:
    messages = [("user", prompt.system), *((one.role, one.content) for one in prompt.messages)]
    return [
        types.PromptMessage(
            role="assistant" if role == "assistant" else "user", content=types.TextContent(type="text", text=text)
        )
        for role, text in messages
    ]
