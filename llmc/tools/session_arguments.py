"""How a tool accesses the memory: its arguments as keys, values and agents, its findings as lines."""

from __future__ import annotations

import contextlib
import json
from typing import TYPE_CHECKING, Any

from llmc.base.errors import NotFoundError, QueryError
from llmc.envelope import Group, Item, Row
from llmc.envelope.clean import without_secrets
from llmc.envelope.redact.redactor import redactor_for
from llmc.settings import EmbedderSettings
from llmc.state.sessions.checkpoint import one_line, value_lines
from llmc.state.sessions.database import unknown
from llmc.state.sessions.join import join, joined, memory_of, owner_of, place_of
from llmc.state.sessions.recall import Remembered, recall
from llmc.state.sessions.values import SHARED, TOOLS

if TYPE_CHECKING:
    from llmc.state.sessions.values import SessionEntry, SessionRecord, SessionValue
    from llmc.tool import ToolRequest

__all__ = [
    "agent_of",
    "as_data",
    "begin_note",
    "entry_data",
    "entry_row",
    "group",
    "key_of",
    "present",
    "remembered_for",
    "required",
    "slice_of",
    "text_of",
    "value_of",
    "version_of",
    "writer_label",
    "writer_of",
]

LONGEST_KEY = 200


def key_of(request: ToolRequest) -> str:
    key = request.text("key").strip()
    if not key or len(key) > LONGEST_KEY:
        raise QueryError(
            f"session {request.text('action')} needs a key", hint="Such as plan, goal, context, or your own."
        )
    return key


def agent_of(request: ToolRequest) -> str:
    """Whose private keys are visible: the agent that the caller names, else the persona of the connection."""
    return request.text("agent") or (request.session.agent if request.session else "")


def writer_of(request: ToolRequest) -> str:
    """Two connections are two writers, even under one name."""
    session = request.session
    return f"{agent_of(request) or (session.client if session else 'cli')}@{session.id if session else 'cli'}"


def slice_of(request: ToolRequest) -> str:
    if not request.flag("private"):
        return SHARED
    if not agent_of(request):
        raise QueryError("private to whom?", hint="Say which agent you are: agent=otto.")
    return agent_of(request)


def version_of(request: ToolRequest) -> int | None:
    return request.number("version") if "version" in request.args else None


def value_of(request: ToolRequest) -> Any:
    """The value as JSON if it is a list or an object, without secrets, including those that show only in the whole."""
    value = request.args["value"]
    try:
        return without_any_secret(parse_value(value) if isinstance(value, str) else value, request)
    except RecursionError:
        raise QueryError("the value is nested too deep", hint="Write it to a file, and keep its path.") from None


def without_any_secret(value: Any, request: ToolRequest) -> Any:
    clean = redactor_for(request.workspace.settings.redaction)
    if isinstance(value, str):
        return clean.redact(value).text
    value = without_secrets(value, clean)
    whole = json.dumps(value, ensure_ascii=False)
    redacted = clean.redact(whole, "value.json").text
    return value if redacted == whole else parse_value(redacted)


def parse_value(text: str) -> Any:
    """A list or an object; any other string is returned as it is."""
    if text.lstrip()[:1] not in {"{", "["}:
        return text
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def text_of(request: ToolRequest) -> str:
    value = value_of(request) if request.args.get("value") is not None else ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def begin_note(kept: SessionRecord, *, new: bool) -> str:
    return f" · session {kept.name}" if new else ""


def writer_label(writer: str) -> str:
    return f"by {writer.partition('@')[0] or 'unknown'}"


def entry_row(entry: SessionEntry, *, titled: bool = True) -> str:
    name = f"{entry.list} " if titled else ""
    speaker = f"{entry.speaker} " if entry.speaker else ""
    return f"{name}#{entry.number} {speaker}{entry.act}: {one_line(entry.text, 300)}"


def as_data(cell: SessionValue) -> dict[str, Any]:
    return {"key": cell.key, "value": cell.value, "version": cell.version, "writer": cell.writer.partition("@")[0],
            "at": cell.at, "private": bool(cell.agent)}  # fmt: skip


def entry_data(entry: SessionEntry) -> dict[str, Any]:
    return {"number": entry.number, "list": entry.list, "speaker": entry.speaker, "act": entry.act,
            "text": entry.text, "at": entry.at, **({"data": entry.data} if entry.data else {})}  # fmt: skip


def group(title: str, texts: list[str]) -> Group:
    return Group(title, tuple(Item((Row(text),)) for text in texts))


def remembered_for(request: ToolRequest, kept: SessionRecord, query: str, most: int) -> list[Remembered]:
    """The entries of the session that an agent may see and that are related to the query."""
    memory, agent = memory_of(request.workspace), agent_of(request)
    texts = [Remembered(f"{one.list} #{one.number} {one.act}", one.text, one.at, one.speaker)
             for name in ("", TOOLS) for one in memory.entries(kept, agent, name)]  # fmt: skip
    texts += [Remembered(f"{one.key} v{one.version}", f"{one.key}: {' '.join(value_lines(one.value))}", one.at,
                         one.writer.partition("@")[0]) for one in memory.cells(kept, agent)]  # fmt: skip
    # Always the bundled model: a session's words go to no endpoint.
    embedder, _ = request.workspace.registry.embedder(EmbedderSettings())
    return recall(memory.recalls, kept.id, texts, query, embedder=embedder, most=most)


def present(request: ToolRequest, name: str = "") -> SessionRecord:
    """The session that is named, or that the connection is in."""
    memory, session = memory_of(request.workspace), request.session
    if name:
        return memory.find(owner_of(request.owner), name)
    found = joined(memory, session, request.call.client if request.call else None) if session else None
    if found is None:
        raise NotFoundError(
            "there is no session yet", hint="`session set` or `append` begins one; `list` names others."
        )
    return found


def required(request: ToolRequest, name: str = "") -> tuple[SessionRecord, bool]:
    """(the same, or a new one; whether it is new). Two first calls of a connection at once make one."""
    memory, session, owner = memory_of(request.workspace), request.session, owner_of(request.owner)
    with memory.beginning:
        with contextlib.suppress(NotFoundError):
            return present(request, name), False
        if name:
            raise unknown(name)
        memory.sweep(request.workspace.settings.session.ttl_hours)
        made = memory.open(owner, place=place_of(request.workspace), client=session.client if session else "cli")
        if session is not None:
            join(memory, session, made)
        return made, True
