"""`refs`: where a name is defined and who uses it."""

from __future__ import annotations

from dataclasses import asdict, replace
from itertools import groupby
from typing import TYPE_CHECKING

from llmc.envelope import Envelope, Group, Item, Row
from llmc.envelope.phrases import freshness_notes, plural
from llmc.graph.lookup import name_parts
from llmc.retrieval.layout import naming
from llmc.retrieval.refs import RefConfidence, RefsRequest, refs
from llmc.tool import BUDGET, Argument, Tool, ToolRequest
from llmc.tools.refs_resolved import is_qualified, narrowed
from llmc.workspace import shown_path

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from llmc.retrieval.refs import RefPlace, RefsResult
    from llmc.workspace import Workspace


# What a person asks for → kinds of references; a definition is told in any case.
KINDS = {"read": ("use",), "use": ("use", "write"), "def": ()}


def run(asked: ToolRequest) -> Envelope:
    workspace = asked.workspace
    named = asked.texts("kind")
    kinds = frozenset(kind for one in named for kind in KINDS.get(one, (one,)))
    only_definitions = bool(named) and not kinds
    text = asked.text("name")
    name = name_parts(text)[1] if is_qualified(text) else text
    request = RefsRequest(name, kinds, workspace.path_filter(asked.texts("path")))
    result = refs(asked.views(), request)
    left_out = 0
    if is_qualified(text):
        result, left_out = narrowed(asked.views(), text, result)
    if only_definitions:
        result = replace(result, references=(), elsewhere=0, holding=(), callees=())
    others = f"{plural(left_out, 'use')} of other definitions left out" if left_out and not only_definitions else ""
    return Envelope(
        "refs",
        found_words(result, callees=not kinds),
        groups=tuple(groups_of(result, workspace, callers=kinds == {"call"})),
        notes=(*([others] if others else ()), *freshness_notes(result.pending, result.share)),
        data={
            "name": result.name,
            "sureness": result.sureness,
            "definitions": [asdict(place) for place in result.definitions],
            "references": [asdict(place) for place in result.references],
            "callees": list(result.callees),
            "elsewhere": result.elsewhere,
            "holding": [asdict(one) for one in result.holding],
        },
    )


def found_words(result: RefsResult, *, callees: bool) -> str:
    """`callees`: who asks for the uses of one kind has not asked what the definition itself calls."""
    words = [plural(len(result.definitions), "definition")]
    if len(result.callers) < len(result.references) or not result.references:
        words.append(plural(len(result.references), "use"))
    if result.callers:
        words.append(plural(len(result.callers), "call"))
    if result.implementations:
        words.append(plural(len(result.implementations), "subclass"))
    said = [", ".join(words)]
    if result.sureness != RefConfidence.ONE:
        said.append(result.sureness)
    if result.elsewhere:
        said.append(f"{plural(result.elsewhere, 'line')} more {'holds' if result.elsewhere == 1 else 'hold'} the word")
    if result.callees and callees:
        said.append(f"calls {', '.join(result.callees[:20])}")
    return " · ".join(said)


def groups_of(result: RefsResult, workspace: Workspace, *, callers: bool) -> Iterator[Group]:
    """Who asks for callers is told them, and so is everybody of tests; of other uses the line is told."""
    for (root, path), places in by_file(result.definitions):
        yield Group(
            f"{shown_path(workspace, root, path)} defines", tuple(item_of(place, place.kind) for place in places)
        )
    for (root, path), places in by_file(result.references):
        told = caller_items if callers or naming(path).role == "test" else use_items
        items = tuple(told(places))
        yield Group(shown_path(workspace, root, path), items, len(items))
    if result.holding:
        holding = (Item((), f"{shown_path(workspace, one.root, one.path)} · {one.lines}") for one in result.holding)
        yield Group("the word alone", tuple(holding))


def caller_items(places: Iterable[RefPlace]) -> Iterator[Item]:
    for within, run in groupby(places, key=lambda place: place.within):
        uses = list(run)
        if within:
            lines = ", ".join(str(line) for line in dict.fromkeys(place.line for place in uses))
            yield Item((), f"{lines} in {within}", uses[0].root, uses[0].path, uses[0].line, uses[-1].end_line)
        else:
            yield from use_items(uses)


def use_items(places: Iterable[RefPlace]) -> Iterator[Item]:
    """What encloses several uses that follow each other is said once."""
    before = ""
    for place in places:
        said = replace(place, within="") if place.within == before else place
        yield item_of(said, "" if place.kind in {"use", "call"} else place.kind)
        before = place.within


def by_file(places: tuple[RefPlace, ...]) -> Iterator[tuple[tuple[str, str], Iterator[RefPlace]]]:
    return groupby(places, key=lambda place: (place.root, place.path))


def item_of(place: RefPlace, kind: str) -> Item:
    words = [place.text.strip()]
    if place.within and not kind:
        words.append(f"· in {place.within}")
    if kind in {"import", "inherit", "type", "write"}:
        words.append(f"· {kind}")
    return Item((Row(" ".join(words), place.line),), "", place.root, place.path, place.line, place.end_line)


TOOL = Tool(
    name="refs",
    summary="Where a name is defined, and every use, call and subclass of it.",
    brief="Every use of a name, complete, but by name: also of others that are called so; ~25 tokens each.",
    run=run,
    cacheable=True,
    cpu_bound=True,
    arguments=(
        Argument(
            "name", "string", "A name, perhaps qualified: parse_header, Parser.feed, src/a.py:feed.", required=True
        ),
        Argument("kind", "strings", "Only these: def, call, read, write, import, inherit, type, use."),
        Argument("path", "strings", "Only below this file or folder.", text="path"),
        Argument("fields", "strings", "A table of only these: path, line, kind, within; * is all."),
        BUDGET,
        Argument("all", "boolean", "Every use, without a budget."),
    ),
    examples=("refs Parser.feed", "refs resolve_url --kind call"),
)
