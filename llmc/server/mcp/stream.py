"""One MCP client on the daemon's socket: one JSON-RPC message per line, in both directions.

`llmc serve` forwards what the client writes without parsing it, so messages are validated here: a line that is invalid
or too large is answered with an error, and the session continues. The SDK and `build` do everything else.

`Listening` covers the downstream servers, which start in the fleet's thread. When one changes, a thread checks whether
the client's tool list is outdated, and the loop of the connection sends the notification.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import mcp_types as types
import orjson
from mcp.shared.message import SessionMessage
from pydantic import ValidationError

from llmc.base import logs
from llmc.base.errors import LlmcError
from llmc.base.line_stream import Stream, next_line
from llmc.base.protocol import RECEIVED, is_repeatable
from llmc.server.mcp.build import build_server, named_session
from llmc.server.mcp.threads import in_thread
from llmc.server.surface import ToolSurface, surface_for
from llmc.server.wire import decode
from llmc.state.connected_sessions import RequestContext
from llmc.tools.profiles import allowed_tools, profile_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp.server.context import ServerRequestContext
    from mcp.server.lowlevel import Server

    from llmc.envelope.request import ClientInfo
    from llmc.server.service import Service
    from llmc.server.surface import Surface

    Polish = Callable[[dict[str, Any]], dict[str, Any]]

__all__ = ["converse", "serve"]

log = logs.get("mcp")


class Listening:
    """`begin` runs once, in a thread; everything else when the state of a server changes."""

    def __init__(self, service: Service, client: ClientInfo, connection: Any, surface: Surface, server: Any) -> None:
        self._service = service
        self._client = client
        self._standing = connection
        self._surface = surface
        self._server = server
        self._loop = asyncio.get_running_loop()
        self._telling: set[asyncio.Task[None]] = set()

    def begin(self) -> None:
        """Start the servers; profiles with their own contract and clients with invalid settings have none."""
        if not isinstance(self._surface, ToolSurface):
            return
        with contextlib.suppress(LlmcError):
            settings = self._service.settings_of(self._client)
            if settings.daemon.log_level == "debug":
                logging.getLogger("llmc.delegates").setLevel(logging.DEBUG)
            if settings.mcps:
                self._service.fleet.listen(self._client.session, self._changed)
                self._service.extra_tools(self._client, settings)

    def _changed(self) -> None:
        with contextlib.suppress(RuntimeError):  # the loop has ended
            self._loop.call_soon_threadsafe(self._schedule_notification)

    def _schedule_notification(self) -> None:
        task = self._loop.create_task(self._notify())
        self._telling.add(task)
        task.add_done_callback(self._telling.discard)

    async def _notify(self) -> None:
        assert isinstance(self._surface, ToolSurface)
        session = self._service.sessions.enter(self._client.session, profile=self._standing.profile)
        try:
            if await in_thread(lambda: self._is_stale(session)):
                session.changed = False
                await self._server.announce()
        except Exception:
            log.exception("could not announce changed tools")

    def _is_stale(self, session: Any) -> bool:
        assert isinstance(self._surface, ToolSurface)
        return self._surface.is_stale(RequestContext(self._client, session))


async def serve(
    service: Service, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, client: ClientInfo
) -> None:
    """Serve until the client disconnects."""
    connection = await in_thread(partial(connection_context, service, client))
    surface = surface_for(service, connection.profile, data=False, persona_instructions=connection.persona_instructions)
    server = build_server(surface, partial(enter, service, client, connection))
    listening = Listening(service, client, connection, surface, server)
    await in_thread(listening.begin)
    try:
        await converse(server, reader, writer, connection.largest, getattr(surface, "polish", None))
    finally:
        service.fleet.release(client.session)


async def converse(
    server: Server[Any],
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    largest: int,
    polish: Polish | None = None,
) -> None:
    """Run an MCP server on a connection of lines; messages over `largest` bytes are refused. `polish` can change each
    message sent, for a contract that is stricter than the SDK."""
    messages = Messages(reader, writer, largest, polish)
    await server.run(messages, messages, server.create_initialization_options())


@dataclass(frozen=True, slots=True)
class ConnectionContext:
    """Properties of a connection: profile, largest message, and the name, tools and instructions of its persona."""

    profile: str
    largest: int
    agent: str = ""
    allowed: frozenset[str] | None = None
    persona_instructions: str = ""


def connection_context(service: Service, client: ClientInfo) -> ConnectionContext:
    """Read the properties from the settings. Invalid settings are reported in the reply to each call, where the model
    sees them; an unknown persona has no tools, and the instructions explain it."""
    try:
        settings = service.settings_of(client)
    except LlmcError:
        settings = service.settings
    server = settings.server
    if not server.agent:
        return ConnectionContext(server.profile, server.max_request_bytes)
    from llmc.server.personas import Personas  # noqa: PLC0415 - Lua and TOML, which few need

    try:
        allowed = allowed_tools(settings, server.agent)
    except LlmcError as error:
        log.warning("no such agent", reason=str(error))
        allowed = frozenset()
    persona_instructions = Personas(service).instructions(client, settings, server.agent)
    return ConnectionContext(profile_of(server), server.max_request_bytes, server.agent, allowed, persona_instructions)


def enter(
    service: Service, client: ClientInfo, connection: ConnectionContext, sdk_context: ServerRequestContext[Any, Any]
) -> RequestContext:
    """The connection is the session, unless the request names one."""
    identifier = named_session(sdk_context) or client.session
    session = service.sessions.enter(identifier, profile=connection.profile)
    session.agent, session.allowed = connection.agent, connection.allowed
    introduced = sdk_context.session.client_params
    if introduced is not None:
        session.client = introduced.client_info.name
    return RequestContext(client, session)


class Messages(Stream):
    """Reads and validates messages; invalid ones are answered here."""

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, largest: int, polish: Polish | None = None
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._largest = largest
        self._polish = polish

    async def receive(self) -> SessionMessage | Exception:
        while True:
            line = await self._line()
            if line.isspace():
                continue
            try:
                value = decode(line)
            except ValueError as error:
                self._refuse(None, types.PARSE_ERROR, f"the message is not JSON: {error}")
                continue
            message = self._message(value)
            if message is not None:
                if not is_repeatable(value):
                    await self._confirm(value)
                return SessionMessage(message)

    async def _confirm(self, value: dict[str, Any]) -> None:
        """Tell the relay that a call has arrived, before it can have any effect: if this process dies, the relay must
        not send it again."""
        self._writer.transport.set_write_buffer_limits(0)  # so that `drain` waits until all of it is written
        self._write(orjson.dumps({"jsonrpc": "2.0", "method": RECEIVED, "params": {"id": value.get("id")}}))
        try:
            await self._writer.drain()
        except ConnectionError:
            raise StopAsyncIteration from None
        finally:
            self._writer.transport.set_write_buffer_limits()

    async def send(self, item: SessionMessage, /) -> None:
        line = item.message.model_dump_json(by_alias=True, exclude_unset=True).encode()
        self._write(orjson.dumps(self._polish(orjson.loads(line))) if self._polish else line)
        await self._writer.drain()

    async def _line(self) -> bytes:
        """The next line within the limit; longer lines are skipped and answered with an error."""
        while True:
            line = await next_line(self._reader, self._largest)
            if line is None:
                raise StopAsyncIteration
            if isinstance(line, bytes):
                return line
            why = f"the message is too large: the limit is {self._largest} bytes (server.max_request_bytes)"
            self._refuse(orjson.loads(line.id) if line.id else None, types.INVALID_REQUEST, why)

    def _message(self, value: Any) -> types.JSONRPCMessage | None:
        identifier = value.get("id") if isinstance(value, dict) else None
        if isinstance(value, list):
            self._refuse(None, types.INVALID_REQUEST, "batches are not supported: send one message per line")
        elif isinstance(value, dict) and "method" in value and "id" in value and not is_id(identifier):
            self._refuse(None, types.INVALID_REQUEST, "the id must be a number or a string")
        else:
            try:
                return types.jsonrpc_message_adapter.validate_python(value, by_name=False)
            except ValidationError:
                self._refuse(
                    identifier if is_id(identifier) else None,
                    types.INVALID_REQUEST,
                    "this is not a JSON-RPC 2.0 message",
                )
        return None

    def _refuse(self, identifier: Any, code: int, message: str) -> None:
        error = {"jsonrpc": "2.0", "id": identifier, "error": {"code": code, "message": message}}
        self._write(orjson.dumps(error))

    def _write(self, line: bytes) -> None:
        if not self._writer.is_closing():
            self._writer.write(line + b"\n")


def is_id(value: Any) -> bool:
    return isinstance(value, int | str) and not isinstance(value, bool)
