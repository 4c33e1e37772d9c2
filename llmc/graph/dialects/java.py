"""Java: a class is found by its package and name; the members that a class has or inherits are visible without a
receiver.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmc.graph.dialects.base import Dialect, module_entity, shared_folders
from llmc.graph.entities import EXTERNAL, UNRESOLVED, Entity, EntityKind, GraphNode, Precision, Resolution
from llmc.graph.facts import TYPE_KINDS

if TYPE_CHECKING:
    from llmc.graph.facts import Facts
    from llmc.graph.resolve import Resolver

__all__ = ["Java"]

MOST_DEFINING = 300


class Java(Dialect):
    family = "java"
    selves = frozenset({"this"})
    own_types = frozenset()
    implicit_self = True
    constructors = frozenset()

    def imported(self, resolver: Resolver, facts: Facts, target: str) -> Resolution:
        module, _, name = target.rpartition("#")
        return self._qualified(resolver, facts, module, name)

    def _qualified(self, resolver: Resolver, facts: Facts, module: str, name: str) -> Resolution:
        """A type of a package, or a member of a type."""
        found = self._in_package(module, name)
        if found:
            return self._nearest(facts, found, name)
        outer, _, owner = module.rpartition(".")
        if not owner[:1].isupper():
            return EXTERNAL
        types = self._qualified(resolver, facts, outer, owner)
        if not types.nodes():
            return EXTERNAL
        return resolver.join([resolver.member(entity, name) for entity in types.entities])

    def _in_package(self, package: str, name: str) -> list[Facts]:
        project = self.project
        found = []
        for doc in project.defining(name)[:MOST_DEFINING]:
            facts = project.facts(doc)
            if (
                facts
                and facts.language == "java"
                and package in facts.links.packages
                and facts.kind(name) in TYPE_KINDS
            ):
                found.append(facts)
        return found

    def _nearest(self, origin: Facts, found: list[Facts], name: str) -> Resolution:
        """If several modules of a build have the same class, the one nearest to the use."""
        nearest = max(found, key=lambda one: shared_folders(origin.path, one.path))
        precision = Precision.EXACT if len(found) == 1 else Precision.LIKELY
        return Resolution((Entity(EntityKind.DEFINITION, GraphNode(nearest.doc, name)),), precision)

    def export(self, resolver: Resolver, place: str, name: str) -> Resolution:  # noqa: ARG002 - packages have no order
        found = self._in_package(place, name)
        if found:
            return Resolution(tuple(Entity(EntityKind.DEFINITION, GraphNode(one.doc, name)) for one in found))
        return module_entity(self.family, f"{place}.{name}") if name[:1].islower() else UNRESOLVED

    def surroundings(self, resolver: Resolver, facts: Facts, scope: str, name: str) -> Resolution:  # noqa: ARG002
        """The other types of the package. A type that is not among them comes from outside the repository."""
        for package in facts.links.packages:
            if found := self._in_package(package, name):
                return self._nearest(facts, found, name)
        return EXTERNAL if name[:1].isupper() else UNRESOLVED
