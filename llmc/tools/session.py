"""`session`: the shared knowledge of several agents, clients and days of one piece of work, stored by the server."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from llmc.base.errors import NotFoundError, QueryError
from llmc.envelope import Envelope, Group, Item, Row
from llmc.envelope.fields import columns
from llmc.envelope.phrases import plural
from llmc.state.sessions import Draft, SessionEntry, memory_of
from llmc.state.sessions.checkpoint import checkpoint, one_line, value_lines
from llmc.state.sessions.join import budget_of, join, owner_of
from llmc.state.sessions.values import CHECKPOINTS, LOG, TOOLS
from llmc.tool import ALL, BUDGET, Argument, Tool, ToolRequest
from llmc.tools.handle import minutes
from llmc.tools.session_arguments import (
    agent_of,
    as_data,
    begin_note,
    entry_data,
    entry_row,
    group,
    key_of,
    present,
    remembered_for,
    required,
    slice_of,
    text_of,
    value_of,
    version_of,
    writer_label,
    writer_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from llmc.state.sessions import SessionRecord

LAST = 20
MOST_FOUND = 8


def run(request: ToolRequest) -> Envelope:
    action = request.text("action", "show").strip().lower()
    if action not in ACTIONS:
        raise QueryError(f"session has no action {action!r}", hint=f"There are {', '.join(ACTIONS)}.")
    return ACTIONS[action](request)


# ---- sessions ----


def listed(request: ToolRequest) -> Envelope:
    found = memory_of(request.workspace).all(owner_of(request.owner))
    now = time.time()
    table = [
        {
            "session": one.name,
            "used": minutes(now - one.used),
            "calls": one.calls,
            "tokens": one.content + one.frame,
            "in": one.place,
            "client": one.client,
        }
        for one in found
    ]
    head, lines = columns(table)
    groups = (Group(head, tuple(Item((Row(line),)) for line in lines)),) if table else ()
    return Envelope("session", plural(len(found), "session"), groups, data={"sessions": table}, in_order=True)


def shown(request: ToolRequest) -> Envelope:
    """Its keys, its lists, and its cost."""
    kept = present(request, request.text("name"))
    memory, agent = memory_of(request.workspace), agent_of(request)
    cells, lists = memory.cells(kept, agent), memory.lists(kept, agent)
    budget = budget_of(memory, kept, request.workspace.settings.session.budget_tokens)
    share = f", {kept.served * 100 // budget} % of {budget:,}" if budget else ""
    found = f"session {kept.name}: {plural(kept.calls, 'call')}, {kept.content + kept.frame:,} tokens{share}"
    rows = [
        f"{one.key} v{one.version} {writer_label(one.writer)}: {one_line(' '.join(value_lines(one.value)), 100)}"
        for one in cells
    ]
    counted = [f"{name} {number}" for name, number in lists.items()]
    groups = [group("keys", rows), group("lists", [", ".join(counted)] if counted else [])]
    last = memory.entries(kept, agent, last=LAST)
    groups.append(group("last entries", [entry_row(one) for one in reversed(last)]))
    notes = (f"{plural(kept.lost, 'old entry')} gave way",) if kept.lost else ()
    data = {
        "session": kept.name, "calls": kept.calls, "content": kept.content, "frame": kept.frame, "budget": budget,
        "keys": [as_data(one) for one in cells], "lists": lists, "entries": [entry_data(one) for one in last],
    }  # fmt: skip
    return Envelope("session", found, tuple(one for one in groups if one.items), notes, data=data, in_order=True)


def resumed(request: ToolRequest) -> Envelope:
    """This connection continues a session that another one began."""
    name = request.text("name") or request.text("key")
    if not name:
        raise QueryError("which session?", hint="session list names them; then session resume name=…")
    memory = memory_of(request.workspace)
    kept = memory.find(owner_of(request.owner), name)
    if request.session is not None:
        join(memory, request.session, kept)
        memory.begin_context(kept)
    return checkpoint_envelope(request, kept)


def checkpointed(request: ToolRequest) -> Envelope:
    """The state of the work; `value` is the agent's own summary, which is listed first from now on."""
    kept, _ = required(request, request.text("name"))
    own = text_of(request)
    memory = memory_of(request.workspace)
    if own:
        memory.append(
            kept, SessionEntry(CHECKPOINTS, one_line(own, 600), agent_of(request), "checkpoint", slice_of(request))
        )
    return checkpoint_envelope(request, kept)


def checkpoint_envelope(request: ToolRequest, kept: SessionRecord) -> Envelope:
    lines = checkpoint(memory_of(request.workspace), kept, agent_of(request), request.is_alive)
    first, *rest = lines
    data = {"session": kept.name, "checkpoint": "\n".join(lines)}
    return Envelope("session", first, (group("", rest),) if rest else (), data=data, in_order=True)


def dropped(request: ToolRequest) -> Envelope:
    """A whole session by its name, or one key of it."""
    memory, name, key = memory_of(request.workspace), request.text("name"), request.text("key")
    if key:
        kept = present(request, name)
        memory.put(kept, Draft(key, None, writer_of(request), version_of(request), slice_of(request)))
        return Envelope("session", f"{key} dropped", data={"dropped": key})
    if not name:
        raise QueryError("which session?", hint="Name one, or a key of this one.")
    memory.drop(owner_of(request.owner), name)
    return Envelope("session", f"session {name} dropped", data={"dropped": name})


# ---- keys and lists ----


def got(request: ToolRequest) -> Envelope:
    kept = present(request, request.text("name"))
    memory, key, agent = memory_of(request.workspace), key_of(request), agent_of(request)
    cell = memory.get(kept, key, agent)
    if cell is not None:
        found = f"{cell.key} v{cell.version} {writer_label(cell.writer)}, {minutes(time.time() - cell.at)} ago"
        return Envelope("session", found, (group("", value_lines(cell.value)),), data=as_data(cell), in_order=True)
    entries = memory.entries(kept, agent, key, LAST if not request.flag("all") else 5_000)
    if entries:
        total = memory.lists(kept, agent)[key]
        rows = [entry_row(one, titled=False) for one in reversed(entries)]
        data = {"key": key, "total": total, "entries": [entry_data(one) for one in entries]}
        return Envelope("session", f"{key}: {plural(total, 'entry')}, newest first", (group("", rows),), data=data)
    known = [*(one.key for one in memory.cells(kept, agent)), *memory.lists(kept, agent)]
    hint = f"There are {', '.join(known[:20])}." if known else f"Nothing is kept in session {kept.name} yet."
    raise NotFoundError(f"{key} is not set", hint=hint)


def put(request: ToolRequest) -> Envelope:
    if request.args.get("value") is None:
        raise QueryError("session set needs a value", hint="session drop forgets a key.")
    kept, new = required(request, request.text("name"))
    draft = Draft(key_of(request), value_of(request), writer_of(request), version_of(request), slice_of(request))
    cell = memory_of(request.workspace).put(kept, draft)
    return Envelope(
        "session",
        f"{cell.key} v{cell.version}{begin_note(kept, new=new)}",
        data={"session": kept.name, **as_data(cell)},
    )


def appended(request: ToolRequest) -> Envelope:
    """Appends to a list, the log unless a key is given; appends never conflict."""
    text = text_of(request)
    if not text:
        raise QueryError("session append needs a value", hint="What is to be remembered, in a sentence or as JSON.")
    kept, new = required(request, request.text("name"))
    name = request.text("key", LOG)
    if name == TOOLS:
        raise QueryError("the tool history is written by llmc alone", hint="Append to log, or to a list of your own.")
    agent = agent_of(request)
    entry = SessionEntry(name, text, agent, one_line(request.text("act", "said"), 40), slice_of(request))
    number = memory_of(request.workspace).append(kept, entry)
    return Envelope(
        "session", f"{name} #{number}{begin_note(kept, new=new)}", data={"session": kept.name, "number": number}
    )


def searched(request: ToolRequest) -> Envelope:
    kept = present(request, request.text("name"))
    query = request.text("query") or text_of(request)
    if not query.strip():
        raise QueryError("session search needs a query", hint="In words what was said or found.")
    found = remembered_for(request, kept, query, MOST_FOUND)
    now = time.time()
    items = tuple(
        Item(tuple(Row(line) for line in one.text.split("\n")), f"{one.of} {one.speaker}, {minutes(now - one.at)} ago")
        for one in found
    )
    data = {"session": kept.name, "query": query, "found": [
        {"of": one.of, "speaker": one.speaker, "at": one.at, "text": one.text} for one in found
    ]}  # fmt: skip
    groups = (Group("", items),) if items else ()
    return Envelope("session", plural(len(found), "memory"), groups, data=data, in_order=True)


ACTIONS: dict[str, Callable[[ToolRequest], Envelope]] = {
    "show": shown,
    "list": listed,
    "get": got,
    "set": put,
    "append": appended,
    "search": searched,
    "checkpoint": checkpointed,
    "resume": resumed,
    "drop": dropped,
}

TOOL = Tool(
    name="session",
    summary="Session memory kept by the server: get, set, append, search, checkpoint, resume.",
    run=run,
    arguments=(
        Argument("action", "string", f"One of {', '.join(ACTIONS)}; show when left out."),
        Argument("key", "string", "plan, goal, log, context, tools, budget, or a key of your own."),
        Argument("value", "value", "Text or JSON to set or append; to checkpoint, your own summary."),
        Argument(
            "version",
            "integer",
            "The version you last saw; 0 if the key must be new. Keys of others require it.",
        ),
        Argument("name", "string", "Session to use instead of this connection's."),
        Argument("agent", "string", "Your agent name; shared keys and your own are visible."),
        Argument("private", "boolean", "Visible to this agent only."),
        Argument("act", "string", "Kind of an appended entry: said, asked, found, decided, solution."),
        Argument("query", "string", "What to search for in the session's memory.", text="free"),
        BUDGET,
        ALL,
    ),
    examples=(
        "session action=set key=plan value=['read the parser', 'fix the loop']",
        "session action=search query='the solution from earlier'",
    ),
    brief="Shared memory of the work: get, set, append, search, checkpoint, resume.",
    schema=("action", "key", "value", "version", "name", "query"),
    topics=frozenset({"history"}),
    repeatable=False,
)
