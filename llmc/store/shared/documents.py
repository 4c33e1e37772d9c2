"""The contents and facts of documents, fetched in batches and cached within a memory limit.

A document never changes, so cached values stay valid. Three columns are cached separately, since graph queries read the
facts (chunks, symbols, declarations) of thousands of documents, but references and contents only of some. A caller that
will read several documents one by one announces them (`expect`); the first fetch then reads all of them completely, in
one round trip to the storage. A server preloads the documents of whole shards.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from itertools import chain
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, Self, TypeVar

import orjson

from llmc.base.errors import CorruptStoreError
from llmc.store.shared.keywords import document_filters
from llmc.store.shared.loaded import LoadedDocuments

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Hashable, Mapping

    from llmc.store.shared.access import Readable
    from llmc.store.shared.database import SharedTable

__all__ = ["ByteCache", "DocumentCaches", "DocumentFacts", "DocumentReader"]

Value = TypeVar("Value")
Key = tuple[str, int]
# The limits of one request for announced documents: their number and total size.
MOST_ANNOUNCED = 512
ANNOUNCED_BYTES = 16 << 20
# The columns of documents that are preloaded: all, or those that every search needs.
ALL_COLUMNS, SEARCH_COLUMNS = ("facts", "refs", "content"), ("facts", "refs")
# Contents are compressed to a third and still take four times as much memory as facts and references.
BRIEF_SHARE = 0.3


class ByteCache(Generic[Value]):
    """A least-recently-used cache, limited in bytes."""

    def __init__(self, most_bytes: int, size: Callable[[Value], int]) -> None:
        self._most = most_bytes
        self._size = size
        self._kept: OrderedDict[Hashable, tuple[Value, int]] = OrderedDict()
        self._bytes = 0
        self._lock = threading.Lock()

    def get(self, key: Hashable) -> Value | None:
        with self._lock:
            found = self._kept.get(key)
            if found is None:
                return None
            self._kept.move_to_end(key)
            return found[0]

    def put(self, key: Hashable, value: Value) -> None:
        size = self._size(value)
        with self._lock:
            if key in self._kept:
                self._bytes -= self._kept.pop(key)[1]
            self._kept[key] = (value, size)
            self._bytes += size
            while self._bytes > self._most and len(self._kept) > 1:
                self._bytes -= self._kept.popitem(last=False)[1][1]

    def __contains__(self, key: Hashable) -> bool:
        return key in self._kept

    @property
    def bytes(self) -> int:
        return self._bytes

    @property
    def is_full(self) -> bool:
        """Whether the next value would probably displace another."""
        return self._bytes > 0.9 * self._most


class DocumentFacts(NamedTuple):
    path: str
    content_hash: str
    language: str
    size: int
    lines: int
    chunks: bytes
    symbols: bytes
    links: bytes

    def pack(self) -> bytes:
        """All fields as one column: a line of JSON, whose path need not be valid UTF-8, and three blobs."""
        path = self.path.encode("utf-8", "surrogateescape").decode("latin-1")
        lengths = (len(self.chunks), len(self.symbols), len(self.links))
        head = orjson.dumps((path, self.content_hash, self.language, self.size, self.lines, *lengths))
        return b"".join((head, b"\n", self.chunks, self.symbols, self.links))

    @classmethod
    def unpack(cls, packed: bytes) -> Self:
        head, _, blobs = packed.partition(b"\n")
        try:
            path, content_hash, language, size, lines, chunks, symbols, links = orjson.loads(head)
            path = path.encode("latin-1").decode("utf-8", "surrogateescape")
            parts = blobs[:chunks], blobs[chunks : chunks + symbols], blobs[chunks + symbols :]
            is_whole = len(blobs) == chunks + symbols + links
        except (ValueError, TypeError, AttributeError):
            is_whole = False
        if not is_whole:
            raise CorruptStoreError(
                "a document of the shared index is damaged",
                hint="Run `llmc shared verify`, and publish its repository again.",
            )
        return cls(path, content_hash, language, size, lines, *parts)


def _unchanged(value: bytes) -> bytes:
    return value


class DocumentCaches:
    """One for each process; keys are (repository, document)."""

    def __init__(self, most_bytes: int, loaded_bytes: int = 0) -> None:
        self.loaded: dict[int, LoadedDocuments] = {}  # by shard; values are immutable
        self._room = loaded_bytes
        self.facts: ByteCache[DocumentFacts] = ByteCache(most_bytes // 4, _facts_size)
        self.references: ByteCache[bytes] = ByteCache(most_bytes // 4, len)
        self.contents: ByteCache[bytes] = ByteCache(most_bytes // 2, len)
        self._columns: dict[str, tuple[ByteCache[Any], Callable[[bytes], Any]]] = {
            "facts": (self.facts, DocumentFacts.unpack),
            "refs": (self.references, _unchanged),
            "content": (self.contents, _unchanged),
        }

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(self._columns)

    def load(self, shard: int, documents: SharedTable) -> None:
        """Load the documents of a shard that are not in memory, with their contents if there is room for them."""
        docs = documents.scan("true", ("doc",))["doc"].to_numpy()
        known = self.loaded.get(shard)
        if known is not None and len(known) > 2 * len(docs):  # most were removed from the table
            known = None
        added = known.without(docs) if known is not None else docs
        columns = self._loaded_columns(shard, known, documents) if len(added) else ()
        if columns:
            filters = document_filters(added.tolist()) if known is not None else ["true"]
            batches = chain.from_iterable(documents.batches(where, ("repo", "doc", *columns)) for where in filters)
            self.loaded[shard] = LoadedDocuments.of(batches, known)

    def _loaded_columns(self, shard: int, known: LoadedDocuments | None, documents: SharedTable) -> Collection[str]:
        if known is not None:
            return ALL_COLUMNS if known.holds("content") else SEARCH_COLUMNS
        room = self._room - sum(one.size for other, one in self.loaded.items() if other != shard)
        size = int(documents.stats()["total_bytes"])
        return ALL_COLUMNS if size <= room else SEARCH_COLUMNS if size * BRIEF_SHARE <= room else ()

    def keep_loaded(self, shards: Collection[int]) -> None:
        """Drop the documents of all other shards."""
        self.loaded = {shard: one for shard, one in self.loaded.items() if shard in shards}

    def find(self, repo: str, docs: Collection[int], column: str) -> dict[int, Any]:
        """document → its facts, references or content, for documents in memory."""
        cache, made = self._columns[column]
        found: dict[int, Any] = {}
        for one in self.loaded.values():
            found.update((doc, made(value)) for doc, value in one.get(repo, docs, column).items())
        if len(found) < len(docs):
            rest = ((doc, cache.get((repo, doc))) for doc in docs if doc not in found)
            found.update((doc, value) for doc, value in rest if value is not None)
        return found

    def absent(self, repo: str, docs: Collection[int]) -> set[int]:
        """Those of these documents that are not completely in memory."""
        missing = set(docs)
        for one in self.loaded.values():
            if one.holds("content") and missing:
                missing -= one.rows_of(repo, missing).keys()
        return missing

    def lacks(self, key: Key) -> bool:
        return any(key not in cache for cache, _ in self._columns.values())

    def put(self, column: str, key: Key, value: bytes) -> Any:
        cache, made = self._columns[column]
        cache.put(key, found := made(value))
        return found


def _facts_size(facts: DocumentFacts) -> int:
    return 300 + len(facts.chunks) + len(facts.symbols) + len(facts.links)


class DocumentReader:
    """The documents of the repositories of one selection."""

    def __init__(self, readable: Readable, caches: DocumentCaches) -> None:
        self._readable = readable
        self._caches = caches
        self._expected: dict[Key, int] = {}
        self._lock = threading.Lock()

    def expect(self, repo: str, sizes: Mapping[int, int]) -> None:
        """Announce documents (number → size) that will be read soon."""
        absent = self._caches.absent(repo, sizes.keys())
        if absent:
            with self._lock:
                self._expected.update({(repo, doc): sizes[doc] for doc in absent})

    def facts(self, repo: str, docs: Collection[int]) -> dict[int, DocumentFacts]:
        """document → its facts; unknown documents are omitted."""
        return self._get(repo, docs, "facts")

    def references(self, repo: str, docs: Collection[int]) -> dict[int, bytes]:
        return self._get(repo, docs, "refs")

    def loaded_references(self, repo: str, docs: Collection[int]) -> dict[int, bytes]:
        """document → its references, for documents in memory."""
        return self._caches.find(repo, docs, "refs")

    def contents(self, repo: str, docs: Collection[int]) -> dict[int, bytes]:
        return self._get(repo, docs, "content")

    def _get(self, repo: str, docs: Collection[int], column: str) -> dict[int, Any]:
        if not docs:
            return {}
        docs = set(docs)
        found = self._caches.find(repo, docs, column)
        missing = {(repo, doc) for doc in docs if doc not in found}
        if not missing:
            return found
        whole = self._announced()
        fetched = dict(self._fetched(whole, column, self._caches.columns)) if whole else {}
        fetched.update(self._fetched(missing - whole, column, (column,)))
        found.update((key[1], value) for key, value in fetched.items() if key in missing)
        return found

    def _announced(self) -> set[Key]:
        """Announced documents that are not in memory, as many as one request should fetch."""
        with self._lock:
            expected, self._expected = self._expected, {}
        chosen: set[Key] = set()
        room = ANNOUNCED_BYTES
        for key, size in expected.items():
            if size <= room and self._caches.lacks(key):
                room -= size
                chosen.add(key)
                if len(chosen) == MOST_ANNOUNCED:
                    break
        return chosen

    def _fetched(self, keys: Collection[Key], wanted: str, columns: Collection[str]) -> dict[Key, Any]:
        found: dict[Key, Any] = {}
        readable = self._readable.only({repo for repo, _ in keys})
        for where in document_filters({doc for _, doc in keys}):
            rows = readable.scan("documents", where, ("repo", "doc", *columns))
            named = list(zip(rows["repo"].to_pylist(), rows["doc"].to_pylist(), strict=True))
            for column in columns:
                for key, value in zip(named, rows[column].to_pylist(), strict=True):
                    made = self._caches.put(column, key, value)
                    if column == wanted:
                        found[key] = made
        return found
