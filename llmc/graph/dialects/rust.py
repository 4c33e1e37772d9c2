"""Rust: modules are files or blocks below a crate's root; `impl` blocks lie anywhere in the crate."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from llmc.graph.dialects.base import Dialect, module_entity
from llmc.graph.entities import EXTERNAL, UNRESOLVED, Entity, EntityKind, GraphNode, Precision, Resolution
from llmc.graph.facts import TYPE_KINDS

if TYPE_CHECKING:
    from llmc.graph.facts import Facts
    from llmc.graph.resolve import Resolver

__all__ = ["Rust"]

ROOTS = ("lib.rs", "main.rs")
NAME = re.compile(r"\[(?:package|lib)\][^\[]*?^name\s*=\s*\"([^\"]+)\"", re.MULTILINE | re.DOTALL)
DEPENDENCIES = re.compile(r"^\[[^\]\n]*dependencies(?:\.([\w-]+))?\]([^\n]*(?:\n(?!\[)[^\n]*)*)", re.MULTILINE)
KEY = re.compile(r"^([\w-]+)\s*[=.]", re.MULTILINE)
MOST_DEFINING = 300
FEW_CRATES = 8  # files that define a member: where more do, only those of the type's crate are looked at
INLINE = "#"  # between the file of a module and the block in it


class Rust(Dialect):
    family = "rust"
    selves = frozenset({"self"})
    own_types = frozenset({"Self"})
    supers = frozenset()
    constructors = frozenset()
    forwarding = frozenset({"Deref"})
    transparent = frozenset(
        {
            "unwrap",
            "expect",
            "clone",
            "as_ref",
            "as_mut",
            "borrow",
            "borrow_mut",
            "lock",
            "unwrap_or_default",
            "to_owned",
        }
        | {
            "unwrap_or_else",
            "read",
            "write",
            "as_deref",
            "ok",
            "iter",
            "into",
            "cloned",
            "take",
            "await",
            "deref",
            "unwrap_or",
        }
    )

    def head(self, resolver: Resolver, facts: Facts, scope: str, name: str) -> Resolution | None:
        if name == "crate":
            return module_entity(self.family, self._root(facts.path))
        if name == "super":
            return self._above(facts.path, self._inline(facts, scope))
        found = super().head(resolver, facts, scope, name)
        if found is None and name == "self":
            return self._place(facts.path, self._inline(facts, scope))
        if found is None and name[:1].islower() and name not in facts.links.imports:
            named = resolver.name(facts, scope, name)
            # A parameter of a closure or a variable of a pattern, unless it is a crate.
            return (
                UNRESOLVED
                if named is EXTERNAL and name not in self.project.once("dependencies", self._dependencies)
                else named
            )
        return found

    def _dependencies(self) -> set[str]:
        """The external crates that the manifests of the repository name."""
        texts = [self.project.text(path) for path in self.project.named("Cargo.toml")]
        tables = [table for text in texts for table in DEPENDENCIES.findall(text)]
        names = {one for name, table in tables for one in (name, *KEY.findall(table)) if one}
        return {"std", "core", "alloc", *(name.replace("-", "_") for name in names)}

    def _place(self, path: str, inline: str) -> Resolution:
        return module_entity(self.family, f"{path}{INLINE}{inline}" if inline else path)

    def _above(self, path: str, inline: str) -> Resolution:
        """The module that contains this one: a block or a file."""
        if inline:
            return self._place(path, inline.rpartition(".")[0])
        folder, _, file = path.rpartition("/")
        if file == "mod.rs":
            folder = folder.rpartition("/")[0]
        tried = [f"{folder}/{name}" if folder else name for name in ("mod.rs", *ROOTS)]
        doc = self.project.first([*tried, f"{folder}.rs"])
        return UNRESOLVED if doc is None else module_entity(self.family, self.project.path(doc))

    def _inline(self, facts: Facts, scope: str) -> str:
        """The innermost `mod` block around a scope."""
        while scope and facts.kind(scope) != "module":
            scope = scope.rpartition(".")[0]
        return scope

    def _root(self, path: str) -> str:
        """The root file of the crate that contains a file."""
        folders = path.split("/")[:-1]
        for depth in range(len(folders), -1, -1):
            folder = "/".join(folders[:depth])
            tried = [f"{folder}/{name}" if folder else name for name in ROOTS]
            doc = self.project.first(tried)
            if doc is not None:
                return self.project.path(doc)
        return path

    def imported(self, resolver: Resolver, facts: Facts, target: str) -> Resolution:
        """Resolves `a::b#c` step by step from the front."""
        module, _, name = target.rpartition("#")
        parts = [part for part in (*module.split("::"), name) if part]
        found = self._first(resolver, facts, parts[0])
        for part in parts[1:]:
            if found.closed and not found.entities:
                return found
            found = resolver.join([resolver.member(entity, part) for entity in found.entities])
        return found

    def _first(self, resolver: Resolver, facts: Facts, name: str) -> Resolution:
        if name in ("crate", "super", "self"):
            return self.head(resolver, facts, "", name) or UNRESOLVED
        found = self._child(facts.path, "", name)
        if found is None:
            found = resolver.own(facts, name) if name not in facts.links.imports else None
        return found if found is not None and found.entities else self._crate(name)

    def _crate(self, name: str) -> Resolution:
        root = self.project.once("crates", self._crates).get(name)
        return EXTERNAL if root is None else module_entity(self.family, root)

    def _crates(self) -> dict[str, str]:
        """Crate → its root file, for the crates of the repository."""
        crates: dict[str, str] = {}
        for path in self.project.named("Cargo.toml"):
            folder = path.rpartition("/")[0]
            roots = [f"{folder}/src/lib.rs" if folder else "src/lib.rs", f"{folder}/lib.rs" if folder else "lib.rs"]
            doc = self.project.first(roots)
            if doc is not None:
                for found in NAME.findall(self.project.text(path)):
                    crates.setdefault(found.replace("-", "_"), self.project.path(doc))
        return crates

    def _child(self, path: str, inline: str, name: str) -> Resolution | None:
        """The module inside a module: a block of the same file, or another file."""
        facts = self.project.facts_at(path)
        inner = f"{inline}.{name}" if inline else name
        if facts is not None and facts.kind(inner) == "module":
            if inner in facts.symbols.containers:
                return module_entity(self.family, f"{path}{INLINE}{inner}")
            folder, _, file = path.rpartition("/")
            base = folder if file in ("mod.rs", *ROOTS) else path.removesuffix(".rs")
            stem = "/".join(part for part in (base, *inline.split("."), name) if part)
            doc = self.project.first([f"{stem}.rs", f"{stem}/mod.rs"])
            if doc is not None:
                return module_entity(self.family, self.project.path(doc))
        return None

    def export(self, resolver: Resolver, place: str, name: str) -> Resolution:  # noqa: PLR0911 - one for each form
        path, _, inline = place.partition(INLINE)
        facts = self.project.facts_at(path)
        if facts is None:
            return UNRESOLVED
        if name == "*":
            return self._place(path, inline)
        found = self._child(path, inline, name)
        if found is not None:
            return found
        inner = f"{inline}.{name}" if inline else name
        if facts.defines(inner):
            return Resolution((Entity(EntityKind.DEFINITION, facts.node(inner)),))
        for link in facts.links.imports.get(name, ()):
            if link.scope == inline:
                return self.imported(resolver, facts, link.value)
        for link in facts.links.imports.get("*", ()):
            starred = self.imported(resolver, facts, link.value.rpartition("#")[0] + "#" + name)
            if starred.nodes():
                return starred
        return UNRESOLVED

    def surroundings(self, resolver: Resolver, facts: Facts, scope: str, name: str) -> Resolution:  # noqa: ARG002
        """Modules and crates by name, then macros; everything else has to be imported."""
        found = self._child(facts.path, self._inline(facts, scope), name) or self._crate(name)
        if found is not EXTERNAL:
            return found
        macros = [doc for doc in self.project.defining(name) if self._is_macro(doc, name)]
        if len(macros) == 1:
            return Resolution((Entity(EntityKind.DEFINITION, GraphNode(macros[0], name)),), Precision.LIKELY)
        return EXTERNAL

    def _is_macro(self, doc: int, name: str) -> bool:
        facts = self.project.facts(doc)
        return facts is not None and facts.language == "rust" and facts.kind(name) == "macro"

    def owner(self, resolver: Resolver, facts: Facts, scope: str) -> GraphNode | None:
        """The type of an `impl`, which may be defined in another file."""
        found = facts.enclosing_type(scope)
        if found:
            return facts.node(found)
        container, _, _ = scope.rpartition(".")
        while container and facts.kind(container) in ("function", "method"):
            container = container.rpartition(".")[0]
        outer, _, name = container.rpartition(".")
        nodes = resolver.name(facts, outer, name).nodes() if name and name[:1].isupper() else []
        return nodes[0] if len(nodes) == 1 else None

    def is_callable_by_name(self, facts: Facts, qualified: str) -> bool:
        """A method without `pub` is private or implements a trait, which types of libraries may implement, too."""
        symbol = facts.symbol(qualified)
        is_public = symbol is not None and symbol.signature.lstrip().startswith("pub")
        return is_public or facts.kind(qualified.rpartition(".")[0]) == "trait"

    def members(self, resolver: Resolver, facts: Facts, qualified: str, name: str) -> list[tuple[Facts, str]]:
        own = super().members(resolver, facts, qualified, name)
        if own or facts.kind(qualified) not in TYPE_KINDS:
            return own
        type_name, node = qualified.rpartition(".")[2], facts.node(qualified)
        crate = self._root(facts.path).rpartition("/")[0]
        docs = self.project.defining(name)
        if len(docs) > FEW_CRATES:  # a trait of another crate may add methods to the type
            docs = [doc for doc in docs if self.project.path(doc).startswith(crate)]
        found = []
        for doc in docs[:MOST_DEFINING]:
            other = self.project.facts(doc)
            for inner in other.named(name) if other and doc != facts.doc else ():
                outer, _, owner = inner.rpartition(".")[0].rpartition(".")
                if other and owner == type_name and node in resolver.name(other, outer, owner).nodes():
                    found.append((other, inner))
        return found
