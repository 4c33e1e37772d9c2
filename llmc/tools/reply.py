"""From a tool's envelope to the reply: redact, leave out what is known already, cut to the budget, keep the rest.

Filtering, ranking, grouping and annotating are the tool's; from here on all tools are alike. Redaction comes before any
cutting, since half a secret is one too.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from llmc.base.errors import QueryError, StoreFullError
from llmc.envelope import Fitted, fit, render, shorten
from llmc.envelope.clean import clean
from llmc.envelope.differential import all_known, unchanged, without_known
from llmc.envelope.fields import as_table, field_names
from llmc.envelope.redact.redactor import Redactor
from llmc.envelope.render import frame_of
from llmc.envelope.token_accounting import TokenAccount, plain_size, weigh
from llmc.tool import FOCUS
from llmc.tools.focus.reply_focus import focused, marks_of
from llmc.tools.handle_staleness import stamps_of

if TYPE_CHECKING:
    from llmc.envelope import Envelope
    from llmc.envelope.differential import SentLines
    from llmc.settings import Redaction
    from llmc.tool import Tool, ToolRequest

__all__ = ["Reply", "as_json", "budget_of", "enclosed", "redactor", "weighed", "weight_of"]

LEAST_BUDGET = 50
NOT_KEPT = "not kept, the disk is full; ask with a larger budget"


@dataclass(frozen=True, slots=True)
class Reply:
    """What a surface shows: `text` for a model or a person, `data` for a machine.

    `frame` is what of the text is there only because llmc stands between: handle, cut and pending notes. `weight` is
    both in tokens, and what a plain tool would have given.
    """

    text: str
    data: dict[str, Any] = field(default_factory=dict)
    shown: int = 0
    total: int = 0
    handle: str = ""
    error: str = ""
    frame: str = ""
    weight: TokenAccount | None = None


def weight_of(reply: Reply) -> TokenAccount:
    return reply.weight or weigh(reply.text, reply.frame)


def weighed(asked: ToolRequest, wanted: Tool, envelope: Envelope, reply: Reply, size: int) -> Reply:
    """`envelope` is all that was found, `size` its characters as a plain tool would show them."""
    reads = wanted.name == "read"
    weight = replace(
        weigh(reply.text, reply.frame, size),
        tool=wanted.name,
        fetched=reads and any(asked.is_handle(one.partition(":")[0]) for one in asked.texts("target")),
        cached=wanted.name in CACHED and asked.workspace.answers.hit,
        pending=any("pending" in note or note.startswith("indexing") for note in envelope.notes),
        cut=bool(reply.handle),
        files=tuple({(item.root, item.path) for item in envelope.items() if item.path}) if reads else (),
    )
    return replace(reply, weight=weight)


CACHED = frozenset({"search", "context"})


def enclosed(asked: ToolRequest, wanted: Tool, envelope: Envelope) -> Reply:
    budget = budget_of(asked, wanted)
    workspace = asked.workspace
    if wanted.speaks_json(asked.session):
        cleaned = clean(envelope, redactor(workspace.settings.redaction), workspace.text_of, data=True)
        reply = Reply(as_json(cleaned.data), cleaned.data, 1, 1)
        return weighed(asked, wanted, envelope, reply, 0)
    fields = field_names(asked.texts("fields"))
    ends = ends_of(envelope)
    envelope = clean(envelope, redactor(workspace.settings.redaction), workspace.text_of, data=asked.wants_data)
    envelope = shorten(as_table(envelope, fields) if fields else envelope)
    size = plain_size(envelope)
    return weighed(asked, wanted, envelope, cut(asked, wanted, envelope, budget, ends), size)


def cut(asked: ToolRequest, wanted: Tool, envelope: Envelope, budget: int, ends: dict[tuple[str, str], int]) -> Reply:
    """What answers the focus question, what is new to the session, what the budget takes."""
    if asked.text(FOCUS.name).strip():
        envelope, kept = focused(asked, envelope, budget)
        if kept is not None:
            return written(asked, wanted, kept, marks_of(kept.envelope))
    fitted = fitted_to(asked, envelope, budget)
    sent = memory_of(asked, envelope)
    if sent is None:
        return written(asked, wanted, fitted)
    if not asked.flag("fresh"):
        if all_known(fitted.envelope, sent, ends):
            return written(asked, wanted, replace(fitted, envelope=unchanged(fitted.envelope)))
        fitted = fitted_to(asked, without_known(envelope, sent), budget)
    if not asked.cancelled:  # else it does not arrive
        sent.remember(fitted.envelope)
    return written(asked, wanted, fitted)


def as_json(data: dict[str, Any]) -> str:
    """The text of a reply whose contract is JSON."""
    return json.dumps(data, ensure_ascii=False, separators=(",", ":"))


def fitted_to(asked: ToolRequest, envelope: Envelope, budget: int) -> Fitted:
    if not asked.flag("all"):
        return fit(envelope, budget)
    total = sum(1 for _ in envelope.items())
    return Fitted(envelope, total, total)


def written(asked: ToolRequest, wanted: Tool, fitted: Fitted, marks: str = "") -> Reply:
    """`marks` are frame within the text."""
    envelope = fitted.envelope
    if fitted.whole is None:
        return Reply(render(envelope), envelope.data, fitted.shown, fitted.total, frame=frame_of(envelope) + marks)
    whole = replace(fitted.whole, data={})
    try:
        name = asked.handles.put(
            wanted.name,
            dict(asked.args),
            whole,
            fitted.kept,
            owner=asked.owner,
            left=fitted.left,
            files=stamps_of(asked.workspace, whole),
        ).id
    except StoreFullError:
        name = ""
    # A full disk loses the handle, never the answer; the last line says so.
    said = (envelope, fitted.shown, fitted.total, name or NOT_KEPT, fitted.left)
    return Reply(render(*said), envelope.data, fitted.shown, fitted.total, name, frame=frame_of(*said))


def memory_of(asked: ToolRequest, envelope: Envelope) -> SentLines | None:
    """What the session was given, for texts that are read; a command line has no session, and forgets."""
    if asked.session is None or envelope.tool != "read" or not asked.workspace.settings.envelope.differential:
        return None
    return asked.session.sent


def ends_of(envelope: Envelope) -> dict[tuple[str, str], int]:
    """(root, path) → how many lines each file has that was read."""
    read = [one for one in envelope.data.get("targets", [envelope.data]) if "root" in one]
    return {(one["root"], one["path"]): one["lines"] for one in read if isinstance(one.get("lines"), int)}


@lru_cache(maxsize=16)
def redactor(settings: Redaction) -> Redactor:
    return Redactor.of(settings)


def budget_of(asked: ToolRequest, wanted: Tool) -> int:
    settings = asked.workspace.settings.envelope
    budget = asked.number("budget", getattr(settings, wanted.budget))
    if budget < LEAST_BUDGET:
        raise QueryError(f"a budget of {budget} tokens is too small", hint=f"Give at least {LEAST_BUDGET}.")
    return min(budget, settings.cap)
