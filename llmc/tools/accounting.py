"""Token accounts of replies, and what the session remembers of them: the last stage of a call.

The ledger and `/metrics` are written by `tools.call` itself. Here a reply gets its token account, a hint if it found
nothing, and its place in the history of its session.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from llmc.envelope.differential import REPEATED
from llmc.envelope.reply import weight_of
from llmc.envelope.tokens import count, weigh
from llmc.state.connected_sessions import RequestContext
from llmc.state.sessions.join import record_call
from llmc.state.topics import question_of, topics_of
from llmc.tools import routing
from llmc.tools.profiles import offered

if TYPE_CHECKING:
    from collections.abc import Mapping

    from llmc.envelope import Envelope
    from llmc.envelope.reply import Reply
    from llmc.state.connected_sessions import ConnectedSession
    from llmc.tool import Tool, ToolRequest

__all__ = ["account", "remember", "with_weight"]


def with_weight(request: ToolRequest, wanted: Tool, envelope: Envelope, reply: Reply, size: int) -> Reply:
    """The reply with its token account. `envelope` holds all results, `size` is their plain text in characters."""
    reads = wanted.name == "read"
    weight = replace(
        weigh(reply.text, reply.frame, size),
        tool=wanted.name,
        fetched=reads and any(request.is_handle(one.partition(":")[0]) for one in request.texts("target")),
        pending=any("pending" in note or note.startswith("indexing") for note in envelope.notes),
        cut=bool(reply.handle),
        files=tuple({(item.root, item.path) for item in envelope.items() if item.path}) if reads else (),
    )
    return replace(reply, weight=weight)


def account(request: ToolRequest, reply: Reply) -> Reply:
    """The reply as the session sees it: with a hint where it helps, and recorded if a client made this very call."""
    if reply.weight is None:
        reply = replace(reply, weight=replace(weigh(reply.text, reply.frame), tool=request.name))
    session, client = request.session, request.client
    if session is None or client is None:
        return reply
    reply = with_hint(request, session, without_repetition(request, session, reply))
    remember(session, request.name, request.args, reply)
    return record_call(request.workspace, RequestContext(client, session), request.name, request.args, reply)


def without_repetition(request: ToolRequest, session: ConnectedSession, reply: Reply) -> Reply:
    """Only the places if this session had the same reply to the same call, unless the request is for the text."""
    if not reply.places or not request.workspace.settings.envelope.differential or request.cancelled:
        return reply
    call = json.dumps([request.name, {**request.args, "fresh": False}], sort_keys=True, default=str)
    repeated = session.replies.is_repeated(call, reply.text, session.content_tokens)
    if not repeated or request.flag("fresh"):
        return reply
    weight = weight_of(reply)
    short = weigh(reply.places, f"{reply.frame} · {REPEATED}")
    return replace(reply, text=reply.places, weight=replace(weight, content=short.content, frame=short.frame))


def remember(session: ConnectedSession, name: str, args: Mapping[str, Any], reply: Reply) -> None:
    """Records the cost of the reply, its subject and its handle."""
    weight = weight_of(reply)
    session.record(weight.content)
    session.topics.update(topics_of(name, args))
    if reply.handle:
        session.handles.append((reply.handle, question_of(name, args)))


def with_hint(request: ToolRequest, session: ConnectedSession, reply: Reply) -> Reply:
    """A reply that found nothing suggests another tool, once per session. A reply with a note does not: files that are
    still being indexed may contain the answer."""
    name = request.name
    if reply.total or reply.error or reply.frame or name not in routing.NEAR or f"hint {name}" in session.shown:
        return reply
    if session.allowed is not None:  # a limited session lists everything that it may use
        return reply
    settings = request.workspace.settings
    unlisted = [one for one in offered(settings, session.allowed) if settings.server.profile not in one.profiles]
    hint = routing.hint_for(name, request.args, unlisted, session.topics)
    session.shown.add(f"hint {name}")
    if not hint:
        return reply
    weight = weight_of(reply)
    heavier = replace(weight, frame=weight.frame + count(f"\n{hint}"))
    return replace(reply, text=f"{reply.text}\n{hint}", frame=hint, weight=heavier)
