"""What implements or overrides this? Subtypes of a type, members of subtypes, and where a handler is registered."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from llmc.graph.entities import Entity, EntityKind, GraphNode
from llmc.graph.facts import TYPE_KINDS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from llmc.graph.edges import Graph
    from llmc.graph.entities import Edge

__all__ = ["Implementations", "implementations", "overridden", "subtypes"]

MOST_TYPES = 1_000


@dataclass
class Implementations:
    """`types` are direct and indirect subtypes, `members` what overrides a method, `registered` where a function is
    passed as a value or decorated."""

    types: list[GraphNode] = field(default_factory=list)
    members: list[GraphNode] = field(default_factory=list)
    registered: list[Edge] = field(default_factory=list)
    decorators: list[tuple[int, str]] = field(default_factory=list)  # line, name
    complete: bool = True


def implementations(graph: Graph, node: GraphNode) -> Implementations:
    facts = graph.project.facts(node.doc)
    found = Implementations()
    if facts is None:
        return found
    kind = facts.kind(node.qualified)
    owner = node.qualified.rpartition(".")[0]
    if kind in TYPE_KINDS:
        found.types, found.complete = subtypes(graph, node)
    elif facts.kind(owner) in TYPE_KINDS:
        types, found.complete = subtypes(graph, facts.node(owner))
        members = [member for one in types for member in _own(graph, one, node.name)]
        found.members = list(dict.fromkeys([*members, *graph.told_implementations(node)]))
    edges = graph.incoming(node, frozenset({"use"}))
    found.registered = [edge for edge in edges.edges if kind not in TYPE_KINDS]
    found.decorators = list(_decorators(graph, node))
    return found


def _decorators(graph: Graph, node: GraphNode) -> Iterator[tuple[int, str]]:
    """What stands above a definition and belongs to what encloses it: `@app.route("/")` registers a function."""
    facts = graph.project.facts(node.doc)
    symbol = facts.symbol(node.qualified) if facts else None
    if symbol is None:
        return
    for reference in graph.project.references(node.doc).get(symbol.container, ()):
        if reference.kind == "call" and symbol.start_line <= reference.line <= symbol.end_line:
            yield reference.line, f"{reference.receiver}.{reference.name}".lstrip(".")


def _own(graph: Graph, owner: GraphNode, name: str) -> list[GraphNode]:
    facts = graph.project.facts(owner.doc)
    if facts is None:
        return []
    members = graph.resolver.dialect(facts).members(graph.resolver, facts, owner.qualified, name)
    return list(dict.fromkeys(inner.node(qualified) for inner, qualified in members))


def subtypes(graph: Graph, node: GraphNode) -> tuple[list[GraphNode], bool]:
    """Every type that has it among its bases, directly or not, by level; and whether these are all."""
    found: dict[GraphNode, None] = {}
    waiting = [node]
    complete = True
    while waiting:
        current = waiting.pop(0)
        edges = graph.incoming(current, frozenset({"inherit"}))
        complete = complete and edges.complete
        direct = [_type_of(graph, edge) for edge in edges.edges]
        direct += graph.structural(current)
        for one in dict.fromkeys(direct):
            if one is not None and one not in found and one != node:
                if len(found) >= MOST_TYPES:
                    return list(found), False
                found[one] = None
                waiting.append(one)
    return list(found), complete


def _type_of(graph: Graph, edge: Edge) -> GraphNode | None:
    """The type whose head names the base."""
    facts = graph.project.facts(edge.source.doc)
    if facts is None:
        return None
    qualified = facts.enclosing_type(edge.site.container) or edge.site.container
    if facts.kind(qualified) in TYPE_KINDS:
        return facts.node(qualified)
    found = graph.resolver.name(facts, "", qualified.rpartition(".")[2]).nodes()  # `impl Trait for Type`
    return found[0] if found else None


def overridden(graph: Graph, node: GraphNode) -> list[GraphNode]:
    """The members of bases that this one overrides or implements, nearest first."""
    facts = graph.project.facts(node.doc)
    owner = node.qualified.rpartition(".")[0]
    if facts is None or not owner:
        return []
    found = graph.resolver.member(Entity(EntityKind.SUPER, facts.node(owner)), node.name)
    return [one for one in found.nodes() if one != node]
