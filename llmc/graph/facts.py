"""What one document declares, indexed for resolution: definitions by name and container, imports, bases, bindings.

A document's number identifies one content and is never reused, so facts stay valid as long as the store does;
`FactsCache` keeps a bounded number of them.
"""

from __future__ import annotations

import re
from collections import OrderedDict, defaultdict
from functools import cached_property
from threading import Lock
from typing import TYPE_CHECKING

from llmc.base.cache_budget import cache_share
from llmc.graph.entities import GraphNode

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from llmc.base.model import Reference, ResolutionLink, Symbol
    from llmc.store.catalog.packing import Declarations, SymbolColumns
    from llmc.store.protocols import CatalogReader

__all__ = ["CALLABLE_KINDS", "TYPE_KINDS", "VALUE_KINDS", "Facts", "FactsCache", "UsesCache"]

TYPE_KINDS = frozenset(
    {"class", "struct", "interface", "trait", "enum", "object", "protocol", "record", "union", "type", "mixin"}
)
CALLABLE_KINDS = frozenset({"function", "method", "constructor", "macro", "test"})
VALUE_KINDS = frozenset({"variable", "constant", "field", "property"})
_GETTER = re.compile(r"(?:(?:public|protected|private|static|override|async|export)\s+)*(?:get|set)\s+[\w$#]")
FEW_ASKED = 8  # names that are looked for in a file of Go before all of its names are indexed
# Facts take some thirty times the memory of the packed symbols and links that they are made of.
UNPACKED = 30
# The memory that one reference takes.
ROW_BYTES = 200
# Share of the graph's part of the cache budget; the rest is for resolution results.
FACTS_SHARE, USES_SHARE = 0.6, 0.2


class Links:
    """The links of a document, by kind."""

    def __init__(self, links: tuple[ResolutionLink, ...]) -> None:
        self.imports: dict[str, list[ResolutionLink]] = defaultdict(list)
        self.exports: dict[str, list[ResolutionLink]] = defaultdict(list)
        self.bindings: dict[tuple[str, str], list[ResolutionLink]] = defaultdict(list)
        self.attributes: dict[str, list[ResolutionLink]] = defaultdict(list)
        self.bases: dict[str, list[str]] = defaultdict(list)
        self.returns: dict[str, list[ResolutionLink]] = defaultdict(list)
        self.tests: set[str] = set()
        self.properties: set[str] = set()
        self.packages: list[str] = []
        self.bounds = {(link.scope, link.name): link.value for link in links if link.kind == "bound"}
        self.sends = [link for link in links if link.kind == "send"]
        self.receives = [link for link in links if link.kind == "receive"]
        for link in links:
            self._take(link)

    def _take(self, link: ResolutionLink) -> None:
        if link.kind in ("bind", "type"):
            self.bindings[link.scope, link.name].append(link)
        elif link.kind in ("attr", "atype"):
            self.attributes[link.name].append(link)
        elif link.kind == "import":
            self.imports[link.name].append(link)
        elif link.kind == "export":
            self.exports[link.name].append(link)
        elif link.kind == "base":
            self.bases[link.scope].append(link.value)
        elif link.kind == "return":
            self.returns[link.scope].append(link)
        elif link.kind == "test":
            self.tests.add(link.scope)
        elif link.kind == "property":
            self.properties.add(link.scope)
        elif link.kind == "module":
            self.packages.append(link.value)


class Facts:
    """The declarations of a document, unpacked and indexed on first use."""

    def __init__(self, doc: int, declared: Declarations) -> None:
        self.doc = doc
        self.path = declared.path
        self.language = declared.language
        self.size = declared.size
        self._declared = declared
        self._asked = 0

    @cached_property
    def symbols(self) -> SymbolColumns:
        return self._declared.symbols()

    @cached_property
    def links(self) -> Links:
        return Links(self._declared.links())

    @cached_property
    def by_qualified(self) -> dict[str, int]:
        """qualified name → index of its last definition among the symbols."""
        names = self.symbols.qualified()
        return dict(zip(names, range(len(names)), strict=True))

    @cached_property
    def _overloaded(self) -> dict[str, list[int]]:
        """Indexes of the definitions of names that have several."""
        if len(self.by_qualified) == len(self.symbols):
            return {}
        found: dict[str, list[int]] = {}
        for at, qualified in enumerate(self.symbols.qualified()):
            found.setdefault(qualified, []).append(at)
        return {qualified: places for qualified, places in found.items() if len(places) > 1}

    def _places(self, qualified: str) -> list[int]:
        """The indexes of a name's definitions among the symbols. In most files only one or two names are looked up,
        which takes a hundredth of the time of indexing all."""
        is_rare = "by_qualified" not in self.__dict__ and self._asked < FEW_ASKED
        if is_rare and self.language == "go" and "(" not in qualified:
            self._asked += 1
            return self.symbols.places(qualified)
        found = self._overloaded.get(qualified)
        if found is not None:
            return found
        at = self.by_qualified.get(qualified)
        return [] if at is None else [at]

    def defines(self, qualified: str) -> bool:
        return bool(self._places(qualified))

    def named(self, name: str) -> list[str]:
        """The qualified names of all definitions with this name."""
        return self.symbols.qualified_of(name)

    def definitions(self, qualified: str) -> list[Symbol]:
        """All definitions with this qualified name: overloads, and a field beside a method."""
        return [self.symbols[at] for at in self._places(qualified)]

    def symbol(self, qualified: str) -> Symbol | None:
        """The definition with this qualified name; the longest of several, since overload signatures come before the
        body."""
        found = self._places(qualified)
        return self.symbols[max(found, key=self.symbols.lengths.__getitem__)] if found else None

    def kind(self, qualified: str) -> str:
        """The kind of a definition; that of the function if a field has the same name, as in Java."""
        found = self._places(qualified)
        if not found:
            return ""
        kinds = self.symbols.kinds
        first = kinds[found[0]]
        if len(found) == 1 or first not in VALUE_KINDS:
            return first
        return next((kinds[at] for at in found if kinds[at] in CALLABLE_KINDS), first)

    def is_property(self, qualified: str) -> bool:
        """Whether reading the attribute runs the method."""
        if qualified in self.links.properties:
            return True
        return any(_GETTER.match(one.signature) for one in self.definitions(qualified))

    def is_member(self, qualified: str) -> bool:
        """Whether it belongs to a type, which may be defined in another file: `impl` blocks, receivers of Go."""
        container = qualified.rpartition(".")[0]
        return bool(container) and self.kind(container) in TYPE_KINDS | {""}

    def node(self, qualified: str) -> GraphNode:
        return GraphNode(self.doc, qualified)

    def enclosing_type(self, scope: str) -> str:
        """The innermost type around a scope; empty if there is none."""
        while scope:
            if self.kind(scope) in TYPE_KINDS:
                return scope
            scope = scope.rpartition(".")[0]
        return ""


class FactsCache:
    """The facts of the most recently used documents. `stores` is the number of caches that share the memory."""

    def __init__(self, stores: Callable[[], int]) -> None:
        self._stores = stores
        self._kept: OrderedDict[int, Facts] = OrderedDict()
        self._bytes = 0
        self._lock = Lock()

    def get(self, catalog: CatalogReader, doc: int) -> Facts | None:
        with self._lock:
            found = self._kept.get(doc)
            if found is not None:
                self._kept.move_to_end(doc)
                return found
        self.load(catalog, [doc])
        with self._lock:
            return self._kept.get(doc)

    def load(self, catalog: CatalogReader, docs: Collection[int]) -> None:
        """Loads several documents with one statement."""
        with self._lock:
            missing = [doc for doc in docs if doc not in self._kept]
        if not missing:
            return
        read = catalog.declarations(missing)
        with self._lock:
            for doc, declared in read.items():
                self._kept[doc] = facts = Facts(doc, declared)
                self._bytes += facts.size
            most = FACTS_SHARE * cache_share("graph") / UNPACKED / max(1, self._stores())
            while self._bytes > most and len(self._kept) > len(missing):
                _, dropped = self._kept.popitem(last=False)
                self._bytes -= dropped.size

    @property
    def memory(self) -> int:
        """The approximate size in bytes."""
        return UNPACKED * self._bytes


class UsesCache:
    """The references of the most recently used documents, by enclosing definition; shared like `FactsCache`."""

    def __init__(self, stores: Callable[[], int]) -> None:
        self._stores = stores
        self._kept: OrderedDict[int, dict[str, tuple[Reference, ...]]] = OrderedDict()
        self._rows = 0
        self._lock = Lock()

    def get(self, catalog: CatalogReader, doc: int) -> dict[str, tuple[Reference, ...]]:
        with self._lock:
            found = self._kept.get(doc)
        if found is not None:
            return found
        grouped: dict[str, list[Reference]] = defaultdict(list)
        for reference in catalog.references(doc):
            grouped[reference.container].append(reference)
        made = {container: tuple(several) for container, several in grouped.items()}
        with self._lock:
            self._kept[doc] = made
            self._rows += sum(map(len, made.values()))
            most = USES_SHARE * cache_share("graph") / ROW_BYTES / max(1, self._stores())
            while self._rows > most and len(self._kept) > 1:
                _, dropped = self._kept.popitem(last=False)
                self._rows -= sum(map(len, dropped.values()))
        return made

    @property
    def memory(self) -> int:
        """The approximate size in bytes."""
        return ROW_BYTES * self._rows
