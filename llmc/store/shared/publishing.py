"""Writes a publication: the documents that the index does not have, then one row that makes them visible.

    with Publication(database, "acme/api", "main") as publication:
        publication.expect(numbers)
        publication.write(documents)                     # any number of times, for documents that are not `known`
        publication.commit(entries, head)

Documents are written before the manifest that lists them. Of the tables, `documents` is written last: its rows mark
documents as complete. A publisher that is killed leaves documents that no manifest lists; the next one reuses them. Two
publishers of one ref both succeed: `Head.order` decides which publication is current, and `commit` reports it.
"""

from __future__ import annotations

import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self
from uuid import uuid4

from llmc.base.errors import CorruptStoreError, StoreError
from llmc.store.shared.access import Readable
from llmc.store.shared.heads import all_heads, append_head, is_newer, next_sequence, shard_of
from llmc.store.shared.keywords import document_filters
from llmc.store.shared.manifest import FILES, TERMS, Manifest, ManifestEntry, pack_entries
from llmc.store.shared.rows import chunk_rows, document_rows, symbol_rows, trigram_rows, vector_rows
from llmc.store.shared.schema import MANIFESTS
from llmc.store.shared.statistics import FIELDS, TermStatistics, count_chunks, counts_of
from llmc.store.shared.vectors import vectors_of_contents

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence
    from concurrent.futures import Future

    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa

    from llmc.store.shared.database import SharedDatabase
    from llmc.store.shared.manifest import Head
    from llmc.store.shared.rows import NumberedDocument
    from llmc.store.shared.statistics import TermCounts

__all__ = ["Publication"]

HOUR = 3_600.0
# How long the documents of an interrupted publisher are reused. `maintenance` removes unlisted documents after a day,
# so a document cannot disappear between being found and being listed.
REUSED_SECONDS = 12 * HOUR
# The number of manifests of other refs that are read to find documents that the index has.
MOST_REFS = 32


@dataclass(frozen=True, slots=True)
class FormerTree:
    """The published ref that has most in common with a new publication. `docs` are its documents and `terms` their
    statistics; `removed` will be the (chunks, counts) of the documents that the new tree does not have."""

    docs: frozenset[int]
    terms: TermStatistics
    removed: Future[TermCounts]


class Publication:
    """One run of a publisher, used by one thread. It reads and writes in other threads, since a publication takes some
    25 sequential requests to the storage."""

    def __init__(self, database: SharedDatabase, repo: str, ref: str) -> None:
        self._database = database
        self.repo = repo
        self.ref = ref
        self._readable = Readable(database, {})
        self._pool = ThreadPoolExecutor(4, "llmc-publish")
        self._shard = 0
        self._heads: dict[str, Head] = {}
        self._manifests: dict[str, Manifest] = {}
        self._terms: dict[str, bytes] = {}
        self._former: FormerTree | None = None
        self._known: dict[int, ManifestEntry] = {}
        self._written: dict[int, ManifestEntry] = {}
        self._chunks = 0
        self._counts: Counter[int] = Counter()
        self.bytes_written = 0

    def __enter__(self) -> Self:
        heads = all_heads(self._database)
        self._shard = shard_of(self.repo, heads.values())
        if all(head.shard != self._shard for head in heads.values()):
            self._database.create_shard(self._shard)
        self._database.refresh(self._shard)
        self._readable = Readable(self._database, {self._shard: [self.repo]})
        self._heads = {head.ref: head for head in heads.values() if head.repo == self.repo}
        live = sorted((head for head in self._heads.values() if not head.is_dropped), key=lambda head: -head.published)
        own = [head for head in live if head.ref == self.ref]
        chosen = [*own, *(head for head in live if head.ref != self.ref)][:MOST_REFS]
        stored = self._pool.submit(self._stored)
        terms = self._pool.submit(self._readable.publication_parts, chosen[:1], TERMS)
        files = self._readable.publication_parts(chosen, FILES)
        self._terms = terms.result()
        self._note(chosen, files, stored.result())
        return self

    def _stored(self) -> pa.Table:
        return self._readable.scan("documents", "", ("doc", "size", "redactions", "nul", "written"))

    def _note(self, heads: Sequence[Head], files: Mapping[str, bytes], rows: pa.Table) -> None:
        """Record the documents that need not be written: those of these publications and of interrupted runs."""
        there = set(rows["doc"].to_pylist())
        for head in heads:
            try:
                manifest = self._manifests[head.ref] = Manifest(head, files.get(head.nonce, b""))
            except CorruptStoreError:  # this publication replaces it
                continue
            for entry in manifest.entries():
                if entry.doc < 0 or entry.doc in there:
                    self._known.setdefault(entry.doc, entry)
        since = time.time() - REUSED_SECONDS
        columns = (rows[name].to_pylist() for name in ("doc", "size", "redactions", "nul", "written"))
        for doc, size, redactions, nul, written in zip(*columns, strict=True):
            if written > since:
                self._known.setdefault(doc, ManifestEntry("", doc, size, redactions, holds_nul=nul))

    def __exit__(self, *_: object) -> None:
        """Documents that were written but not committed are reused by the next run."""
        self._pool.shutdown(cancel_futures=True)

    @property
    def current(self) -> Head | None:
        """The current publication of the ref; None if it was never published, or was dropped."""
        head = self._heads.get(self.ref)
        return None if head is None or head.is_dropped else head

    def known(self, doc: int) -> ManifestEntry | None:
        """The file of a document that need not be written, None for others; its path may be that of another ref."""
        return self._written.get(doc) or self._known.get(doc)

    def expect(self, docs: Collection[int]) -> None:
        """Announce the documents of the new tree, to read what is needed of the former tree in the background."""
        bases = {ref: manifest.docs() for ref, manifest in self._manifests.items()}
        nearest = max(bases, key=lambda ref: len(bases[ref].intersection(docs)), default=None)
        base, terms = frozenset[int](), TermStatistics.of(0, {})
        if nearest is not None:
            head = self._heads[nearest]
            packed = self._terms.get(head.nonce) or self._readable.publication_parts([head], TERMS).get(head.nonce)
            with suppress(CorruptStoreError):  # then all documents are counted
                base, terms = (frozenset(bases[nearest]), TermStatistics.unpack(packed)) if packed else (base, terms)
        removed = self._pool.submit(self._count_rows, base.difference(docs))
        self._former = FormerTree(base, terms, removed)

    def write(self, documents: Sequence[NumberedDocument]) -> None:
        """Write new documents, which are invisible before `commit`."""
        description = self._database.description
        embedded = [(one.doc, one.document.vectors) for one in documents if one.document.vectors is not None]
        rows = {
            "trigrams": trigram_rows(self.repo, documents, description),
            "chunks": chunk_rows(self.repo, documents, description),
            "symbols": symbol_rows(self.repo, documents, description),
            "vectors": vector_rows(self.repo, embedded, description),
        }
        appended = self._pool.submit(self._database.append, rows, self._shard)
        listed = document_rows(self.repo, documents, description)
        chunks, counts = counts_of(one.document for one in documents)
        appended.result()
        self._database.append({"documents": listed}, self._shard)
        self.bytes_written += listed.nbytes + sum(table.nbytes for table in rows.values())
        self._chunks += chunks
        self._counts += counts
        for doc, document, content, redactions in documents:
            entry = ManifestEntry(document.path, doc, len(content), redactions, holds_nul=0 in content)
            self._written[doc] = entry

    def note_without_text(self, doc: int, path: str, size: int) -> None:
        """Record a file that is binary or could not be read; it is only listed."""
        self._known[-doc] = ManifestEntry(path, -doc, size)

    @property
    def documents_written(self) -> int:
        return len(self._written)

    def vectors_of_contents(self, hashes: Collection[str]) -> dict[str, npt.NDArray[np.float32]]:
        return vectors_of_contents(self._readable, hashes, self._database.description.dimension)

    # --- making it visible

    def commit(self, entries: Iterable[ManifestEntry], head: Head, *, force: bool = False) -> tuple[Head, Head]:
        """Atomically replace the current publication of the ref. `head` contains the commit and the counts of omitted
        files; the other fields are filled in. Returns what was published and what is current now, since another
        publisher may have been faster. A newer commit is replaced only with `force`."""
        listed = list(entries)
        docs = {entry.doc for entry in listed if entry.doc > 0}
        statistics = self._statistics(docs)
        new = replace(
            head,
            repo=self.repo,
            ref=self.ref,
            nonce=uuid4().hex,
            shard=self._shard,
            published=time.time(),
            files=len(listed),
            documents=len(docs),
            chunks=statistics.chunks,
            redacted=sum(entry.redactions for entry in listed),
            versions=self._database.versions(self._shard),
        )
        storage = self._database.storage
        parts = {FILES: pack_entries(listed), TERMS: statistics.pack()}
        writing = [self._pool.submit(storage.write, new.part(part), packed) for part, packed in parts.items()]
        before = all_heads(self._database).get((self.repo, self.ref))
        for one in writing:
            one.result()
        if before is not None and is_newer(before, head.committed) and not force:
            return head, before
        published = replace(new, sequence=next_sequence(before, head.committed))
        counting = self._append(published, before)
        self._require_written(docs)
        return published, counting

    def _append(self, published: Head, before: Head | None) -> Head:
        """Make the publication visible and return the current one. Nothing is read again if there was no other
        publication since `before` was read."""
        table = self._database.table(MANIFESTS)
        version = table.version
        append_head(self._database, published)
        if table.version != version + 1:
            return all_heads(self._database).get((self.repo, self.ref), published)
        return max(filter(None, (before, published)), key=lambda head: head.order)

    def _require_written(self, docs: set[int]) -> None:
        """Raise an error if documents of this run were removed, as `optimize` does if a clock jumped."""
        written = docs & self._written.keys()
        table = self._database.table("documents", self._shard)
        if not written or table.version == table.refresh():
            return
        there: set[int] = set()
        for where in document_filters(written):
            there.update(self._readable.scan("documents", where, ("doc",))["doc"].to_pylist())
        if written - there:
            raise StoreError(
                f"{len(written - there):,} documents disappeared while they were published",
                reason="another process removed them; its clock may be wrong",
                hint="Publish again: it writes what is missing.",
            )

    def _statistics(self, docs: set[int]) -> TermStatistics:
        """The statistics of the new tree, computed from those of the most similar ref by counting only the
        differences."""
        if self._former is None:
            self.expect(docs)
        assert self._former is not None, "see the line before"
        former = self._former
        written = docs & self._written.keys()
        chunks, counts = self._chunks, Counter(self._counts)
        others = (
            (self._count_rows(self._written.keys() - docs), -1),
            (self._count_rows(docs - former.docs - written), 1),
            (former.removed.result(), -1),
        )
        for (number, held), step in others:
            chunks += step * number
            for term, count in held.items():
                counts[term] += step * count
        return former.terms.changed(chunks, counts)

    def _count_rows(self, docs: Collection[int]) -> TermCounts:
        """Count the terms in the chunks of documents that are in the index."""
        chunks: dict[tuple[int, int], tuple[str, str, str]] = {}  # an interrupted run may have written some twice
        for where in document_filters(docs):
            rows = self._readable.scan("chunks", where, ("doc", "ordinal", *FIELDS))
            places = zip(rows["doc"].to_pylist(), rows["ordinal"].to_pylist(), strict=True)
            body, name, path = (rows[field].to_pylist() for field in FIELDS)
            chunks.update(zip(places, zip(body, name, path, strict=True), strict=True))
        return count_chunks(chunks.values())
