"""C#: types are found by namespace, wherever their files lie; classes may be partial, methods may extend types."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmc.graph.dialects.base import Dialect, module_entity, shared_folders
from llmc.graph.entities import EXTERNAL, UNRESOLVED, Entity, EntityKind, GraphNode, Precision, Resolution
from llmc.graph.facts import TYPE_KINDS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from llmc.graph.facts import Facts
    from llmc.graph.resolve import Resolver

__all__ = ["CSharp"]

MOST_DEFINING = 300
GENERIC = "`"


class CSharp(Dialect):
    family = "csharp"
    selves = frozenset({"this"})
    own_types = frozenset()
    supers = frozenset({"base"})
    implicit_self = True
    by_arity = True
    constructors = frozenset()

    def imported(self, resolver: Resolver, facts: Facts, target: str) -> Resolution:
        module, _, name = target.rpartition("#")
        found = self._in_namespace(module, name)
        if found:
            return self._nearest(facts, found)
        outer, _, owner = module.rpartition(".")  # using static
        types = self._in_namespace(outer, owner)
        if types:
            return resolver.join([resolver.member(Entity(EntityKind.DEFINITION, node), name) for node in types])
        return UNRESOLVED

    def _in_namespace(self, namespace: str, name: str) -> list[GraphNode]:
        """Types by namespace and name. A namespace is part of a container, or declared for the whole file."""
        key = ("csharp", namespace, name)
        if key not in self.project.memo:
            self.project.memo[key] = list(self._types(namespace, name))
        found: list[GraphNode] = self.project.memo[key]
        return found

    def _types(self, namespace: str, name: str) -> Iterator[GraphNode]:
        bare = name.rstrip(GENERIC)
        docs = self.project.defining(bare)[:MOST_DEFINING] if bare else []
        self.project.load(docs)
        found = [
            facts.node(qualified)
            for facts in map(self.project.facts, docs)
            if facts is not None and facts.language == "csharp"
            for qualified in facts.named(bare)
            if facts.kind(qualified) in TYPE_KINDS and self._namespace(facts, qualified) == namespace
        ]
        fitting = [node for node in found if self._is_generic(node) == name.endswith(GENERIC)]
        yield from fitting or found

    def _is_generic(self, node: GraphNode) -> bool:
        facts = self.project.facts(node.doc)
        symbols = facts.definitions(node.qualified) if facts else []
        return any(one.signature.partition(node.name)[2].startswith("<") for one in symbols)

    def fits(self, node: GraphNode, name: str) -> bool:
        facts = self.project.facts(node.doc)
        is_type = facts is not None and facts.kind(node.qualified) in TYPE_KINDS
        return not is_type or self._is_generic(node) == name.endswith(GENERIC)

    def _namespace(self, facts: Facts, qualified: str) -> str:
        container = qualified.rpartition(".")[0]
        return container or (facts.links.packages[0] if facts.links.packages else "")

    def _nearest(self, origin: Facts, nodes: list[GraphNode]) -> Resolution:
        """The parts of a partial class are one type, represented by the nearest file."""
        nearest = max(
            nodes, key=lambda node: (node.doc == origin.doc, shared_folders(origin.path, self.project.path(node.doc)))
        )
        return Resolution((Entity(EntityKind.DEFINITION, nearest),))

    def export(self, resolver: Resolver, place: str, name: str) -> Resolution:  # noqa: ARG002 - namespaces have no order
        found = self._in_namespace(place, name)
        if found:
            return Resolution(tuple(Entity(EntityKind.DEFINITION, node) for node in found[:1]))
        return module_entity(self.family, f"{place}.{name}")

    def surroundings(self, resolver: Resolver, facts: Facts, scope: str, name: str) -> Resolution:  # noqa: ARG002
        """Names of the file's namespace and the enclosing ones, then of namespaces that the project imports
        everywhere."""
        for namespace in self._around(facts, scope):
            if found := self._in_namespace(namespace, name):
                return self._nearest(facts, found)
        for namespace in self.project.once("global usings", self._global_usings):
            if found := self._in_namespace(namespace, name):
                return self._nearest(facts, found)
        return EXTERNAL if name[:1].isupper() and not self._is_member(name) else UNRESOLVED

    def _is_member(self, name: str) -> bool:
        """Methods are capitalized like types, so a name that some type has may be an inherited member."""
        return bool(self.project.defining(name.rstrip(GENERIC)))

    def _around(self, facts: Facts, scope: str) -> Iterator[str]:
        for package in facts.links.packages or [scope]:
            namespace = package
            while namespace:
                yield namespace
                namespace = namespace.rpartition(".")[0]
        yield ""

    def _global_usings(self) -> list[str]:
        names = [path for path in self.project.path_set if path.lower().endswith("usings.cs")]
        found: dict[str, None] = {}
        for path in names[:50]:
            facts = self.project.facts_at(path)
            for link in facts.links.exports.get("*", ()) if facts else ():
                found[link.value.rpartition("#")[0]] = None
        return list(found)

    def members(self, resolver: Resolver, facts: Facts, qualified: str, name: str) -> list[tuple[Facts, str]]:
        own = super().members(resolver, facts, qualified, name)
        if own:
            return own
        generic = GENERIC if self._is_generic(facts.node(qualified)) else ""
        type_name = qualified.rpartition(".")[2] + generic
        parts = self._in_namespace(self._namespace(facts, qualified), type_name)
        for node in parts:
            other = self.project.facts(node.doc)
            if other is not None and other is not facts and other.defines(f"{node.qualified}.{name}"):
                return [(other, f"{node.qualified}.{name}")]
        return []

    def extension(self, facts: Facts, name: str) -> Resolution:
        """An extension method, called on a value: `static void Log(this Order order)`."""
        docs = self.project.defining(name)[:MOST_DEFINING]
        self.project.load(docs)
        nodes: dict[GraphNode, None] = {}
        for doc in docs:
            other = self.project.facts(doc)
            for qualified in other.named(name) if other and other.language == facts.language else ():
                if other and any("(this " in one.signature for one in other.definitions(qualified)):
                    nodes[other.node(qualified)] = None
        if len(nodes) != 1:
            return UNRESOLVED
        return Resolution(tuple(Entity(EntityKind.DEFINITION, node) for node in nodes), Precision.LIKELY)
