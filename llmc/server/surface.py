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
from llmc.envelope import failure, render
from llmc.envelope.clean import clean
from llmc.envelope.tokens import count
from llmc.errors import LlmcError
from llmc.indexer.library import FIRST_BUILD_SECONDS
from llmc.server import routing
from llmc.server.profiles import instructions_of, listed, offered, require_offered
from llmc.server.schemas import definition_of
from llmc.server.service import Shown
from llmc.server.tools import TOOLS, Reply, answer, tool

if TYPE_CHECKING:
    from llmc.server.calls import Call, Client
    from llmc.server.schemas import Definition
    from llmc.server.service import Service
    from llmc.server.sessions import Session
    from llmc.settings import Settings
    from llmc.workspace import Workspace

__all__ = ["InvalidParamsError", "Surface", "ToolSurface", "Visit"]

PROGRESS_SECONDS = 0.2


@dataclass(frozen=True, slots=True)
class Visit:
    """One request's asker: where it stands, and who it is."""

    client: Client
    session: Session


class Surface(Protocol):
    """Its methods run in threads; `call` takes as long as it takes and looks at `call.cancelled`."""

    @property
    def name(self) -> str:
        """As the server introduces itself."""

    @property
    def version(self) -> str: ...

    @property
    def instructions(self) -> str: ...

    def definitions(self, visit: Visit) -> tuple[Definition, ...]:
        """The tools that a client lists, always in the same order."""

    def unknown(self, visit: Visit, name: str) -> str:
        """Why there is no such tool, with the nearest one; empty when there is."""

    def call(self, visit: Visit, name: str, args: dict[str, Any], call: Call) -> Reply:
        """The reply, failures included. `InvalidParamsError` is for what the protocol itself must refuse."""


class InvalidParamsError(Exception):
    """Arguments that a surface refuses as a matter of protocol (-32602) and not in a reply."""


@dataclass(frozen=True)
class ToolSurface:
    """The tools of llmc. The profile is `server.profile` of the asker's settings, at each request; `profile` is the one
    at the beginning, whose instructions the client was given. Without `data` a reply is text alone."""

    service: Service
    profile: str = "lean"
    data: bool = True

    @property
    def name(self) -> str:
        return "llmc"

    @property
    def version(self) -> str:
        return __version__

    @property
    def instructions(self) -> str:
        return instructions_of(self.profile)

    def definitions(self, visit: Visit) -> tuple[Definition, ...]:
        session = visit.session
        shown = listed(self.service.settings_of(visit.client), session.allowed)
        session.listed = tuple(one.name for one in shown)
        session.changed = False
        return tuple(definition_of(one) for one in shown)

    def unknown(self, visit: Visit, name: str) -> str:
        known = [one for one in TOOLS if visit.session.may(one)]
        if name in known:
            return ""
        near = get_close_matches(name, known, 1)
        meant = f"Did you mean {near[0]}?" if near else f"There are {', '.join(known)}."
        return f"there is no tool {name!r}. {meant}"

    def call(self, visit: Visit, name: str, args: dict[str, Any], call: Call) -> Reply:
        try:
            workspace = self.service.workspace(call)
            visit.session.profile = workspace.settings.server.profile
            require_offered(tool(name), workspace.settings)
            if self.service.alone:
                workspace.index(Shown(call))
            else:
                wait_for_first_build(workspace, call)
            args = without_session(name, args)
            reply = answer(
                workspace, self.service.handles, name, args, session=visit.session, call=call, data=self.data
            )
        except LlmcError as error:
            envelope = clean(failure(name, error))
            return Reply(render(envelope), envelope.data, error=error.code)
        reply = hinted(visit.session, workspace.settings, name, args, reply)
        remember(visit.session, workspace.settings, name, args, reply)
        return reply


def hinted(session: Session, settings: Settings, name: str, args: dict[str, Any], reply: Reply) -> Reply:
    """A reply that found nothing says, once in a session, what else to try; others have no hints. Nor has one with a
    note: what is still being indexed may hold it."""
    if reply.total or reply.error or reply.frame or name not in routing.NEAR or f"hint {name}" in session.shown:
        return reply
    unlisted = [one for one in offered(settings, session.allowed) if settings.server.profile not in one.profiles]
    hint = routing.hint_for(name, args, unlisted, session.topics)
    session.shown.add(f"hint {name}")
    return replace(reply, text=f"{reply.text}\n{hint}", frame=hint) if hint else reply


def without_session(name: str, args: dict[str, Any]) -> dict[str, Any]:
    """`session_id` names the session where the protocol cannot (see `Visit`); it is then no argument of the tool."""
    if "session_id" not in args or any(one.name == "session_id" for one in tool(name).arguments):
        return args
    return {key: value for key, value in args.items() if key != "session_id"}


def wait_for_first_build(workspace: Workspace, call: Call) -> None:
    """A small root is worth waiting for, as `Library.settle` has it; here the client is told how far it is, and may
    give up."""
    tell = Shown(call)
    for keeper in workspace.keepers:
        last = keeper.opened + FIRST_BUILD_SECONDS
        while not keeper.built and tell(keeper) and time.monotonic() < last:
            if keeper.pending.wait_settled(PROGRESS_SECONDS):
                break


def remember(session: Session, settings: Settings, name: str, args: dict[str, Any], reply: Reply) -> None:
    """What this reply cost, what it was about, and whether the list of tools is another by now."""
    frame = count(reply.frame) if reply.frame else 0
    session.record(count(reply.text) - frame, frame)
    session.topics.update(routing.topics_of(name, args))
    if reply.handle:
        session.handles.append((reply.handle, routing.question_of(name, args)))
    now = tuple(one.name for one in listed(settings, session.allowed))
    session.changed = bool(session.listed) and session.listed != now
