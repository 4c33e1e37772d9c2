"""The edges of the graph: what a definition uses, and what uses it, each with its precision.

References come from the catalog, their meaning from `resolve`. Product code never resolves into tests. Guesses by name
are kept apart: they are counted, and listed if the name is distinctive or the caller requests them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING

from llmc.base.languages import language_of, role_of
from llmc.graph.dialects import family_of
from llmc.graph.dialects.base import Dialect, shared_folders
from llmc.graph.entities import MOST_DOCS, Edge, EntityKind, GraphNode, Implementing, Precision, Site
from llmc.graph.events import Events
from llmc.graph.facts import CALLABLE_KINDS, TYPE_KINDS, VALUE_KINDS
from llmc.graph.implementations import overridden
from llmc.graph.library_names import LIBRARY_NAMES
from llmc.graph.resolve import Resolver
from llmc.graph.testing import is_test
from llmc.store.keywords.trigrams import trigrams
from llmc.store.protocols import Trigrams

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from llmc.base.model import Reference
    from llmc.graph.entities import Resolution
    from llmc.graph.facts import Facts
    from llmc.graph.project import Project

__all__ = ["Edges", "Graph"]

# Documents that define a method. If every method of an interface is more common, its implementations are not listed.
MOST_DEFINING = 1_500
# A name that more documents define than this is too common for guesses by name.
MOST_GUESSES = 60
# A call by name is listed if at most this many files define the name.
MOST_CANDIDATES = 2
# A method and its overrides count as one method if at most this many files define the name.
MOST_OVERRIDING = 12
USES = frozenset({"call", "use", "type", "inherit", "write"})
SEVERAL_WORDS = re.compile(r"[A-Za-z0-9]_[A-Za-z0-9]|[a-z0-9][A-Z]")


@dataclass(slots=True)
class Edges:
    """`guesses` are edges by name. `unlisted` maps sites whose guesses were not requested to the name used there.
    `elsewhere` are calls of the name that seem to mean another definition. `unread` is the number of documents that may
    contain the name and were not read because a limit was reached."""

    edges: list[Edge] = field(default_factory=list)
    guesses: list[Edge] = field(default_factory=list)
    unlisted: dict[Site, str] = field(default_factory=dict)
    elsewhere: list[Edge] = field(default_factory=list)
    unread: int = 0

    @property
    def complete(self) -> bool:
        return not self.unread


class Graph:
    """`check` is called before each document that is searched for uses; it may raise to end the query."""

    def __init__(self, project: Project, check: Callable[[], None] = lambda: None) -> None:
        self.project = project
        self.check = check
        self.resolver = Resolver(project)
        self.events = Events(project, self.resolver)

    # --- what a definition uses

    def outgoing(self, node: GraphNode, kinds: frozenset[str] = USES, *, guesses: bool = False) -> Edges:
        """The uses in a definition and in the definitions inside it, in source order. Guesses are listed on request,
        since they require reading every definition of the name, and if few files define the name."""
        found = Edges()
        facts = self.project.facts(node.doc)
        if facts is None:
            return found
        inner = f"{node.qualified}."
        uses = [
            reference
            for container, references in self.project.references(node.doc).items()
            if container == node.qualified or container.startswith(inner)
            for reference in references
            if reference.kind in kinds
        ]
        self.project.look_up(reference.name for reference in uses)
        for reference in uses:
            self._resolve(facts, reference, found, guesses=guesses)
        if "call" in kinds:
            found.edges += self._kept_events(self.events.outgoing(facts, node), found.edges)
        found.edges.sort(key=lambda edge: edge.site.line)
        return found

    def _kept_events(self, edges: Iterable[Edge], known: list[Edge]) -> list[Edge]:
        """Event edges between definitions that no call connects already; product code sends nothing to tests."""
        pairs = {(edge.source, edge.target) for edge in known}
        return [
            edge
            for edge in dict.fromkeys(edges)
            if (edge.source, edge.target) not in pairs
            and edge.source != edge.target
            and (self.in_test(edge.source) or not self.in_test(edge.target))
        ]

    def of_document(self, doc: int) -> Edges:
        """All uses in a document, for benchmarks."""
        found = Edges()
        facts = self.project.facts(doc)
        for reference in self.project.catalog.references(doc) if facts else ():
            if facts and reference.kind in USES:
                self._resolve(facts, reference, found, guesses=True)
        return found

    def _resolve(self, facts: Facts, reference: Reference, found: Edges, *, guesses: bool) -> None:
        source = self.source(facts, reference)
        site = Site(facts.doc, reference.line, reference.kind, reference.container)
        resolution = self.resolve(facts, reference)
        nodes = self._targets(facts, source, resolution.nodes())
        nodes = [node for node in nodes if node != source or reference.kind == "call"]
        if nodes:
            precision = resolution.precision if len(nodes) == 1 else max(resolution.precision, Precision.LIKELY)
            found.edges += [Edge(source, node, site, precision) for node in nodes]
        elif not resolution.entities and not resolution.closed and reference.kind in ("call", "use"):
            if (only := self._only_method(facts, source, reference)) is not None:
                found.edges.append(Edge(source, only, site, Precision.LIKELY))
            elif guesses or self._is_telling(reference):
                named = self._by_name(facts, source, reference)
                found.guesses += [Edge(source, node, site, Precision.BY_NAME) for node in named]
            elif self._may_mean(facts, source, reference.name):
                found.unlisted[site] = reference.name

    def _is_telling(self, reference: Reference, most: int = MOST_CANDIDATES) -> bool:
        """Whether the name of a method identifies it although its receiver is unknown: few files define it, and no
        library does."""
        if reference.kind != "call" or not reference.receiver or reference.name in LIBRARY_NAMES:
            return False
        return 0 < len(self.project.defining(reference.name)) <= most

    def _only_method(self, facts: Facts, source: GraphNode, reference: Reference) -> GraphNode | None:
        """The target of a call on an unknown value if the name has several words, no library defines it, and the
        repository has one method of the name, or one with its overrides and implementations."""
        if SEVERAL_WORDS.search(reference.name) is None or not self._is_telling(reference, MOST_OVERRIDING):
            return None
        named = self._by_name(facts, source, reference)
        if len(named) == 1:
            few = len(self.project.defining(reference.name)) <= MOST_CANDIDATES
            there = self.project.facts(named[0].doc)
            if not few or there is None:
                return None
            return named[0] if self.resolver.dialect(there).is_callable_by_name(there, named[0].qualified) else None
        key = ("overridden by all", tuple(named))
        if key not in self.project.memo:
            self.project.memo[key] = self._overridden_by_all(named)
        found: GraphNode | None = self.project.memo[key]
        return found

    def _overridden_by_all(self, nodes: list[GraphNode]) -> GraphNode | None:
        """The one of these members that all others override, directly or indirectly; None if there is none."""
        bases = {node: set(overridden(self, node)) for node in nodes}
        first = [node for node in nodes if not bases[node].intersection(nodes)]
        return first[0] if len(first) == 1 and len(nodes) > 1 else None

    def _may_mean(self, facts: Facts, source: GraphNode, name: str) -> bool:
        """Whether a file of the same language family defines the name; test files only count for tests."""
        tested = is_test(facts, source.qualified)
        docs = self.project.defining(name)[:MOST_GUESSES]
        paths = self.project.places.paths_of(docs)
        return any(
            family_of(language_of(path)) == family(facts) and (tested or role_of(path) != "test") for path in paths
        )

    def resolve(self, facts: Facts, reference: Reference) -> Resolution:
        """The target of a use: from the compiler's index if that fits the file, else from our own resolution."""
        index = self.project.scip
        indexed = index.reference(self.project, facts, reference) if index is not None else None
        return self.resolver.reference(facts, reference) if indexed is None else indexed

    def source(self, facts: Facts, reference: Reference) -> GraphNode:
        """The function or type around a use; the initialiser of a variable belongs to what encloses it."""
        qualified = reference.container
        while qualified and facts.kind(qualified) in VALUE_KINDS:
            qualified = qualified.rpartition(".")[0]
        return facts.node(qualified)

    def _targets(self, facts: Facts, source: GraphNode, nodes: list[GraphNode]) -> list[GraphNode]:
        if not nodes or is_test(facts, source.qualified):
            return nodes
        return [node for node in nodes if not self.in_test(node)]

    def in_test(self, node: GraphNode) -> bool:
        facts = self.project.facts(node.doc)
        return facts is not None and is_test(facts, node.qualified)

    def _by_name(self, facts: Facts, source: GraphNode, reference: Reference) -> list[GraphNode]:
        """Definitions with this name, in the same language family."""
        docs = self.project.defining(reference.name)
        if len(docs) > MOST_GUESSES:
            docs = sorted(docs, key=lambda doc: -shared_folders(facts.path, self.project.path(doc)))[:MOST_GUESSES]
        self.project.load(docs)
        nodes = [node for doc in docs for node in self._named(doc, reference, facts)]
        return self._targets(facts, source, [node for node in nodes if node != source])

    def _named(self, doc: int, reference: Reference, origin: Facts) -> Iterator[GraphNode]:
        facts = self.project.facts(doc)
        if facts is None or family(facts) != family(origin):
            return
        for qualified in facts.named(reference.name):
            kind = facts.kind(qualified)
            if kind in CALLABLE_KINDS and (facts.is_member(qualified) or not reference.receiver or not origin.path):
                yield facts.node(qualified)

    def structural(self, node: GraphNode, most: int = MOST_DEFINING) -> Implementing:
        """Types that implement an interface implicitly, in languages that allow it; none if more than `most` files
        define the rarest of its methods."""
        facts = self.project.facts(node.doc)
        if facts is None:
            return Implementing()
        dialect = self.resolver.dialect(facts)
        return self.project.once(  # every member of an interface gets here
            ("structural", node, most), lambda: dialect.implementing(self.resolver, facts, node.qualified, most)
        )

    def indexed_implementations(self, node: GraphNode) -> list[GraphNode]:
        """The implementations that a compiler's index lists."""
        index = self.project.scip
        return index.implementing(self.project, node) if index is not None else []

    # --- what uses a definition

    def incoming(self, node: GraphNode, kinds: frozenset[str] = USES, most: int = MOST_DOCS) -> Edges:
        """The uses of a definition anywhere in the root, by path and line. A call of a type is a use of its
        constructor. If more than `most` documents may contain the name, the nearest of them are read."""
        found = Edges()
        facts = self.project.facts(node.doc)
        if facts is None:
            return found
        using = self._uses_of(node, node, kinds, found, most)
        if "call" in kinds:
            found.edges += self._kept_events(self.events.incoming(node, using), found.edges)
        owner = node.qualified.rpartition(".")[0]
        constructors = {*self.resolver.dialect(facts).constructors, owner.rpartition(".")[2]}
        if facts.kind(owner) in TYPE_KINDS and node.name in constructors:
            self._uses_of(facts.node(owner), node, kinds & {"call"}, found, most)
        found.edges = _by_place(self.project, found.edges)
        # "No callers" is only true if every call of the name certainly means something else.
        guesses = found.guesses or ([] if found.edges else found.elsewhere)
        found.guesses = _by_place(self.project, guesses)
        return found

    def _uses_of(self, target: GraphNode, node: GraphNode, kinds: frozenset[str], found: Edges, most: int) -> list[int]:
        """Uses of `target`, as edges to `node`, and the documents that mention it."""
        origin = self.project.facts(target.doc)
        if origin is None:
            return []
        uses = self.project.catalog.references_named(target.name, self._holding(target.name, origin, found, most))
        renamed = self._renamed(target, origin, found, most)
        self.project.load({*uses, *renamed})
        for doc in dict.fromkeys([*uses, *renamed]):
            self.check()
            facts = self.project.facts(doc)
            if facts is None or family(facts) != family(origin):
                continue
            references = uses.get(doc, ())
            aliases = {*self._aliases(facts, target.name, references), *renamed.get(doc, ())} - {target.name, "*"}
            others = [self.project.catalog.references_named(alias, [doc]).get(doc, ()) for alias in sorted(aliases)]
            for reference in chain(references, *others):
                if reference.kind in kinds:
                    self._match(facts, reference, target, node, found)
        return [*uses, *renamed]

    def _renamed(self, target: GraphNode, origin: Facts, found: Edges, most: int) -> dict[int, list[str]]:
        """document → local names, for files that export a definition under another name: `export default Foo`."""
        links = [link for several in origin.links.exports.values() for link in several]
        names = {link.name for link in links if link.value == f"#{target.name}"} - {target.name}
        dialect = self.resolver.dialect(origin)
        locals_: dict[int, list[str]] = {}
        for name in names:
            written = _module_word(origin.path) if name in ("default", "=") else name
            for doc in self._holding(written, origin, found, most):
                facts = self.project.facts(doc)
                for link in [one for several in facts.links.imports.values() for one in several] if facts else ():
                    if (
                        facts
                        and link.value.endswith(f"#{name}")
                        and target in dialect.imported(self.resolver, facts, link.value).nodes()
                    ):
                        locals_.setdefault(doc, []).append(link.name)
        return locals_

    def mentions(self, name: str) -> int:
        """The number of documents that may contain a name."""
        return self.project.once(("mentions", name), lambda: len(self._candidates(name)))

    def _candidates(self, name: str) -> list[int]:
        wanted = trigrams(name)
        places = self.project.places
        return places.keep(self.project.keywords.candidates(Trigrams(all=wanted))) if wanted else list(places)

    def _holding(self, name: str, origin: Facts, found: Edges, most: int) -> list[int]:
        """The documents that may contain a name, from the trigram index; the nearest if there are more than `most`."""
        docs = self._candidates(name)
        if len(docs) > most:
            found.unread += len(docs) - most
            docs = sorted(docs, key=lambda doc: -shared_folders(origin.path, self.project.places[doc]))[:most]
        return docs

    def _aliases(self, facts: Facts, name: str, references: tuple[Reference, ...]) -> set[str]:
        """Other names under which a file imports a definition."""
        if not any(one.kind == "import" for one in references):
            return set()
        links = (link for several in facts.links.imports.values() for link in several)
        return {link.name for link in links if link.value.endswith(f"#{name}")}

    def _match(self, facts: Facts, reference: Reference, target: GraphNode, node: GraphNode, found: Edges) -> None:
        resolution = self.resolve(facts, reference)
        source = self.source(facts, reference)
        site = Site(facts.doc, reference.line, reference.kind, reference.container)
        nodes = self._targets(facts, source, resolution.nodes())
        if target in nodes:
            precision = resolution.precision if len(nodes) == 1 else max(resolution.precision, Precision.LIKELY)
            found.edges.append(Edge(source, node, site, precision))
        elif not resolution.entities and not resolution.closed and reference.kind in ("call", "use"):
            if self._only_method(facts, source, reference) == target:
                found.edges.append(Edge(source, node, site, Precision.LIKELY))
            elif self._may_be(facts, source, reference, target):
                found.guesses.append(Edge(source, node, site, Precision.BY_NAME))
        elif not resolution.entities and reference.kind == "inherit" and self._inherits_by_name(facts, target):
            found.edges.append(Edge(source, node, site, Precision.LIKELY))
        elif _is_uncertain(reference, resolution) and self._may_be(facts, source, reference, target):
            found.elsewhere.append(Edge(source, node, site, Precision.BY_NAME))

    def _inherits_by_name(self, facts: Facts, target: GraphNode) -> bool:
        r"""Whether a base of this name is the target, in a language whose names are not resolved: the target is the
        only type of the name, or is in the file's own folder, or its folder precedes the name
        (`Timesheet\Calculator`)."""
        if type(self.resolver.dialect(facts)) is not Dialect:
            return False
        if self._types_named(target.name, family(facts)) == [target.doc]:
            return True
        folder = self.project.path(target.doc).rpartition("/")[0]
        spelled = rf"\b{re.escape(folder.rpartition('/')[2])}[\\/.:]+{re.escape(target.name)}\b"
        is_near = self.project.path(facts.doc).rpartition("/")[0] == folder
        return is_near or re.search(spelled, self.project.text(self.project.path(facts.doc))) is not None

    def _types_named(self, name: str, kin: str) -> list[int]:
        """The documents of a language family that define a type of this name; looked up once for all its uses."""
        key = ("types named", name, kin)
        if key not in self.project.memo:
            found = (self.project.facts(doc) for doc in self.project.defining(name))
            alike = [one for one in found if one and family(one) == kin]
            self.project.memo[key] = [one.doc for one in alike if _defines_type(one, name)]
        docs: list[int] = self.project.memo[key]
        return docs

    def _may_be(self, facts: Facts, source: GraphNode, reference: Reference, target: GraphNode) -> bool:
        """Whether the name and the kind of its use fit a definition."""
        return target in self._named(target.doc, reference, facts) and bool(self._targets(facts, source, [target]))


def _defines_type(facts: Facts, name: str) -> bool:
    return any(facts.kind(qualified) in TYPE_KINDS for qualified in facts.named(name))


def _is_uncertain(reference: Reference, resolution: Resolution) -> bool:
    """Whether a method is called on a value whose type was inferred, or seems to be from outside the repository."""
    if reference.kind != "call" or not reference.receiver or reference.receiver.startswith(("'", "super")):
        return False
    is_external = any(one.kind is EntityKind.EXTERNAL for one in resolution.entities)
    return reference.name not in LIBRARY_NAMES if is_external else resolution.precision is Precision.LIKELY


def _module_word(path: str) -> str:
    """The word by which imports name a file: its stem, or the folder of an index file."""
    folder, _, file = path.rpartition("/")
    stem = file.partition(".")[0]
    return folder.rpartition("/")[2] if stem == "index" and folder else stem


def family(facts: Facts) -> str:
    return family_of(facts.language)


def _by_place(project: Project, edges: list[Edge]) -> list[Edge]:
    return sorted(dict.fromkeys(edges), key=lambda one: (project.path(one.site.doc), one.site.line))
