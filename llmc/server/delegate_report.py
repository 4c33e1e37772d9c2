"""`llmc delegate`: reports on the user's servers, delegates and scripts, for a person at a terminal.

`list` waits for the first start of every server and shows what each offers, what is disabled and why. `test` runs one
delegate or exposed tool. `trust` accepts changed descriptions.
"""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from llmc.base.errors import NotFoundError
from llmc.extend.delegates.check import taken_by
from llmc.server.surface import wait_for_index
from llmc.tool import ToolRequest
from llmc.tools.call import call_tool
from llmc.tools.registry import TOOLS

if TYPE_CHECKING:
    from llmc.envelope.request import JsonObject, RunningRequest
    from llmc.extend.delegates.downstream import Downstream
    from llmc.extend.delegates.offer import Offer
    from llmc.server.service import Service
    from llmc.settings import Settings

__all__ = ["report"]

# A person waits longer than a starting client.
SETTLE_SECONDS = 60.0


def report(service: Service, params: JsonObject, call: RunningRequest) -> JsonObject:
    settings = service.settings_of(call.client)
    offer = service.extra_tools(call.client, settings)
    if offer is None:
        return {"servers": [], "delegates": [], "scripts": []}
    service.fleet.settle(offer.servers.values(), SETTLE_SECONDS)
    if params.get("trust"):
        return trust_tools(service, offer, str(params["trust"]), [str(name) for name in params.get("tools") or ()])
    if params.get("test"):
        return run_test(service, offer, params, call)
    disabled = [name for name, one in settings.mcps.items() if not one.enabled]
    off = [{"name": name, "status": "off", "reason": "enabled = false"} for name in disabled]
    return {
        "servers": [*(server_data(one, settings) for one in offer.servers.values()), *off],
        "delegates": [delegate_data(name, offer) for name in settings.delegates],
        "scripts": [script_data(name, offer) for name in settings.tool_scripts],
    }


def server_data(server: Downstream, settings: Settings) -> JsonObject:
    state = server.state
    wanted = {name for one in settings.delegates.values() for name in one.internal_tools.get(server.name, ())} | set(
        server.mcp.expose
    )
    absent = sorted(wanted - {"*"} - state.tools.keys()) if state.status == "ready" else []
    return {
        "name": server.name,
        "transport": server.mcp.transport,
        "status": state.status,
        "reason": state.reason,
        "tools": sorted(state.tools),
        "exposed": [name for name in state.tools if name in server.mcp.expose or "*" in server.mcp.expose],
        "changed": sorted(state.changed),
        "refused": dict(state.refused),
        "absent": {name: (get_close_matches(name, state.tools, 1) or [""])[0] for name in absent},
    }


def delegate_data(name: str, offer: Offer) -> JsonObject:
    if name in TOOLS:
        return {
            "name": name,
            "status": "failed",
            "reason": f"{name} is the name of a built-in tool; choose another name",
        }
    worker = offer.workers[name]
    why = worker.missing()
    about: dict[str, Any] = {"provider": worker.delegate.provider, "model": worker.delegate.model}
    return {"name": name, "status": "failed" if why else "ready", "reason": why, **about}


def script_data(name: str, offer: Offer) -> JsonObject:
    if name not in offer.scripts:
        reason = taken_by(name, TOOLS, offer.exposed, offer.workers)
        return {"name": name, "status": "failed", "reason": f"{reason}; choose another name"}
    why = offer.scripts[name].missing()
    path = str(offer.scripts[name].entry.path)
    return {"name": name, "status": "failed" if why else "ready", "reason": why, "path": path}


def run_test(service: Service, offer: Offer, params: JsonObject, call: RunningRequest) -> JsonObject:
    name = str(params["test"])
    if offer.find(name) is None:
        names = offer.names(None)
        near = get_close_matches(name, names, 1)
        hint = f"Did you mean {near[0]}?" if near else f"Available: {', '.join(names) or 'none'}."
        raise NotFoundError(f"there is no delegate {name!r}", hint=hint)
    workspace = service.bare_workspace(call)
    if name in offer.scripts:
        wait_for_index(service, workspace, call)
    request = ToolRequest(name, params.get("args") or {}, workspace, service.handles, call=call, extra_tools=offer)
    reply = call_tool(request)
    return {"text": reply.text, "data": reply.data, "error": reply.error}


def trust_tools(service: Service, offer: Offer, name: str, tools: list[str]) -> JsonObject:
    """Accept changed descriptions, in every instance of the server."""
    server = offer.servers.get(name)
    if server is None:
        near = get_close_matches(name, offer.servers, 1)
        hint = f"Did you mean {near[0]}?" if near else f"Available: {', '.join(offer.servers)}."
        raise NotFoundError(f"no server named {name!r} is running", hint=hint)
    unknown = [tool for tool in tools if tool not in server.state.tools]
    if unknown:
        near = get_close_matches(unknown[0], server.state.tools, 1)
        raise NotFoundError(f"{name} has no tool {unknown[0]!r}", hint=f"Did you mean {near[0]}?" if near else "")
    chosen = frozenset(tools or server.state.changed) & server.state.changed
    for one in service.fleet.servers:
        if one.pin == server.pin:
            one.trust(chosen)
    return {"server": name, "trusted": sorted(chosen)}
