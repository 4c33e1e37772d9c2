"""What does a name or an expression refer to? Scopes, imports, members, bases and values, for every language.

Everything is resolved on demand and cached until the next generation. `dialects` has the differences between
languages. The depth of a chain of lookups is bounded, and a cycle resolves to nothing.
"""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING

from llmc.graph.dialects import dialect_class, family_of
from llmc.graph.entities import EXTERNAL, UNRESOLVED, Entity, EntityKind, GraphNode, Precision, Resolution
from llmc.graph.facts import CALLABLE_KINDS, TYPE_KINDS, VALUE_KINDS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from llmc.base.model import Reference, ResolutionLink
    from llmc.graph.dialects.base import Dialect
    from llmc.graph.facts import Facts
    from llmc.graph.project import Project

__all__ = ["Resolver", "outwards"]

DEEPEST = 40
MOST_ENTITIES = 12
MOST_REMEMBERED = 200_000
NO_DOCUMENT = -1  # of what is remembered for a module, which need not be a file
STEP = re.compile(r"#?[^\W\d][\w$]*`?|'|\?|\(\)|\[\]")
# A name with type arguments: a type of its own in C#, the same as without them elsewhere.
GENERIC = "`"


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Members of a container that return one of its elements, or the container itself.
ELEMENTS = _words(
    """
    get pop first last next find shift at popitem __enter__ __next__ peek poll remove setdefault
    """
)
SAME = _words(
    """
    values items iter into_iter iter_mut filter slice sorted reverse copy concat sort __iter__ stream
    """
)

# `const a = require("./a")` is recorded as a binding and as an import; the import says which module it is.
REQUIRED = "require()"


class Resolver:
    def __init__(self, project: Project) -> None:
        self.project = project
        self._families: dict[str, Dialect] = project.memo.setdefault("dialects", {})
        self._memo: dict[tuple[int, str, str], Resolution] = project.memo.setdefault("resolutions", {})
        self._running: set[tuple[int, str, str]] = set()
        self._depth = 0

    def dialect(self, facts: Facts) -> Dialect:
        family = family_of(facts.language)
        found = self._families.get(family)
        if found is None:
            found = self._families[family] = dialect_class(family)(self.project)
        return found

    # --- references

    def reference(self, facts: Facts, reference: Reference) -> Resolution:
        """The definitions that a use of a name may refer to."""
        if reference.receiver == GENERIC:
            return self.name(facts, reference.container, reference.name + GENERIC)
        if reference.receiver:
            found = self.evaluate(facts, reference.container, f"{reference.receiver}.{reference.name}")
        else:
            found = self.name(facts, reference.container, reference.name)
            if reference.kind in ("type", "inherit") and self.dialect(facts).implicit_self:
                found = self._named_type(facts, reference, found)
        is_module = bool(found.entities) and all(one.kind is EntityKind.MODULE for one in found.entities)
        # A module cannot be called: this is a parameter of unknown type with the name of a package.
        return UNRESOLVED if is_module and reference.kind == "call" else found

    def _named_type(self, facts: Facts, reference: Reference, found: Resolution) -> Resolution:
        """In the position of a type, a member of the same name is not meant: `Type Type { get; }`, a constructor."""
        if all(self._kind(node) in TYPE_KINDS for node in found.nodes()):
            return found
        typed = self.of_type(facts, reference.container, reference.name)
        types = tuple(Entity(EntityKind.DEFINITION, one.node) for one in typed.entities if one.node.qualified)
        return Resolution(types, typed.precision, typed.closed) if types else EXTERNAL

    # --- expressions

    def evaluate(self, facts: Facts, scope: str, chain: str) -> Resolution:
        return self._once((facts.doc, scope, chain), lambda: self._evaluate(facts, scope, STEP.findall(chain)))

    def _once(self, key: tuple[int, str, str], compute: Callable[[], Resolution]) -> Resolution:
        """Computed once per generation; a cycle, or a chain that is too long, resolves to nothing."""
        known = self._memo.get(key)
        if known is not None:
            return known
        if key in self._running or len(self._running) > DEEPEST:
            return UNRESOLVED
        self._running.add(key)
        try:
            found = compute()
        finally:
            self._running.discard(key)
        # What was cut short by a cycle may be more when it is asked for from outside of it.
        if not self._running or found.entities:
            if len(self._memo) > MOST_REMEMBERED:
                self._memo.clear()
            self._memo[key] = found
        return found

    def _evaluate(self, facts: Facts, scope: str, steps: list[str]) -> Resolution:
        if not steps:
            return UNRESOLVED
        found = self._head(facts, scope, steps[0])
        is_result = False  # for a call that returns its receiver, or an element of it
        for at, step in enumerate(steps[1:], 1):
            if not found.entities:
                return UNRESOLVED
            if step == "()" and is_result:
                is_result = False
            elif step == "()":
                if found is EXTERNAL and not steps[at - 1][:1].isupper():
                    return UNRESOLVED  # a function from outside may well return one of our values
                found = self._each(found, self.call)
            elif step == "[]":
                found = self._each(found, self._element)
            else:
                if steps[at - 1] not in ("()", "[]"):
                    found = self._each(found, self._value)
                owners, name = found.entities, step.lstrip(".").rstrip(GENERIC)
                found = self._each(found, partial(self._named_member, name))
                is_result = self._hands_on(facts, owners, name, found)
        return found

    def _hands_on(self, facts: Facts, owners: tuple[Entity, ...], name: str, found: Resolution) -> bool:
        """Whether a member returns its receiver: `x.clone()` is x, `rows.first()` one of the rows."""
        if any(one.kind not in (EntityKind.INSTANCE, EntityKind.MANY) for one in found.entities):
            return False
        if all(one.kind is EntityKind.MANY for one in owners):
            return name in ELEMENTS | SAME
        return name in self.dialect(facts).transparent and found.entities == owners

    def _named_member(self, name: str, entity: Entity) -> Resolution:
        return self.member(entity, name)

    def _head(self, facts: Facts, scope: str, name: str) -> Resolution:
        if name == "'":
            return EXTERNAL
        if name == "?":
            return UNRESOLVED
        found = self.dialect(facts).head(self, facts, scope, name)
        return self.name(facts, scope, name) if found is None else found

    def _each(self, found: Resolution, step: Callable[[Entity], Resolution]) -> Resolution:
        if self._depth > DEEPEST:
            return UNRESOLVED
        self._depth += 1
        try:
            joined = self.join([step(entity) for entity in found.entities[:MOST_ENTITIES]])
        finally:
            self._depth -= 1
        return joined.weaker(found.precision)

    def join(self, several: Iterable[Resolution]) -> Resolution:
        """The union of several results; less precise if there is more than one."""
        listed = [one for one in several if one.entities or one.closed]
        if not listed:
            return UNRESOLVED
        if len(listed) == 1:
            return listed[0]
        entities = tuple(dict.fromkeys(entity for one in listed for entity in one.entities))
        inside = tuple(one for one in entities if one.kind is not EntityKind.EXTERNAL) or entities
        precision = max([one.precision for one in listed])
        if len(inside) > 1:
            precision = max(precision, Precision.LIKELY)
        return Resolution(inside, precision, all(one.closed for one in listed))

    # --- names

    def name(self, facts: Facts, scope: str, name: str) -> Resolution:
        """A name as it is visible in a scope: from the innermost scope outwards, then through imports."""
        return self._once((facts.doc, scope, f" {name}"), lambda: self._name(facts, scope, name))

    def _name(self, facts: Facts, scope: str, name: str) -> Resolution:
        dialect = self.dialect(facts)
        bare = name.rstrip(GENERIC)
        name = name if dialect.by_arity else bare
        for outer in outwards(scope):
            found = self._in_scope(facts, outer, bare, dialect, inner=scope)
            if not all(dialect.fits(node, name) for node in found.nodes()):
                continue
            if found.entities or found.closed or found.precision is Precision.BY_NAME:
                return found
        for link in facts.links.imports.get("*", ()):
            found = dialect.imported(self, facts, link.value.rpartition("#")[0] + "#" + name)
            if found.nodes():
                return found
        return dialect.surroundings(self, facts, scope, name)

    def own(self, facts: Facts, name: str) -> Resolution:
        """A name at the top level of a file, defined or imported there."""
        return self._in_scope(facts, "", name, self.dialect(facts), inner="")

    def _in_scope(  # noqa: PLR0911 - one for each way of being visible
        self, facts: Facts, scope: str, name: str, dialect: Dialect, *, inner: str
    ) -> Resolution:
        is_type = bool(scope) and facts.kind(scope) in TYPE_KINDS
        # An `impl` block or a receiver names a type that may be defined in another file.
        is_body = is_type or (bool(scope) and not facts.kind(scope))
        if is_body and not dialect.implicit_self and scope != inner:
            return UNRESOLVED  # names of a class body are not visible in its methods
        if is_type and dialect.implicit_self and name == scope.rpartition(".")[2]:
            return Resolution((Entity(EntityKind.DEFINITION, facts.node(scope)),))  # not its constructor
        if is_type and dialect.implicit_self:
            found = self.member(Entity(EntityKind.INSTANCE, facts.node(scope)), name)
            return found if any(one.kind is not EntityKind.EXTERNAL for one in found.entities) else UNRESOLVED
        qualified = f"{scope}.{name}" if scope else name
        bound = facts.links.bindings.get((scope, name), ())
        if facts.kind(qualified) not in ("", "test") and not (bound and facts.kind(scope) in CALLABLE_KINDS):
            return Resolution((Entity(EntityKind.DEFINITION, facts.node(qualified)),))
        links = [link for link in facts.links.imports.get(name, ()) if link.scope == scope or not scope]
        if bound and not (links and all(one.value == REQUIRED for one in bound)):
            return self._bound(facts, bound)._replace(closed=True)
        if links:
            found = self.join([dialect.imported(self, facts, link.value) for link in links])
            return found if found.entities else UNRESOLVED.weaker(Precision.BY_NAME)
        return UNRESOLVED

    def _bound(self, facts: Facts, links: Iterable[ResolutionLink]) -> Resolution:
        return self.join([self._linked(facts, link, link.scope) for link in links])

    def _linked(self, facts: Facts, link: ResolutionLink, scope: str) -> Resolution:
        """The value of a variable, by its declared type or by its assignments."""
        if link.kind in ("type", "atype"):
            return self.of_type(facts, scope, link.value)
        return self.evaluate(facts, scope, link.value).weaker(Precision.LIKELY)

    def of_type(self, facts: Facts, scope: str, types: str) -> Resolution:
        """A value of this type."""
        return self.join([self._of_one_type(facts, scope, one) for one in types.split("|")])

    def _of_one_type(self, facts: Facts, scope: str, chain: str) -> Resolution:
        kind = EntityKind.MANY if chain.endswith("[]") else EntityKind.INSTANCE
        for outer in outwards(scope):
            if (bound := facts.links.bounds.get((outer, chain))) is not None and bound != chain:
                return self.of_type(facts, outer, bound).weaker(Precision.LIKELY)
            found = self.evaluate(facts, outer, chain.removesuffix("[]"))
            types = [Entity(kind, one.node) for one in found.entities if self._is_type(one)]
            if types or found.entities == EXTERNAL.entities:
                return Resolution(tuple(types), found.precision, found.closed) if types else EXTERNAL
            if not found.closed and not any(one.kind is EntityKind.DEFINITION for one in found.entities):
                break  # only a member or a variable of the same name shadows a type inside it
        return UNRESOLVED

    def _is_type(self, entity: Entity) -> bool:
        return entity.kind is EntityKind.DEFINITION and self._kind(entity.node) in TYPE_KINDS

    def _kind(self, node: GraphNode) -> str:
        facts = self.project.facts(node.doc)
        return facts.kind(node.qualified) if facts else ""

    # --- members

    def member(self, entity: Entity, name: str) -> Resolution:  # noqa: PLR0911 - one for each kind
        if entity.kind is EntityKind.EXTERNAL:
            return EXTERNAL
        if entity.kind is EntityKind.MODULE:
            return self._of_module(entity.place, name)
        if entity.kind is EntityKind.MANY:
            kind = EntityKind.INSTANCE if name in ELEMENTS else EntityKind.MANY if name in SAME else None
            return EXTERNAL if kind is None else Resolution((Entity(kind, entity.node),), Precision.LIKELY)
        facts = self.project.facts(entity.node.doc)
        if facts is None:
            return UNRESOLVED
        qualified = entity.node.qualified
        if facts.kind(qualified) in TYPE_KINDS:
            found, is_open = self._of_type(facts, qualified, name, set(), from_bases=entity.kind is EntityKind.SUPER)
            if found.entities:
                return found
            found = self.dialect(facts).extension(facts, name)
            is_external = is_open and not self._forwards(facts, qualified)
            return found if found.entities else EXTERNAL if is_external else self._missing(facts, entity, name)
        inner = f"{qualified}.{name}"
        if facts.defines(inner):
            return Resolution((Entity(EntityKind.DEFINITION, facts.node(inner)),))
        return EXTERNAL if facts.kind(qualified) in CALLABLE_KINDS else UNRESOLVED

    def _forwards(self, facts: Facts, qualified: str) -> bool:
        """Whether it may have any member of the value that it holds."""
        dialect = self.dialect(facts)
        return bool(dialect.forwarding) and any(
            chain.rpartition(".")[2] in dialect.forwarding for _, _, chain in dialect.bases(facts, qualified)
        )

    def _missing(self, facts: Facts, entity: Entity, name: str) -> Resolution:
        """A member that no type of the repository has; some such calls return their receiver."""
        if name in self.dialect(facts).transparent and entity.kind is EntityKind.INSTANCE:
            return Resolution((entity,), Precision.LIKELY)
        return UNRESOLVED

    def _of_module(self, place: str, name: str) -> Resolution:
        """A name that a module exports. Modules may re-export each other in a cycle (`pub use super::*`)."""
        family, _, inner = place.partition("|")
        dialect = self._families.get(family)
        if dialect is None:
            dialect = self._families[family] = dialect_class(family)(self.project)
        return self._once((NO_DOCUMENT, place, name), lambda: dialect.export(self, inner, name))

    def _of_type(
        self, facts: Facts, qualified: str, name: str, seen: set[GraphNode], *, from_bases: bool = False
    ) -> tuple[Resolution, bool]:
        """A member of a type or of its bases, and whether a base is outside the repository."""
        node = facts.node(qualified)
        if node in seen or len(seen) > DEEPEST:
            return UNRESOLVED, False
        seen.add(node)
        dialect = self.dialect(facts)
        if not from_bases and (found := self._own_member(facts, qualified, name, dialect)).entities:
            return found, False
        is_open = False
        for base_facts, scope, chain in dialect.bases(facts, qualified):
            base = self.evaluate(base_facts, scope, chain)
            if not base.entities or base.entities == EXTERNAL.entities:
                is_open = is_open or bool(base.entities) or chain not in ("object", "?")
                continue
            for entity in base.entities:
                inner = self.project.facts(entity.node.doc)
                if inner is None or not self._is_type(entity):
                    continue
                found, opened = self._of_type(inner, entity.node.qualified, name, seen)
                if found.entities:
                    return found.weaker(base.precision), False
                is_open = is_open or opened
        return UNRESOLVED, is_open

    def _own_member(self, facts: Facts, qualified: str, name: str, dialect: Dialect) -> Resolution:
        defined = dialect.members(self, facts, qualified, name)
        if defined:
            nodes = dict.fromkeys(one.node(inner) for one, inner in defined)
            precision = Precision.EXACT if len(nodes) == 1 else Precision.LIKELY
            return Resolution(tuple(Entity(EntityKind.DEFINITION, node) for node in nodes), precision)
        links = [one for one in facts.links.attributes.get(name, ()) if facts.enclosing_type(one.scope) == qualified]
        if links:
            return self.join([self._linked(facts, link, link.scope) for link in links])
        if bound := facts.links.bindings.get((qualified, name)):
            return self._bound(facts, bound)
        return UNRESOLVED

    # --- values

    def call(self, entity: Entity) -> Resolution:
        """The result of calling an entity."""
        if entity.kind in (EntityKind.EXTERNAL, EntityKind.SUPER):
            return Resolution((entity,))
        if entity.kind is not EntityKind.DEFINITION:
            return (
                self._each(self.member(entity, "__call__"), self.call)
                if entity.kind is EntityKind.INSTANCE
                else UNRESOLVED
            )
        kind = self._kind(entity.node)
        if kind in TYPE_KINDS:
            return Resolution((Entity(EntityKind.INSTANCE, entity.node),))
        if kind in CALLABLE_KINDS:
            return self._returned(entity.node)
        if kind not in VALUE_KINDS:
            return UNRESOLVED
        key = (entity.node.doc, entity.node.qualified, "()")
        return self._once(key, lambda: self._each(self._value(entity), self.call))

    def _returned(self, node: GraphNode) -> Resolution:
        facts = self.project.facts(node.doc)
        links = facts.links.returns.get(node.qualified, ()) if facts else ()
        if facts is None or not links:
            return UNRESOLVED
        declared = [link for link in links if link.name == "declared"]
        if declared:
            return self.join([self.of_type(facts, node.qualified, link.value) for link in declared])
        values = [self.evaluate(facts, node.qualified, link.value) for link in links[:MOST_ENTITIES]]
        return self.join(values).weaker(Precision.LIKELY)

    def _element(self, entity: Entity) -> Resolution:
        if entity.kind is EntityKind.MANY:
            return Resolution((Entity(EntityKind.INSTANCE, entity.node),), Precision.LIKELY)
        if entity.kind is EntityKind.DEFINITION and self._kind(entity.node) in TYPE_KINDS:
            return Resolution((entity,))  # Generic[T]
        if entity.kind is EntityKind.DEFINITION:
            held = self._value(entity)
            return UNRESOLVED if entity in held.entities else self._each(held, self._element)
        if entity.kind is EntityKind.EXTERNAL:
            return EXTERNAL
        return self._each(self.member(entity, "__getitem__"), self.call)

    def _value(self, entity: Entity) -> Resolution:
        """The value of a definition: of a variable its value, of a property its result; otherwise the definition
        itself."""
        if entity.kind is not EntityKind.DEFINITION:
            return Resolution((entity,))
        kind = self._kind(entity.node)
        if kind in TYPE_KINDS or kind not in VALUE_KINDS | CALLABLE_KINDS:
            return Resolution((entity,))
        facts = self.project.facts(entity.node.doc)
        if facts is None:
            return UNRESOLVED
        if kind in CALLABLE_KINDS:
            found = self._returned(entity.node)
            return found if found.entities else Resolution((entity,))
        key = (entity.node.doc, entity.node.qualified, "=")
        return self._once(key, lambda: self._held(facts, entity.node.qualified))

    def _held(self, facts: Facts, qualified: str) -> Resolution:
        """The value of a variable; for an alias of another variable, the value of that one."""
        container, _, name = qualified.rpartition(".")
        bound = facts.links.bindings.get((container, name), ())
        return self._each(self._bound(facts, bound), self._value) if bound else UNRESOLVED


def outwards(scope: str) -> Iterator[str]:
    while scope:
        yield scope
        scope = scope.rpartition(".")[0]
    yield ""
