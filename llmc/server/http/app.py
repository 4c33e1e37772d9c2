"""The application behind the guard: `/mcp` for every profile, REST, and the routes of personas.

Each profile has its own MCP server, because instructions are sent before the first call; `?profile=` selects one, and
`?agent=` selects a persona. The SDK checks that a session is used by the client that created it.

The SDK refuses new sessions once there are `max_sessions`, and a session that its client never deleted lasts for half
an hour. With `McpSessions` a session that was only initialized ends after a minute, and at the limit the least recently
used session of the client with the most sessions ends. That client receives a 404 and starts a new session, as the
protocol requires. Sessions with a running request or an open stream are never ended.
"""

from __future__ import annotations

import contextlib
import time
from collections import Counter
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.streamable_http import MCP_SESSION_ID_HEADER
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from llmc.base import logs
from llmc.base.errors import LlmcError, NotFoundError
from llmc.envelope.request import RunningRequest
from llmc.server.http.callers import CALLER
from llmc.server.http.page import Page
from llmc.server.http.refusals import HttpRefusal, body_of, status_of
from llmc.server.http.request_context import PROFILES
from llmc.server.http.rest import Rest, arguments, json_bytes
from llmc.server.mcp.build import INSTRUCTIONS, build_server, named_session
from llmc.server.personas import Personas
from llmc.server.surface import surface_for
from llmc.server.wire import encode_line, failure

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from mcp.server.context import ServerRequestContext
    from mcp.server.lowlevel import Server
    from starlette.types import Message, Receive, Scope, Send

    from llmc.server.call_threads import CallThreads
    from llmc.server.http.address import Address
    from llmc.server.http.logins import Logins
    from llmc.server.http.request_context import RequestContexts
    from llmc.state.connected_sessions import RequestContext

__all__ = ["McpEndpoint", "application", "not_routed"]

log = logs.get("http")

# Initialize and its notification; an active client lists tools next.
OPENING_REQUESTS = 2
UNUSED_SECONDS = 60.0
HEADER = MCP_SESSION_ID_HEADER.encode("ascii")
CONTEXT = "llmc.visit"  # scope key of the RequestContext derived from the URL
# A session takes a few kilobytes and a task; more agents than this do not share one daemon.
MOST_SESSIONS = 512
STATUSES = {"not_found": 404, "bad_request": 400, "agent_error": 500, "timeout": 408}


@dataclass(slots=True)
class SessionUse:
    requests: int = 0
    running: int = 0
    last: float = field(default_factory=time.monotonic)

    @property
    def is_unused(self) -> bool:
        return self.requests <= OPENING_REQUESTS


class McpSessions(StreamableHTTPSessionManager):
    def __init__(self, app: Any, **options: Any) -> None:
        super().__init__(app, **options)
        self._uses: dict[str, SessionUse] = {}

    async def handle_request(self, scope: Scope, receive: Receive, send: Send) -> None:
        named = next((value.decode("latin-1") for key, value in scope["headers"] if key == HEADER), "")
        use = self._uses.get(named) or SessionUse()
        use.requests += 1
        use.running += 1

        async def noting(message: Message) -> None:
            if not named and message["type"] == "http.response.start":
                given = next((value for key, value in message.get("headers", ()) if key.lower() == HEADER), None)
                if given is not None:
                    self._uses[given.decode("latin-1")] = use
            await send(message)

        try:
            if not named:
                await self._make_room()
            await super().handle_request(scope, receive, noting)
        finally:
            use.running -= 1
            use.last = time.monotonic()

    async def _make_room(self) -> None:
        """Make room; called before a request that may open a session."""
        for gone in self._uses.keys() - self._server_instances.keys():
            del self._uses[gone]
        now = time.monotonic()
        for name, use in list(self._uses.items()):
            if use.is_unused and not use.running and now - use.last > UNUSED_SECONDS:
                await self._end(name, "never used")
        if self.max_sessions is not None and len(self._server_instances) >= self.max_sessions:
            victim = self._least_needed()
            if victim is not None:
                await self._end(victim, "session limit reached")

    def _least_needed(self) -> str | None:
        """The session to end: unused ones first, then the least recently used of the client with the most sessions."""
        owners = Counter(str(self._session_owners.get(name)) for name in self._server_instances)
        idle = [name for name, use in self._uses.items() if not use.running and name in self._server_instances]
        return min(
            idle,
            key=lambda name: (
                not self._uses[name].is_unused,
                -owners[str(self._session_owners.get(name))],
                self._uses[name].last,
            ),
            default=None,
        )

    async def _end(self, name: str, why: str) -> None:
        self._uses.pop(name, None)
        transport = self._server_instances.get(name)
        if transport is not None:
            log.info("mcp session ended", reason=why)
            await self._discard_session(name, transport)


def application(
    contexts: RequestContexts, pool: CallThreads, address: Address, largest: int, logins: Logins
) -> Starlette:
    """`largest` bounds a message, as the guard bounds a body."""
    endpoint = McpEndpoint(contexts, pool, largest)
    rest = Rest(contexts, pool, address.url)
    page = Page(contexts, pool, address, logins)
    app = Starlette(
        routes=[*rest.routes(), *AgentRoutes(rest).routes(), *page.routes(), Route("/mcp", endpoint)],
        exception_handlers={HTTPException: not_routed},
        lifespan=lambda _: endpoint.running(),
    )
    app.router.redirect_slashes = False
    return app


class McpEndpoint:
    def __init__(self, contexts: RequestContexts, pool: CallThreads, largest: int) -> None:
        self._contexts = contexts
        self._pool = pool
        self._managers = {
            profile: self._manager(
                build_server(surface_for(contexts.service, profile, data=False), partial(enter_session, contexts)),
                largest,
            )
            for profile in PROFILES
        }

    def _manager(self, server: Server[Any], largest: int) -> StreamableHTTPSessionManager:
        return McpSessions(server, max_request_body_size=largest, max_sessions=MOST_SESSIONS)

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        async with contextlib.AsyncExitStack() as stack:
            for manager in self._managers.values():
                await stack.enter_async_context(manager.run())
            yield

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope)
        caller = scope[CALLER]
        try:
            enter = partial(self._contexts.enter, caller, "", request.query_params)
            context = scope[CONTEXT] = await self._pool.run(enter)
            if context.session.agent:
                instructions = partial(self._instructions, context)
                INSTRUCTIONS.set(await self._pool.run(instructions))
        except LlmcError as error:
            await json_bytes(body_of(error), status_of(error.code))(scope, receive, send)
            return
        scope["user"] = AuthenticatedUser(AccessToken(token="", client_id=caller.owner, scopes=[]))
        await self._managers[context.session.profile].handle_request(scope, receive, send)

    def _instructions(self, context: RequestContext) -> str:
        service = self._contexts.service
        return Personas(service).instructions(
            context.client, service.settings_of(context.client), context.session.agent
        )


def enter_session(contexts: RequestContexts, sdk_context: ServerRequestContext[Any, Any]) -> RequestContext:
    """The context of the session named by the request; without one, the token identifies the client."""
    request = sdk_context.request
    assert isinstance(request, Request)
    context = contexts.named(request.scope[CONTEXT], request.scope[CALLER], named_session(sdk_context))
    introduced = sdk_context.session.client_params
    if introduced is not None:
        context.session.client = introduced.client_info.name
    return context


async def not_routed(_request: Request, error: Exception) -> Response:
    """Requests that no route accepts: unknown path or method."""
    assert isinstance(error, HTTPException)
    code = "not_found" if error.status_code == NOT_FOUND else "method"
    message = "unknown path" if error.status_code == NOT_FOUND else error.detail.lower()
    response = json_bytes(
        body_of(failure(code, message, "", "See `/openapi.json` for the available paths.")), error.status_code
    )
    response.headers.update(error.headers or {})
    return response


NOT_FOUND = 404


class AgentRoutes:
    def __init__(self, rest: Rest) -> None:
        self._rest = rest
        self._personas = Personas(rest.contexts.service)

    def routes(self) -> list[Route]:
        answered = self._rest.answered
        return [
            Route("/agents/list", answered(self.list)),
            Route("/agents/{name}/prompt", answered(self.prompt), methods=["POST"]),
        ]

    async def list(self, request: Request) -> Response:
        context = await self._rest.enter(request, "")
        infos = await self._rest.in_thread(partial(self._personas.infos, context))
        return json_reply({"agents": [info.as_dict() for info in infos]})

    async def prompt(self, request: Request) -> Response:
        given = (await arguments(request)).get("arguments")
        if given is not None and not isinstance(given, dict):
            raise HttpRefusal(
                400, "bad_request", "`arguments` must be an object", 'Send {"arguments": {"name": "value"}}.'
            )
        try:
            context = await self._rest.enter(request, "")
            resolve = partial(self._resolve, context, request.path_params["name"], given or {})
            return json_reply({"result": await self._rest.in_thread(resolve)})
        except LlmcError as error:
            return json_reply(error, STATUSES.get(error.code) or status_of(error.code))

    def _resolve(self, context: RequestContext, name: str, given: dict[str, Any]) -> dict[str, Any]:
        if context.session.agent not in ("", name):
            raise NotFoundError(f"there is no agent {name!r}", hint=f"This server is {context.session.agent}.")
        return self._personas.resolve(context.client, name, given, RunningRequest(context.client)).prompt.as_dict()


def json_reply(found: dict[str, Any] | LlmcError, status: int = 200) -> Response:
    body = body_of(found) if isinstance(found, LlmcError) else encode_line(found)
    return Response(body, status, media_type="application/json")
