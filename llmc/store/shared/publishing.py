"""What a publisher writes: the documents that the index does not have, then one row that makes them visible.

    with Publication(database, "acme/api", "main") as publication:
        missing = publication.unknown(numbers)
        publication.write(documents)                     # any number of times
        publication.commit(entries, commit="1a2b…", committed=…)

Documents are written before the manifest that names them, and `documents`, whose rows say that all others of a document
are there, after the other tables. A publisher that is killed leaves documents that nothing names; the next one finds
them and goes on. Two publishers of one ref both succeed: `Head.order` decides which of them counts, and `commit`
reports it.
"""

from __future__ import annotations

import time
from collections import Counter
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Self
from uuid import uuid4

from llmc.base.errors import CorruptStoreError, StoreError
from llmc.store.shared.access import Readable
from llmc.store.shared.keywords import document_filters
from llmc.store.shared.manifest import (
    FILES,
    HEAD_COLUMNS,
    TERMS,
    Head,
    Manifest,
    ManifestEntry,
    newest,
    pack_entries,
    read_heads,
)
from llmc.store.shared.rows import chunk_rows, document_rows, symbol_rows, trigram_rows, vector_rows
from llmc.store.shared.schema import MANIFESTS, SHARD_CHUNKS, schema_of
from llmc.store.shared.statistics import FIELDS, TermStatistics, count_chunk, counts_of
from llmc.store.shared.vectors import vectors_of_contents

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    import numpy as np
    import numpy.typing as npt

    from llmc.store.shared.database import SharedDatabase
    from llmc.store.shared.rows import NumberedDocument

__all__ = ["Publication", "all_heads", "append_head", "is_newer", "shard_of"]

HOUR = 3_600.0
# What an interrupted publisher wrote is reused for so long; `maintenance` removes what nothing names after a day, so
# a document cannot go between being found and being named.
REUSED_SECONDS = 12 * HOUR
# Manifests of other refs that are read to know what the index has.
MOST_REFS = 32


class Publication:
    """One run of a publisher, in one thread."""

    def __init__(self, database: SharedDatabase, repo: str, ref: str) -> None:
        self._database = database
        self.repo = repo
        self.ref = ref
        self._readable = Readable(database, {})
        self._shard = 0
        self._heads: dict[str, Head] = {}
        self._manifests: dict[str, Manifest] = {}
        self._known: dict[int, ManifestEntry] = {}
        self._written: dict[int, ManifestEntry] = {}
        self._chunks = 0
        self._counts: Counter[int] = Counter()
        self.bytes_written = 0

    def __enter__(self) -> Self:
        heads = all_heads(self._database)
        self._shard = shard_of(self.repo, heads.values())
        self._database.create_shard(self._shard)
        self._database.refresh(self._shard)
        self._readable = Readable(self._database, {self._shard: [self.repo]})
        self._heads = {head.ref: head for head in heads.values() if head.repo == self.repo}
        live = sorted((head for head in self._heads.values() if not head.is_dropped), key=lambda head: -head.published)
        own = [head for head in live if head.ref == self.ref]
        there = set(self._readable.scan("documents", "", ("doc",))["doc"].to_pylist())
        chosen = [*own, *(head for head in live if head.ref != self.ref)][:MOST_REFS]
        files = self._readable.publication_parts(chosen, FILES)
        for head in chosen:
            try:
                manifest = self._manifests[head.ref] = Manifest(head, files.get(head.nonce, b""))
            except CorruptStoreError:  # this publication replaces it
                continue
            for entry in manifest.entries():
                if entry.doc < 0 or entry.doc in there:
                    self._known.setdefault(entry.doc, entry)
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing is held; what was written and not committed is found by the next run."""

    @property
    def current(self) -> Head | None:
        """What the ref is at now; None if it was never published, or was dropped."""
        head = self._heads.get(self.ref)
        return None if head is None or head.is_dropped else head

    def known(self, doc: int) -> ManifestEntry | None:
        """The file of a document that need not be written; its path may be that of another ref."""
        return self._written.get(doc) or self._known.get(doc)

    def unknown(self, docs: Collection[int]) -> set[int]:
        """Those that have to be written. Looks for what an interrupted run has written."""
        missing = {doc for doc in docs if self.known(doc) is None}
        since = time.time() - REUSED_SECONDS
        for where in document_filters(missing):
            columns = ("doc", "size", "redactions", "nul")
            rows = self._readable.scan("documents", f"{where} AND written > {since}", columns)
            for doc, size, redactions, nul in zip(*(rows[name].to_pylist() for name in columns), strict=True):
                self._known[doc] = ManifestEntry("", doc, size, redactions, holds_nul=nul)
        return {doc for doc in missing if doc not in self._known}

    def write(self, documents: Sequence[NumberedDocument]) -> None:
        """Write new documents. Nobody sees them before `commit`."""
        description = self._database.description
        embedded = [(one.doc, one.document.vectors) for one in documents if one.document.vectors is not None]
        rows = {
            "trigrams": trigram_rows(self.repo, documents, description),
            "chunks": chunk_rows(self.repo, documents, description),
            "symbols": symbol_rows(self.repo, documents, description),
            "vectors": vector_rows(self.repo, embedded, description),
        }
        self._database.append(rows, self._shard)
        rows["documents"] = document_rows(self.repo, documents, description)
        self._database.append({"documents": rows["documents"]}, self._shard)
        self.bytes_written += sum(table.nbytes for table in rows.values())
        chunks, counts = counts_of(one.document for one in documents)
        self._chunks += chunks
        self._counts += counts
        for doc, document, content, redactions in documents:
            entry = ManifestEntry(document.path, doc, len(content), redactions, holds_nul=0 in content)
            self._written[doc] = entry

    def note_without_text(self, doc: int, path: str, size: int) -> None:
        """A file that is binary, or could not be read: it is listed and nothing else."""
        self._known[-doc] = ManifestEntry(path, -doc, size)

    @property
    def documents_written(self) -> int:
        return len(self._written)

    def vectors_of_contents(self, hashes: Collection[str]) -> dict[str, npt.NDArray[np.float32]]:
        return vectors_of_contents(self._readable, hashes, self._database.description.dimension)

    # --- making it visible

    def commit(self, entries: Iterable[ManifestEntry], head: Head, *, force: bool = False) -> tuple[Head, Head]:
        """Replace what the ref is at, at once. `head` says which commit it is and what was left out; the rest of it is
        filled in. Returns what was published, and what counts now: another publisher may have been faster. A commit
        that is newer is replaced only by `force`."""
        listed = list(entries)
        docs = {entry.doc for entry in listed if entry.doc > 0}
        statistics = self._statistics(docs)
        before = all_heads(self._database).get((self.repo, self.ref))
        if before is not None and is_newer(before, head.committed) and not force:
            return head, before
        published = replace(
            head,
            repo=self.repo,
            ref=self.ref,
            sequence=next_sequence(before, head.committed),
            nonce=uuid4().hex,
            shard=self._shard,
            published=time.time(),
            files=len(listed),
            documents=len(docs),
            chunks=statistics.chunks,
            redacted=sum(entry.redactions for entry in listed),
            versions=self._database.refresh(self._shard),
        )
        self._database.storage.write(published.part(FILES), pack_entries(listed))
        self._database.storage.write(published.part(TERMS), statistics.pack())
        append_head(self._database, published)
        self._require_written(docs)
        counting = all_heads(self._database).get((self.repo, self.ref), published)
        return published, counting

    def _require_written(self, docs: set[int]) -> None:
        """What this run wrote must still be there: a clock that jumped could have made `optimize` remove it."""
        written = docs & self._written.keys()
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
        """From those of the ref that has most in common with the new tree; only what differs is counted."""
        base, best = TermStatistics.of(0, {}), set[int]()
        bases = {ref: manifest.docs() for ref, manifest in self._manifests.items()}
        nearest = max(bases, key=lambda ref: len(bases[ref] & docs), default=None)
        if nearest is not None:
            head = self._heads[nearest]
            packed = self._readable.publication_parts([head], TERMS).get(head.nonce)
            with suppress(CorruptStoreError):  # then everything is counted
                base, best = (TermStatistics.unpack(packed), bases[nearest]) if packed else (base, best)
        written = docs & self._written.keys()
        chunks, counts = self._chunks, Counter(self._counts)
        chunks -= self._count_rows(counts, self._written.keys() - docs, -1)
        chunks += self._count_rows(counts, docs - best - written, 1)
        chunks -= self._count_rows(counts, best - docs, -1)
        return base.changed(chunks, counts)

    def _count_rows(self, counts: Counter[int], docs: Collection[int], step: int) -> int:
        """Count what the chunks of documents that are in the index hold; the number of those chunks."""
        seen: set[tuple[int, int]] = set()
        for where in document_filters(docs):
            rows = self._readable.scan("chunks", where, ("doc", "ordinal", *FIELDS))
            places = zip(rows["doc"].to_pylist(), rows["ordinal"].to_pylist(), strict=True)
            fields = zip(*(rows[name].to_pylist() for name in FIELDS), strict=True)
            for place, texts in zip(places, fields, strict=True):
                if place not in seen:
                    seen.add(place)
                    count_chunk(counts, texts, step)
        return len(seen)


def is_newer(head: Head, committed: float) -> bool:
    """Whether a publication must not be replaced by a commit of this time: its publisher may only have been late."""
    return not head.is_dropped and head.committed > committed


def next_sequence(before: Head | None, committed: float) -> int:
    """It grows only where an older commit takes the place of a newer one, or any that of a dropped ref. Otherwise the
    newest commit counts, in whatever order publishers read and write the table."""
    if before is None:
        return 1
    return before.sequence + (before.is_dropped or is_newer(before, committed))


def all_heads(database: SharedDatabase) -> dict[tuple[str, str], Head]:
    """(repository, ref) → what counts now, dropped refs included."""
    table = database.table(MANIFESTS)
    table.refresh()
    return newest(read_heads(table.scan("true", HEAD_COLUMNS)))


def shard_of(repo: str, heads: Collection[Head]) -> int:
    """The shard that a repository is in, or that a new one goes to: the last one, until it is full."""
    known = [head.shard for head in heads if head.repo == repo]
    if known:
        return max(known)
    last = max((head.shard for head in heads), default=0)
    chunks = sum(head.chunks for head in heads if head.shard == last)
    return last + 1 if chunks >= SHARD_CHUNKS else last


def append_head(database: SharedDatabase, head: Head) -> None:
    """The step that makes a publication visible."""
    import pyarrow as pa  # noqa: PLC0415 - comes with lancedb

    row = {
        "repo": head.repo,
        "ref": head.ref,
        "sequence": head.sequence,
        "nonce": head.nonce,
        "head": head.fields(),
    }
    rows = pa.Table.from_pylist([row], schema_of(MANIFESTS, database.description))
    database.append({MANIFESTS: rows})
