"""Personas over HTTP: a list, and a prompt for arguments.

The status codes follow the specification of personas: 404 not_found, 400 bad_request, 500 agent_error, 408 timeout.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from starlette.responses import Response
from starlette.routing import Route

from llmc.base.errors import LlmcError, NotFoundError
from llmc.envelope.request import RunningRequest
from llmc.server.http.refusals import HttpRefusal, body_of, status_of
from llmc.server.http.rest import arguments
from llmc.server.personas import Personas
from llmc.server.wire import encode_line

if TYPE_CHECKING:
    from starlette.requests import Request

    from llmc.server.http.rest import Rest
    from llmc.state.connected_sessions import RequestContext

__all__ = ["AgentRoutes"]

STATUSES = {"not_found": 404, "bad_request": 400, "agent_error": 500, "timeout": 408}


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
