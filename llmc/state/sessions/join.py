"""Which kept session is a connection in, and what of its calls is written down?

A connection is in none until it matters: when a request names a session (`session_id`, `_meta`, a header), when a tool
needs one (`session`, `ask`), or when the settings have a budget. From then on every call of it is told in the session's
tool history and counted. The connection's name is kept too, so that a restart of the daemon changes nothing for a
client whose relay goes on. A call never fails because its session could not be written.
"""

from __future__ import annotations

import contextlib
import os
import re
import threading
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from llmc.base import logs
from llmc.base.errors import LlmcError, NotFoundError
from llmc.envelope.clean import clean_text
from llmc.envelope.redact.redactor import redactor_for
from llmc.envelope.reply import weight_of
from llmc.envelope.tokens import count
from llmc.state.sessions.memory import Memory
from llmc.state.sessions.spending import advice
from llmc.state.sessions.values import TOOLS, SessionEntry
from llmc.state.topics import question_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from llmc.base.home import Home
    from llmc.envelope.reply import Reply
    from llmc.envelope.request import ClientInfo
    from llmc.state.connected_sessions import ConnectedSession, RequestContext
    from llmc.state.sessions.values import SessionRecord
    from llmc.workspace import Workspace

__all__ = ["close_memory", "join", "joined", "memory_of", "owner_of", "place_of", "record_call"]

log = logs.get("memory")

# Names that are no client's own: all that came without one, and the ids that the MCP SDK gives out.
NAMELESS: Final = frozenset({"", "here", "http"})
GIVEN_OUT: Final = re.compile(r"[0-9a-f]{32}")
MOST_FILES: Final = 5

_memories: dict[str, Memory] = {}
_lock = threading.Lock()


def memory_of(workspace: Workspace) -> Memory:
    """One for each home."""
    path = workspace.registry.home.path
    with _lock:
        found = _memories.get(path)
        if found is None:
            found = _memories[path] = Memory(os.path.join(path, "sessions.sqlite"))  # noqa: PTH118 - strings, as Home
            found.sweep(workspace.settings.session.ttl_hours)
        return found


def close_memory(home: Home) -> None:
    with _lock:
        found = _memories.pop(home.path, None)
    if found is not None:
        found.close()


def owner_of(owner: str) -> str:
    """Handles belong to a client of a token; a session to the token, since it is resumed by another client."""
    return owner.partition("/")[0]


def join(memory: Memory, session: ConnectedSession, kept: SessionRecord) -> None:
    with memory.lock:
        memory.known[session] = kept.name
    if session.id not in NAMELESS:
        memory.join(kept, session.id)


def joined(memory: Memory, session: ConnectedSession, client: ClientInfo | None) -> SessionRecord | None:
    """The session that this connection is in, if any; a request that names one is in that."""
    owner = owner_of(session.owner)
    with memory.lock:
        name = memory.known.get(session)
    if name:
        with contextlib.suppress(NotFoundError):  # dropped; whoever names it begins it anew
            return memory.find(owner, name)
    if name == "":
        return None
    name = name_for(memory, session, client, owner)
    with memory.lock:
        memory.known[session] = name
    return memory.find(owner, name) if name else None


def name_for(memory: Memory, session: ConnectedSession, client: ClientInfo | None, owner: str) -> str:
    """Empty for a connection that is in none so far."""
    if session.id in NAMELESS:
        return ""
    before = memory.joined(owner, session.id)
    if before is not None:
        return before.name
    named = client is not None and session.id != client.session and not GIVEN_OUT.fullmatch(session.id)
    return memory.open(owner, session.id, client=session.client).name if named else ""


def place_of(workspace: Workspace) -> str:
    return ", ".join(root_index.root.name for root_index in workspace.root_indexes)


def record_call(
    workspace: Workspace, context: RequestContext, name: str, args: Mapping[str, Any], reply: Reply
) -> Reply:
    """Write the call to the session's history. The reply gets a note about the session's budget when it is due."""
    session = context.session
    try:
        memory = memory_of(workspace)
        kept = joined(memory, session, context.client)
        budget = workspace.settings.session.budget_tokens
        if kept is None and budget and session.id not in NAMELESS:
            kept = memory.open(owner_of(session.owner), place=place_of(workspace), client=session.client)
            join(memory, session, kept)
        if kept is None:
            return reply
        weight = weight_of(reply)
        tool = weight.tool or name
        told = () if tool == "session" else (history(workspace, session, tool, args, reply),)
        kept = memory.spend(kept, weight.content, weight.frame, *told)
        return framed(reply, advice(memory, kept, budget))
    except LlmcError as error:
        log.warning("session not written", reason=str(error))
        return reply


def history(
    workspace: Workspace, session: ConnectedSession, tool: str, args: Mapping[str, Any], reply: Reply
) -> SessionEntry:
    weight = weight_of(reply)
    text = clean_text(question_of(tool, args), redactor_for(workspace.settings.redaction))
    data: dict[str, Any] = {"tool": tool, "tokens": weight.content + weight.frame}
    data |= {key: value for key, value in (("handle", reply.handle), ("error", reply.error)) if value}
    if weight.files:
        data["files"] = sorted({path for _, path in weight.files})[:MOST_FILES]
    return SessionEntry(TOOLS, text, session.agent or session.client, tool, data=data)


def framed(reply: Reply, words: str) -> Reply:
    if not words:
        return reply
    weight = weight_of(reply)
    heavier = replace(weight, frame=weight.frame + count(f"\n{words}"))
    return replace(reply, text=f"{reply.text}\n{words}", frame=f"{reply.frame}\n{words}", weight=heavier)
