"""One root as the graph sees it: which document is at which path, and what its build files define.

A project belongs to one generation of the catalog. `project_of` keeps the latest of each root, so results of one
question serve the next until a save changes the index.
"""

from __future__ import annotations

import json
import re
from functools import cached_property
from threading import Lock
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import WeakKeyDictionary

from llmc.base.cache_budget import cache_share, register_cache
from llmc.base.errors import LlmcError
from llmc.base.languages import role_of
from llmc.base.root_fs import FileKind
from llmc.base.text import Binary, decode
from llmc.graph.facts import FACTS_SHARE, USES_SHARE, Facts, FactsCache, UsesCache
from llmc.graph.scip_index import SCIP_FILE, open_scip

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable

    from llmc.base.model import Reference, Root, Stamp
    from llmc.base.root_fs import RootFs
    from llmc.graph.scip_index import ScipIndex
    from llmc.store.catalog.document_paths import DocumentPaths
    from llmc.store.protocols import CatalogReader, StoreReader

__all__ = ["Project", "forget_projects", "graph_memory", "project_of"]

T = TypeVar("T")
LARGEST_TEXT = 2 << 20
MOST_TEXTS = 400
MOST_CONFIGS = 400
# The memory that one resolution result takes, with its key.
MEMO_BYTES = 200
_COMMENTS = re.compile(r"\"(?:\\.|[^\"\\])*\"|/\*.*?\*/|//[^\n]*", re.DOTALL)
_TRAILING = re.compile(r",(\s*[}\]])")


class Project:
    def __init__(self, root: Root, root_fs: RootFs, store: StoreReader, generation: int, kept: Kept) -> None:
        self.root = root
        self.root_fs = root_fs
        self.catalog = store.catalog
        self.keywords = store.keywords
        self.generation = generation
        self._cache = kept.facts
        self._uses = kept.uses
        self._indexes = kept.indexes
        self._docs: dict[str, int | None] = {}
        self._configs: dict[str, dict[str, Any] | None] = {}
        self._texts: dict[str, str] = {}
        self.memo: dict[Any, Any] = {}

    @cached_property
    def places(self) -> DocumentPaths:
        return self.catalog.places(self.root.id)

    @cached_property
    def path_set(self) -> dict[str, int]:
        return dict(zip(self.places.paths(), self.places, strict=True))

    def facts(self, doc: int) -> Facts | None:
        return self._cache.get(self.catalog, doc)

    def load(self, docs: Iterable[int]) -> None:
        self._cache.load(self.catalog, list(docs))

    def references(self, doc: int) -> dict[str, tuple[Reference, ...]]:
        """The uses in a document, by enclosing definition."""
        return self._uses.get(self.catalog, doc)

    @property
    def memory(self) -> int:
        """The approximate size in bytes of all resolution results and loaded facts."""
        kept = len(self.memo) + len(self._docs) + len(self._configs)
        return MEMO_BYTES * kept + sum(map(len, self._texts.values()))

    def once(self, key: Hashable, compute: Callable[[], T]) -> T:
        """The value of `compute`, which is called once per generation."""
        if key not in self.memo:
            self.memo[key] = compute()
        found: T = self.memo[key]
        return found

    def in_folder(self, folder: str) -> frozenset[int]:
        """The documents directly in a folder."""
        return self.once(("folder", folder), lambda: frozenset(self.catalog.docs_in(self.root.id, folder)))

    def facts_at(self, path: str) -> Facts | None:
        doc = self.first([path])
        return None if doc is None else self.facts(doc)

    def first(self, paths: list[str]) -> int | None:
        """The document of the first of these paths that is indexed."""
        unknown = [path for path in paths if path not in self._docs]
        if unknown:
            found = self.catalog.docs_of(self.root.id, unknown)
            self._docs.update({path: found.get(path) for path in unknown})
        return next((doc for path in paths if (doc := self._docs[path]) is not None), None)

    def path(self, doc: int) -> str:
        return self.places.get(doc, "")

    def holds(self, doc: int) -> bool:
        return doc in self.places

    def look_up(self, names: Iterable[str]) -> None:
        """Loads which documents define these names, all at once: a function mentions dozens of them."""
        unknown = [name for name in set(names) if ("defining", name) not in self.memo]
        if len(unknown) > 1:
            found = self.catalog.defining_each(unknown)
            here = set(self.places.keep({doc for docs in found.values() for doc in docs}))
            for name, docs in found.items():
                self.memo["defining", name] = sorted(here.intersection(docs))

    def defining(self, name: str) -> list[int]:
        """The documents of this root that define a name."""
        return self.once(("defining", name), lambda: self.places.keep(self.catalog.defining(name)))

    def named(self, ending: str) -> list[str]:
        """The paths that end with `ending`, shortest first, without dependencies."""

        def find() -> list[str]:
            inner = f"/{ending}"
            paths = [path for path in self.places.paths() if path == ending or path.endswith(inner)]
            kept = [path for path in paths if role_of(path) != "vendored"]
            return sorted(kept, key=lambda path: (path.count("/"), path))[:MOST_CONFIGS]

        return self.once(("named", ending), find)

    def config(self, path: str) -> dict[str, Any] | None:
        """A JSON file with comments, such as tsconfig.json; None if it does not exist or is not an object."""
        if path not in self._configs:
            self._configs[path] = self._read_config(path)
        return self._configs[path]

    def _read_config(self, path: str) -> dict[str, Any] | None:
        text = self.text(path)
        if not text:
            return None
        try:
            found = json.loads(text)
        except ValueError:
            bare = _COMMENTS.sub(lambda one: one[0] if one[0].startswith('"') else "", text)
            try:
                found = json.loads(_TRAILING.sub(r"\1", bare))
            except (ValueError, RecursionError):
                return None
        return found if isinstance(found, dict) else None

    def text(self, path: str) -> str:
        """The current content of a file; empty if it cannot be read."""
        if path not in self._texts:
            data = self.data(path, LARGEST_TEXT)
            read = decode(data) if data is not None else Binary("unreadable")
            if len(self._texts) > MOST_TEXTS:
                self._texts.clear()
            self._texts[path] = "" if isinstance(read, Binary) else read.text
        return self._texts[path]

    def data(self, path: str, limit: int) -> bytes | None:
        try:
            return self.root_fs.read(path, limit)[0]
        except LlmcError:
            return None

    def size(self, path: str) -> int | None:
        """None if the file does not exist."""
        try:
            found = self.root_fs.stat(path)
        except LlmcError:
            return None
        return None if found is None or found.kind is not FileKind.FILE else found.stamp.size

    @cached_property
    def scip(self) -> ScipIndex | None:
        """The compiler's index, if there is a readable one."""
        return self._scip[0]

    @property
    def scip_note(self) -> str:
        """Why the compiler's index is not used, or only in part."""
        index, note = self._scip
        if index is not None and index.damaged:
            return f"{SCIP_FILE} is damaged: {index.damaged} of its documents are ignored"
        return note

    @cached_property
    def _scip(self) -> tuple[ScipIndex | None, str]:
        """Opened once per state of the file, whatever else in the root changes."""
        try:
            found = self.root_fs.stat(SCIP_FILE)
        except LlmcError:
            found = None
        stamp = found.stamp if found else None
        if self.root.id not in self._indexes or self._indexes[self.root.id][0] != stamp:
            self._indexes[self.root.id] = (stamp, open_scip(self))
        return self._indexes[self.root.id][1]


# root → the stamp of its index.scip, and the opened index
Indexes = dict[str, tuple["Stamp | None", tuple["ScipIndex | None", str]]]


class Kept:
    """Data that outlives a generation of a store, but not a rebuild of the store: documents then have other numbers."""

    def __init__(self, catalog: CatalogReader) -> None:
        self.catalog = catalog
        self.facts = FactsCache(lambda: len(_kept))
        self.uses = UsesCache(lambda: len(_kept))
        self.indexes: Indexes = {}
        self.projects: dict[str, Project] = {}


_kept: WeakKeyDictionary[StoreReader, Kept] = WeakKeyDictionary()
_lock = Lock()


def project_of(root: Root, root_fs: RootFs, store: StoreReader) -> Project:
    """The project of a root at the current generation of its store."""
    generation = store.catalog.generation()
    with _lock:
        kept = _kept.get(store)
        if kept is None or kept.catalog is not store.catalog:
            kept = _kept[store] = Kept(store.catalog)
        found = kept.projects.get(root.id)
        is_current = found is not None and found.generation == generation and found.root_fs is root_fs
        most = (1 - FACTS_SHARE - USES_SHARE) * cache_share("graph") / len(_kept)
        if found is None or not is_current or found.memory > most:
            found = Project(root, root_fs, store, generation, kept)
            kept.projects[root.id] = found
        return found


def forget_projects() -> None:
    """Releases the cached data of all roots; it is loaded again on demand."""
    with _lock:
        _kept.clear()


def graph_memory() -> int:
    """The approximate size in bytes of the data cached for all stores."""
    with _lock:
        resolved = sum(project.memory for kept in _kept.values() for project in kept.projects.values())
        return resolved + sum(kept.facts.memory + kept.uses.memory for kept in _kept.values())


register_cache("graph", graph_memory, forget_projects)
