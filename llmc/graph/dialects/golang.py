"""Go: a package is a folder, found by import path and go.mod; methods lie anywhere in it; interfaces are structural."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from llmc.graph.dialects.base import Dialect, module_entity
from llmc.graph.entities import (
    EXTERNAL,
    UNRESOLVED,
    Entity,
    EntityKind,
    GraphNode,
    Implementing,
    Precision,
    Resolution,
)
from llmc.graph.facts import TYPE_KINDS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from llmc.base.model import Symbol
    from llmc.graph.facts import Facts
    from llmc.graph.resolve import Resolver

__all__ = ["Go"]

MODULE = re.compile(r"^module\s+(\S+)", re.MULTILINE)
# An interface is skipped if more types than this have one of its methods.
MOST_EMBEDDING = 200
DEEPEST = 8


class Go(Dialect):
    family = "go"
    selves = frozenset()
    own_types = frozenset()
    supers = frozenset()
    is_structural = True
    constructors = frozenset()

    def module(self, facts: Facts, module: str) -> Resolution:  # noqa: ARG002 - an import path means the same everywhere
        key = ("go module", module)
        if key not in self.project.memo:
            self.project.memo[key] = self._folder(module)
        found: Resolution = self.project.memo[key]
        return found

    def _folder(self, module: str) -> Resolution:
        for name, folder in self.project.once("go modules", self._modules):
            if module == name or module.startswith(f"{name}/"):
                inner = module[len(name) :].strip("/")
                return module_entity(self.family, "/".join(part for part in (folder, inner) if part))
        return EXTERNAL

    def _modules(self) -> list[tuple[str, str]]:
        """(module, folder) of every go.mod, longest name first."""
        found = [
            (name[1].strip('"'), path.rpartition("/")[0])
            for path in self.project.named("go.mod")
            if (name := MODULE.search(self.project.text(path)))
        ]
        return sorted(found, key=lambda one: -len(one[0]))

    def export(self, resolver: Resolver, place: str, name: str) -> Resolution:  # noqa: ARG002 - others follow imports
        nodes = [GraphNode(one.doc, name) for one in self._of_package(place, name) if one.defines(name)]
        if not nodes:
            return UNRESOLVED
        precision = Precision.EXACT if len(nodes) == 1 else Precision.LIKELY
        return Resolution(tuple(Entity(EntityKind.DEFINITION, node) for node in nodes), precision)

    def _of_package(self, folder: str, name: str) -> list[Facts]:
        """The files of a package that define a name; several may, each for another operating system."""
        project = self.project
        docs = sorted(project.in_folder(folder).intersection(project.defining(name)))
        project.load(docs)
        found = [one for doc in docs if (one := project.facts(doc)) is not None and one.language == "go"]
        product = [one for one in found if not one.path.endswith("_test.go")]
        return product or found

    def surroundings(self, resolver: Resolver, facts: Facts, scope: str, name: str) -> Resolution:  # noqa: ARG002
        """The rest of the package. Any other name without a receiver is built in."""
        found = self.export(resolver, facts.path.rpartition("/")[0], name)
        return found if found.entities else EXTERNAL

    def members(self, resolver: Resolver, facts: Facts, qualified: str, name: str) -> list[tuple[Facts, str]]:
        own = super().members(resolver, facts, qualified, name) or self._embedded(resolver, facts, qualified, name)
        if own:
            return own
        inner = f"{qualified}.{name}"
        package = self._of_package(facts.path.rpartition("/")[0], name)
        return [(one, inner) for one in package if one.defines(inner)][:1]

    def _embedded(self, resolver: Resolver, facts: Facts, qualified: str, name: str) -> list[tuple[Facts, str]]:
        """An embedded type is a field with the type's name: `handler.Service.Create()`."""
        chains = [one for one in facts.links.bases.get(qualified, ()) if one.rstrip("`").rpartition(".")[2] == name]
        nodes = [node for one in chains for node in resolver.evaluate(facts, "", one).nodes()]
        found = [(self.project.facts(node.doc), node.qualified) for node in nodes]
        return [(one, inner) for one, inner in found if one is not None and one.kind(inner) in TYPE_KINDS][:1]

    def implementing(self, resolver: Resolver, facts: Facts, qualified: str, most: int) -> Implementing:
        """Types whose methods include all those of an interface."""
        if facts.kind(qualified) != "interface":
            return Implementing()
        methods = self._methods(resolver, facts, qualified, DEEPEST)
        if not methods:
            return Implementing()
        defining = {name: len(self.project.defining(name)) for name in methods}
        ordered = sorted(methods, key=lambda name: (defining[name], name))
        if defining[ordered[0]] > most:
            return Implementing(unread=defining[ordered[0]])
        candidates = self._having(ordered[0])
        embedding = self._embedding(resolver, ordered, candidates, min(most, MOST_EMBEDDING))
        unread = defining[ordered[-1]] if embedding is None else 0
        candidates |= embedding or set()
        for name in ordered[1:]:
            # Thousands of files may define a method `Get`, so only the packages of the candidates are read.
            candidates = {one for one in candidates if self._has(*one, name) or self._promotes(resolver, one, name)}
        declared = {one.name: arity(one) for one in self._declared(facts, qualified)}
        candidates = {one for one in candidates if self._agrees(*one, declared)}
        found = [self._type(folder, name) for folder, name in sorted(candidates)]
        return Implementing(tuple(node for node in found if node is not None), unread)

    def _declared(self, facts: Facts, qualified: str) -> list[Symbol]:
        """The methods that an interface declares itself."""
        columns = enumerate(zip(facts.symbols.containers, facts.symbols.kinds, strict=True))
        return [facts.symbols[at] for at, (container, kind) in columns if container == qualified and kind == "method"]

    def _agrees(self, folder: str, owner: str, declared: Mapping[str, int | None]) -> bool:
        """Whether the methods that a type defines itself take as many arguments as the interface declares: client and
        server of a generated service have methods of the same names."""
        for name, wanted in declared.items():
            for facts in self._of_package(folder, name):
                symbol = facts.symbol(f"{owner}.{name}")
                if symbol is not None and wanted is not None and arity(symbol) not in (wanted, None):
                    return False
        return True

    def _methods(self, resolver: Resolver, facts: Facts, qualified: str, depth: int) -> set[str]:
        own = {one.name for one in self._declared(facts, qualified)}
        for chain in facts.links.bases.get(qualified, ()) if depth else ():
            for node in resolver.evaluate(facts, "", chain).nodes():
                inner = self.project.facts(node.doc)
                if inner is not None and inner.kind(node.qualified) == "interface":
                    own |= self._methods(resolver, inner, node.qualified, depth - 1)
        return own

    def _having(self, name: str) -> set[tuple[str, str]]:
        """(folder, type) of every type with a method of this name."""
        docs = self.project.defining(name)
        self.project.load(docs)
        found = set()
        for doc in docs:
            facts = self.project.facts(doc)
            for qualified in facts.named(name) if facts and facts.language == "go" else ():
                owner = qualified.rpartition(".")[0]
                if facts and owner and "." not in owner and facts.kind(owner) != "interface":
                    found.add((facts.path.rpartition("/")[0], owner))
        return found

    def _has(self, folder: str, owner: str, name: str) -> bool:
        return any(facts.defines(f"{owner}.{name}") for facts in self._of_package(folder, name))

    def _embedding(
        self, resolver: Resolver, methods: list[str], known: set[tuple[str, str]], most: int
    ) -> set[tuple[str, str]] | None:
        """Types that define some of the methods and get the rarest one from an embedded type; None if the names are
        too common to check every type."""
        others: set[tuple[str, str]] = set()
        if any(len(self.project.defining(name)) > most for name in methods[1:]):
            return None
        for name in methods[1:]:
            others |= self._having(name) - known
            if len(others) > most:
                return None
        return {one for one in others if self._promotes(resolver, one, methods[0])}

    def _promotes(self, resolver: Resolver, candidate: tuple[str, str], name: str) -> bool:
        """Whether a type gets a method from an embedded type."""
        node = self._type(*candidate)
        return node is not None and bool(resolver.member(Entity(EntityKind.INSTANCE, node), name).nodes())

    def _type(self, folder: str, name: str) -> GraphNode | None:
        for facts in self._of_package(folder, name):
            if facts.kind(name) in TYPE_KINDS:
                return facts.node(name)
        return None


def arity(method: Symbol) -> int | None:
    """The number of arguments that a method takes; None if its signature is truncated."""
    _, found, rest = method.signature.partition(f"{method.name}(")
    depth, count, is_empty = 1, 0, True
    for sign in rest if found else "":
        depth += (sign in "([{") - (sign in ")]}")
        if depth == 0:
            return count + (not is_empty)
        if sign == "," and depth == 1:
            count, is_empty = count + 1, True
        elif not sign.isspace():
            is_empty = False
    return None
