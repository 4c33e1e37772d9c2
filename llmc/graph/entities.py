"""The values of the code graph: definitions as nodes, the entities that an expression may denote, edges with their
precision.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple

__all__ = [
    "EXTERNAL",
    "MOST_DOCS",
    "UNRESOLVED",
    "Edge",
    "Entity",
    "EntityKind",
    "GraphNode",
    "Implementing",
    "Precision",
    "Resolution",
    "Site",
]

# Documents whose references are checked for one name; the nearest come first.
MOST_DOCS = 6_000


class Precision(IntEnum):
    """How an edge was found. EXACT: through scopes, imports, `self` and declared types. LIKELY: a value's type was
    inferred, or several definitions are possible. BY_NAME: only the name matches."""

    EXACT = 0
    LIKELY = 1
    BY_NAME = 2

    @property
    def label(self) -> str:
        return ("exact", "likely", "by name")[self]


class GraphNode(NamedTuple):
    """A definition: the document and the qualified name in it. Overloads share a node."""

    doc: int
    qualified: str

    @property
    def name(self) -> str:
        return self.qualified.rpartition(".")[2]


class EntityKind(IntEnum):
    MODULE = 0
    DEFINITION = 1
    INSTANCE = 2  # a value whose type is the definition
    MANY = 3  # a container of such values
    SUPER = 4  # the definition as its own bases see it
    EXTERNAL = 5  # known to come from outside the repository


class Entity(NamedTuple):
    """Something that an expression may denote. `place` is the module (a path, or what its dialect uses), else empty."""

    kind: EntityKind
    node: GraphNode
    place: str = ""


NOWHERE = GraphNode(0, "")
EXTERNAL_ENTITY = Entity(EntityKind.EXTERNAL, NOWHERE)


class Resolution(NamedTuple):
    """The entities that an expression may denote; none if nothing is known. `closed`: it is certainly none of the
    repository's definitions of that name, such as a parameter that shadows a function."""

    entities: tuple[Entity, ...] = ()
    precision: Precision = Precision.EXACT
    closed: bool = False

    def nodes(self) -> list[GraphNode]:
        return [one.node for one in self.entities if one.kind is EntityKind.DEFINITION]

    def weaker(self, precision: Precision) -> Resolution:
        return self if self.precision >= precision else self._replace(precision=precision)


UNRESOLVED = Resolution()
EXTERNAL = Resolution((EXTERNAL_ENTITY,), closed=True)


class Implementing(NamedTuple):
    """Types or members that implement something. `unread` files may contain more of them, but are too many to read."""

    nodes: tuple[GraphNode, ...] = ()
    unread: int = 0


class Site(NamedTuple):
    """A place where a name is used. `kind` is the reference's; `container` the qualified name that encloses it."""

    doc: int
    line: int
    kind: str
    container: str


@dataclass(frozen=True, slots=True)
class Edge:
    """`source` uses `target` at `site`; `through` is the event, signal or channel between them, if there is one."""

    source: GraphNode
    target: GraphNode
    site: Site
    precision: Precision
    through: str = ""
