"""Where does a member of a type come from? Its bases in member lookup order.

This is Python's own order (C3) if it exists, which for single inheritance is the chain of bases; otherwise depth
first. Of bases outside the repository only the names are known.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from llmc.graph.entities import EntityKind, GraphNode
from llmc.graph.facts import TYPE_KINDS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from llmc.graph.edges import Graph

__all__ = ["Ancestor", "ancestors"]

MOST_ANCESTORS = 60
DEEPEST = 30


@dataclass(frozen=True)
class Ancestor:
    """A type in the lookup order, including the type itself. `node` is None for a type outside the repository."""

    name: str
    node: GraphNode | None = None


def ancestors(graph: Graph, node: GraphNode) -> list[Ancestor]:
    return _linear(graph, Ancestor(node.name, node), ())[:MOST_ANCESTORS]


def _linear(graph: Graph, one: Ancestor, below: tuple[Ancestor, ...]) -> list[Ancestor]:
    if one.node is None or one in below or len(below) > DEEPEST:
        return [one]
    bases = list(_bases(graph, one.node))
    orders = [_linear(graph, base, (*below, one)) for base in bases]
    merged = _merged([*orders, bases])
    if merged is None:  # no such order exists
        merged = list(dict.fromkeys(ancestor for order in orders for ancestor in order))
    return [one, *(ancestor for ancestor in merged if ancestor != one)]


def _merged(orders: list[list[Ancestor]]) -> list[Ancestor] | None:
    """C3: repeatedly takes the first head that no other order has further down."""
    found: list[Ancestor] = []
    left = [list(order) for order in orders if order]
    while left:
        tails = {one for order in left for one in order[1:]}
        head = next((order[0] for order in left if order[0] not in tails), None)
        if head is None:
            return None
        found.append(head)
        left = [rest for order in left if (rest := [one for one in order if one != head])]
    return found


def _bases(graph: Graph, node: GraphNode) -> Iterator[Ancestor]:
    facts = graph.project.facts(node.doc)
    if facts is None:
        return
    for base_facts, scope, chain in graph.resolver.dialect(facts).bases(facts, node.qualified):
        found = graph.resolver.evaluate(base_facts, scope, chain)
        inner = [
            one.node
            for one in found.entities
            if one.kind is EntityKind.DEFINITION
            and (there := graph.project.facts(one.node.doc)) is not None
            and there.kind(one.node.qualified) in TYPE_KINDS
        ]
        if inner:
            yield Ancestor(inner[0].name, inner[0])
        elif chain not in ("object", "?"):
            yield Ancestor(chain.rstrip("()[]`"))
