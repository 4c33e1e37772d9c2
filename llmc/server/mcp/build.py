"""Builds an MCP server from a `Surface`: tool lists, calls, and handles as resources. `prompts` adds personas.

A surface always runs in a thread, so the daemon's loop never waits for it; cancelling a request cancels its
`RunningRequest`. Replies are text only, because clients show structured content to the model instead of the text. The
SDK handles revisions, handshakes, validation of messages, and cancellation in the protocol.
"""

from __future__ import annotations

import asyncio
from contextvars import ContextVar
from functools import partial
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import mcp_types as types
from mcp.server.lowlevel import NotificationOptions, Server
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ToolsListChanged
from mcp.shared.exceptions import MCPError

from llmc.base import logs
from llmc.base.errors import InvalidParamsError, LlmcError
from llmc.envelope.request import RunningRequest
from llmc.server.mcp.prompts import Prompts
from llmc.server.mcp.threads import in_thread
from llmc.tools.reply import failed_reply

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from mcp.server.context import ServerRequestContext
    from mcp.server.models import InitializationOptions

    from llmc.envelope.reply import Reply
    from llmc.envelope.request import JsonObject
    from llmc.envelope.tool_definition import ToolDefinition
    from llmc.server.surface import Surface
    from llmc.state.connected_sessions import ConnectedSession, RequestContext

    Context = ServerRequestContext[Any, Any]
    Enter = Callable[[Context], RequestContext]

__all__ = ["INSTRUCTIONS", "build_server", "named_session"]

log = logs.get("mcp")

# Concurrent calls of one session, so that no session occupies all threads.
FAIR_SHARE = 4
SESSION_KEY = "llmc/session"
HANDLE_URI = "llmc://handle/"
ALWAYS_LOAD = "anthropic/alwaysLoad"
LONGEST_RESULT = "anthropic/maxResultSizeChars"

# Instructions of the persona in the URL of the current request, where one server object serves many.
INSTRUCTIONS: ContextVar[str] = ContextVar("llmc-instructions", default="")


class AnnouncingServer(Server[Any]):
    """The SDK's server, which declares that its lists may change, with instructions per request."""

    announce: Callable[[], Awaitable[None]]

    @property
    def instructions(self) -> str | None:
        return INSTRUCTIONS.get() or self._instructions

    @instructions.setter
    def instructions(self, value: str | None) -> None:
        self._instructions = value

    def create_initialization_options(
        self,
        notification_options: NotificationOptions | None = None,
        experimental_capabilities: dict[str, dict[str, Any]] | None = None,
        extensions: dict[str, dict[str, Any]] | None = None,
    ) -> InitializationOptions:
        options = notification_options or NotificationOptions(tools_changed=True, prompts_changed=True)
        return super().create_initialization_options(options, experimental_capabilities, extensions)


def build_server(surface: Surface, enter: Enter) -> Server[Any]:
    """Build the server. A `fixed` surface offers only tools: no resources, no prompts, no list changes."""
    bus = InMemorySubscriptionBus()
    fixed = getattr(surface, "fixed", False)
    handlers = Requests(surface, enter, bus)
    more: dict[str, Any] = {
        "on_list_resources": handlers.list_resources,
        "on_list_resource_templates": handlers.list_templates,
        "on_read_resource": handlers.read_resource,
        "on_subscriptions_listen": ListenHandler(bus),
    }
    if (personas := getattr(surface, "personas", None)) is not None:
        more |= Prompts(personas, enter, bus).handlers()
    server = (Server if fixed else AnnouncingServer)(
        surface.name,
        version=surface.version,
        instructions=surface.instructions or None,
        on_list_tools=handlers.list_tools,
        on_call_tool=handlers.call_tool,
        **({} if fixed else more),
    )
    if isinstance(server, AnnouncingServer):
        server.announce = handlers.announce
    return server


def named_session(sdk_context: Context) -> str:
    """The session id in a request: in `_meta`, in a header, or as the argument `session_id`."""
    named = (sdk_context.meta or {}).get(SESSION_KEY)
    if not named and sdk_context.request is not None:
        named = sdk_context.request.headers.get("mcp-session-id")
    if not named and sdk_context.method == "tools/call":
        arguments = (sdk_context.params or {}).get("arguments")
        named = arguments.get("session_id") if isinstance(arguments, dict) else None
    return named if isinstance(named, str) else ""


class Requests:
    """The request handlers of one server."""

    def __init__(self, surface: Surface, enter: Enter, bus: InMemorySubscriptionBus) -> None:
        self._surface = surface
        self._enter = enter
        self._bus = bus
        self._gates: WeakKeyDictionary[ConnectedSession, asyncio.Semaphore] = WeakKeyDictionary()
        self._listing: Any = None

    async def list_tools(
        self, sdk_context: Context, _params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        context = self._enter(sdk_context)
        self._listing = sdk_context.session
        try:
            found = await in_thread(partial(self._surface.definitions, context))
        except LlmcError as error:
            raise MCPError(types.INTERNAL_ERROR, error.one_line, error.as_dict()) from None
        return types.ListToolsResult(tools=[listed_tool(one) for one in found])

    async def call_tool(self, sdk_context: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        context = self._enter(sdk_context)
        if why := self._surface.unknown(context, params.name):
            raise MCPError(types.INVALID_PARAMS, why, {"tool": params.name})
        reply = await self._call(sdk_context, context, params.name, dict(params.arguments or {}))
        if context.session.changed:
            await self._announce(sdk_context, context)
        return types.CallToolResult(
            content=[types.TextContent(type="text", text=encodable(reply.text))], is_error=bool(reply.error)
        )

    async def _call(self, sdk_context: Context, context: RequestContext, name: str, args: dict[str, Any]) -> Reply:
        progress = McpProgress(sdk_context) if (sdk_context.meta or {}).get("progress_token") is not None else None
        call = RunningRequest(context.client, progress.emit if progress else None)
        gate = self._gates.setdefault(context.session, asyncio.Semaphore(FAIR_SHARE))
        try:
            async with gate:
                return await in_thread(partial(self._surface.call, context, name, args, call), call)
        except asyncio.CancelledError:
            call.cancel()
            raise
        except InvalidParamsError as error:
            raise MCPError(types.INVALID_PARAMS, str(error)) from None
        except LlmcError as error:  # stopped at a limit: every other error is a reply already
            return failed_reply(name, error)
        except Exception as error:
            log.exception("tool failed", tool=name)
            raise MCPError(types.INTERNAL_ERROR, f"{name} failed: {type(error).__name__}: {error}") from error

    async def _announce(self, sdk_context: Context, context: RequestContext) -> None:
        context.session.changed = False
        await sdk_context.session.send_tool_list_changed()
        await self._bus.publish(ToolsListChanged())

    async def announce(self) -> None:
        """Notify the client that its tool list changed; for connections with a single client."""
        if self._listing is not None:
            await self._listing.send_tool_list_changed()
        await self._bus.publish(ToolsListChanged())

    # ---- handles as resources ----

    async def list_templates(
        self, _context: Context, _params: types.PaginatedRequestParams | None
    ) -> types.ListResourceTemplatesResult:
        template = types.ResourceTemplate(
            name="handle",
            uri_template=f"{HANDLE_URI}{{id}}",
            description="The rest of a reply, by the handle in its last line; id:3 is its third item.",
            mime_type="text/plain",
        )
        return types.ListResourceTemplatesResult(resource_templates=[template])

    async def list_resources(
        self, sdk_context: Context, _params: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:
        """The most recent handles of this session, newest first."""
        recent = dict(reversed(self._enter(sdk_context).session.handles))
        resources = [
            types.Resource(name=name, uri=f"{HANDLE_URI}{name}", description=question, mime_type="text/plain")
            for name, question in recent.items()
        ]
        return types.ListResourcesResult(resources=resources)

    async def read_resource(
        self, sdk_context: Context, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        uri = str(params.uri)
        if not uri.startswith(HANDLE_URI):
            raise MCPError(types.INVALID_PARAMS, "unknown resource", {"uri": uri})
        context = self._enter(sdk_context)
        reply = await self._call(sdk_context, context, "read", {"target": uri.removeprefix(HANDLE_URI)})
        if reply.error:
            raise MCPError(types.INVALID_PARAMS, reply.text, {"uri": uri})
        contents = types.TextResourceContents(uri=uri, mime_type="text/plain", text=encodable(reply.text))
        return types.ReadResourceResult(contents=[contents])


def listed_tool(one: ToolDefinition) -> types.Tool:
    """A definition with everything that clients honour and models do not pay for.

    Codex, Gemini CLI, VS Code and others ask the user before calling tools that are not read-only. Claude Code defers
    tools until the model searches for them unless they ask to stay loaded, and moves longer results to a file.
    """
    hints: dict[str, Any] = {"title": one.title} if one.title else {}
    if one.reads_only:
        hints |= {"read_only_hint": True, "destructive_hint": False, "open_world_hint": False}
    meta: dict[str, Any] = {ALWAYS_LOAD: True} if one.always_load else {}
    if one.longest_chars:
        meta |= {LONGEST_RESULT: one.longest_chars}
    return types.Tool(
        name=one.name,
        title=one.title or None,
        description=one.description,
        input_schema=one.schema,
        annotations=types.ToolAnnotations(**hints) if hints else None,
        _meta=meta or None,
    )


def encodable(text: str) -> str:
    """Escape names that are not UTF-8, since JSON cannot represent them."""
    return text.encode("utf-8", "backslashreplace").decode()


class McpProgress:
    """Sends the progress events of a call as notifications. Events arrive in the call's thread; the loop sends them in
    order. The protocol requires an increasing number; an event without one counts as one step."""

    def __init__(self, context: ServerRequestContext[Any, Any]) -> None:
        self._session = context.session
        self._loop = asyncio.get_running_loop()
        self._last = -1.0

    def emit(self, event: JsonObject) -> None:
        done, total = event.get("done"), event.get("total")
        counted = isinstance(done, int | float) and isinstance(total, int | float) and total > 0
        value = float(done) if counted and isinstance(done, int | float) else self._last + 1
        if value <= self._last:
            return
        self._last = value
        sending = self._session.report_progress(value, float(total) if counted and total else None, words(event))
        asyncio.run_coroutine_threadsafe(sending, self._loop)


def words(event: JsonObject) -> str | None:
    text = event.get("message") or event.get("stage")
    return str(text) if text else None
