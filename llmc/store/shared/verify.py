"""Checks that a shared index contains what its manifests list, table by table, and repairs it.

A document is intact if it is in `documents`, its content has the recorded hash, and the other tables have as many rows
as it has chunks and names. `repair` removes all rows of a damaged document, so that the next publication of its
repository writes it again.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from llmc.base.errors import CorruptStoreError
from llmc.base.text import content_hash
from llmc.store.catalog.packing import UNREADABLE, unpack_chunks
from llmc.store.shared.database import quoted
from llmc.store.shared.documents import DocumentFacts
from llmc.store.shared.keywords import document_filters
from llmc.store.shared.maintenance import not_published, shards_of
from llmc.store.shared.manifest import FILES, HEAD_COLUMNS, TERMS, Manifest, newest, read_heads
from llmc.store.shared.schema import CONTENT_TABLES, MANIFESTS
from llmc.store.shared.statistics import TermStatistics

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

    from llmc.store.shared.database import SharedDatabase
    from llmc.store.shared.manifest import Head

__all__ = ["SharedDifference", "repair", "verify"]

CONTENTS_AT_ONCE = 2_000


@dataclass(frozen=True, slots=True)
class SharedDifference:
    """`doc` is 0 for a whole publication or table."""

    repo: str
    ref: str
    table: str
    problem: str
    doc: int = 0
    path: str = ""
    shard: int = 0

    def __str__(self) -> str:
        place = f" {self.path}" if self.path else ""
        return f"{self.repo}@{self.ref}{place}: {self.problem} ({self.table})"


def verify(
    database: SharedDatabase, repo: str = "", report: Callable[[str], None] = lambda _repo: None
) -> list[SharedDifference]:
    """The damage in all repositories, or in one; NotFoundError if that one is not published."""
    table = database.table(MANIFESTS)
    table.refresh()
    rows = table.scan("true", HEAD_COLUMNS)
    readable = list(read_heads(rows))
    found: list[SharedDifference] = []
    if damaged := rows.num_rows - len(readable):
        found.append(SharedDifference("", "", MANIFESTS, f"{damaged} rows cannot be read"))
    heads = [head for head in newest(readable).values() if not head.is_dropped and repo in {"", head.repo}]
    if repo and not heads and not found:
        raise not_published(repo)
    for shard in shards_of(heads):
        database.refresh(shard)
    by_repo: dict[tuple[str, int], list[Head]] = defaultdict(list)
    for head in heads:
        by_repo[head.repo, head.shard].append(head)
    for (name, shard), several in sorted(by_repo.items()):
        report(name)
        found += _verify_repository(database, name, shard, several)
    return found


def _verify_repository(
    database: SharedDatabase, repo: str, shard: int, heads: Collection[Head]
) -> Iterator[SharedDifference]:
    named: dict[int, tuple[str, str]] = {}
    for head in heads:
        try:
            manifest = Manifest(head, database.storage.read(head.part(FILES)) or b"")
            TermStatistics.unpack(database.storage.read(head.part(TERMS)) or b"")
        except CorruptStoreError:
            yield SharedDifference(repo, head.ref, MANIFESTS, "its list of files or words is damaged", shard=shard)
            continue
        named |= {entry.doc: (head.ref, entry.path) for entry in manifest.entries() if entry.doc > 0}
    for doc, table, problem in _damaged(database, repo, shard, named.keys()):
        ref, path = named[doc]
        yield SharedDifference(repo, ref, table, problem, doc, path, shard)


def _damaged(database: SharedDatabase, repo: str, shard: int, docs: Collection[int]) -> Iterator[tuple[int, str, str]]:
    """(document, table, problem) for each damaged document."""
    chunks: dict[int, int] = {}
    yield from _damaged_contents(database, repo, shard, docs, chunks)
    yield from ((doc, "documents", "it is missing") for doc in docs if doc not in chunks)
    for table in ("chunks", "vectors"):
        held = _rows_of(database, table, repo, shard)
        for doc, count in chunks.items():
            if held[doc] != count:
                yield doc, table, f"{held[doc]} of {count} rows are there"
    texts = _rows_of(database, "trigrams", repo, shard)
    yield from ((doc, "trigrams", "it is missing") for doc in chunks if not texts[doc])


def _damaged_contents(
    database: SharedDatabase, repo: str, shard: int, docs: Collection[int], chunks: dict[int, int]
) -> Iterator[tuple[int, str, str]]:
    """The same for the `documents` table. Fills `chunks` with the number of chunks of each document found."""
    ordered = sorted(docs)
    columns = ("doc", "content_hash", "content", "facts")
    for start in range(0, len(ordered), CONTENTS_AT_ONCE):
        where = next(document_filters(ordered[start : start + CONTENTS_AT_ONCE]))
        rows = database.table("documents", shard).scan(f"repo = {quoted(repo)} AND {where}", columns)
        for doc, hashed, content, packed in zip(*(rows[name].to_pylist() for name in columns), strict=True):
            chunks[doc] = 0
            try:
                chunks[doc] = len(unpack_chunks(doc, DocumentFacts.unpack(packed).chunks))
            except (CorruptStoreError, *UNREADABLE):
                yield doc, "documents", "its chunks cannot be read"
            if content_hash(content) != hashed:
                yield doc, "documents", "its content differs from its hash"


def _rows_of(database: SharedDatabase, table: str, repo: str, shard: int) -> Counter[int]:
    """document → its number of distinct rows."""
    columns = ("doc",) if table == "trigrams" else ("doc", "ordinal")
    rows = database.table(table, shard).scan(f"repo = {quoted(repo)}", columns)
    return Counter(key[0] for key in set(zip(*(rows[name].to_pylist() for name in columns), strict=True)))


def repair(database: SharedDatabase, differences: Collection[SharedDifference]) -> int:
    """Remove damaged documents from every table and return their number; publishing again writes them."""
    damaged: dict[tuple[str, int], set[int]] = defaultdict(set)
    for one in differences:
        if one.doc:
            damaged[one.repo, one.shard].add(one.doc)
    for (repo, shard), docs in damaged.items():
        for name in CONTENT_TABLES:
            for where in document_filters(docs):
                database.table(name, shard).delete(f"repo = {quoted(repo)} AND {where}")
    return sum(map(len, damaged.values()))
