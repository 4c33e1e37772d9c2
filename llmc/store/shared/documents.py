"""What documents consist of, fetched in batches and kept in memory within bounds.

A document never changes, so what was fetched stays true. Three columns are cached apart, since graph queries read the
facts (chunks, symbols, declarations) of thousands of documents, and their references and contents only of some. A
caller that will need several documents one by one announces them (`expect`): the first fetch then brings all of them
whole, so that one round trip to the storage does the work of many.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, Self, TypeVar

import orjson

from llmc.base.errors import CorruptStoreError
from llmc.store.shared.keywords import document_filters

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Hashable, Mapping

    from llmc.store.shared.access import Readable

__all__ = ["ByteCache", "DocumentCaches", "DocumentFacts", "DocumentReader"]

Value = TypeVar("Value")
Key = tuple[str, int]
# Announced documents that are fetched whole in one request, and how large they may be together.
MOST_ANNOUNCED = 512
ANNOUNCED_BYTES = 16 << 20


class ByteCache(Generic[Value]):
    """The values used last, as many as fit."""

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
        """The next value would probably displace another."""
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
        """One column: a line of JSON, which may hold a path that is not valid UTF-8, and three blobs."""
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

    def __init__(self, most_bytes: int) -> None:
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
        """These documents (number → size) will be asked for soon."""
        with self._lock:
            self._expected.update({(repo, doc): size for doc, size in sizes.items()})

    def facts(self, repo: str, docs: Collection[int]) -> dict[int, DocumentFacts]:
        """Unknown documents are left out."""
        return self._get(repo, docs, "facts", self._caches.facts)

    def references(self, repo: str, docs: Collection[int]) -> dict[int, bytes]:
        return self._get(repo, docs, "refs", self._caches.references)

    def contents(self, repo: str, docs: Collection[int]) -> dict[int, bytes]:
        return self._get(repo, docs, "content", self._caches.contents)

    def _get(self, repo: str, docs: Collection[int], column: str, cache: ByteCache[Value]) -> dict[int, Value]:
        docs = set(docs)
        found = {doc: value for doc in docs if (value := cache.get((repo, doc))) is not None}
        missing = {(repo, doc) for doc in docs if doc not in found}
        if not missing:
            return found
        whole = self._announced()
        fetched = dict(self._fetched(whole, column, self._caches.columns)) if whole else {}
        fetched.update(self._fetched(missing - whole, column, (column,)))
        found.update((key[1], value) for key, value in fetched.items() if key in missing)
        return found

    def _announced(self) -> set[Key]:
        """What was announced and is not here, as much as one request should bring."""
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
