"""C and C++: a name is global unless it is static; what a file includes decides between several of the same name."""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING

from llmc.graph.dialects.base import Dialect, shared_folders
from llmc.graph.entities import UNRESOLVED, Entity, EntityKind, GraphNode, Precision, Resolution
from llmc.graph.facts import TYPE_KINDS

if TYPE_CHECKING:
    from llmc.graph.facts import Facts
    from llmc.graph.resolve import Resolver

__all__ = ["CFamily"]

MOST_DEFINING = 200
HEADERS = (".h", ".hpp", ".hh", ".hxx", ".inl", ".ipp", ".tpp", ".cuh")


class CFamily(Dialect):
    family = "c"
    selves = frozenset({"this"})
    own_types = frozenset()
    supers = frozenset()
    implicit_self = True
    constructors = frozenset()
    transparent = frozenset({"get", "lock", "release", "operator"})

    def imported(self, resolver: Resolver, facts: Facts, target: str) -> Resolution:  # noqa: ARG002 - others follow
        """`using namespace a` makes its names visible; includes are looked through by `surroundings`."""
        module, _, name = target.rpartition("#")
        if not module.startswith("::"):
            return UNRESOLVED
        return self._global(facts, f"{module[2:].replace('::', '.')}.{name}")

    def surroundings(self, resolver: Resolver, facts: Facts, scope: str, name: str) -> Resolution:  # noqa: ARG002
        """A global of that name, in the namespaces around the scope first."""
        outer = scope
        while outer:
            outer = outer.rpartition(".")[0]
            if outer and (found := self._global(facts, f"{outer}.{name}")).entities:
                return found
        return self._global(facts, name)

    def _global(self, facts: Facts, qualified: str) -> Resolution:
        name = qualified.rpartition(".")[2]
        nodes = [node for node in self._defined(name, qualified) if self._visible(facts, node)]
        bodies = [node for node in nodes if self._has_body(node)] or nodes
        if not bodies:
            return UNRESOLVED
        if len(bodies) == 1:
            return Resolution((Entity(EntityKind.DEFINITION, bodies[0]),))
        nearest = max(bodies, key=lambda node: self._nearness(facts, node))
        rivals = [node for node in bodies if self._nearness(facts, node) == self._nearness(facts, nearest)]
        if len(rivals) > 1:
            return UNRESOLVED
        return Resolution((Entity(EntityKind.DEFINITION, nearest),), Precision.LIKELY)

    def _defined(self, name: str, qualified: str) -> list[GraphNode]:
        docs = self.project.defining(name)[:MOST_DEFINING]
        self.project.load(docs)
        found = []
        for doc in docs:
            facts = self.project.facts(doc)
            if facts is not None and facts.language in ("c", "cpp", "cuda", "objc") and facts.defines(qualified):
                found.append(GraphNode(doc, qualified))
        return found

    def _visible(self, facts: Facts, node: GraphNode) -> bool:
        """False for a static function of another source file."""
        if node.doc == facts.doc:
            return True
        other = self.project.facts(node.doc)
        symbol = other.symbol(node.qualified) if other else None
        is_static = symbol is not None and symbol.signature.startswith(("static ", "inline static "))
        return not is_static or self.project.path(node.doc).endswith(HEADERS)

    def _has_body(self, node: GraphNode) -> bool:
        facts = self.project.facts(node.doc)
        if facts is None:
            return False
        if facts.kind(node.qualified) in TYPE_KINDS:
            return True
        symbol = facts.symbol(node.qualified)
        return symbol is not None and (not facts.path.endswith(HEADERS) or symbol.end_line > symbol.start_line)

    def _nearness(self, facts: Facts, node: GraphNode) -> tuple[bool, bool, int]:
        path = self.project.path(node.doc)
        return node.doc == facts.doc, self._included(facts, path), shared_folders(facts.path, path)

    def _included(self, facts: Facts, path: str) -> bool:
        """Whether a file includes another one, or the header next to it."""
        stem = posixpath.splitext(path)[0]
        for link in facts.links.imports.get("*", ()):
            included = link.value.rpartition("#")[0]
            if path.endswith(included) or stem.endswith(posixpath.splitext(included)[0]):
                return True
        return False

    def owner(self, resolver: Resolver, facts: Facts, scope: str) -> GraphNode | None:  # noqa: ARG002 - as above
        """For `void Foo::bar() {}`, the class Foo, which a header defines."""
        found = facts.enclosing_type(scope)
        if found:
            return facts.node(found)
        container = scope.rpartition(".")[0]
        nodes = [one for one in self._global(facts, container).nodes() if container]
        return nodes[0] if len(nodes) == 1 else None

    def members(self, resolver: Resolver, facts: Facts, qualified: str, name: str) -> list[tuple[Facts, str]]:
        """The definition outside the class rather than its declaration inside."""
        inner = f"{qualified}.{name}"
        nodes = [node for node in self._defined(name, inner) if self._has_body(node)]
        elsewhere = [node for node in nodes if node.doc != facts.doc]
        chosen = elsewhere if len(elsewhere) == 1 else []
        found = [(other, inner) for node in chosen if (other := self.project.facts(node.doc)) is not None]
        return found or super().members(resolver, facts, qualified, name)
