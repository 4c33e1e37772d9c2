"""The protocol-independent interface of a server: name, instructions, tool definitions, and calls.

MCP (`server.mcp`) and REST (`server.http`) use a `Surface` and know no tools themselves. `ToolSurface` lists the tools
of a profile; all other tools can be called by name. A profile with its own contract has another surface.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, Protocol

from llmc import __version__
from llmc.base.errors import LlmcError
from llmc.indexer.registry import FIRST_BUILD_SECONDS
from llmc.server.service import ProgressReporter
from llmc.tool import ToolRequest
from llmc.tool_schema import definition_of, described
from llmc.tools.call import call_tool, refuse_call
from llmc.tools.profiles import RUN, aliases, instructions_of, listed, offered
from llmc.tools.registry import ALIASES, TOOLS, tool

if TYPE_CHECKING:
    from llmc.envelope.reply import Reply
    from llmc.envelope.request import RunningRequest
    from llmc.envelope.tool_definition import ToolDefinition
    from llmc.extend.delegates.offer import Offer
    from llmc.server.personas import Personas
    from llmc.server.service import Service
    from llmc.settings import Settings
    from llmc.state.connected_sessions import ConnectedSession, RequestContext
    from llmc.tool import Tool
    from llmc.workspace import Workspace

__all__ = ["Surface", "ToolSurface", "surface_for"]

PROGRESS_SECONDS = 0.2
LONGEST_NAME = 80
# The tools of the lean profile, which stay loaded in clients that load others on demand: together they cost 300 tokens.
TITLES = {"search": "Search code", "grep": "Find text", "read": "Read code", "llmc": "More tools", RUN: "Run a tool"}
CHARS_PER_TOKEN = 6  # more than code or prose has


class Surface(Protocol):
    """Its methods run in threads; `call` may take long and checks `call.cancelled`."""

    @property
    def name(self) -> str:
        """The name of the server."""

    @property
    def version(self) -> str: ...

    @property
    def instructions(self) -> str: ...

    def definitions(self, context: RequestContext) -> tuple[ToolDefinition, ...]:
        """The tools listed to the client, always in the same order."""

    def unknown(self, context: RequestContext, name: str) -> str:
        """Why there is no such tool, with the nearest name; empty when it exists."""

    def call(self, context: RequestContext, name: str, args: dict[str, Any], call: RunningRequest) -> Reply:
        """The reply, including failures. `InvalidParamsError` is for protocol errors."""


@dataclass(frozen=True)
class ToolSurface:
    """The tools of llmc. Each request uses `server.profile` of the client's settings; `profile` is the initial one,
    whose instructions the client received unless `persona_instructions` replaced them. Without `data`, replies are text
    only. Replies that no model reads are not `recorded` in the ledger; `packed` ones are for another llmc."""

    service: Service
    profile: str = "lean"
    data: bool = True
    recorded: bool = True
    packed: bool = False
    persona_instructions: str = ""

    @property
    def name(self) -> str:
        return "llmc"

    @property
    def version(self) -> str:
        return __version__

    @property
    def instructions(self) -> str:
        return self.persona_instructions or instructions_of(self.profile)

    @property
    def personas(self) -> Personas | None:
        if not self.service.has_personas:
            return None
        from llmc.server.personas import Personas  # noqa: PLC0415 - Lua and TOML, which few need

        return Personas(self.service)

    def definitions(self, context: RequestContext) -> tuple[ToolDefinition, ...]:
        session = context.session
        settings = self.service.settings_of(context.client)
        offer = self.service.extra_tools(context.client, settings)
        if offer is not None:
            offer.settle()
        tools = tools_for(session, settings, offer)
        names, before = names_of(tools, offer, session), session.listed
        session.listed = names
        session.changed = False
        definitions = tuple(definition_for(one, settings, offer, session) for one in tools)
        if names != before:
            self.service.ledger.listed(session, definitions, "" if before else self.instructions)
        return definitions

    def unknown(self, context: RequestContext, name: str) -> str:
        known = [one for one in TOOLS if context.session.may(one)]
        if name in known or (name in ALIASES and context.session.may(name)):
            return ""
        offer = self._offer_of(context)
        if name not in TOOLS and offer and offer.knows(name) and offer.open_to(name, context.session.allowed):
            return ""
        known += aliases(context.session.allowed, offer.own_names if offer else ())
        known += offer.names(context.session.allowed) if offer else []
        if name in TOOLS:
            return f"{name} is not available to {context.session.agent or 'this session'}: {', '.join(known)}"
        near = get_close_matches(name, known, 1)
        meant = f"Did you mean {near[0]}?" if near else f"Available: {', '.join(known)}."
        return f"there is no tool {name[:LONGEST_NAME]!r}. {meant}"

    def _offer_of(self, context: RequestContext) -> Offer | None:
        try:
            return self.service.extra_tools(context.client, self.service.settings_of(context.client))
        except LlmcError:
            return None  # invalid settings are reported in the reply to a call

    def is_stale(self, context: RequestContext) -> bool:
        """Whether the tool list that the client received is outdated."""
        session = context.session
        settings = self.service.settings_of(context.client)
        return changed(session, settings, self.service.extra_tools(context.client, settings))

    def call(self, context: RequestContext, name: str, args: dict[str, Any], call: RunningRequest) -> Reply:
        started = time.perf_counter()
        service, session = self.service, context.session
        ledger = service.ledger if self.recorded else None
        try:
            builtin = name in TOOLS
            workspace = service.workspace(call) if builtin else service.bare_workspace(call)
            session.profile = workspace.settings.server.profile
            extra = service.extra_tools(context.client, workspace.settings)
            if builtin or (extra is not None and name in extra.scripts):
                wait_for_index(service, workspace, call)
        except LlmcError as error:
            return refuse_call(name, error, session, ledger, started)
        reply = call_tool(
            ToolRequest(
                name,
                without_session(name, args, extra),
                workspace,
                service.handles,
                session=session,
                client=context.client,
                call=call,
                extra_tools=extra,
                data=self.data,
                packed=self.packed,
                received_at=call.received_at,
                ledger=ledger,
            )
        )
        session.changed = changed(session, workspace.settings, extra)
        return reply


def tools_for(session: ConnectedSession, settings: Settings, offer: Offer | None) -> tuple[Tool, ...]:
    """The tools listed to this session: those of its profile, and the user's delegates."""
    if offer is None:
        return listed(settings, session.allowed)
    acting = bool(offer.acting(session.allowed))
    own = listed(settings, session.allowed, extra_effects=acting, taken=offer.own_names)
    return (*own, *offer.listed(session.allowed))


def names_of(tools: tuple[Tool, ...], offer: Offer | None, session: ConnectedSession) -> tuple[str, ...]:
    """The identity of a list: tool names, and the servers behind `run`."""
    suffix = offer.suffix(session.allowed) if offer else ""
    return (*(one.name for one in tools), *filter(None, (suffix,)))


def changed(session: ConnectedSession, settings: Settings, offer: Offer | None) -> bool:
    """Whether the session's tool list is outdated."""
    if not session.listed:
        return False
    return session.listed != names_of(tools_for(session, settings, offer), offer, session)


def definition_for(one: Tool, settings: Settings, offer: Offer | None, session: ConnectedSession) -> ToolDefinition:
    """The definition of a tool. The description of `run` names what it runs, including the user's servers."""
    definition = replace(
        definition_of(one) if session.profile == "lean" else described(one),
        title=TITLES.get(one.name) or one.name.replace("_", " ").capitalize(),
        always_load=one.name in TITLES or (one.name in TOOLS and settings.server.profile == "research"),
        longest_chars=settings.envelope.cap * CHARS_PER_TOKEN,
    )
    if one.name != RUN:
        return definition
    tools = tools_for(session, settings, offer)
    every = offered(settings, session.allowed)
    unlisted = [other.name for other in every if other.has_side_effects and other not in tools]
    named = f": {', '.join(unlisted)}." if unlisted else "."
    suffix = offer.suffix(session.allowed) if offer else ""
    return replace(definition, description=definition.description.rstrip(".") + named + suffix)


def without_session(name: str, args: dict[str, Any], offer: Offer | None = None) -> dict[str, Any]:
    """Remove `session_id`, which names the session where the protocol cannot, unless the tool has such an argument."""
    if "session_id" not in args:
        return args
    wanted = (offer.find(name) if offer and name not in TOOLS else None) or tool(name)
    if any(one.name == "session_id" for one in wanted.arguments):
        return args
    return {key: value for key, value in args.items() if key != "session_id"}


def wait_for_index(service: Service, workspace: Workspace, call: RunningRequest) -> None:
    if service.alone:
        call.seconds = math.inf  # no limit until the tool sets its own, since building an index may take long
        workspace.index(ProgressReporter(call))
    else:
        wait_for_first_build(workspace, call)


def wait_for_first_build(workspace: Workspace, call: RunningRequest) -> None:
    """Wait for the first build of small roots, like `IndexRegistry.settle`, with progress reports and cancellation."""
    report = ProgressReporter(call)
    for root_index in workspace.root_indexes:
        last = root_index.opened + FIRST_BUILD_SECONDS
        while not root_index.built and report(root_index) and time.monotonic() < last:
            if root_index.pending.wait_settled(PROGRESS_SECONDS):
                break


def surface_for(service: Service, profile: str, *, data: bool = True, persona_instructions: str = "") -> Surface:
    """`data`: replies contain structured data besides the text, which MCP does not use."""
    if profile == "pruner":
        from llmc.server.pruner_surface import PrunerSurface  # noqa: PLC0415 - imports this module

        return PrunerSurface(service)
    return ToolSurface(service, profile, data, persona_instructions=persona_instructions)
