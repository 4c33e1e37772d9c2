"""What a server reads: the newest publication of every repository and ref, restricted to what a caller may see.

`refresh` looks for new publications; a server calls it every second, so a commit is visible everywhere soon after it
was published. A publication is used only when the tables that this process reads contain everything that it lists. If
the storage returns an old list of versions, the publication waits; an answer never comes from half a tree. If a refresh
fails, the previous state is kept, and `trouble` gives the reason.
"""

from __future__ import annotations

import threading
import time
from collections import Counter, OrderedDict, defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Self, TypeVar

from llmc.base import logs
from llmc.base.errors import CorruptStoreError, LlmcError
from llmc.store.shared.access import Access, Readable, matches
from llmc.store.shared.database import SharedDatabase
from llmc.store.shared.documents import ByteCache, DocumentCaches
from llmc.store.shared.manifest import FILES, HEAD_COLUMNS, TERMS, Head, Manifest, default_head, newest, read_heads
from llmc.store.shared.schema import MANIFESTS
from llmc.store.shared.selection import Selection
from llmc.store.shared.statistics import TermStatistics

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from llmc.store.protocols import Clause

__all__ = ["SharedIndex"]

Value = TypeVar("Value")

log = logs.get("shared")

POLL_SECONDS = 1.0
CLOSE_SECONDS = 5.0
# For the preloaded documents of shards: some 700 bytes per chunk.
LOADED_BYTES = 512 << 20
# For other documents, manifests and statistics: together about 300 MB at most.
DOCUMENT_BYTES = 128 << 20
MANIFEST_BYTES = 128 << 20
STATISTICS_BYTES = 64 << 20
MOST_SELECTIONS = 64
# Publications whose parts are fetched together.
MOST_FETCHED = 256
# The approximate size of the indexes of a chunk in memory: 520 MB for 255,000 chunks.
INDEX_BYTES = 2_100


@dataclass(frozen=True)
class PublishedHeads:
    """repository → ref → its publication, without dropped ones."""

    heads: dict[str, dict[str, Head]] = field(default_factory=dict)
    refreshed_at: float = 0.0  # time.monotonic


class SharedIndex:
    """Thread-safe for readers."""

    def __init__(self, database: SharedDatabase) -> None:
        self.database = database
        self.caches = DocumentCaches(DOCUMENT_BYTES, LOADED_BYTES)
        self.snapshot = PublishedHeads()
        self.trouble = ""
        self._manifests: ByteCache[Manifest] = ByteCache(MANIFEST_BYTES, lambda one: one.size)
        self._statistics: ByteCache[TermStatistics] = ByteCache(STATISTICS_BYTES, lambda one: one.size)
        self._selections: OrderedDict[tuple[Head, ...], Selection] = OrderedDict()
        self._indexed: dict[int, tuple[int, bool]] = {}  # shard → version of its chunks, whether they are indexed
        self._version = -1
        self._behind = False
        self._lock = threading.Lock()
        self._refreshing = threading.Lock()
        self._closed = threading.Event()
        self._changed = threading.Event()
        self._threads: list[threading.Thread] = []

    @classmethod
    def open(cls, url: str, cache_bytes: int | None = None) -> Self:
        database = SharedDatabase.open(url, cache_bytes) if cache_bytes else SharedDatabase.open(url)
        index = cls(database)
        index.refresh()
        return index

    def follow(self, seconds: float = POLL_SECONDS) -> None:
        """Refresh in the background until `close`, and preload what queries will need."""
        self._threads = [
            threading.Thread(target=self._poll, args=(seconds,), name="llmc-shared", daemon=True),
            threading.Thread(target=self._warm_up, name="llmc-shared-warm", daemon=True),
        ]
        for one in self._threads:
            one.start()

    def _poll(self, seconds: float) -> None:
        while not self._closed.wait(seconds):
            try:
                self.refresh()
            except LlmcError as error:
                if str(error) != self.trouble:
                    log.warning("the shared index cannot be refreshed", error=str(error))
                self.trouble = str(error)
            except Exception:
                log.exception("refreshing the shared index failed")

    def _warm_up(self) -> None:
        warm: dict[int, Mapping[str, int]] = {}
        while not self._closed.is_set():
            self._changed.wait()
            self._changed.clear()
            try:
                self._prefetch()
                shards = self._shards_in_memory()
                self.caches.keep_loaded(shards)
                for shard in shards:
                    versions = self.database.versions(shard)
                    if versions != warm.get(shard) and not self._closed.is_set():
                        self.load(shard)
                        warm[shard] = versions
            except LlmcError as error:
                log.warning("the shared index cannot be loaded ahead", error=str(error))
            except Exception:
                log.exception("loading the shared index ahead failed")

    def load(self, shard: int) -> None:
        """Load the indexes of a shard into memory, and its documents as far as there is room."""
        self.database.prewarm(shard)
        self.caches.load(shard, self.database.table("documents", shard))

    def _prefetch(self) -> None:
        """Fetch the files and word statistics of new publications, so that no query waits for them."""
        heads = [default_head(refs.values()) for refs in self.snapshot.heads.values()]
        heads.sort(key=lambda head: -head.published)
        readable = Readable.of(self.database, heads)
        for start in range(0, min(len(heads), MOST_SELECTIONS * MOST_FETCHED), MOST_FETCHED):
            some = heads[start : start + MOST_FETCHED]
            self.manifest(some[0], readable, some)
            self.statistics(some[0], readable, some)
            if self._manifests.is_full or self._statistics.is_full or self._closed.is_set():
                return

    def _shards_in_memory(self) -> list[int]:
        """The most recently published shards, as many as fit into the cache of indexes."""
        chunks: Counter[int] = Counter()
        newest_of: dict[int, float] = {}
        for refs in self.snapshot.heads.values():
            head = default_head(refs.values())
            chunks[head.shard] += head.chunks
            newest_of[head.shard] = max(newest_of.get(head.shard, 0.0), head.published)
        found, room = [], self.database.cache_bytes
        for shard in sorted(newest_of, key=lambda one: -newest_of[one]):
            room -= chunks[shard] * INDEX_BYTES
            if room < 0:
                break
            found.append(shard)
        return found

    def close(self) -> None:
        """Stop refreshing. The threads end on their own; one that waits for unreachable storage must not keep the
        process alive."""
        self._closed.set()
        self._changed.set()
        for one in self._threads:
            one.join(CLOSE_SECONDS)

    def refresh(self) -> None:
        """Use what was published since the last call."""
        with self._refreshing:
            version = self.database.table(MANIFESTS).refresh()
            if version != self._version or self._behind:
                rows = self.database.table(MANIFESTS).scan("true", HEAD_COLUMNS)
                published = newest(read_heads(rows))
                behind = self._incomplete(published.values())
                self._replace_snapshot(published, behind)
                self._version, self._behind = version, bool(behind)
            else:
                self.snapshot = PublishedHeads(self.snapshot.heads, time.monotonic())
            self.trouble = ""

    def _incomplete(self, listed: Collection[Head]) -> set[tuple[str, str]]:
        """The publications that list more than the tables that this process reads contain."""
        needed: dict[int, Counter[str]] = {}
        for head in listed:
            needed[head.shard] = needed.get(head.shard, Counter()) | Counter(head.versions)
        versions = {shard: self._refreshed_versions(shard, required) for shard, required in needed.items()}
        return {
            (head.repo, head.ref)
            for head in listed
            if any(versions[head.shard][name] < version for name, version in head.versions.items())
        }

    def _refreshed_versions(self, shard: int, required: Mapping[str, int]) -> Mapping[str, int]:
        """The versions of a shard's tables in use, refreshed if publications need newer ones."""
        versions = self.database.versions(shard)
        behind = any(versions[name] < version for name, version in required.items())
        return self.database.refresh(shard) if behind else versions

    def _replace_snapshot(self, published: dict[tuple[str, str], Head], behind: set[tuple[str, str]]) -> None:
        heads: dict[str, dict[str, Head]] = defaultdict(dict)
        for (repo, ref), head in published.items():
            known = self.snapshot.heads.get(repo, {}).get(ref)
            kept = known if (repo, ref) in behind else head
            if kept is not None and not kept.is_dropped:
                heads[repo][ref] = kept
        self.snapshot = PublishedHeads(dict(heads), time.monotonic())
        self._changed.set()

    def seconds_behind(self) -> float:
        """The time since the last successful refresh."""
        return time.monotonic() - self.snapshot.refreshed_at

    # --- selecting

    def repositories(self, access: Access) -> dict[str, dict[str, Head]]:
        """The publications that a caller may see: repository → ref → publication."""
        return {repo: refs for repo, refs in self.snapshot.heads.items() if access.permits(repo)}

    def select(self, access: Access, repos: Sequence[str] = (), refs: Sequence[str] = ()) -> Selection:
        """The requested repositories that the caller may read, each at its default ref or at the given refs. `!name`
        excludes a repository."""
        snapshot = self.snapshot
        chosen = [one for one in repos if not one.startswith("!")]
        without = [one[1:] for one in repos if one.startswith("!")]
        selected = [
            repo
            for repo in self.repositories(access)
            if (not chosen or any(names(one, repo) for one in chosen)) and repo not in without
        ]
        heads = [head for repo in sorted(selected) for head in self._refs(snapshot, repo, refs)]
        return self.selection(heads)

    def _refs(self, snapshot: PublishedHeads, repo: str, refs: Sequence[str]) -> list[Head]:
        if repo not in snapshot.heads:
            return []
        if not refs:
            return [default_head(snapshot.heads[repo].values())]
        known = snapshot.heads[repo]
        return [head for ref, head in sorted(known.items()) if any(names_ref(one, ref, head) for one in refs)]

    def selection(self, heads: Sequence[Head]) -> Selection:
        key = tuple(heads)
        with self._lock:
            found = self._selections.get(key)
            if found is None:
                found = self._selections[key] = Selection(self, heads)
            self._selections.move_to_end(key)
            while len(self._selections) > MOST_SELECTIONS:
                self._selections.popitem(last=False)
            return found

    # --- manifests

    def manifest(self, head: Head, readable: Readable, others: Sequence[Head] = ()) -> Manifest:
        """The files of a publication. If they must be fetched, those of `others` are fetched in the same round trip."""

        def unpacked(one: Head, packed: bytes) -> Manifest:
            return Manifest(one, packed)

        return self._part(head, readable, others, FILES, self._manifests, unpacked)

    def statistics(self, head: Head, readable: Readable, others: Sequence[Head] = ()) -> TermStatistics:
        def unpacked(_one: Head, packed: bytes) -> TermStatistics:
            return TermStatistics.unpack(packed)

        return self._part(head, readable, others, TERMS, self._statistics, unpacked)

    def is_indexed(self, shard: int) -> bool:
        """Whether most chunks of a shard are in its full-text index."""
        version = self.database.table("chunks", shard).version
        known = self._indexed.get(shard)
        if known is None or known[0] != version:
            body = self.database.table("chunks", shard).indexes().get("body")
            held = body is not None and (body.num_indexed_rows or 0) > (body.num_unindexed_rows or 0)
            known = self._indexed[shard] = (version, held)
        return known[1]

    def largest_heads(self, shards: Collection[int], most: int) -> list[Head]:
        """The largest repositories of some shards, each at its default ref."""
        heads = (default_head(refs.values()) for refs in self.snapshot.heads.values())
        inside = [head for head in heads if head.shard in shards]
        return sorted(inside, key=lambda head: (-head.chunks, head.name))[:most]

    def term_counts(self, heads: Sequence[Head], clauses: Sequence[Clause]) -> list[tuple[int, int]]:
        """For each clause, the number of chunks of these publications, and of those with its term in its field."""
        readable = Readable.of(self.database, heads)
        chunks, holding = 0, [0] * len(clauses)
        for head in heads:
            statistics = self.statistics(head, readable, heads)
            chunks += statistics.chunks
            counts = statistics.count_each([(clause.field, clause.term) for clause in clauses])
            holding = [before + count for before, count in zip(holding, counts, strict=True)]
        return [(chunks, count) for count in holding]

    def _part(  # noqa: PLR0917 - one call for each kind of part
        self,
        head: Head,
        readable: Readable,
        others: Sequence[Head],
        part: str,
        cache: ByteCache[Value],
        unpacked: Callable[[Head, bytes], Value],
    ) -> Value:
        found = cache.get(head.nonce)
        if found is not None:
            return found
        missing = [one for one in others if one.nonce not in cache and one.nonce != head.nonce]
        packed = readable.publication_parts([head, *missing[:MOST_FETCHED]], part)
        if head.nonce not in packed:
            raise CorruptStoreError(
                f"the list of {part} of {head.repo}@{head.ref} is missing", hint="Publish the repository again."
            )
        for one in missing:
            if one.nonce in packed:
                try:
                    cache.put(one.nonce, unpacked(one, packed[one.nonce]))
                except CorruptStoreError:  # reported when that publication itself is requested
                    continue
        found = unpacked(head, packed[head.nonce])
        cache.put(head.nonce, found)
        return found


def names(typed: str, repo: str) -> bool:
    """Whether the text refers to this repository: by its name, its last parts, or a pattern."""
    return typed == repo or repo.endswith(f"/{typed}") or matches(typed, repo)


def names_ref(typed: str, ref: str, head: Head) -> bool:
    """Whether the text refers to this ref: by its name, a pattern, or its commit."""
    is_commit = len(typed) >= LEAST_COMMIT and head.commit.startswith(typed.lower())
    return typed == ref or is_commit or matches(typed, ref)


LEAST_COMMIT = 7
