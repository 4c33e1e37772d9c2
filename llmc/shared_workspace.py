"""A workspace of published repositories, for a server of a shared index.

Each repository that a caller may read is a root, at its default ref or at the refs given in the call, so every tool
works on it as on a local folder. A workspace is created for one call; roots and views are cached with their selection,
until the next publication. A root's id is `repo@ref`, the same on every server, so that handles work on all of them;
its name in replies is `repo@commit`.
"""

from __future__ import annotations

import re
import threading
from collections import OrderedDict
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

from llmc.base.errors import NotFoundError, QueryError
from llmc.base.ignore import Rules
from llmc.base.model import Root
from llmc.indexer.root_index import Freshness, RootIndex
from llmc.retrieval.dependency_cache import DependencyCache
from llmc.retrieval.view import View
from llmc.store.shared.published import PublishedFs, PublishedStore
from llmc.store.values import Embedding
from llmc.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from llmc.base.root_fs import RootFs
    from llmc.embed import Embedder
    from llmc.indexer.registry import IndexRegistry
    from llmc.indexer.watch import Health
    from llmc.indexer.writer_thread import WriterThread
    from llmc.settings import Settings
    from llmc.store.protocols import StoreReader
    from llmc.store.shared.access import Access
    from llmc.store.shared.index import SharedIndex
    from llmc.store.shared.manifest import Head
    from llmc.store.shared.selection import Selection

__all__ = ["CallAudit", "SharedSite", "SharedWorkspace"]

MOST_SELECTIONS = 64
CACHED_REPLIES = 64
# `repo`, `repo@ref` or `repo@commit`, before a path.
NAMED = re.compile(r"(?P<repo>[^@:\s]+)(?:@(?P<ref>[^:\s]+))?:(?P<path>.*)", re.DOTALL)
# If there are more repositories than this, they are not searched one by one for a file name or a folder.
MOST_LISTED = 500
OUTDATED_SECONDS = 30.0
FEW = 3


class CallAudit(Protocol):
    """The audit log of a server: which caller made which call."""

    def record(self, caller: str, tool: str, repos: Sequence[str], error: str, seconds: float) -> None:
        """Record a call; `repos` are the publications that the reply has results from."""


class NoRules(Rules):
    """Rules that ignore nothing, since all published files are visible."""

    def __init__(self, root_fs: RootFs) -> None:
        self._root_fs = root_fs

    def hides(self, path: str, *, is_folder: bool, names: object = None) -> bool:  # noqa: ARG002 - see above
        return False


class PublishedRoot(RootIndex):
    """A published repository as a root index: complete, without pending changes, immutable."""

    def is_watched(self) -> bool:
        return True

    def is_unindexed(self, path: str) -> bool:  # noqa: ARG002 - what is not published does not exist
        return False

    def health(self) -> Health | None:
        return None

    def share(self) -> float:
        return 1.0

    def freshness(self, catalog: object, uncovered: str = "") -> Freshness:  # noqa: ARG002 - as above
        return Freshness()


class SharedViews:
    """The roots and views of one selection."""

    def __init__(self, site: SharedSite, selection: Selection) -> None:
        self.selection = selection
        self._site = site
        self._stores: dict[str, PublishedStore] = {}
        self.heads: dict[str, Head] = {}
        self.roots: list[RootIndex] = []
        self.views: list[View] = []
        for head in selection.heads:
            self._add(head)

    def _add(self, head: Head) -> None:
        site, description = self._site, self.selection.description
        root = Root(f"{head.repo}@{head.ref}", head.name, head.repo)
        root_fs = PublishedFs(self.selection, head)
        store = PublishedStore(self.selection, head, Embedding(1, description.embedder, description.dimension))
        embedder = site.embedder if site.embedder and site.embedder.name == description.embedder else None
        self.heads[root.id] = head
        self._stores[root.id] = store
        self.roots.append(PublishedRoot(root, site.settings, root_fs, NoRules(root_fs), built=True))
        self.views.append(View(root, root_fs, store, embedder, parse=parse_symbols))

    def store(self, root: str) -> PublishedStore:
        return self._stores[root]


@dataclass(eq=False)
class SharedSite:
    """State that all calls of one server share."""

    index: SharedIndex
    registry: IndexRegistry  # for the embedder and the home of this process; it has no roots
    settings: Settings
    audit: CallAudit | None = None
    _kept: OrderedDict[Selection, SharedViews] = field(default_factory=OrderedDict)
    _caches: OrderedDict[Access, DependencyCache] = field(default_factory=OrderedDict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @cached_property
    def embedder(self) -> Embedder | None:
        return self.registry.embedder(self.settings.embedder)[0]

    def views_of(self, selection: Selection) -> SharedViews:
        with self._lock:
            found = self._kept.get(selection)
            if found is None:
                found = self._kept[selection] = SharedViews(self, selection)
            self._kept.move_to_end(selection)
            while len(self._kept) > MOST_SELECTIONS:
                self._kept.popitem(last=False)
            return found

    def _cache_of(self, access: Access) -> DependencyCache:
        """The reply cache for these permissions; callers with other permissions never share a reply."""
        with self._lock:
            cache = self._caches.setdefault(access, DependencyCache(CACHED_REPLIES))
            self._caches.move_to_end(access)
            while len(self._caches) > MOST_SELECTIONS:
                self._caches.popitem(last=False)
            return cache

    def workspace(
        self,
        access: Access,
        settings: Settings,
        repos: Sequence[str] = (),
        refs: Sequence[str] = (),
        *,
        caller: str = "",
    ) -> SharedWorkspace:
        """The repositories that a caller may read; `repos` and `refs` narrow them. `caller` is for the audit log."""
        workspace = SharedWorkspace(self.registry, settings, (), "/", site=self, access=access, caller=caller)
        workspace.cache = self._cache_of(access)
        workspace.choose(self.index.select(access, repos, refs))
        return workspace


@dataclass(eq=False)
class SharedWorkspace(Workspace):
    site: SharedSite = field(kw_only=True)
    access: Access = field(kw_only=True)
    caller: str = field(default="", kw_only=True)
    _chosen: SharedViews = field(init=False)
    is_shared = True

    def choose(self, selection: Selection) -> None:
        self._chosen = self.site.views_of(selection)
        self.root_indexes = self._chosen.roots

    def narrowed(self, repos: Sequence[str] = (), refs: Sequence[str] = ()) -> SharedWorkspace:
        """Only these repositories and refs; NotFoundError if the caller can see none of them."""
        if not repos and not refs:
            return self
        found = self.site.workspace(self.access, self.settings, repos, refs, caller=self.caller)
        if not found.root_indexes:
            raise self._nothing(repos, refs)
        return found

    def _nothing(self, repos: Sequence[str], refs: Sequence[str]) -> NotFoundError:
        wanted = " ".join([*(f"repo:{one}" for one in repos), *(f"ref:{one}" for one in refs)])
        known = sorted(self.site.index.repositories(self.access))
        if not known:
            return NotFoundError("no repository is open to you", hint="Ask for access, or publish one.")
        shown = ", ".join(known[:FEW]) + (f" and {len(known) - FEW} more" if len(known) > FEW else "")
        return NotFoundError(f"no repository that you can read matches {wanted}", hint=f"Available: {shown}.")

    # ---- overrides of Workspace ----

    @property
    def writer_threads(self) -> list[WriterThread]:
        return []

    def views(self) -> list[View]:
        return self._chosen.views

    def store_of(self, root_index: RootIndex) -> StoreReader:
        return self._chosen.store(root_index.root.id)

    def root_name(self, root: str) -> str:
        head = self._chosen.heads.get(root)
        return head.name if head is not None else ""

    def root_index(self, root: str) -> RootIndex:
        """The index of a root, which may be a ref outside this call's selection if the caller may read it: a handle can
        refer to it."""
        if root not in self._chosen.heads:
            self._include(*root.rpartition("@")[::2])
        return super().root_index(root)

    def _include(self, repo: str, ref: str) -> bool:
        """Add a repository or ref to this call; False if there is none that the caller may read."""
        if not self.access.permits(repo):
            return False
        refs = self.site.index.snapshot.heads.get(repo, {})
        head = refs.get(ref)
        if head is None:
            return False
        if f"{repo}@{ref}" not in self._chosen.heads:
            self.choose(self.site.index.selection([*self._chosen.selection.heads, head]))
        return True

    def _readings(self, typed: str) -> Iterator[list[tuple[RootIndex, str, str]]]:
        """Readings of `repo@ref:path` or `repo@ref/path`; otherwise the path in every repository that has it."""
        named = NAMED.fullmatch(typed)
        if named is not None:
            found = self.site.index.select(self.access, [named["repo"]], [named["ref"]] if named["ref"] else [])
            for head in found.heads:
                self._include(head.repo, head.ref)
            roots = {f"{head.repo}@{head.ref}" for head in found.heads}
            yield [(one, named["path"] or ".", "") for one in self.root_indexes if one.root.id in roots]
        yield [
            (one, typed[len(one.root.id) + 1 :], "") for one in self.root_indexes if typed.startswith(f"{one.root.id}/")
        ]
        if len(self.root_indexes) > MOST_LISTED:
            raise QueryError(
                f"{len(self.root_indexes):,} repositories may have this path",
                hint="Name the repository: `repo:path`, or the argument `repo`.",
            )
        yield [(one, typed, "") for one in self.root_indexes]

    def stamp(self) -> str:
        return " ".join(f"{head.repo}@{head.ref}#{head.nonce}" for head in self._chosen.selection.heads)

    def note_call(self, tool: str, roots: Sequence[str], error: str, seconds: float) -> None:
        if self.site.audit is not None:
            repos = sorted({self._chosen.heads[root].name for root in roots if root in self._chosen.heads})
            self.site.audit.record(self.caller, tool, repos, error, seconds)

    # ---- notes about sources ----

    def source_notes(self, roots: Sequence[str]) -> tuple[str, ...]:
        """Notes about the commits of an answer: their age, omitted files, and whether they are the newest. `roots` are
        the roots in the answer; empty means all."""
        heads = [self._chosen.heads[root] for root in dict.fromkeys(roots) if root in self._chosen.heads]
        searched = self._chosen.selection.heads
        if not searched:
            return ("no repository is open to you",)
        listed = heads if 0 < len(heads) <= FEW else searched if len(searched) == 1 else []
        notes = [f"{head.name} ({head.ref}, {head.age()})" for head in listed]
        if not listed:
            notes = [f"{len(heads) or len(searched)} repositories"]
        denied, redacted, omitted = (sum(getattr(head, name) for head in searched) for name in COUNTED)
        notes += [f"{denied:,} denied"] if denied else []
        notes += [f"{redacted:,} secret{'s' * (redacted != 1)} redacted"] if redacted else []
        notes += [f"{omitted:,} not published (too large or unreadable)"] if omitted else []
        if (behind := self.site.index.seconds_behind()) > OUTDATED_SECONDS:
            notes.append(f"not refreshed for {behind:.0f} s: the storage does not respond")
        return tuple(notes)


COUNTED = ("denied", "redacted", "omitted")


def parse_symbols(_path: str, _text: str) -> tuple[()]:
    """Returns no symbols: files that were published without symbols are not parsed here."""
    return ()
