"""The one way to call a tool. Every surface (CLI, MCP, REST, ask, delegates) builds a `ToolRequest`, shows the `Reply`.

    resolve → authorize → validate → admit → cache → run → redact → focus → fit → store handle → render → account

`reply.build_reply` is the part from redact to render; `registry` has the built-in tools and their feature switches.
"""

from __future__ import annotations

import time
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from llmc.base.concurrency import slot
from llmc.base.errors import LlmcError, QueryError
from llmc.state.metrics import METER, RECENT
from llmc.tool import budget_of
from llmc.tools.accounting import account
from llmc.tools.registry import ALIASES, TOOLS, is_offered, require_offered, tool
from llmc.tools.remotes import asks_remotes, in_scope_anywhere, run_anywhere
from llmc.tools.reply import build_reply, error_reply, failed_reply
from llmc.tools.reply_cache import cached_reply
from llmc.tools.scope import names_unindexed

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from llmc.envelope.reply import Reply
    from llmc.settings import Settings
    from llmc.state.connected_sessions import ConnectedSession
    from llmc.state.ledger import Ledger
    from llmc.tool import Tool, ToolRequest

__all__ = ["call_tool", "refuse_call"]


def call_tool(request: ToolRequest) -> Reply:
    """The reply to one call; an error of llmc's is a reply too."""
    started = time.perf_counter()
    request = replace(request, runtime=RUNTIME)
    try:
        while True:
            wanted = resolve(request)
            authorize(request, wanted)
            if request.name in ALIASES and "id" in request.args:  # what the specification calls the target of `get`
                request = replace(request, args={"target": request.args["id"], **without_id(request.args)})
            request = replace(request, args=wanted.check(request.args, request.workspace.settings.limits))
            other = wanted.forward(request) if wanted.forward else None
            if other is None:
                break
            request = replace(request, name=other[0], args=other[1])
        own = wanted.own_args(request)  # a script, delegate or downstream tool may have a `repo` or `budget` of its own
        workspace = in_scope_anywhere(own).workspace
        request = replace(
            request,
            workspace=workspace,
            provisional=wanted.depends_on_index() and workspace.is_building,
            numbered=(request.numbered or request.workspace.settings.envelope.numbered) and not own.unlimited,
        )
        budget_of(own, wanted)  # an invalid budget is refused before the tool runs
        if request.call is not None:
            limits = request.workspace.settings.limits
            request.call.allow(wanted.seconds_allowed(request.workspace.settings), limits.call_memory_bytes)
        with slot() if wanted.cpu_bound else nullcontext():
            build = partial(build_reply, request, wanted)
            if asks_remotes(request):
                reply = build(run_anywhere(request, wanted))
            elif wanted.is_cacheable(request) and not names_unindexed(request):
                reply = cached_reply(request, wanted, build)
            else:
                reply = build(wanted.run(request))
    except LlmcError as error:
        reply = error_reply(request, error)
    reply = account(request, reply)
    seconds = time.perf_counter() - started
    METER.observe(request.name, seconds, reply)
    if request.client is not None:
        request.workspace.note_call(request.name, reply.roots, reply.error, seconds)
    if request.ledger is not None:
        request.ledger.note(request.session, request.name, seconds, reply)
        RECENT.add(request.workspace, request.session, request.name, args=request.args, seconds=seconds, reply=reply)
    return reply


def refuse_call(name: str, error: LlmcError, session: ConnectedSession, ledger: Ledger | None, started: float) -> Reply:
    """The reply to a call whose workspace could not be opened; it counts like any other."""
    reply = failed_reply(name, error)
    seconds = time.perf_counter() - started
    METER.observe(name, seconds, reply)
    if ledger is not None:
        ledger.note(session, name, seconds, reply)
    return reply


def without_id(args: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in args.items() if name != "id"}


def resolve(request: ToolRequest) -> Tool:
    """A built-in tool, or one of the user's own."""
    if request.tool is not None:
        return request.tool
    extra = request.extra_tools
    return (extra.find(request.name) if extra and request.name not in TOOLS else None) or tool(request.name)


def authorize(request: ToolRequest, wanted: Tool) -> None:
    """Whether this session may use the tool, and whether the user switched it on."""
    if request.tool is not None:
        return
    name, session, extra = request.name, request.session, request.extra_tools
    opened = extra is not None and name not in TOOLS and extra.open_to(name, request.allowed)
    if session is not None and not session.may(name) and not opened:
        raise QueryError(f"{name} is not available to this session", hint="`llmc` lists the tools that are.")
    if name in TOOLS or name in ALIASES:
        require_offered(wanted, request.workspace.settings)


@dataclass(frozen=True, slots=True)
class _Runtime:
    """What a running tool may use of the others."""

    def names(self) -> tuple[str, ...]:
        return TOOLS

    def get(self, name: str) -> Tool:
        return tool(name)

    def is_offered(self, wanted: Tool, settings: Settings) -> bool:
        return is_offered(wanted, settings)

    def call(self, request: ToolRequest) -> Reply:
        return call_tool(request)


RUNTIME = _Runtime()
