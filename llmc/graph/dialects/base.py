"""What a language decides about names: where modules live, what is visible without an import, how types are open.

`Dialect` is the general case: a file is a module of its own and types are closed. Each language overrides what differs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmc.graph.entities import NOWHERE, UNRESOLVED, Entity, EntityKind, Implementing, Resolution

if TYPE_CHECKING:
    from llmc.graph.entities import GraphNode
    from llmc.graph.facts import Facts
    from llmc.graph.project import Project
    from llmc.graph.resolve import Resolver

__all__ = ["Dialect", "module_entity", "shared_folders"]


def module_entity(family: str, place: str) -> Resolution:
    return Resolution((Entity(EntityKind.MODULE, NOWHERE, f"{family}|{place}"),))


def shared_folders(one: str, other: str) -> int:
    """The number of leading folders that two paths share."""
    shared = 0
    for left, right in zip(one.split("/")[:-1], other.split("/")[:-1], strict=False):
        if left != right:
            break
        shared += 1
    return shared


class Dialect:
    """`selves` name the current object, `own_types` its type, `supers` its bases. `implicit_self`: members are visible
    without a receiver. `by_arity`: a type with type arguments is another one than without; its name ends with "`".
    `is_structural`: a type implements an interface without naming it."""

    family = ""
    selves: frozenset[str] = frozenset({"self", "this"})
    own_types: frozenset[str] = frozenset({"cls", "Self"})
    supers: frozenset[str] = frozenset({"super"})
    implicit_self = False
    by_arity = False
    is_structural = False
    constructors: frozenset[str] = frozenset({"__init__", "constructor", "__new__"})
    # Calls that return their receiver, or the value that it wraps.
    transparent: frozenset[str] = frozenset()
    # Bases that lend a type the members of a value which it holds, whose type is a parameter.
    forwarding: frozenset[str] = frozenset()

    def __init__(self, project: Project) -> None:
        self.project = project

    def module(self, facts: Facts, module: str) -> Resolution:  # noqa: ARG002 - for those that have modules
        """The module that an import statement of this file names."""
        return UNRESOLVED

    def export(self, resolver: Resolver, place: str, name: str) -> Resolution:  # noqa: ARG002 - as above
        """The definition that a module exports under this name."""
        return UNRESOLVED

    def surroundings(self, resolver: Resolver, facts: Facts, scope: str, name: str) -> Resolution:  # noqa: ARG002
        """Names visible in a file without an import, besides its own definitions."""
        return UNRESOLVED

    def head(self, resolver: Resolver, facts: Facts, scope: str, name: str) -> Resolution | None:
        """A special meaning of the first word of a chain; None if it is an ordinary name."""
        if name in self.selves:
            return self._owned(resolver, facts, scope, EntityKind.INSTANCE)
        if name in self.own_types:
            return self._owned(resolver, facts, scope, EntityKind.DEFINITION)
        if name in self.supers:
            return self._owned(resolver, facts, scope, EntityKind.SUPER)
        return None

    def _owned(self, resolver: Resolver, facts: Facts, scope: str, kind: EntityKind) -> Resolution | None:
        owner = self.owner(resolver, facts, scope)
        return None if owner is None else Resolution((Entity(kind, owner),))

    def owner(self, resolver: Resolver, facts: Facts, scope: str) -> GraphNode | None:  # noqa: ARG002 - as above
        """The type that a scope belongs to."""
        found = facts.enclosing_type(scope)
        return facts.node(found) if found else None

    def members(self, resolver: Resolver, facts: Facts, qualified: str, name: str) -> list[tuple[Facts, str]]:  # noqa: ARG002
        """(facts, qualified name) of the members of a type with this name, wherever they are defined."""
        inner = f"{qualified}.{name}" if qualified else name
        return [(facts, inner)] if facts.defines(inner) else []

    def fits(self, node: GraphNode, name: str) -> bool:  # noqa: ARG002 - where type arguments tell types apart
        """Whether a definition in scope matches a name as it is written."""
        return True

    def is_callable_by_name(self, facts: Facts, qualified: str) -> bool:  # noqa: ARG002 - for those that hide members
        """Whether a call on a value of unknown type may mean this method."""
        return True

    def extension(self, facts: Facts, name: str) -> Resolution:  # noqa: ARG002 - for those that have them
        """An extension function: called like a member of a type that does not define it."""
        return UNRESOLVED

    def bases(self, facts: Facts, qualified: str) -> list[tuple[Facts, str, str]]:
        """(facts, scope, chain) of the bases of a type, wherever they are declared."""
        return [(facts, qualified.rpartition(".")[0], one) for one in facts.links.bases.get(qualified, ())]

    def implementing(self, resolver: Resolver, facts: Facts, qualified: str, most: int) -> Implementing:  # noqa: ARG002 - others look for them
        """Types that implement an interface implicitly; none if more than `most` files would have to be read."""
        return Implementing()

    def imported(self, resolver: Resolver, facts: Facts, target: str) -> Resolution:
        """The definition that `module#name` of an import or export of this file refers to."""
        module, _, name = target.rpartition("#")
        if not module:
            return resolver.name(facts, "", name)
        found = self.module(facts, module)
        if not name or found.closed or not found.entities:
            return found
        return resolver.join([resolver.member(entity, name) for entity in found.entities])
