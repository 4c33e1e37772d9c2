"""The application behind the guard: `/mcp` for every profile, and REST.

Each profile has an MCP server of its own, since instructions are given before the first question; a URL chooses with
`?profile=`, and `?agent=` narrows. The SDK compares who made a session with who comes back to it.
"""

from __future__ import annotations

import contextlib
from functools import partial
from typing import TYPE_CHECKING, Any

from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.routing import Route

from llmc.base.errors import LlmcError
from llmc.server.http.agents import AgentRoutes
from llmc.server.http.guard import OWNER
from llmc.server.http.mcp_sessions import McpSessions
from llmc.server.http.page import Page
from llmc.server.http.refusals import body_of, status_of
from llmc.server.http.request_context import PROFILES
from llmc.server.http.rest import Rest, json_bytes
from llmc.server.mcp.build import INSTRUCTIONS, build_server, named_session
from llmc.server.mcp.surfaces import surface_for
from llmc.server.personas import Personas
from llmc.server.wire import failure

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from mcp.server.context import ServerRequestContext
    from starlette.responses import Response
    from starlette.types import Receive, Scope, Send

    from llmc.server.call_threads import CallThreads
    from llmc.server.http.address import Address
    from llmc.server.http.logins import Logins
    from llmc.server.http.request_context import RequestContexts
    from llmc.state.connected_sessions import RequestContext

__all__ = ["application"]

VISIT = "llmc.visit"  # in the scope: who asks, as far as the URL says it
# A session is some kilobytes and a task; more agents than this do not share one daemon.
MOST_SESSIONS = 512


def application(
    visits: RequestContexts, pool: CallThreads, address: Address, largest: int, logins: Logins
) -> Starlette:
    """`largest` bounds a message, as the guard bounds a body."""
    endpoint = McpEndpoint(visits, pool, largest)
    rest = Rest(visits, pool, address.url)
    page = Page(visits, pool, address, logins)
    app = Starlette(
        routes=[*rest.routes(), *AgentRoutes(rest).routes(), *page.routes(), Route("/mcp", endpoint)],
        exception_handlers={HTTPException: refused},
        lifespan=lambda _: endpoint.running(),
    )
    app.router.redirect_slashes = False
    return app


class McpEndpoint:
    def __init__(self, visits: RequestContexts, pool: CallThreads, largest: int) -> None:
        self._visits = visits
        self._pool = pool
        self._managers = {
            profile: McpSessions(
                build_server(surface_for(visits.service, profile, data=False), partial(entered, visits)),
                max_request_body_size=largest,
                max_sessions=MOST_SESSIONS,
            )
            for profile in PROFILES
        }

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        async with contextlib.AsyncExitStack() as stack:
            for manager in self._managers.values():
                await stack.enter_async_context(manager.run())
            yield

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope)
        owner = scope[OWNER]
        try:
            enter = partial(self._visits.enter, owner, "", request.query_params)
            visit = scope[VISIT] = await self._pool.run(enter)
            if visit.session.agent:
                said = partial(self._instructions, visit)
                INSTRUCTIONS.set(await self._pool.run(said))
        except LlmcError as error:
            await json_bytes(body_of(error), status_of(error.code))(scope, receive, send)
            return
        scope["user"] = AuthenticatedUser(AccessToken(token="", client_id=owner, scopes=[]))
        await self._managers[visit.session.profile].handle_request(scope, receive, send)

    def _instructions(self, visit: RequestContext) -> str:
        service = self._visits.service
        return Personas(service).instructions(visit.client, service.settings_of(visit.client), visit.session.agent)


def entered(visits: RequestContexts, context: ServerRequestContext[Any, Any]) -> RequestContext:
    """The session that the request names; without one the token is the client."""
    request = context.request
    assert isinstance(request, Request)
    visit = visits.named(request.scope[VISIT], request.scope[OWNER], named_session(context))
    introduced = context.session.client_params
    if introduced is not None:
        visit.session.client = introduced.client_info.name
    return visit


async def refused(_request: Request, error: Exception) -> Response:
    """What the router itself says no to: no such path, no such method."""
    assert isinstance(error, HTTPException)
    code = "not_found" if error.status_code == NOT_FOUND else "method"
    message = "there is nothing here" if error.status_code == NOT_FOUND else error.detail.lower()
    response = json_bytes(body_of(failure(code, message, "", "`/openapi.json` says what there is.")), error.status_code)
    response.headers.update(error.headers or {})
    return response


NOT_FOUND = 404
