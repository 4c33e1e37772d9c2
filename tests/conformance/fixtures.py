"""The tools, prompts and resources that the conformance suite wants to find, laid over a server of ours.

What they answer is prescribed by the suite. Everything between the wire and them (transport, guard, sessions, lists,
unknown names, cancellation) is the product's own: `with_fixtures` adds to what a server has and replaces nothing.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import warnings
from typing import TYPE_CHECKING, Any

import anyio
import mcp_types as types
from mcp.server.subscriptions import (
    InMemorySubscriptionBus,
    ListenHandler,
    PromptsListChanged,
    ToolsListChanged,
)
from mcp.shared.exceptions import MCPError
from mcp.shared.message import ServerMessageMetadata

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from mcp.server.context import ServerRequestContext
    from mcp.server.lowlevel import Server

    Context = ServerRequestContext[Any, Any]
    Wire = dict[str, Any]

# One pixel, and one moment of silence.
PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=="
WAV = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA="
PLAIN: Wire = {"type": "object", "properties": {}}
SECRET = b"conformance"
PAUSE = 0.05

bus = InMemorySubscriptionBus()


def complete(result: Wire) -> Wire:
    """Required by the revision without handshakes; older ones do not see the mark."""
    return {"resultType": "complete", **result}


def cached(result: Wire) -> Wire:
    return complete({"ttlMs": 0, "cacheScope": "private", **result})


def text(words: str, **more: Any) -> Wire:
    return {"content": [{"type": "text", "text": words}], **more}


def schema(required: list[str] | None = None, **properties: Any) -> Wire:
    return {"type": "object", "properties": properties, "required": required or list(properties)}


def elicitation(message: str, requested: Wire) -> Wire:
    return {
        "method": "elicitation/create",
        "params": {"mode": "form", "message": message, "requestedSchema": requested},
    }


def sampling(prompt: str, tokens: int = 100) -> Wire:
    message = {"role": "user", "content": {"type": "text", "text": prompt}}
    return {"method": "sampling/createMessage", "params": {"messages": [message], "maxTokens": tokens}}


ROOTS: Wire = {"method": "roots/list", "params": {}}
NAME = elicitation("What is your name?", schema(name={"type": "string"}))


# ---- tools that answer at once ----


async def simple_text(_: Context) -> Wire:
    return text("This is a simple text response for testing.")


async def image(_: Context) -> Wire:
    return {"content": [{"type": "image", "data": PNG, "mimeType": "image/png"}]}


async def audio(_: Context) -> Wire:
    return {"content": [{"type": "audio", "data": WAV, "mimeType": "audio/wav"}]}


def embedded(uri: str, mime: str, words: str) -> Wire:
    return {"type": "resource", "resource": {"uri": uri, "mimeType": mime, "text": words}}


async def resource(_: Context) -> Wire:
    words = "This is an embedded resource content."
    return {"content": [embedded("test://embedded-resource", "text/plain", words)]}


async def mixed(_: Context) -> Wire:
    return {
        "content": [
            {"type": "text", "text": "Multiple content types test:"},
            {"type": "image", "data": PNG, "mimeType": "image/png"},
            embedded("test://mixed-content-resource", "application/json", '{"test":"data","value":123}'),
        ]
    }


async def failing(_: Context) -> Wire:
    return text("This tool intentionally returns an error for testing", isError=True)


async def headed(_: Context) -> Wire:
    return text("The headers agree.")


# ---- tools that talk while they work ----


async def logging(context: Context) -> Wire:
    for words in ("Tool execution started", "Tool processing data", "Tool execution completed"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            await context.session.send_log_message("info", words, related_request_id=context.request_id)
        await anyio.sleep(PAUSE)
    return text("Logged.")


async def progress(context: Context) -> Wire:
    for done in (0, 50, 100):
        await context.session.report_progress(done, 100)
        await anyio.sleep(PAUSE)
    return text("Done.")


async def sampled(context: Context) -> Wire:
    request = types.CreateMessageRequest.model_validate(sampling(str(arguments(context).get("prompt"))))
    about = ServerMessageMetadata(related_request_id=context.request_id)
    found = await context.session.send_request(request, types.CreateMessageResult, metadata=about)
    return text(f"LLM response: {getattr(found.content, 'text', '')}")


async def elicit(context: Context, message: str, requested: Wire, lead: str) -> Wire:
    found = await context.session.elicit_form(message, requested, context.request_id)
    return text(f"{lead}: action={found.action}, content={json.dumps(found.content)}")


async def elicited(context: Context) -> Wire:
    fields = {
        "username": {"type": "string", "description": "User's response"},
        "email": {"type": "string", "description": "User's email address"},
    }
    return await elicit(context, str(arguments(context).get("message")), schema(None, **fields), "User response")


async def defaults(context: Context) -> Wire:
    fields = {
        "name": {"type": "string", "default": "John Doe"},
        "age": {"type": "integer", "default": 30},
        "score": {"type": "number", "default": 95.5},
        "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
        "verified": {"type": "boolean", "default": True},
    }
    return await elicit(context, "Please review", schema([], **fields), "Elicitation completed")


async def enums(context: Context) -> Wire:
    plain = ["option1", "option2", "option3"]
    titled = [
        {"const": f"value{n}", "title": f"{word} Option"} for n, word in enumerate(("First", "Second", "Third"), 1)
    ]
    fields = {
        "untitledSingle": {"type": "string", "enum": plain},
        "titledSingle": {"type": "string", "oneOf": titled},
        "legacyEnum": {
            "type": "string",
            "enum": ["opt1", "opt2", "opt3"],
            "enumNames": ["Option One", "Option Two", "Option Three"],
        },
        "untitledMulti": {"type": "array", "items": {"type": "string", "enum": plain}},
        "titledMulti": {"type": "array", "items": {"anyOf": titled}},
    }
    return await elicit(context, "Please choose", schema([], **fields), "Elicitation completed")


async def reconnection(context: Context) -> Wire:
    if context.close_sse_stream is not None:
        await context.close_sse_stream()
    await anyio.sleep(PAUSE)
    return text("Reconnected.")


async def tool_change(context: Context) -> Wire:
    await context.session.send_tool_list_changed()
    await bus.publish(ToolsListChanged())
    return text("Changed.")


async def prompt_change(context: Context) -> Wire:
    await context.session.send_prompt_list_changed()
    await bus.publish(PromptsListChanged())
    return text("Changed.")


# ---- tools that want more before they answer ----


def arguments(context: Context) -> Wire:
    return dict((context.params or {}).get("arguments") or {})


def responses(context: Context) -> Wire:
    given = (context.params or {}).get("inputResponses")
    return given if isinstance(given, dict) else {}


def wanting(state: str = "", **requests: Wire) -> Wire:
    found: Wire = {"resultType": "input_required", "inputRequests": requests}
    return {**found, "requestState": sealed(state)} if state else found


def sealed(state: str) -> str:
    mark = hmac.new(SECRET, state.encode(), hashlib.sha256).digest()
    return base64.urlsafe_b64encode(mark + state.encode()).decode()


def unsealed(context: Context) -> str:
    try:
        raw = base64.urlsafe_b64decode(str((context.params or {}).get("requestState", "")).encode())
    except ValueError:
        raw = b""
    mark, state = raw[:32], raw[32:]
    if not hmac.compare_digest(mark, hmac.new(SECRET, state, hashlib.sha256).digest()):
        raise MCPError(types.INVALID_PARAMS, "the request state was changed")
    return state.decode()


def accepted(context: Context, key: str) -> Wire:
    """The user's input under this key, or nothing."""
    given = responses(context).get(key)
    content = given.get("content") if isinstance(given, dict) else None
    return content if isinstance(content, dict) else {}


async def input_elicitation(context: Context) -> Wire:
    name = accepted(context, "user_name").get("name")
    return text(f"Hello, {name}!") if isinstance(name, str) else wanting(user_name=NAME)


async def input_sampling(context: Context) -> Wire:
    given = responses(context).get("capital_question")
    if not isinstance(given, dict):
        return wanting(capital_question=sampling("What is the capital of France?"))
    return text(str(given.get("content", {}).get("text", "")))


async def input_roots(context: Context) -> Wire:
    given = responses(context).get("client_roots")
    if not isinstance(given, dict):
        return wanting(client_roots=ROOTS)
    return text(f"Roots: {json.dumps(given.get('roots', []))}")


async def input_state(context: Context) -> Wire:
    if not responses(context):
        return wanting("confirm", confirm=elicitation("Please confirm", schema(ok={"type": "boolean"})))
    return text(f"state-ok: {unsealed(context)}")


async def input_several(context: Context) -> Wire:
    if {"user_name", "greeting", "client_roots"} <= set(responses(context)):
        return text(f"All there: {unsealed(context)}")
    return wanting("several", user_name=NAME, greeting=sampling("Generate a greeting", 50), client_roots=ROOTS)


async def input_rounds(context: Context) -> Wire:
    given = responses(context)
    if "step2" in given:
        return text(f"Done after {unsealed(context)}")
    if "step1" in given:
        unsealed(context)
        colour = schema(color={"type": "string"})
        return wanting("round-2", step2=elicitation("Step 2: What is your favorite color?", colour))
    return wanting("round-1", step1=elicitation("Step 1: What is your name?", schema(name={"type": "string"})))


async def input_able(context: Context) -> Wire:
    able: Any = (context.meta or {}).get("io.modelcontextprotocol/clientCapabilities") or {}
    offered = {"elicitation": NAME, "sampling": sampling("Greet"), "roots": ROOTS}
    return wanting("", **{one: request for one, request in offered.items() if one in able})


async def missing_capability(context: Context) -> Wire:
    able = context.session.client_capabilities
    if able is None or able.sampling is None:
        needed: Wire = {"requiredCapabilities": {"sampling": {}}}
        raise MCPError(types.MISSING_REQUIRED_CLIENT_CAPABILITY, "sampling is needed", needed)
    return text("The client can sample.")


SCHEMA_2020: Wire = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }
    },
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"},
        "email": {"type": "string"},
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}
HEADED: Wire = {"type": "object", "properties": {"region": {"type": "string", "x-mcp-header": "Region"}}}

TOOLS: dict[str, tuple[Callable[[Context], Awaitable[Wire]], Wire]] = {
    "test_simple_text": (simple_text, PLAIN),
    "test_image_content": (image, PLAIN),
    "test_audio_content": (audio, PLAIN),
    "test_embedded_resource": (resource, PLAIN),
    "test_multiple_content_types": (mixed, PLAIN),
    "test_tool_with_logging": (logging, PLAIN),
    "test_logging_tool": (logging, PLAIN),
    "test_tool_with_progress": (progress, PLAIN),
    "test_error_handling": (failing, PLAIN),
    "test_sampling": (sampled, schema(prompt={"type": "string"})),
    "test_elicitation": (elicited, schema(message={"type": "string"})),
    "test_elicitation_sep1034_defaults": (defaults, PLAIN),
    "test_elicitation_sep1330_enums": (enums, PLAIN),
    "test_reconnection": (reconnection, PLAIN),
    "test_trigger_tool_change": (tool_change, PLAIN),
    "test_trigger_prompt_change": (prompt_change, PLAIN),
    "test_missing_capability": (missing_capability, PLAIN),
    "test_streaming_elicitation": (input_elicitation, PLAIN),
    "test_input_required_result_elicitation": (input_elicitation, PLAIN),
    "test_input_required_result_sampling": (input_sampling, PLAIN),
    "test_input_required_result_list_roots": (input_roots, PLAIN),
    "test_input_required_result_request_state": (input_state, PLAIN),
    "test_input_required_result_tampered_state": (input_state, PLAIN),
    "test_input_required_result_multiple_inputs": (input_several, PLAIN),
    "test_input_required_result_multi_round": (input_rounds, PLAIN),
    "test_input_required_result_capabilities": (input_able, PLAIN),
    "test_x_mcp_header": (headed, HEADED),
    "json_schema_2020_12_tool": (simple_text, SCHEMA_2020),
}


# ---- prompts ----


def said(*contents: Wire) -> Wire:
    return {"messages": [{"role": "user", "content": content} for content in contents]}


def prompt(context: Context, name: str, given: Wire) -> Wire:
    if name == "test_simple_prompt":
        return said({"type": "text", "text": "This is a simple prompt for testing."})
    if name == "test_prompt_with_arguments":
        words = f"Prompt with arguments: arg1='{given.get('arg1')}', arg2='{given.get('arg2')}'"
        return said({"type": "text", "text": words})
    if name == "test_prompt_with_embedded_resource":
        content = embedded(str(given.get("resourceUri")), "text/plain", "Embedded resource content for testing.")
        return said(content, {"type": "text", "text": "Please process the embedded resource above."})
    if name == "test_prompt_with_image":
        picture = {"type": "image", "data": PNG, "mimeType": "image/png"}
        return said(picture, {"type": "text", "text": "Please analyze the image above."})
    if name == "test_input_required_result_prompt":
        known = accepted(context, "user_context").get("context")
        if known is None:
            asked = elicitation("What context should the prompt use?", schema(context={"type": "string"}))
            return wanting(user_context=asked)
        return said({"type": "text", "text": f"Prompt with context: {known}"})
    raise MCPError(types.INVALID_PARAMS, f"there is no prompt {name!r}")


PROMPTS = {
    "test_simple_prompt": (),
    "test_prompt_with_arguments": ("arg1", "arg2"),
    "test_prompt_with_embedded_resource": ("resourceUri",),
    "test_prompt_with_image": (),
    "test_input_required_result_prompt": (),
}


# ---- resources ----

RESOURCES: dict[str, Wire] = {
    "test://static-text": {"mimeType": "text/plain", "text": "This is the content of the static text resource."},
    "test://static-binary": {"mimeType": "image/png", "blob": PNG},
    "test://watched-resource": {"mimeType": "text/plain", "text": "Watched."},
}


def read(uri: str) -> Wire | None:
    if uri in RESOURCES:
        return {"uri": uri, **RESOURCES[uri]}
    if uri.startswith("test://template/") and uri.endswith("/data"):
        number = uri.split("/")[-2]
        data = {"id": number, "templateTest": True, "data": f"Data for ID: {number}"}
        return {"uri": uri, "mimeType": "application/json", "text": json.dumps(data)}
    return None


class Overlay:
    """Each list has ours and the suite's; each name goes to whoever has it."""

    def __init__(self, server: Server[Any]) -> None:
        self._ours = {method: server.get_request_handler(method) for method in SHARED}

    async def _own(self, method: str, context: Context, params: Any) -> Any:
        entry = self._ours[method]
        assert entry is not None
        return await entry.handler(context, params)

    async def list_tools(self, context: Context, params: Any) -> types.ListToolsResult:
        listed: types.ListToolsResult = await self._own("tools/list", context, params)
        more = [
            types.Tool(name=name, description=name.replace("_", " "), input_schema=given)
            for name, (_, given) in TOOLS.items()
        ]
        return listed.model_copy(update={"tools": [*listed.tools, *more]})

    async def call_tool(self, context: Context, params: types.CallToolRequestParams) -> Any:
        if params.name in TOOLS:
            return complete(await TOOLS[params.name][0](context))
        return await self._own("tools/call", context, params)

    async def list_resources(self, context: Context, params: Any) -> types.ListResourcesResult:
        listed: types.ListResourcesResult = await self._own("resources/list", context, params)
        more = [
            types.Resource(name=uri, uri=uri, description="A fixture.", mime_type=given["mimeType"])
            for uri, given in RESOURCES.items()
        ]
        return listed.model_copy(update={"resources": [*listed.resources, *more]})

    async def list_templates(self, context: Context, params: Any) -> types.ListResourceTemplatesResult:
        listed: types.ListResourceTemplatesResult = await self._own("resources/templates/list", context, params)
        one = types.ResourceTemplate(name="data", uri_template="test://template/{id}/data", description="A fixture.")
        return listed.model_copy(update={"resource_templates": [*listed.resource_templates, one]})

    async def read_resource(self, context: Context, params: types.ReadResourceRequestParams) -> Any:
        found = read(str(params.uri))
        return cached({"contents": [found]}) if found else await self._own("resources/read", context, params)


async def list_prompts(_context: Context, _params: Any) -> Wire:
    listed = [
        {
            "name": name,
            "description": "A fixture.",
            "arguments": [{"name": one, "description": "One.", "required": True} for one in names],
        }
        for name, names in PROMPTS.items()
    ]
    return cached({"prompts": listed})


async def get_prompt(context: Context, params: types.GetPromptRequestParams) -> Wire:
    return complete(prompt(context, params.name, dict(params.arguments or {})))


async def suggest(_context: Context, _params: Any) -> Wire:
    return complete({"completion": {"values": ["paris", "park", "party"], "total": 3, "hasMore": False}})


async def nothing(_context: Context, _params: Any) -> Wire:
    return {}


def with_fixtures(server: Server[Any]) -> Server[Any]:
    over = Overlay(server)
    server.add_request_handler("tools/list", types.PaginatedRequestParams, over.list_tools)
    server.add_request_handler("tools/call", types.CallToolRequestParams, over.call_tool)
    server.add_request_handler("resources/list", types.PaginatedRequestParams, over.list_resources)
    server.add_request_handler("resources/templates/list", types.PaginatedRequestParams, over.list_templates)
    server.add_request_handler("resources/read", types.ReadResourceRequestParams, over.read_resource)
    server.add_request_handler("resources/subscribe", types.SubscribeRequestParams, nothing)
    server.add_request_handler("resources/unsubscribe", types.UnsubscribeRequestParams, nothing)
    server.add_request_handler("prompts/list", types.PaginatedRequestParams, list_prompts)
    server.add_request_handler("prompts/get", types.GetPromptRequestParams, get_prompt)
    server.add_request_handler("completion/complete", types.CompleteRequestParams, suggest)
    server.add_request_handler("logging/setLevel", types.SetLevelRequestParams, nothing)
    server.add_request_handler("subscriptions/listen", types.SubscriptionsListenRequestParams, ListenHandler(bus))
    return server


SHARED = ("tools/list", "tools/call", "resources/list", "resources/templates/list", "resources/read")
