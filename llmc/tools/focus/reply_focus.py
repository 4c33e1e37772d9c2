"""A reply that keeps what answers `context_focus_question`: the stage between redaction and the budget.

The definitions of an indexed file come from the catalog; text that is not indexed is cut by its indentation. With
`envelope.pruner_url` a service decides instead; when that fails the reply is unpruned and says why.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from llmc.base.errors import LlmcError
from llmc.envelope import Fitted, fit
from llmc.envelope.fit import leave, pick
from llmc.envelope.render import frame_line, head_line
from llmc.envelope.tokens import count_line
from llmc.extend.pruner.endpoint import Endpoint, PrunerError
from llmc.retrieval.query import condensed
from llmc.tool import FOCUS
from llmc.tools.focus import Block
from llmc.tools.focus.apply import MARK, focus, marked

if TYPE_CHECKING:
    from collections.abc import Sequence

    from llmc.envelope import Envelope, Group
    from llmc.envelope.fit import Kept
    from llmc.tool import ToolRequest
    from llmc.tools.focus.apply import Focused

__all__ = ["focused", "marks_of"]

# Kinds without code of their own: they are read with their surroundings.
SMALL = frozenset({"constant", "variable", "field", "property", "parameter", "key"})
LEAVES = frozenset({"function", "method", "macro", "test"})
UNLIMITED = 1e9
MARKS = 48  # tokens for the marks of about ten runs and for the names of omitted parts


def focused(request: ToolRequest, envelope: Envelope, budget: int) -> tuple[Envelope, Fitted | None]:
    """The envelope with its notes, and what fits of it; None if the reply is fitted as without a focus."""
    question = condensed(request.text(FOCUS.name))[: request.workspace.settings.limits.max_query_chars]
    if envelope.error or not any(item.rows or item.title for item in envelope.items()):
        return envelope, None
    room = UNLIMITED if request.unlimited else budget - overhead(envelope)
    try:
        found = focus(
            envelope,
            question,
            room,
            blocks_of=FileDefinitions(request),
            endpoint=endpoint_of(request),
            cancelled=lambda: request.cancelled,
        )
    except PrunerError as error:
        return replace(envelope, notes=(*envelope.notes, f"unpruned: the pruner {error}")), None
    found = replace(found, whole=replace(found.whole, notes=(*found.whole.notes, *found.notes)))
    return envelope, fitted_of(request, found, question, room)


def overhead(envelope: Envelope) -> int:
    return count_line(head_line(envelope, 1, 2)) + count_line(frame_line("1,234 lines", "habcd")) + MARKS


def endpoint_of(request: ToolRequest) -> Endpoint | None:
    settings = request.workspace.settings.envelope
    return Endpoint(settings.pruner_url, settings.pruner_timeout_ms) if settings.pruner_url else None


class FileDefinitions:
    """What the catalog knows of a file, unless that has changed since."""

    def __init__(self, request: ToolRequest) -> None:
        self._workspace = request.workspace

    def __call__(self, root: str, path: str) -> Sequence[Block] | None:
        try:
            root_index = self._workspace.root_index(root)
        except LlmcError:
            return None
        catalog = self._workspace.store_of(root_index).catalog
        doc = None if path in root_index.pending.paths() else catalog.doc_of(root_index.root.id, path)
        symbols = [one.symbol for one in catalog.symbols(doc=doc)] if doc is not None else []
        blocks = [
            Block(each.start_line, each.end_line, each.name, each.kind not in LEAVES, each.kind == "heading")
            for each in symbols
            if each.kind not in SMALL
        ]
        return blocks or None


def fitted_of(request: ToolRequest, found: Focused, question: str, room: float) -> Fitted:
    """Cut further if the estimate of the pruner was too low; the parts removed are behind the handle as well."""
    whole = replace(found.whole, unit="line") if found.runs else found.whole
    kept = found.kept if request.unlimited else narrowed(whole, found, int(room) + overhead(whole) - MARKS)
    total = sum(len(group.items) for group in whole.groups)
    shown = replace(whole, groups=seen_of(whole, kept, found), data=data_of(whole, kept, question))
    if len(kept) == total and all(kept[place] == len(item_at(whole, place).rows) for place in kept):
        return Fitted(shown, total, total)
    return Fitted(shown, len(kept), total, replace(whole, groups=leave(whole, kept)), whole, kept)


def seen_of(whole: Envelope, kept: Kept, found: Focused) -> tuple[Group, ...]:
    return marked(whole, kept) if found.runs else pick(whole, kept)


def item_at(envelope: Envelope, place: tuple[int, int]) -> Any:
    return envelope.groups[place[0]].items[place[1]]


def narrowed(whole: Envelope, found: Focused, budget: int) -> Kept:
    """As many of the kept rows as the budget takes, counted exactly and with their marks."""
    kept = found.kept
    seen = replace(whole, groups=seen_of(whole, kept, found))
    fitted = fit(seen, budget)
    if fitted.rest is None:
        return kept
    places = sorted(kept)
    firsts = {at: number for number, at in enumerate(dict.fromkeys(at for at, _ in places))}
    numbered: dict[tuple[int, int], tuple[int, int]] = {}
    counts: dict[int, int] = {}
    for at, index in places:
        numbered[firsts[at], counts.get(at, 0)] = (at, index)
        counts[at] = counts.get(at, 0) + 1
    less: Kept = {}
    for shown, rows in fitted.kept.items():
        place = numbered[shown]
        extra = len(item_at(seen, shown).rows) - kept[place]
        if rows - extra > 0 or not kept[place]:
            less[place] = min(kept[place], max(0, rows - extra))
    return less or kept


def data_of(whole: Envelope, kept: Kept, question: str) -> dict[str, Any]:
    """For programs: the kept parts and the plain figures of the answer, without the omitted parts."""
    if not whole.data:
        return {}
    plain = {name: value for name, value in whole.data.items() if isinstance(value, int | float | bool | None)}
    named = {name: value for name, value in whole.data.items() if name in {"root", "path"}}
    runs = [
        {
            "root": item.root,
            "path": item.path,
            "start_line": item.start,
            "end_line": item.end,
            "text": "\n".join(row.text for row in item.rows[: kept[place]]),
        }
        for place in sorted(kept)
        for item in (item_at(whole, place),)
    ]
    also = {"notes": list(whole.notes)} if whole.notes else {}
    return {**named, **plain, "focus": question, "kept": runs, **also}


def marks_of(envelope: Envelope) -> str:
    """The marks of omitted parts, for the count of the frame."""
    return "".join(
        f"\n {row.text}"
        for item in envelope.items()
        for row in item.rows[:1]
        if row.number is None and row.text[:1] == MARK
    )
