"""tools: what can be asked? One file for each; `TOOLS` lists them in the order in which they are shown.

`answer` runs one: arguments checked, envelope made, cut to its budget, the rest kept behind a handle, written down.
Every surface (CLI, MCP, HTTP) calls it and shows the same reply.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from functools import lru_cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from llmc.envelope import Envelope, failure, fit, render
from llmc.envelope.clean import clean
from llmc.envelope.redact import Redactor
from llmc.errors import LlmcError, QueryError
from llmc.server.tools.base import Asked

if TYPE_CHECKING:
    from llmc.envelope.handles import Handles
    from llmc.server.calls import Call
    from llmc.server.sessions import Session
    from llmc.server.tools.base import Tool
    from llmc.settings import Redaction
    from llmc.workspace import Workspace

__all__ = ["TOOLS", "Reply", "answer", "tool"]

TOOLS = ("search", "grep", "read", "find", "outline", "refs", "context", "tree")


@dataclass(frozen=True, slots=True)
class Reply:
    """What a surface shows: `text` for a model or a person, `data` for a machine."""

    text: str
    data: dict[str, Any] = field(default_factory=dict)
    shown: int = 0
    total: int = 0
    handle: str = ""
    error: str = ""


def tool(name: str) -> Tool:
    if name not in TOOLS:
        near = get_close_matches(name, TOOLS, 1)
        raise QueryError(f"there is no tool {name!r}", hint=f"Did you mean {near[0]}?" if near else ", ".join(TOOLS))
    found: Tool = import_module(f"{__name__}.{name}").TOOL
    return found


def answer(
    workspace: Workspace,
    handles: Handles,
    name: str,
    args: dict[str, Any],
    *,
    session: Session | None = None,
    call: Call | None = None,
) -> Reply:
    """The reply to one call; an error of llmc's is a reply too."""
    try:
        wanted = tool(name)
        checked = wanted.check(args)
        asked = Asked(workspace, handles, checked, session.owner if session else "local", session, call)
        envelope = wanted.run(asked)
        return enclosed(asked, wanted, envelope)
    except LlmcError as error:
        envelope = clean(failure(name, error), redactor(workspace.settings.redaction))
        return Reply(render(envelope), envelope.data, error=error.code)


def enclosed(asked: Asked, wanted: Tool, envelope: Envelope) -> Reply:
    """Redact first, cut afterwards: half a secret is one too."""
    envelope = clean(envelope, redactor(asked.workspace.settings.redaction), asked.workspace.text_of)
    total = sum(1 for _ in envelope.items())
    if asked.flag("all"):
        return Reply(render(envelope), envelope.data, total, total)
    fitted = fit(envelope, budget_of(asked, wanted))
    if fitted.rest is None:
        return Reply(render(envelope), envelope.data, total, total)
    files = {item.path: asked.workspace.file_stamp(item.path, item.root) for item in envelope.items() if item.path}
    bare = replace(envelope, data={})
    handle = asked.handles.put(
        wanted.name,
        dict(asked.args),
        whole=bare,
        rest=replace(fitted.rest, data={}),
        stamp=asked.workspace.stamp(),
        owner=asked.owner,
        files=files,
    )
    return Reply(
        render(fitted.envelope, fitted.shown, fitted.total, handle.id, fitted.left),
        envelope.data,
        fitted.shown,
        fitted.total,
        handle.id,
    )


@lru_cache(maxsize=16)
def redactor(settings: Redaction) -> Redactor:
    return Redactor.of(settings)


def budget_of(asked: Asked, wanted: Tool) -> int:
    settings = asked.workspace.settings.envelope
    budget = asked.number("budget") or getattr(settings, wanted.budget)
    if budget < LEAST_BUDGET:
        raise QueryError(f"a budget of {budget} tokens is too small", hint=f"Give at least {LEAST_BUDGET}.")
    return min(budget, settings.cap)


LEAST_BUDGET = 50
