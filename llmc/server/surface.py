"""What a server shows and does, whatever the protocol: a name, instructions, definitions, a function that answers.

MCP (`server.mcp`), REST (`server.http`) and the gateway ask a `Surface` and know no tools themselves. `ToolSurface` is
llmc's own: the tools of a profile are listed, every other one is reached by its name. A profile with a contract of its
own brings another surface.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, Protocol

from llmc import __version__
from llmc.base.errors import LlmcError
from llmc.envelope import failure, render
from llmc.envelope.clean import clean
from llmc.envelope.reply import Reply
from llmc.indexer.registry import FIRST_BUILD_SECONDS
from llmc.server.service import ProgressReporter
from llmc.tool import ToolRequest
from llmc.tool_schema import definition_of
from llmc.tools.call import call_tool
from llmc.tools.profiles import instructions_of, listed, offered
from llmc.tools.registry import TOOLS, tool

if TYPE_CHECKING:
    from llmc.envelope.request import RunningRequest
    from llmc.envelope.tool_definition import ToolDefinition
    from llmc.extend.delegates.offer import Offer
    from llmc.server.personas import Personas
    from llmc.server.service import Service
    from llmc.settings import Settings
    from llmc.state.connected_sessions import ConnectedSession, RequestContext
    from llmc.tool import Tool
    from llmc.workspace import Workspace

__all__ = ["Surface", "ToolSurface", "failed_reply"]

PROGRESS_SECONDS = 0.2
LONGEST_NAME = 80


class Surface(Protocol):
    """Its methods run in threads; `call` takes as long as it takes and looks at `call.cancelled`."""

    @property
    def name(self) -> str:
        """As the server introduces itself."""

    @property
    def version(self) -> str: ...

    @property
    def instructions(self) -> str: ...

    def definitions(self, visit: RequestContext) -> tuple[ToolDefinition, ...]:
        """The tools that a client lists, always in the same order."""

    def unknown(self, visit: RequestContext, name: str) -> str:
        """Why there is no such tool, with the nearest one; empty when there is."""

    def call(self, visit: RequestContext, name: str, args: dict[str, Any], call: RunningRequest) -> Reply:
        """The reply, failures included. `InvalidParamsError` is for what the protocol itself must refuse."""


@dataclass(frozen=True)
class ToolSurface:
    """The tools of llmc. The profile is `server.profile` of the asker's settings, at each request; `profile` is the one
    at the beginning, whose instructions the client was given, unless a persona has `said` others. Without `data` a
    reply is text alone. What no model reads is not `noted` in the ledger."""

    service: Service
    profile: str = "lean"
    data: bool = True
    noted: bool = True
    said: str = ""

    @property
    def name(self) -> str:
        return "llmc"

    @property
    def version(self) -> str:
        return __version__

    @property
    def instructions(self) -> str:
        return self.said or instructions_of(self.profile)

    @property
    def personas(self) -> Personas:
        from llmc.server.personas import Personas  # noqa: PLC0415 - Lua and TOML, which few need

        return Personas(self.service)

    def definitions(self, visit: RequestContext) -> tuple[ToolDefinition, ...]:
        session = visit.session
        settings = self.service.settings_of(visit.client)
        offer = self.service.extra_tools(visit.client, settings)
        if offer is not None:
            offer.settle()
        shown = shown_to(session, settings, offer)
        names, before = names_of(shown, settings, offer, session), session.listed
        session.listed = names
        session.changed = False
        definitions = tuple(defined(one, settings, offer, session) for one in shown)
        if names != before:
            self.service.ledger.listed(session, definitions, "" if before else self.instructions)
        return definitions

    def unknown(self, visit: RequestContext, name: str) -> str:
        known = [one for one in TOOLS if visit.session.may(one)]
        if name in known:
            return ""
        if name not in TOOLS:
            offer = self._offer_of(visit)
            if offer and offer.knows(name) and offer.open_to(name, visit.session.allowed):
                return ""
            known += offer.names(visit.session.allowed) if offer else []
        if name in TOOLS:
            return f"{name} is not among the tools of {visit.session.agent or 'this session'}: {', '.join(known)}"
        near = get_close_matches(name, known, 1)
        meant = f"Did you mean {near[0]}?" if near else f"There are {', '.join(known)}."
        return f"there is no tool {name[:LONGEST_NAME]!r}. {meant}"

    def _indexed(self, workspace: Workspace, call: RunningRequest) -> None:
        if self.service.alone:
            workspace.index(ProgressReporter(call))
        else:
            wait_for_first_build(workspace, call)

    def _offer_of(self, visit: RequestContext) -> Offer | None:
        try:
            return self.service.extra_tools(visit.client, self.service.settings_of(visit.client))
        except LlmcError:
            return None  # wrong settings: the reply to a call says so

    def is_stale(self, visit: RequestContext) -> bool:
        """Whether the client was given a list of tools that is another by now."""
        session = visit.session
        settings = self.service.settings_of(visit.client)
        return changed(session, settings, self.service.extra_tools(visit.client, settings))

    def call(self, visit: RequestContext, name: str, args: dict[str, Any], call: RunningRequest) -> Reply:
        started = time.perf_counter()
        service, session = self.service, visit.session
        ledger = service.ledger if self.noted else None
        try:
            builtin = name in TOOLS
            workspace = service.workspace(call) if builtin else service.bare_workspace(call)
            session.profile = workspace.settings.server.profile
            extra = service.extra_tools(visit.client, workspace.settings)
            if builtin:
                self._indexed(workspace, call)
        except LlmcError as error:
            reply = failed_reply(name, error)
            if ledger is not None:
                ledger.note(session, name, time.perf_counter() - started, reply)
            return reply
        reply = call_tool(
            ToolRequest(
                name,
                without_session(name, args, extra),
                workspace,
                service.handles,
                session=session,
                client=visit.client,
                call=call,
                extra_tools=extra,
                data=self.data,
                received_at=call.received_at,
                ledger=ledger,
            )
        )
        session.changed = changed(session, workspace.settings, extra)
        return reply


def failed_reply(name: str, error: LlmcError) -> Reply:
    envelope = clean(failure(name, error))
    return Reply(render(envelope), envelope.data, error=error.code)


def shown_to(session: ConnectedSession, settings: Settings, offer: Offer | None) -> tuple[Tool, ...]:
    """The tools that this session lists: those of its profile, and the user's own delegates."""
    added = offer.listed(session.allowed) if offer else ()
    return (*listed(settings, session.allowed), *added)


def names_of(
    shown: tuple[Tool, ...], settings: Settings, offer: Offer | None, session: ConnectedSession
) -> tuple[str, ...]:
    """What a list is known by: its tools, which servers stand behind the gateway, and whether anything there acts."""
    suffix = offer.suffix(session.allowed) if offer else ""
    acts = "" if gateway_reads(settings, offer, session) else "acts"
    return (*(one.name for one in shown), *filter(None, (suffix, acts)))


def gateway_reads(settings: Settings, offer: Offer | None, session: ConnectedSession) -> bool:
    """Whether nothing behind the gateway does more than read: no shell, no web, none of the user's servers."""
    return offer is None and not any(one.has_side_effects for one in offered(settings, session.allowed))


def changed(session: ConnectedSession, settings: Settings, offer: Offer | None) -> bool:
    """Whether the list that the session was given is another by now."""
    if not session.listed:
        return False
    return session.listed != names_of(shown_to(session, settings, offer), settings, offer, session)


def defined(one: Tool, settings: Settings, offer: Offer | None, session: ConnectedSession) -> ToolDefinition:
    """The gateway says which servers of the user stand behind it."""
    made = definition_of(one)
    if one.name != "llmc":
        return made
    suffix = offer.suffix(session.allowed) if offer else ""
    reads_only = gateway_reads(settings, offer, session)
    return replace(made, description=made.description + suffix, reads_only=reads_only)


def without_session(name: str, args: dict[str, Any], offer: Offer | None = None) -> dict[str, Any]:
    """`session_id` names the session where the protocol cannot (see `RequestContext`); it is then no argument of the
    tool."""
    if "session_id" not in args:
        return args
    wanted = (offer.find(name) if offer and name not in TOOLS else None) or tool(name)
    if any(one.name == "session_id" for one in wanted.arguments):
        return args
    return {key: value for key, value in args.items() if key != "session_id"}


def wait_for_first_build(workspace: Workspace, call: RunningRequest) -> None:
    """A small root is worth waiting for, as `Library.settle` has it; here the client is told how far it is, and may
    give up."""
    tell = ProgressReporter(call)
    for root_index in workspace.root_indexes:
        last = root_index.opened + FIRST_BUILD_SECONDS
        while not root_index.built and tell(root_index) and time.monotonic() < last:
            if root_index.pending.wait_settled(PROGRESS_SECONDS):
                break
