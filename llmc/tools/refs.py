"""`refs`: where a name is defined and who uses it.

`retrieval.refs` matches names. For a qualified name (`Class.method`, `path:name`) the code graph leaves out the uses
that resolve to another definition, and finds a member that a class only inherits through its bases. Uses that cannot be
resolved stay: a list of uses that misses some is worse than one that has a few too many.
"""

from __future__ import annotations

from dataclasses import asdict, replace
from itertools import groupby
from typing import TYPE_CHECKING

from llmc.base.errors import NotFoundError
from llmc.envelope import Envelope, Group, Item, Row
from llmc.envelope.phrases import freshness_notes, plural
from llmc.graph.lookup import JOINTS, find_targets, name_parts
from llmc.graph.project import project_of
from llmc.retrieval.layout import naming
from llmc.retrieval.refs import RefConfidence, RefPlace, RefsRequest, refs
from llmc.tool import BUDGET, Argument, Tool, ToolRequest
from llmc.workspace import shown_path

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from llmc.graph.edges import Graph
    from llmc.graph.entities import GraphNode
    from llmc.graph.lookup import LookupTarget
    from llmc.retrieval.refs import RefsResult
    from llmc.retrieval.view import View
    from llmc.workspace import Workspace


# Values of `kind` → kinds of references; definitions are always listed.
KINDS = {"read": ("use",), "use": ("use", "write"), "def": ()}


def is_qualified(text: str) -> bool:
    path, name = name_parts(text)
    return bool(path) or len(JOINTS.split(name)) > 1


def narrowed(views: Sequence[View], text: str, result: RefsResult) -> tuple[RefsResult, int]:
    """The result for the definitions that `text` means, and how many uses of others were left out."""
    projects = {view.root.id: project_of(view.root, view.root_fs, view.store) for view in views}
    try:
        lookup = find_targets(list(projects.values()), text, frozenset())
    except NotFoundError:
        return result, 0
    wanted = {(one.graph.project.root.id, one.node) for one in lookup.targets}
    graphs = {one.graph.project.root.id: one.graph for one in lookup.targets}
    kept = tuple(place for place in result.references if _means(graphs.get(place.root), place, wanted, result.name))
    definitions = tuple(_place(one) for one in lookup.targets)
    sureness = RefConfidence.ONE if len(definitions) == 1 else RefConfidence.SEVERAL
    left_out = len(result.references) - len(kept)
    return replace(result, definitions=definitions, references=kept, sureness=sureness), left_out


def _means(graph: Graph | None, place: RefPlace, wanted: set[tuple[str, GraphNode]], name: str) -> bool:
    """Whether a use may be one of the wanted definitions."""
    if graph is None:
        return False
    project = graph.project
    facts = project.facts_at(place.path)
    if facts is None:
        return True
    last = JOINTS.split(name)[-1]
    uses = project.catalog.references_named(last, [facts.doc]).get(facts.doc, ())
    here = [one for one in uses if one.line == place.line and one.kind == place.kind]
    for one in here:
        resolution = graph.resolver.reference(facts, one)
        nodes = resolution.nodes()
        if any((place.root, node) in wanted for node in nodes) or (not nodes and not resolution.closed):
            return True
    return not here


def _place(target: LookupTarget) -> RefPlace:
    project = target.graph.project
    facts = project.facts(target.node.doc)
    symbol = facts.symbol(target.node.qualified) if facts else None
    start, end = (symbol.start_line, symbol.end_line) if symbol else (1, 1)
    kind, container = (symbol.kind, symbol.container) if symbol else ("", "")
    return RefPlace(project.root.id, target.path, start, end, kind, container, symbol.signature if symbol else "")


def run(request: ToolRequest) -> Envelope:
    workspace = request.workspace
    named = request.texts("kind")
    kinds = frozenset(kind for one in named for kind in KINDS.get(one, (one,)))
    only_definitions = bool(named) and not kinds
    text = request.text("name")
    name = name_parts(text)[1] if is_qualified(text) else text
    query = RefsRequest(name, kinds, workspace.path_filter(request.texts("path")))
    result = refs(request.views(), query)
    left_out = 0
    if is_qualified(text):
        result, left_out = narrowed(request.views(), text, result)
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
    """`callees`: also list what the definition calls, which a request for one kind of use does not ask for."""
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
    """In test files, and everywhere with `callers`, uses are listed by the function around them; others by line."""
    for (root, path), places in by_file(result.definitions):
        yield Group(
            f"{shown_path(workspace, root, path)} defines", tuple(item_of(place, place.kind) for place in places)
        )
    for (root, path), places in by_file(result.references):
        list_items = caller_items if callers or naming(path).role == "test" else use_items
        items = tuple(list_items(places))
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
    """Consecutive uses in the same function name it once."""
    before = ""
    for place in places:
        shown = replace(place, within="") if place.within == before else place
        yield item_of(shown, "" if place.kind in {"use", "call"} else place.kind)
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
