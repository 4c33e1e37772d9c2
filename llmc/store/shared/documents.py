"""What documents consist of, fetched in batches and kept in memory within bounds.

A document never changes, so what was fetched stays true. Three kinds of columns are fetched apart, since most queries
need only the first: facts (chunks, symbols, declarations), references, contents. Who knows that several documents will
be needed one by one says so first (`expect`); the first fetch then brings them all.
"""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from llmc.store.shared.keywords import document_filters

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Hashable

    from llmc.store.shared.access import Readable

__all__ = ["ByteCache", "DocumentCaches", "DocumentFacts", "DocumentReader"]

Value = TypeVar("Value")
Key = tuple[str, int]


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

    @property
    def bytes(self) -> int:
        return self._bytes


class DocumentFacts(NamedTuple):
    path: str
    content_hash: str
    language: str
    size: int
    lines: int
    chunks: bytes
    symbols: bytes
    links: bytes


FACTS = ("path", "content_hash", "language", "size", "lines", "chunks", "symbols", "links")


class DocumentCaches:
    """One for each process; keys are (repository, document)."""

    def __init__(self, most_bytes: int) -> None:
        self.facts: ByteCache[DocumentFacts] = ByteCache(most_bytes // 4, _facts_size)
        self.references: ByteCache[bytes] = ByteCache(most_bytes // 4, len)
        self.contents: ByteCache[bytes] = ByteCache(most_bytes // 2, len)


def _facts_size(facts: DocumentFacts) -> int:
    return 300 + len(facts.chunks) + len(facts.symbols) + len(facts.links)


class DocumentReader:
    """The documents of the repositories of one selection."""

    def __init__(self, readable: Readable, caches: DocumentCaches) -> None:
        self._readable = readable
        self._caches = caches
        self._expected: dict[str, set[Key]] = {"facts": set(), "contents": set()}
        self._lock = threading.Lock()

    def expect(self, repo: str, docs: Collection[int], *, contents: bool = False) -> None:
        """These documents will be asked for soon."""
        with self._lock:
            self._expected["contents" if contents else "facts"].update((repo, doc) for doc in docs)

    def facts(self, repo: str, docs: Collection[int]) -> dict[int, DocumentFacts]:
        """Unknown documents are left out."""
        return self._get(repo, docs, self._caches.facts, FACTS, _facts_of, "facts")

    def references(self, repo: str, docs: Collection[int]) -> dict[int, bytes]:
        return self._get(repo, docs, self._caches.references, ("refs",), _only)

    def contents(self, repo: str, docs: Collection[int]) -> dict[int, bytes]:
        return self._get(repo, docs, self._caches.contents, ("content",), _only, "contents")

    def _get(  # noqa: PLR0917 - one call for each kind of columns
        self,
        repo: str,
        docs: Collection[int],
        cache: ByteCache[Value],
        columns: tuple[str, ...],
        make: Callable[[tuple[Any, ...]], Value],
        expected: str = "",
    ) -> dict[int, Value]:
        docs = set(docs)
        found = {doc: value for doc in docs if (value := cache.get((repo, doc))) is not None}
        missing = {(repo, doc) for doc in docs if doc not in found}
        if not missing:
            return found
        if expected:
            with self._lock:
                missing |= {key for key in self._expected[expected] if cache.get(key) is None}
                self._expected[expected].clear()
        for where in document_filters({doc for _, doc in missing}):
            rows = self._readable.scan("documents", where, ("repo", "doc", *columns))
            named = zip(rows["repo"].to_pylist(), rows["doc"].to_pylist(), strict=True)
            values = zip(*(rows[name].to_pylist() for name in columns), strict=True)
            for key, fields in zip(named, values, strict=True):
                value = make(fields)
                cache.put(key, value)
                if key[0] == repo and key[1] in docs:
                    found[key[1]] = value
        return found


def _facts_of(fields: tuple[Any, ...]) -> DocumentFacts:
    path, *rest = fields
    return DocumentFacts(os.fsdecode(path), *rest)


def _only(fields: tuple[Any, ...]) -> bytes:
    value: bytes = fields[0]
    return value
