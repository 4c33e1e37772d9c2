"""From a tool's envelope to the reply: redact, leave out what the session has, fit, store the rest, render.

Filtering, ranking and grouping are the tool's; from here on all tools are alike. Redaction comes before any
truncation, since half a secret is one too.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from llmc.base.errors import NotFoundError, NotIndexedYetError, StoreFullError
from llmc.envelope import Fitted, Group, Item, Row, failure, fit, render, shorten
from llmc.envelope.clean import clean
from llmc.envelope.differential import all_known, places_only, unchanged, without_known
from llmc.envelope.fields import as_table, field_names
from llmc.envelope.fit import everything
from llmc.envelope.packing import pack
from llmc.envelope.redact.redactor import redactor_for
from llmc.envelope.render import frame_of, number_items
from llmc.envelope.reply import Reply
from llmc.envelope.tokens import plain_size
from llmc.tool import FOCUS, LEAST_BUDGET, budget_of
from llmc.tools.accounting import with_weight
from llmc.tools.command_output import build_output_reply
from llmc.tools.focus.reply_focus import focused, marks_of
from llmc.tools.handle_staleness import stamps_of
from llmc.tools.nearest import with_nearest
from llmc.tools.registry import TOOLS, tool
from llmc.tools.scope import counted

if TYPE_CHECKING:
    from llmc.base.errors import LlmcError
    from llmc.envelope import Envelope
    from llmc.envelope.differential import SentLines
    from llmc.tool import Tool, ToolRequest
    from llmc.workspace import Workspace

__all__ = ["build_reply", "error_reply", "failed_reply"]

MOST_PACKED = 2_000
DENIED_ROW = Row("denied")
# A remainder of so few lines is shown rather than stored: fetching it would cost more.
FEW_LINES = 30
LINE_TOKENS = 25  # few lines of code have more
# Of a repeated call: a shorter reply is sent again, and so is one whose places take more than this share of its text.
LONG_REPLY = 600
WORTHWHILE = 0.6
ASK_AGAIN = "The index is still being built: ask again, or use grep, which reads all files."
NUMBER_TOKENS = 3  # `[12] `
NOT_STORED = "not kept, there is no space or no storage; ask with a larger budget"


def build_reply(request: ToolRequest, wanted: Tool, envelope: Envelope) -> Reply:
    """The reply to `request`, whose tool returned `envelope`. The output of a command has its own form."""
    if "output" in envelope.data and not request.text(FOCUS.name):
        return build_output_reply(request, wanted, envelope)
    request = wanted.own_args(request)
    settings = request.workspace.settings
    envelope = with_sources(request.workspace, so_far(request, without_denied(request.workspace, envelope)))
    envelope = with_trouble(request, wanted, with_rebuild(request.workspace, envelope))
    if wanted.returns_json(request.session):
        cleaned = clean(envelope, redactor_for(settings.redaction), request.workspace.text_of, data=True)
        return with_weight(request, wanted, envelope, Reply(as_json(cleaned.data), cleaned.data, 1, 1), 0)
    explicit = envelope.explicit and not request.args.get("budget")
    budget = settings.envelope.cap if explicit else budget_of(request, wanted)
    fields = field_names(request.texts("fields"))
    line_counts = line_counts_of(envelope)
    envelope = clean(envelope, redactor_for(settings.redaction), request.workspace.text_of, data=request.wants_data)
    envelope = shorten(as_table(envelope, fields) if fields else envelope)
    if request.packed:
        return packed_reply(request.workspace, envelope)
    size = plain_size(envelope)
    reply = fit_reply(request, wanted, envelope, budget, line_counts)
    reply = replace(reply, provisional=envelope.provisional, roots=roots_of(envelope))
    return with_weight(request, wanted, envelope, reply, size)


def packed_reply(workspace: Workspace, envelope: Envelope) -> Reply:
    """The envelope for another llmc. Titles name their root, since there are others beside it; a very long result is
    cut, and says so."""
    names = {root_index.root.id: root_index.root.name for root_index in workspace.root_indexes}
    groups: list[Group] = []
    lines = 0
    for group in envelope.groups:
        lines += sum(len(item.rows) for item in group.items)
        if lines > MOST_PACKED and groups:
            break
        root = names.get(group.items[0].root, "") if group.items else ""
        is_named = not root or not group.title or group.title.startswith(f"{root}:")
        named = group.title if is_named else f"{root}:{group.title}"
        groups.append(replace(group, title=named))
    left = len(envelope.groups) - len(groups)
    notes = (*envelope.notes, f"{left} files more: narrow it") if left else envelope.notes
    kept = replace(envelope, groups=tuple(groups), notes=notes, data={}, folded=())
    return Reply("", {"envelope": pack(kept)}, len(groups), len(envelope.groups), roots=roots_of(kept))


def with_sources(workspace: Workspace, envelope: Envelope) -> Envelope:
    notes = workspace.source_notes(roots_of(envelope))
    return replace(envelope, notes=(*envelope.notes, *notes)) if notes else envelope


def without_sources(workspace: Workspace, envelope: Envelope) -> Envelope:
    """As a handle stores it: each page says itself where it is from."""
    added = workspace.source_notes(roots_of(envelope))
    return replace(envelope, notes=tuple(note for note in envelope.notes if note not in added)) if added else envelope


def roots_of(envelope: Envelope) -> tuple[str, ...]:
    return tuple(dict.fromkeys(item.root for item in envelope.items() if item.root))


def so_far(request: ToolRequest, envelope: Envelope) -> Envelope:
    """An empty result is not an answer before everything was checked."""
    if not request.provisional and not envelope.provisional:
        return envelope
    found = f"{envelope.found} so far" if envelope.is_empty else envelope.found
    return replace(envelope, found=found, provisional=True)


def with_rebuild(workspace: Workspace, envelope: Envelope) -> Envelope:
    """A reply from an index that is not complete says why an older one was not used."""
    is_partial = any(note.startswith("indexing,") for note in envelope.notes)
    reasons = workspace.rebuilding if is_partial else ()
    return replace(envelope, notes=(*envelope.notes, *reasons)) if reasons else envelope


def with_trouble(request: ToolRequest, wanted: Tool, envelope: Envelope) -> Envelope:
    """Once for a session, why the index is not being brought up to date; progress would be misleading meanwhile."""
    trouble = request.workspace.trouble if wanted.cacheable else ""
    if not trouble:
        return envelope
    notes = tuple(note for note in envelope.notes if not note.startswith("indexing,"))
    if request.session is None or trouble not in request.session.shown:
        notes = (*notes, f"the index is not up to date, {trouble}")
        if request.session is not None:
            request.session.shown.add(trouble)
    return replace(envelope, notes=notes)


def without_denied(workspace: Workspace, envelope: Envelope) -> Envelope:
    """Without the text of files that the denylist refuses now: a handle, or an index that is being updated, may still
    contain text that was allowed before."""
    root_fses = {root_index.root.id: root_index.root_fs for root_index in workspace.root_indexes}
    places = {(item.root, item.path) for item in envelope.items() if item.path and (item.rows or item.title)}
    denied = {(root, path) for root, path in places if root in root_fses and root_fses[root].denylist.denies(path)}
    if not denied:
        return envelope
    groups = tuple(
        replace(
            group, items=tuple(withheld(item) if (item.root, item.path) in denied else item for item in group.items)
        )
        for group in envelope.groups
    )
    notes = counted(workspace, "denied", sorted(denied))
    return replace(envelope, groups=groups, notes=(*envelope.notes, *notes), data={})


def withheld(item: Item) -> Item:
    return Item((DENIED_ROW,), root=item.root, path=item.path)


def failed_reply(name: str, error: LlmcError) -> Reply:
    """The reply to a call that has no workspace, or that was stopped from outside."""
    envelope = clean(failure(name, error))
    return Reply(render(envelope), envelope.data, error=error.code)


def error_reply(request: ToolRequest, error: LlmcError) -> Reply:
    if request.provisional and isinstance(error, NotFoundError) and "path" not in error.context:
        error = NotIndexedYetError(error.message, reason=error.reason, hint=ASK_AGAIN, **error.context)
    envelope = clean(
        failure(request.name, with_nearest(request.workspace, error)),
        redactor_for(request.workspace.settings.redaction),
    )
    wants_json = request.name in TOOLS and tool(request.name).returns_json(request.session)
    return Reply(as_json(envelope.data) if wants_json else render(envelope), envelope.data, error=error.code)


def fit_reply(
    request: ToolRequest, wanted: Tool, envelope: Envelope, budget: int, line_counts: dict[tuple[str, str], int]
) -> Reply:
    """What answers the focus question, what is new to the session, and what fits the budget."""
    if request.text(FOCUS.name).strip():
        envelope, kept = focused(request, envelope, budget)
        if kept is not None:
            return render_reply(request, wanted, kept, marks_of(kept.envelope))
    fitted = fit_to(request, envelope, budget)
    sent = lines_sent(request, envelope)
    if sent is None:
        return render_reply(request, wanted, fitted)
    if not request.flag("fresh"):
        if all_known(fitted.envelope, sent, line_counts):
            return render_reply(request, wanted, replace(fitted, envelope=unchanged(fitted.envelope)))
        fitted = fit_to(request, without_known(envelope, sent), budget)
    if not request.cancelled:  # otherwise it does not arrive
        sent.remember(fitted.envelope)
    return render_reply(request, wanted, fitted)


def fit_to(request: ToolRequest, envelope: Envelope, budget: int) -> Fitted:
    if not request.unlimited:
        fitted = fit(envelope, budget)
        if request.numbered:
            fitted = fit(envelope, max(LEAST_BUDGET, budget - NUMBER_TOKENS * fitted.shown))
        if not request.args.get("budget") and 0 < fitted.lines_left <= FEW_LINES and not envelope.folded:
            return fit(envelope, budget + FEW_LINES * LINE_TOKENS)
        return fitted
    total = sum(1 for _ in envelope.items())
    return Fitted(envelope, total, total)


def render_reply(request: ToolRequest, wanted: Tool, fitted: Fitted, marks: str = "") -> Reply:
    """Stores the part that did not fit, and renders the rest. `marks` are the part of the text that counts as frame."""
    numbered = request.numbered and fitted.total > 1 and fitted.envelope.unit != "line"
    envelope = number_items(fitted.envelope) if numbered else fitted.envelope
    if fitted.whole is None and not numbered:
        places = short_form(request, wanted, envelope, render(envelope))
        return Reply(
            render(envelope),
            envelope.data,
            fitted.shown,
            fitted.total,
            frame=frame_of(envelope) + marks,
            places=places,
        )
    whole = without_sources(request.workspace, replace(fitted.whole or fitted.envelope, data={}))
    try:
        name = request.handles.put(
            wanted.name,
            {name: value for name, value in request.args.items() if name != "fresh"},
            whole,
            fitted.kept if fitted.whole else everything(whole),
            owner=request.owner,
            left=fitted.left,
            files=stamps_of(request.workspace, whole),
        ).id
    except StoreFullError:
        name = ""
    # Storage that is full or out of reach loses the handle, never the answer; the last line says so.
    parts = (fitted.shown, fitted.total, name or NOT_STORED, fitted.left)
    text = render(envelope, *parts)
    places = short_form(request, wanted, envelope, text, *parts)
    frame = frame_of(envelope, *parts)
    return Reply(text, envelope.data, fitted.shown, fitted.total, name, frame=frame, places=places)


def short_form(request: ToolRequest, wanted: Tool, envelope: Envelope, text: str, *parts: Any) -> str:
    """The places of the reply alone, for a client that repeats the call; empty where that would save little."""
    if not wanted.remembered or request.session is None or len(text) < LONG_REPLY:
        return ""
    short = render(places_only(envelope), *parts)
    return short if len(short) < WORTHWHILE * len(text) else ""


def as_json(data: dict[str, Any]) -> str:
    """The text of a reply whose contract is JSON."""
    return json.dumps(data, ensure_ascii=False, separators=(",", ":"))


def lines_sent(request: ToolRequest, envelope: Envelope) -> SentLines | None:
    """What this session was sent of the files it reads; None for a command line, which has no session."""
    if request.session is None or envelope.tool != "read" or not request.workspace.settings.envelope.differential:
        return None
    return request.session.sent


def line_counts_of(envelope: Envelope) -> dict[tuple[str, str], int]:
    """(root, path) → the number of lines of each file that was read."""
    read = [one for one in envelope.data.get("targets", [envelope.data]) if "root" in one]
    return {(one["root"], one["path"]): one["lines"] for one in read if isinstance(one.get("lines"), int)}
