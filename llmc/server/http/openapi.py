"""The OpenAPI document, generated from the tools."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from llmc import __version__
from llmc.tool_model import schema_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from llmc.tool import Tool

__all__ = ["document"]

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
