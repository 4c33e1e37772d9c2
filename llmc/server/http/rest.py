"""The tools over REST: GET lists them, POST with arguments runs one and returns text and data. `/openapi.json` is
generated from the tools.

Error responses have a matching status and say what happened, why, and what to do. A disconnecting client cancels its
call; calls that take too long are cancelled.
"""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import orjson
from starlette.responses import Response
from starlette.routing import Route

from llmc import __version__
from llmc.base import logs
from llmc.base.errors import CallLimitError, InvalidParamsError, LlmcError
from llmc.envelope.reply import tokens_of
from llmc.envelope.request import RunningRequest
from llmc.server.call_threads import CallThreads
from llmc.server.http.callers import CALLER
from llmc.server.http.prometheus import CONTENT_TYPE, exposition
from llmc.server.http.refusals import HttpRefusal, body_of, status_of
from llmc.server.report import root_status
from llmc.server.surface import surface_for
from llmc.server.wire import describe, encode_line, failure
from llmc.tool_model import schema_of
from llmc.tools.profiles import offered
from llmc.tools.reply import failed_reply

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from starlette.requests import Request

    from llmc.envelope.reply import Reply
    from llmc.server.http.request_context import RequestContexts
    from llmc.server.surface import Surface
    from llmc.state.connected_sessions import RequestContext
    from llmc.tool import Tool

__all__ = ["Rest", "arguments"]

REPLY = {
    "type": "object",
    "required": ["tool", "text", "data", "shown", "total", "handle", "provisional", "tokens"],
    "properties": {
        "tool": {"type": "string"},
        "text": {"type": "string", "description": "The reply as a model reads it."},
        "data": {"type": "object", "description": "The same reply as structured data."},
        "shown": {"type": "integer"},
        "total": {"type": "integer"},
        "handle": {
            "type": "string",
            "description": "Handle of the rest, for `read`; empty when the reply is complete.",
        },
        "provisional": {
            "type": "boolean",
            "description": "The index is being built and not everything was checked: ask again later.",
        },
        "tokens": {"type": "integer", "description": "Tokens of the text (o200k)."},
    },
}
ERROR = {
    "type": "object",
    "required": ["error"],
    "properties": {
        "error": {
            "type": "object",
            "required": ["code", "message"],
            "properties": {
                **{name: {"type": "string"} for name in ("code", "message", "reason", "hint")},
                "context": {"type": "object"},
            },
        },
        "text": {"type": "string"},
    },
}
STATUSES = {
    "400": "Invalid arguments; the error names them and what is expected.",
    "401": "The token is missing or wrong.",
    "403": "A path is outside the roots, or the request is cross-origin.",
    "404": "No such tool, path, symbol, handle or persona.",
    "408": "The persona timed out.",
    "413": "The request is too large.",
    "415": "The body is not JSON.",
    "421": "Unknown Host header.",
    "500": "The persona failed, or the server did.",
    "503": "The index or the server is temporarily unavailable.",
}
AGENT = {
    "name": "agent",
    "in": "query",
    "schema": {"type": "string"},
    "description": "A persona; restricts the tools to its own.",
}
PROFILE = {"name": "profile", "in": "query", "schema": {"type": "string"}, "description": "Another profile."}
SESSION = {
    "name": "Llmc-Session",
    "in": "header",
    "schema": {"type": "string"},
    "description": "A session name chosen by the client; handles belong to it.",
}
Answer = TypeVar("Answer")

log = logs.get("http")


def document(tools: Iterable[Tool], url: str) -> dict[str, Any]:
    return {
        "openapi": "3.1.0",
        "info": {"title": "llmc", "version": __version__, "summary": "Index-first retrieval for coding agents."},
        "servers": [{"url": url}],
        "security": [{"token": []}],
        "paths": {
            "/health": {"get": plain("health", "Health of the server and state of the roots.")},
            "/metrics": {"get": plain("metrics", "Metrics for Prometheus.", "text/plain")},
            "/openapi.json": {"get": plain("openapi", "This document.")},
            "/tools/list": {"get": {**plain("listTools", "The tools."), "parameters": [AGENT, PROFILE]}},
            **agent_paths(),
            **{f"/tools/{tool.name}": {"post": operation(tool)} for tool in tools},
        },
        "components": {
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "schemas": {"Reply": REPLY, "Error": ERROR},
            "responses": {code: response(meaning, "Error") for code, meaning in STATUSES.items()},
        },
    }


def agent_paths() -> dict[str, Any]:
    name = {"name": "name", "in": "path", "required": True, "schema": {"type": "string"}}
    values = {"type": "object", "additionalProperties": {"type": "string"}}
    schema = {"type": "object", "properties": {"arguments": values}}
    body = {"content": {"application/json": {"schema": schema}}}
    prompt = plain("agentPrompt", "The prompt of a persona: system text, tools, messages.")
    prompt["responses"] |= errors("400", "404", "408", "500")
    return {
        "/agents/list": {"get": {**plain("listAgents", "The personas."), "parameters": [AGENT]}},
        "/agents/{name}/prompt": {"post": {**prompt, "parameters": [name], "requestBody": body}},
    }


def operation(tool: Tool) -> dict[str, Any]:
    return {
        "operationId": tool.name,
        "summary": tool.summary,
        "parameters": [AGENT, PROFILE, SESSION],
        "requestBody": {
            "content": {"application/json": {"schema": tool.input_schema or schema_of(tool.name, tool.arguments)}}
        },
        "responses": {"200": response("The reply.", "Reply"), **errors()},
    }


def plain(name: str, summary: str, media: str = "application/json") -> dict[str, Any]:
    answer = {"description": summary, "content": {media: {"schema": {}}}}
    return {"operationId": name, "summary": summary, "responses": {"200": answer, **errors("401", "421")}}


def errors(*codes: str) -> dict[str, Any]:
    return {code: {"$ref": f"#/components/responses/{code}"} for code in codes or STATUSES}


def response(meaning: str, schema: str) -> dict[str, Any]:
    reference = {"$ref": f"#/components/schemas/{schema}"}
    return {"description": meaning, "content": {"application/json": {"schema": reference}}}


class Rest:
    def __init__(self, contexts: RequestContexts, pool: CallThreads, url: str) -> None:
        self.contexts = contexts
        self._pool = pool
        self._checks = CallThreads(2, "llmc-health")  # separate threads, so that health checks do not wait for calls
        self._url = url

    def routes(self) -> list[Route]:
        return [
            Route("/health", self.answered(self.health)),
            Route("/metrics", self.answered(self.metrics)),
            Route("/openapi.json", self.answered(self.openapi)),
            Route("/tools/list", self.answered(self.tools)),
            Route("/tools/{name}", self.answered(self.call), methods=["POST"]),
        ]

    def answered(self, handler: Callable[[Request], Any]) -> Callable[[Request], Any]:
        """Convert errors to responses of one format; unexpected errors are logged."""

        async def endpoint(request: Request) -> Response:
            try:
                found: Response = await handler(request)
            except LlmcError as error:
                return json_bytes(body_of(error), status_of(error.code))
            except HttpRefusal as refusal:
                return json_bytes(body_of(refusal.error), refusal.status)
            except Exception as error:
                log.exception("request failed", path=request.url.path)
                return json_bytes(body_of(describe(error, "")), 500)
            return found

        return endpoint

    async def health(self, _request: Request) -> Response:
        return json_bytes(encode_line(await self._checks.run(self._health)))

    async def metrics(self, _request: Request) -> Response:
        text = await self._checks.run(self._metrics)
        return Response(text, media_type=CONTENT_TYPE)

    async def openapi(self, request: Request) -> Response:
        context = await self.enter(request, "")
        return json_bytes(orjson.dumps(document(await self.in_thread(partial(self._callable, context)), self._url)))

    async def tools(self, request: Request) -> Response:
        context = await self.enter(request, request.headers.get("llmc-session", ""))
        surface = surface_for(self.contexts.service, context.session.profile)
        found = await self.in_thread(partial(surface.definitions, context))
        return json_bytes(orjson.dumps({"tools": [one.as_dict() for one in found]}))

    async def call(self, request: Request) -> Response:
        name, args = request.path_params["name"], await arguments(request)
        named = request.headers.get("llmc-session") or args.get("session_id")
        context = await self.enter(request, named if isinstance(named, str) else "")
        surface = self._surface(context)
        if why := surface.unknown(context, name):
            raise HttpRefusal(404, "not_found", why)
        call = RunningRequest(context.client)
        try:
            reply = await self._until_disconnected(request, partial(surface.call, context, name, args, call), call)
        except CallLimitError as error:
            reply = failed_reply(name, error)
        except InvalidParamsError as error:
            raise HttpRefusal(400, "query", str(error)) from None
        finally:
            call.cancel()
        return reply_response(name, reply)

    def _surface(self, context: RequestContext) -> Surface:
        return surface_for(self.contexts.service, context.session.profile)

    async def enter(self, request: Request, session: str) -> RequestContext:
        query = dict(request.query_params)
        enter = partial(self.contexts.enter, request.scope[CALLER], session, query)
        return await self.in_thread(enter)

    async def _until_disconnected(self, request: Request, work: Callable[[], Reply], call: RunningRequest) -> Reply:
        """The reply, unless the client disconnects first."""
        working = asyncio.ensure_future(self.in_thread(work, call))
        leaving = asyncio.ensure_future(disconnected(request))
        try:
            await asyncio.wait({working, leaving}, return_when=asyncio.FIRST_COMPLETED)
            if not working.done():
                raise HttpRefusal(499, "cancelled", "the client disconnected")
            return working.result()
        finally:
            leaving.cancel()
            working.cancel()

    def _callable(self, context: RequestContext) -> list[Tool]:
        """Every tool, regardless of the profile, plus those of the user's servers and delegates."""
        service, allowed = self.contexts.service, context.session.allowed
        settings = service.settings_of(context.client)
        offer = service.extra_tools(context.client, settings)
        if offer is None:
            return list(offered(settings, allowed))
        offer.settle()
        return [*offered(settings, allowed, offer.own_names), *offer.tools(allowed)]

    def _health(self) -> dict[str, Any]:
        """Always succeeds while the server runs; problems of roots are in the body, not in the status."""
        try:
            workspace = self.contexts.service.workspace(RunningRequest(self.contexts.client))
        except LlmcError as error:
            return {"status": "degraded", "version": __version__, "roots": [], "error": error.as_dict()}
        found = [
            root_status(root_index, workspace.registry.writer_thread(root_index))
            for root_index in workspace.root_indexes
        ]
        roots = [
            {"name": one.name, "state": one.state, "indexed": one.indexed, "pending": one.pending, "error": one.error}
            for one in found
        ]
        fine = all(one.state not in ("failed", "missing") and not one.degraded for one in found)
        return {"status": "ok" if fine else "degraded", "version": __version__, "roots": roots}

    def _metrics(self) -> str:
        service = self.contexts.service
        return exposition(service.workspace(RunningRequest(self.contexts.client)), len(service.sessions.all()))

    async def in_thread(self, act: Callable[[], Answer], call: RunningRequest | None = None) -> Answer:
        return await self._pool.run(act, call)


async def arguments(request: Request) -> dict[str, Any]:
    body = await request.body()
    if not body.strip():
        return {}
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise HttpRefusal(415, "content_type", "the body must be JSON", "Send `Content-Type: application/json`.")
    try:
        args = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise HttpRefusal(400, "bad_request", f"the body is not JSON: {error}") from None
    if not isinstance(args, dict):
        raise HttpRefusal(400, "bad_request", "the body must be an object of arguments")
    return args


async def disconnected(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


def reply_response(name: str, reply: Reply) -> Response:
    if reply.error:
        error = reply.data.get("error") or failure(reply.error, reply.text)
        return json_bytes(encode_line({"error": error, "text": reply.text}), status_of(reply.error))
    fields = {"text": reply.text, "data": reply.data, "shown": reply.shown, "total": reply.total}
    more = {"handle": reply.handle, "provisional": reply.provisional, "tokens": tokens_of(reply)}
    return json_bytes(encode_line({"tool": name, **fields, **more}))


def json_bytes(body: bytes, status: int = 200) -> Response:
    return Response(body, status, media_type="application/json")
