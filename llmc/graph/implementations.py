"""What implements or overrides this? Subtypes of a type, members of subtypes, and where a handler is registered."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from llmc.graph.dialects.base import shared_folders
from llmc.graph.entities import MOST_DOCS, Entity, EntityKind, GraphNode, Implementing, Precision
from llmc.graph.facts import CALLABLE_KINDS, TYPE_KINDS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from llmc.graph.edges import Graph
    from llmc.graph.entities import Edge

__all__ = [
    "Implementations",
    "calls_of_bases",
    "calls_of_implementations",
    "implementations",
    "implementing_members",
    "overridden",
    "registering_marks",
    "subtypes",
]

MOST_TYPES = 1_000
# Number of interfaces declaring a method of the same name that are checked for one method.
MOST_INTERFACES = 8
MOST_BASES = 4
MOST_CALLED = 24  # number of implementations whose callers are collected
INTERFACE_KINDS = frozenset({"interface", "trait", "protocol"})
# Number of files read for the possible targets of a call through an interface: those that define its rarest method, or
# that mention it in languages where a type lists its bases.
FEW_FILES, FEW_MENTIONS = 30, 300
MOST_MARK_LINES, LONGEST_MARK = 16, 80
_MARK = re.compile(r"\s*(?:@|#\[|\[)([A-Za-z_][\w.:]*)")
_DEFINES = re.compile(r"\w\s*[({]|\b(?:def|func|fn|class|struct|interface)\b")
# Annotations that say how a definition is compiled or read, and register nothing.
_NEUTRAL_WORDS = """
    property setter getter staticmethod classmethod override overload abstractmethod abstract cached_property final
    cache lru_cache wraps dataclass contextmanager asynccontextmanager total_ordering singledispatch runtime_checkable
    typing deprecated suppresswarnings nullable nonnull notnull safevarargs functionalinterface visiblefortesting inline
    allow warn deny expect derive must_use cfg cfg_attr instrument doc track_caller cold repr serde async_trait obsolete
    methodimpl debuggerstepthrough pure conditional generated jvmstatic jvmoverloads throws internal hidden api
"""
_NEUTRAL = frozenset(_NEUTRAL_WORDS.split())
ABSTRACT_LINES = 8  # an abstract method of Python has a docstring and raises


@dataclass
class Implementations:
    """`types` are direct and indirect subtypes, `members` override a method, `registered` are places where a function
    is passed as a value or decorated."""

    types: list[GraphNode] = field(default_factory=list)
    members: list[GraphNode] = field(default_factory=list)
    registered: list[Edge] = field(default_factory=list)
    decorators: list[tuple[int, str]] = field(default_factory=list)  # line, text
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
        found.members, found.complete = _overriding(graph, node)
    edges = graph.incoming(node, frozenset({"use"}))
    found.registered = [edge for edge in edges.edges if kind not in TYPE_KINDS]
    found.decorators = registering_marks(graph, node)
    return found


def _overriding(graph: Graph, node: GraphNode) -> tuple[list[GraphNode], bool]:
    """The members of subtypes that override a member, and whether the list is complete."""
    owner = GraphNode(node.doc, node.qualified.rpartition(".")[0])
    types, complete = subtypes(graph, owner)
    members = [member for one in types for member in _own(graph, one, node.name)]
    return list(dict.fromkeys([*members, *graph.indexed_implementations(node)])), complete


def implementing_members(graph: Graph, node: GraphNode) -> Implementing:
    """The possible targets of a call of a member without a body (interface, trait or abstract class), without tests."""
    facts = graph.project.facts(node.doc)
    symbol = facts.symbol(node.qualified) if facts else None
    owner = node.qualified.rpartition(".")[0]
    if facts is None or symbol is None or symbol.kind not in CALLABLE_KINDS or facts.kind(owner) not in TYPE_KINDS:
        return Implementing()
    is_short = symbol.end_line - symbol.start_line < ABSTRACT_LINES
    is_structural = graph.resolver.dialect(facts).is_structural
    if facts.kind(owner) not in INTERFACE_KINDS and (is_structural or not is_short):
        return Implementing()
    key = ("implementing", node)
    if key not in graph.project.memo:
        types, unread = _few_subtypes(graph, facts.node(owner), node, is_structural=is_structural)
        members = [member for one in types for member in _own(graph, one, node.name)]
        members += graph.indexed_implementations(node)
        kept = tuple(one for one in dict.fromkeys(members) if not graph.in_test(one))
        graph.project.memo[key] = Implementing(kept, unread)
    found: Implementing = graph.project.memo[key]
    return found


def _few_subtypes(graph: Graph, owner: GraphNode, member: GraphNode, *, is_structural: bool) -> Implementing:
    """The subtypes of a type that can be found by reading few files: hundreds of files may mention an interface, and
    reading them takes seconds on a large repository."""
    if is_structural:
        return graph.structural(owner, FEW_FILES)
    if graph.mentions(owner.name) <= FEW_MENTIONS:
        types, complete = subtypes(graph, owner)
        return Implementing(tuple(types), 0 if complete else _overriding_files(graph, member))
    return Implementing(unread=_overriding_files(graph, member))


def _overriding_files(graph: Graph, member: GraphNode) -> int:
    """Files that may override a member: those that also define its name."""
    docs = graph.project.defining(member.name)
    facts = graph.project.facts(member.doc)
    is_once = facts is not None and len(facts.named(member.name)) == 1
    return sum(doc != member.doc or not is_once for doc in docs)


def registering_marks(graph: Graph, node: GraphNode) -> list[tuple[int, str]]:
    """(line, text) of the decorators, annotations and attributes of a definition by which a framework may call it:
    `@app.route("/")`, `@Scheduled(…)`, `[HttpGet]`."""
    facts = graph.project.facts(node.doc)
    symbol = facts.symbol(node.qualified) if facts else None
    if facts is None or symbol is None:
        return []
    lines = graph.project.text(facts.path).split("\n")[symbol.start_line - 1 : symbol.end_line][:MOST_MARK_LINES]
    found = []
    for at, line in enumerate(lines, symbol.start_line):
        mark = _MARK.match(line)
        if mark and mark[1].rpartition(".")[2].rpartition(":")[2].lower() not in _NEUTRAL:
            found.append((at, line.strip()[:LONGEST_MARK]))
        elif not mark and _DEFINES.search(line):
            break
    return found


def _own(graph: Graph, owner: GraphNode, name: str) -> list[GraphNode]:
    facts = graph.project.facts(owner.doc)
    if facts is None:
        return []
    members = graph.resolver.dialect(facts).members(graph.resolver, facts, owner.qualified, name)
    return list(dict.fromkeys(inner.node(qualified) for inner, qualified in members))


def subtypes(graph: Graph, node: GraphNode) -> tuple[list[GraphNode], bool]:
    """All direct and indirect subtypes, by level, and whether the list is complete."""
    found: dict[GraphNode, None] = {}
    waiting = [node]
    complete = True
    while waiting:
        current = waiting.pop(0)
        edges = graph.incoming(current, frozenset({"inherit"}))
        complete = complete and edges.complete
        direct = [_type_of(graph, edge) for edge in edges.edges]
        structural = graph.structural(current)
        complete = complete and not structural.unread
        direct += structural.nodes
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
    """The members of bases and interfaces that this one overrides or implements, nearest first."""
    facts = graph.project.facts(node.doc)
    scope = node.qualified.rpartition(".")[0]
    if facts is None or not scope:
        return []
    if facts.kind(scope) in TYPE_KINDS:
        inherited = graph.resolver.member(Entity(EntityKind.SUPER, facts.node(scope)), node.name).nodes()
    else:  # an `impl` block in another file than its type
        traits = (graph.resolver.evaluate(facts, "", chain) for chain in facts.links.bases.get(scope, ()))
        bases = [entity for found in traits for entity in found.entities if entity.kind is EntityKind.DEFINITION]
        inherited = [one for base in bases for one in graph.resolver.member(base, node.name).nodes()]
    return list(dict.fromkeys(one for one in (*inherited, *_declared(graph, node)) if one != node))


def _declared(graph: Graph, node: GraphNode) -> Iterator[GraphNode]:
    """Members of interfaces that a type implements implicitly, in languages that allow it."""
    facts = graph.project.facts(node.doc)
    if facts is None or not graph.resolver.dialect(facts).is_structural:
        return
    owner = facts.node(node.qualified.rpartition(".")[0])
    docs = graph.project.defining(node.name)
    near = sorted(docs, key=lambda doc: -shared_folders(facts.path, graph.project.path(doc)))
    seen = 0
    for doc in near:
        other = graph.project.facts(doc)
        for qualified in other.named(node.name) if other else ():
            interface = qualified.rpartition(".")[0]
            if other and seen < MOST_INTERFACES and other.kind(interface) == "interface":
                seen += 1
                if owner in _folded(graph, graph.structural(other.node(interface)).nodes, owner):
                    yield other.node(qualified)


def _folded(graph: Graph, types: Iterable[GraphNode], owner: GraphNode) -> list[GraphNode]:
    """Types of the owner's package in its document: a method may be in another file than its type."""
    folder = graph.project.path(owner.doc).rpartition("/")[0]
    same = [one for one in types if graph.project.path(one.doc).rpartition("/")[0] == folder]
    return [GraphNode(owner.doc, one.qualified) for one in same]


def calls_of_bases(graph: Graph, node: GraphNode, most: int = MOST_DOCS) -> dict[GraphNode, list[Edge]]:
    """Callers of the members that this one overrides or implements: through a base, an interface or a trait object
    they may run it. These edges are at most likely, and each names the member that is called. At most `most` documents
    are read for each member."""
    found: dict[GraphNode, list[Edge]] = {}
    for base in overridden(graph, node)[:MOST_BASES]:
        edges = graph.incoming(base, frozenset({"call"}), most).edges
        found[base] = [
            replace(edge, target=node, precision=max(edge.precision, Precision.LIKELY), through=base.qualified)
            for edge in edges
            if edge.source != node and not _is_super(graph, edge)
        ]
    return {base: edges for base, edges in found.items() if edges}


def calls_of_implementations(graph: Graph, node: GraphNode) -> dict[GraphNode, list[Edge]]:
    """Callers of members that implement this one (of an interface or an abstract class) on a value whose type is
    known: a changed contract concerns these callers as well."""
    found = {
        member: [
            edge
            for edge in graph.incoming(member, frozenset({"call"})).edges
            if not _is_super(graph, edge) and not graph.in_test(edge.source)
        ]
        for member in implementing_members(graph, node).nodes[:MOST_CALLED]
    }
    return {member: edges for member, edges in found.items() if edges}


def _is_super(graph: Graph, edge: Edge) -> bool:
    """`super().save()` runs only the base."""
    uses = graph.project.references(edge.site.doc).get(edge.site.container, ())
    here = [one for one in uses if one.line == edge.site.line and one.name == edge.target.name]
    return bool(here) and all(one.receiver.startswith("super") for one in here)
