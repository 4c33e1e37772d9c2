"""Uses of one definition among those of its name: `refs Class.method` and `refs path:name` through the code graph.

`retrieval.refs` matches names; here the uses that resolve to another definition are left out, and a member that a
class only inherits is found through its bases. What cannot be resolved stays: a list of uses that misses some is worse
than one that has a few too many.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from llmc.base.errors import NotFoundError
from llmc.graph.lookup import JOINTS, find_targets, name_parts
from llmc.graph.project import project_of
from llmc.retrieval.refs import RefConfidence, RefPlace

if TYPE_CHECKING:
    from collections.abc import Sequence

    from llmc.graph.edges import Graph
    from llmc.graph.entities import GraphNode
    from llmc.graph.lookup import LookupTarget
    from llmc.retrieval.refs import RefsResult
    from llmc.retrieval.view import View

__all__ = ["is_qualified", "narrowed"]


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
