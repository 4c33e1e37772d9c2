"""A workspace: some roots that are opened, indexed and queried together.

    from llmc import Workspace

    with Workspace.open("path/to/project") as workspace:
        workspace.index()
        for file in workspace.search("where are passwords hashed").files:
            print(file.path, file.hits[0].start_line)

It joins two packages that never import each other: `indexer` keeps the store up to date, `retrieval` answers from it.
In the daemon all workspaces share one `IndexRegistry`.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Self

from llmc.base.errors import LlmcError, NotFoundError, OutsideError, QueryError
from llmc.base.git_folder import origin_name
from llmc.base.home import Home, find_home
from llmc.base.roots import make_root
from llmc.base.text import Binary, decode
from llmc.indexer.changes import Discrepancy, verify_root
from llmc.indexer.named import NamedPath, named_path
from llmc.indexer.nesting import nested
from llmc.indexer.registry import IndexRegistry
from llmc.indexer.writer_thread import REBUILDING_INDEX, REBUILDING_VECTORS
from llmc.retrieval.dependency_cache import DependencyCache
from llmc.retrieval.find import FindRequest, find
from llmc.retrieval.globs import PathFilter
from llmc.retrieval.grep.grep import GrepRequest, grep
from llmc.retrieval.search import SearchRequest, search
from llmc.retrieval.view import View
from llmc.settings import RootEntry, Settings, load

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from llmc.base.model import Symbol
    from llmc.indexer.root_index import Freshness, RootIndex
    from llmc.indexer.writer_thread import WriterThread
    from llmc.retrieval.find import FindResult
    from llmc.retrieval.grep.grep import GrepResult
    from llmc.retrieval.results import SearchResult
    from llmc.store.protocols import StoreReader

__all__ = ["Workspace", "is_keywords_only", "shown_path", "vector_notes"]


@dataclass(eq=False)
class Workspace:
    """`owned`: the registry belongs to this workspace and is closed with it."""

    registry: IndexRegistry
    settings: Settings
    root_indexes: Sequence[RootIndex]
    cwd: str
    nesting: tuple[str, ...] = ()  # a note for each root that lies inside another one
    owned: bool = False
    cache: DependencyCache = field(default_factory=DependencyCache)

    @classmethod
    def open(
        cls,
        *paths: str,
        home: str | None = None,
        settings: Settings | None = None,
        watch: bool = False,
    ) -> Self:
        """A workspace of these folders, or of the roots for the current folder. `home` is the folder for the index.

        RootError without a root: a folder outside git work trees must be passed explicitly.
        """
        cwd = os.getcwd()  # noqa: PTH109 - text throughout, as in `paths`
        entries: Sequence[RootEntry] = [RootEntry(path=Path(path)) for path in paths]
        if settings is None:
            loaded = load(cwd, os.environ)
            settings, entries = loaded.settings, entries or loaded.roots()
        place = Home(os.path.realpath(home)) if home else find_home(os.environ)
        place.make()
        registry = IndexRegistry(place, watching=watch, processes=False)
        workspace = cls.within(registry, settings, entries or settings.roots, cwd)
        workspace.owned = True
        return workspace

    @classmethod
    def within(cls, registry: IndexRegistry, settings: Settings, entries: Sequence[RootEntry], cwd: str) -> Self:
        """A workspace in a shared registry."""
        roots = [make_root(str(entry.path), entry.name) for entry in entries]
        own = {root.id: with_patterns(settings, entry) for root, entry in zip(roots, entries, strict=True)}
        kept, notes = nested(roots, own) if len(roots) > 1 else ([(root, own[root.id]) for root in roots], ())
        return cls(registry, settings, [registry.open(root, rules) for root, rules in kept], cwd, notes)

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes about the roots: those inside others, and indexes that are being rebuilt."""
        return (*self.nesting, *sorted({writer_thread.notice for writer_thread in self.writer_threads} - {""}))

    @property
    def is_open(self) -> bool:
        """Whether the registry still has these roots: `llmc forget` and other settings replace them."""
        return all(self.registry.root_indexes.get(one.root.id) is one for one in self.root_indexes)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        if self.owned:
            self.registry.close()

    # ---- indexing ----

    def index(self, on_progress: Callable[[RootIndex], bool] = lambda _index: True) -> None:
        """Update every root and wait for it. `on_progress` is called periodically and returns False to stop waiting."""
        self.registry.catch_up(self.root_indexes, self.settings.index.barrier_ms / 1000)
        for root_index in self.root_indexes:
            while on_progress(root_index) and not root_index.pending.wait_settled(PROGRESS_SECONDS):
                if root_index.error or self.registry.writer_thread(root_index).trouble:
                    break
            on_progress(root_index)

    def wait_for_vectors(self) -> None:
        """Load the vectors now, so that the next search can use them."""
        for writer_thread in self.writer_threads:
            if writer_thread.embedder is not None:
                writer_thread.store.vector_state()

    def verify(self) -> list[Discrepancy]:
        """Differences between the disk and the index, and between the parts of the store."""
        found: list[Discrepancy] = []
        for root_index in self.root_indexes:
            writer_thread = self.registry.writer_thread(root_index)
            found += writer_thread.do(partial(verify_root, root_index, writer_thread.store.catalog)).result()
        for writer_thread in self.writer_threads:
            differences = writer_thread.do(writer_thread.store.verify).result()
            found += [Discrepancy(writer_thread.folder, one.problem, one.path, str(one)) for one in differences]
        return found

    def rebuild(self) -> None:
        """Delete the index of these roots; `index` rebuilds it."""
        for writer_thread in self.writer_threads:
            writer_thread.do(writer_thread.rebuild).result()

    @property
    def writer_threads(self) -> list[WriterThread]:
        """The writer threads, one for each family of roots."""
        return list(
            {
                root_index.root.family: self.registry.writer_thread(root_index) for root_index in self.root_indexes
            }.values()
        )

    # ---- querying ----

    def views(self) -> list[View]:
        """The current views of the roots: waits for the barrier and, briefly, for pending changes."""
        fresh = self.registry.settle(self.root_indexes, self.settings.index.barrier_ms / 1000, SETTLE_SECONDS)
        return [self._view(root_index, state) for root_index, state in zip(self.root_indexes, fresh, strict=True)]

    def _view(self, root_index: RootIndex, state: Freshness) -> View:
        writer_thread = self.registry.writer_thread(root_index)
        writer_thread.store.refresh()
        if damage := writer_thread.store.vectors.damage:
            writer_thread.repair_vectors(damage)
        return View(
            root_index.root,
            root_index.root_fs,
            writer_thread.store,
            writer_thread.embedder,
            state.pending,
            state.hidden,
            root_index.denied,
            share=state.share,
            unsure=state.unsure,
            wait_for_vectors=self.registry.wait_for_vectors,
            parse=parse_symbols,
        )

    def path_filter(self, paths: Sequence[str] = (), **conditions: tuple[str, ...]) -> PathFilter:
        """A filter for paths as typed, resolved in the roots that have them."""
        found = [place for typed in paths for place in self.places(typed)]
        return PathFilter(
            under=tuple(path for _, path in found),
            roots=tuple(root_index.root.id for root_index, _ in found),
            **conditions,
        )

    def named_paths(self, typed: Sequence[str]) -> list[tuple[RootIndex, NamedPath]]:
        """Resolve paths as typed in every root that has them, including files that are not indexed."""
        return [(root_index, named_path(root_index, path)) for one in typed for root_index, path in self.places(one)]

    def locate(self, typed: str) -> tuple[RootIndex, str]:
        """(root, path in it) of a path as typed."""
        return self.places(typed)[0]

    def places(self, typed: str) -> list[tuple[RootIndex, str]]:
        """(root, path in it) for every root that has a path as typed: relative to the current folder, else to each
        root; absolute; or `root:path` as in replies with several roots. At least one; NotFoundError otherwise."""
        outside: OutsideError | None = None
        is_inside = False
        for tries in self._readings(typed):
            found = []
            for root_index, text, base in tries:
                try:
                    path = root_index.root_fs.relative(text, base)
                except OutsideError as error:
                    outside = error
                    continue
                is_inside = True
                if not path or root_index.root_fs.stat(path) is not None:
                    found.append((root_index, path))
            if found:
                # A folder of a nested root is excluded from the outer one.
                return sorted(found, key=lambda place: place[0].root_fs.refusal(place[1]) is not None)
        if is_inside or outside is None:
            raise NotFoundError(f"there is no {typed!r} in the roots", path=typed)
        raise outside

    def _readings(self, typed: str) -> Iterator[list[tuple[RootIndex, str, str]]]:
        """Alternative readings as lists of (root, path, base folder), most likely first."""
        yield [(root_index, typed, self.cwd) for root_index in self.root_indexes]
        yield [(root_index, typed, root_index.root.path) for root_index in self.root_indexes]
        name, colon, path = typed.partition(":")
        if colon:
            yield [
                (root_index, path or ".", root_index.root.path)
                for root_index in self.root_indexes
                if root_index.root.name == name
            ]

    is_shared: ClassVar[bool] = False  # whether the roots are published repositories

    def narrowed(self, repos: Sequence[str] = (), refs: Sequence[str] = ()) -> Workspace:
        """Only these roots, by the name or pattern of the root or of the repository that its `origin` has, as a shared
        index calls it; NotFoundError if there is none."""
        if refs:
            raise QueryError("local roots have no refs", hint="Omit `ref`; it is for repositories of a shared index.")
        names = [(one, {one.root.name, origin_name(one.root.path)}) for one in self.root_indexes]
        kept = [one for one, called in names if any(fnmatchcase(name, repo) for name in called for repo in repos)]
        if not kept:
            known = ", ".join(one.root.name for one in self.root_indexes)
            raise NotFoundError(f"no root is called {', '.join(repos)}", hint=f"Available: {known}.")
        return replace(self, root_indexes=kept, owned=False)

    def source_notes(self, roots: Sequence[str]) -> tuple[str, ...]:  # noqa: ARG002 - for published repositories
        """Notes about the origin of an answer, for its first line; `roots` are the roots in the answer."""
        return ()

    def note_call(self, tool: str, roots: Sequence[str], error: str, seconds: float) -> None:
        """Record a client's call in the audit log of published repositories; does nothing for local roots."""

    def store_of(self, root_index: RootIndex) -> StoreReader:
        """The store with the index of a root."""
        return self.registry.writer_thread(root_index).store

    def root_name(self, root: str) -> str:
        """The name of a root; empty for a root of another workspace."""
        return next((root_index.root.name for root_index in self.root_indexes if root_index.root.id == root), "")

    def root_index(self, root: str) -> RootIndex:
        for root_index in self.root_indexes:
            if root_index.root.id == root:
                return root_index
        raise NotFoundError("this result belongs to another workspace", hint="Repeat the call in that folder.")

    def file_stamp(self, path: str, root: str | None = None) -> str:
        """A value that changes with the file; empty if it does not exist."""
        for root_index in self.root_indexes:
            if root in (None, root_index.root.id):
                seen = root_index.root_fs.stat(path)
                if seen is not None:
                    return f"{seen.stamp.size}-{seen.stamp.mtime_ns}-{seen.stamp.ctime_ns}"
        return ""

    def text_of(self, root: str, path: str) -> str | None:
        """The current text of a file; None if it cannot be read as text."""
        try:
            text = decode(self.root_index(root).root_fs.read(path, LARGEST_TEXT)[0])
        except LlmcError:
            return None
        return None if isinstance(text, Binary) else text.text

    def stamp(self) -> str:
        """A value that changes whenever the index changes."""
        return " ".join(
            f"{root_index.root.id}@{self.store_of(root_index).catalog.generation()}" for root_index in self.root_indexes
        )

    @property
    def trouble(self) -> str:
        """Why an index cannot be updated at the moment, such as a full disk; empty if it can."""
        return next((one.trouble for one in self.writer_threads if one.trouble), "")

    @property
    def rebuilding(self) -> tuple[str, ...]:
        """Why an existing index is built again at the moment, one reason for each family of roots."""
        notes = {writer_thread.note for writer_thread in self.writer_threads}
        return tuple(sorted(note for note in notes if note.startswith(REBUILDING_INDEX)))

    @property
    def is_building(self) -> bool:
        """Whether some root is not indexed completely yet."""
        return any(root_index.share() < 1.0 for root_index in self.root_indexes)

    def search(self, query: str, **options: object) -> SearchResult:
        return search(self.views(), SearchRequest(query, **options))  # type: ignore[arg-type]

    def grep(self, pattern: str, **options: object) -> GrepResult:
        return grep(self.views(), GrepRequest((pattern,), **options))  # type: ignore[arg-type]

    def find(self, query: str = "", **options: object) -> FindResult:
        return find(self.views(), FindRequest(query, **options))  # type: ignore[arg-type]


def parse_symbols(path: str, text: str) -> Sequence[Symbol]:
    from llmc.indexer.digest import symbols_in  # noqa: PLC0415 - the grammars, which only a changed file needs

    return symbols_in(path, text)


PROGRESS_SECONDS = 0.2
# A save is searchable after some 0.3 s. An earlier query waits up to this long, then reads pending files from disk.
SETTLE_SECONDS = 0.4
LARGEST_TEXT = 8 << 20


def with_patterns(settings: Settings, entry: RootEntry) -> Settings:
    """The settings with the additional include and exclude patterns of a root."""
    if not entry.include and not entry.exclude:
        return settings
    index = settings.index
    more = {"include": (*index.include, *entry.include), "exclude": (*index.exclude, *entry.exclude)}
    return settings.model_copy(update={"index": index.model_copy(update=more)})


KEYWORDS_ONLY = "by keywords alone"


def vector_notes(workspace: Workspace, without_vectors: str = "") -> tuple[str, ...]:
    """Why vectors were not used (`without_vectors`, or an unusable embedder), or only those of some files."""
    embedder, trouble = workspace.registry.embedder(workspace.settings.embedder, 0)
    trouble = getattr(embedder, "trouble", "") if embedder else trouble
    if reason := trouble or without_vectors:
        return (f"{KEYWORDS_ONLY}, {reason}",)
    notes = {writer_thread.note for writer_thread in workspace.writer_threads}
    return tuple(sorted(note for note in notes if note.startswith(REBUILDING_VECTORS)))


def is_keywords_only(note: str) -> bool:
    return note.startswith((KEYWORDS_ONLY, REBUILDING_VECTORS))


def shown_path(workspace: Workspace, root: str, path: str) -> str:
    """The path relative to its root, prefixed with the root's name if there are several roots."""
    if len(workspace.root_indexes) == 1:
        return path
    return f"{workspace.root_name(root)}:{path}"
