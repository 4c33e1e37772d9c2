"""tools: what can be asked? One file for each; `TOOLS` lists them in the order in which they are shown.

`answer` runs one: arguments checked, envelope made, cut to its budget, the rest kept behind a handle, written down.
Every surface (CLI, MCP, HTTP) calls it and shows the same reply.
"""

from __future__ import annotations

from contextlib import nullcontext
from difflib import get_close_matches
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

from llmc.base.compute_slots import turn
from llmc.base.errors import LlmcError, QueryError
from llmc.envelope import failure, render
from llmc.envelope.clean import clean
from llmc.state.metrics import metered
from llmc.tool import FOCUS, ToolRequest
from llmc.tools.command_output import enclosed_output
from llmc.tools.nearest import with_nearest
from llmc.tools.reply import Reply, as_json, enclosed, redactor
from llmc.tools.reply_cache import replied_before

if TYPE_CHECKING:
    from llmc.envelope import Envelope
    from llmc.envelope.handles import Handles
    from llmc.envelope.request import RunningRequest
    from llmc.extend.delegates.offer import Offer
    from llmc.state.connected_sessions import ConnectedSession
    from llmc.tool import Tool
    from llmc.workspace import Workspace

__all__ = ["TOOLS", "Reply", "answer", "tool"]

TOOLS = (
    "search",
    "grep",
    "read",
    "llmc",
    "find",
    "outline",
    "refs",
    "context",
    "tree",
    "handle",
    "shell",
    "research_codebase",
    "locate_in_codebase",
    "find_patterns",
    "analyze_component",
    "ask",
    "create_handoff",
    "resume_handoff",
    "web_research",
    "session",
    "list_roots",
    "ping",
)


def tool(name: str) -> Tool:
    if name not in TOOLS:
        near = get_close_matches(name, TOOLS, 1)
        raise QueryError(f"there is no tool {name!r}", hint=f"Did you mean {near[0]}?" if near else ", ".join(TOOLS))
    found: Tool = import_module(f"{__name__}.{name}").TOOL
    return found


def may(session: ConnectedSession, name: str, offer: Offer | None) -> bool:
    return session.may(name) or (offer is not None and name not in TOOLS and offer.open_to(name, session.allowed))


@metered
def answer(
    workspace: Workspace,
    handles: Handles,
    name: str,
    args: dict[str, Any],
    *,
    session: ConnectedSession | None = None,
    call: RunningRequest | None = None,
    data: bool = True,
    offer: Offer | None = None,
    came: float | None = None,
) -> Reply:
    """The reply to one call; an error of llmc's is a reply too. Without `data` it has text only. `offer` are the tools
    that the user's own servers and delegates add. `came`: when it was asked, if what was made since may be shared; not
    for a step of a longer work, which may itself have changed what it asks about."""
    try:
        wanted = (offer.find(name) if offer and name not in TOOLS else None) or tool(name)
        if session is not None and not may(session, name, offer):
            raise QueryError(f"{name} is not for this session", hint="`llmc` lists what is.")
        checked = wanted.check(args)
        owner = session.owner if session else "local"
        asked = ToolRequest(workspace, handles, checked, owner, session, call, offer, data, came=came)
        if wanted.forward is not None and (other := wanted.forward(asked)) is not None:
            return answer(workspace, handles, *other, session=session, call=call, data=data, offer=offer, came=came)
        with turn() if wanted.quick else nullcontext():
            return replied(asked, wanted)
    except LlmcError as error:
        envelope = clean(failure(name, with_nearest(workspace, error)), redactor(workspace.settings.redaction))
        spoken = name in TOOLS and tool(name).speaks_json(session)
        return Reply(as_json(envelope.data) if spoken else render(envelope), envelope.data, error=error.code)


def replied(asked: ToolRequest, wanted: Tool) -> Reply:
    close = partial(closed, asked, wanted)
    return replied_before(asked, wanted, close) if wanted.is_steady(asked) else close(wanted.run(asked))


def closed(asked: ToolRequest, wanted: Tool, envelope: Envelope) -> Reply:
    """What a command printed is told in its own way."""
    if "output" in envelope.data and not asked.text(FOCUS.name):
        return enclosed_output(asked, wanted, envelope)
    return enclosed(wanted.ours(asked), wanted, envelope)
