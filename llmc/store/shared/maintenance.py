"""Maintenance of a shared index: removes unreferenced content, updates the indexes with new rows, expires refs.

Any process with write access may run it at any time, concurrently with publishers and servers. Nothing is removed that
a publisher may still refer to: documents are removed a day after the last manifest that lists them was replaced, and
old versions of tables stay readable for an hour. `optimize` holds a lease, so that one process at a time does the work.
The lease only avoids duplicate work; LanceDB's commits resolve conflicts.
"""

from __future__ import annotations

import json
import time
from collections import defaultdict
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from itertools import pairwise
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from llmc.base import logs
from llmc.base.errors import ConflictError, LlmcError, NotFoundError
from llmc.store.shared.database import DISTANCE, quoted
from llmc.store.shared.heads import append_head
from llmc.store.shared.keywords import document_filters
from llmc.store.shared.manifest import (
    FILES,
    HEAD_COLUMNS,
    PUBLICATIONS,
    Head,
    Manifest,
    default_head,
    newest,
    read_heads,
)
from llmc.store.shared.schema import CONTENT_TABLES, MANIFESTS

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

    from llmc.store.shared.database import SharedDatabase, SharedTable

    Report = Callable[[dict[str, Any]], None]

__all__ = [
    "OptimizeResult",
    "TableStatus",
    "drop",
    "needs_optimize",
    "not_published",
    "optimize",
    "shards_of",
    "table_status",
]

log = logs.get("shared")

HOUR, DAY = 3_600.0, 86_400.0
GRACE_SECONDS = DAY
OLD_VERSIONS = timedelta(hours=1)
LEASE, LEASE_SECONDS = "lease/optimize.json", 2 * HOUR
# Rows without an index are compared one by one: 4,000 chunks cost a search 70 ms, 2,000 texts a grep 50 ms.
MOST_UNINDEXED = {"chunks": 4_000, "trigrams": 2_000, "vectors": 8_000, "documents": 8_000, "symbols": 20_000}
# Each commit adds a file, and opening more than some dozens of files takes longer than reading them.
MOST_FRAGMENTS = 64
# Smaller tables are searched without an index. An index is trained again when the table has four times as many rows.
LEAST_INDEXED_VECTORS = 5_000
RETRAIN = 4


@dataclass(frozen=True, slots=True)
class TableStatus:
    name: str
    rows: int
    unindexed: int
    fragments: int
    bytes: int


@dataclass(slots=True)
class OptimizeResult:
    """The expired refs, the numbers of removed rows, and the shards whose indexes were updated."""

    expired: list[str] = field(default_factory=list)
    manifests: int = 0
    documents: int = 0
    duplicates: int = 0
    shards: list[int] = field(default_factory=list)
    objects: int = 0
    seconds: float = 0.0


def drop(database: SharedDatabase, repo: str, ref: str = "") -> list[Head]:
    """Make a repository, or one ref of it, invisible at once; `optimize` removes its content a day later."""
    current = newest(_all_rows(database)).values()
    wanted = [head for head in current if head.repo == repo and ref in {"", head.ref} and not head.is_dropped]
    if not wanted:
        raise not_published(f"{repo}@{ref}" if ref else repo)
    for head in wanted:
        _append_dropped(database, head)
    return wanted


def not_published(name: str) -> NotFoundError:
    return NotFoundError(f"{name} is not published", hint="`llmc shared list` shows what is published.")


def _append_dropped(database: SharedDatabase, head: Head) -> None:
    gone = replace(head, commit="", sequence=head.sequence + 1, nonce=uuid4().hex, published=time.time(), chunks=0)
    append_head(database, gone)


def _all_rows(database: SharedDatabase) -> list[Head]:
    table = database.table(MANIFESTS)
    table.refresh()
    return list(read_heads(table.scan("true", HEAD_COLUMNS)))


def shards_of(heads: Collection[Head]) -> list[int]:
    return sorted({head.shard for head in heads})


def optimize(
    database: SharedDatabase,
    *,
    keep_days: float = 0.0,
    shards: Collection[int] | None = None,
    now: float | None = None,
    report: Report = lambda _event: None,
) -> OptimizeResult:
    """Remove what is obsolete and update the indexes. `keep_days`: refs that were not published for that long expire,
    unless they are the default of their repository; 0 keeps all. With `shards`, only those are updated, and no ref
    expires."""
    started = time.monotonic()
    now = time.time() if now is None else now
    result = OptimizeResult()
    with _lease(database):
        if shards is None and keep_days:
            result.expired = _expire(database, now - keep_days * DAY)
        rows = _all_rows(database)
        for shard in shards_of(rows) if shards is None else sorted(shards):
            report({"stage": "optimize", "shard": shard})
            result.documents += _remove_unnamed(database, shard, rows, now)
            result.duplicates += _remove_duplicates(database, shard)
            _index_shard(database, shard)
            result.shards.append(shard)
        if shards is None:
            old = _remove_superseded(database, rows, now)
            result.manifests = len(old)
            result.objects = _remove_old_objects(database, {head.nonce for head in rows} - old, now)
        _compact(database.table(MANIFESTS))
    result.seconds = time.monotonic() - started
    return result


@contextmanager
def _lease(database: SharedDatabase) -> Iterator[None]:
    """Hold the lease; ConflictError if another process holds it. The lease of a dead process expires after two
    hours."""
    storage, owner = database.storage, uuid4().hex
    mine = json.dumps({"owner": owner, "until": time.time() + LEASE_SECONDS}).encode()
    if not storage.create(LEASE, mine):
        try:
            until = float(json.loads(storage.read(LEASE) or b"{}").get("until", 0.0))
        except (ValueError, AttributeError):
            until = 0.0
        if time.time() < until <= time.time() + LEASE_SECONDS:
            raise ConflictError("the shared index is being optimized by another process", hint="Try again later.")
        storage.write(LEASE, mine)
    try:
        yield
    finally:
        storage.delete([LEASE])


def _expire(database: SharedDatabase, since: float) -> list[str]:
    by_repo: dict[str, list[Head]] = defaultdict(list)
    for head in newest(_all_rows(database)).values():
        if not head.is_dropped:
            by_repo[head.repo].append(head)
    expired = []
    for heads in by_repo.values():
        kept = default_head(heads)
        for head in heads:
            if head is not kept and head.published < since:
                _append_dropped(database, head)
                expired.append(f"{head.repo}@{head.ref}")
    return sorted(expired)


def _replaced_at(rows: Collection[Head]) -> dict[str, float]:
    """nonce of an obsolete publication → when it was replaced or dropped."""
    by_ref: dict[tuple[str, str], list[Head]] = defaultdict(list)
    for head in rows:
        by_ref[head.repo, head.ref].append(head)
    replaced: dict[str, float] = {}
    for heads in by_ref.values():
        ordered = sorted(heads, key=lambda head: head.order)
        for before, after in pairwise(ordered):
            replaced[before.nonce] = after.published
        if ordered[-1].is_dropped:
            replaced[ordered[-1].nonce] = ordered[-1].published
    return replaced


def _remove_unnamed(database: SharedDatabase, shard: int, rows: Collection[Head], now: float) -> int:
    """Remove the documents that no publication of the last day lists, and return their number."""
    database.refresh(shard)
    replaced = _replaced_at(rows)
    live: dict[str, set[int]] = defaultdict(set)
    since = now - GRACE_SECONDS
    named = [
        head for head in rows if head.shard == shard and not head.is_dropped and replaced.get(head.nonce, now) > since
    ]
    for start in range(0, len(named), MANIFESTS_AT_ONCE):
        several = named[start : start + MANIFESTS_AT_ONCE]
        files = database.storage.read_many([head.part(FILES) for head in several])
        for head in several:
            live[head.repo] |= Manifest(head, files.get(head.part(FILES), b"")).docs()
    removed = 0
    for name in reversed(CONTENT_TABLES):  # `documents`, which marks a document as complete, comes last
        table = database.table(name, shard)
        old = table.scan(f"written < {since}", ("repo", "doc"))
        unnamed: dict[str, set[int]] = defaultdict(set)
        for repo, doc in zip(old["repo"].to_pylist(), old["doc"].to_pylist(), strict=True):
            if doc not in live[repo]:
                unnamed[repo].add(doc)
        for repo, docs in unnamed.items():
            for where in document_filters(docs):
                table.delete(f"repo = {quoted(repo)} AND {where}")
        removed = sum(map(len, unnamed.values()))
    return removed


# The number of manifests whose files are in memory together.
MANIFESTS_AT_ONCE = 256
KEYS = {"vectors": ("repo", "doc", "ordinal"), "chunks": ("repo", "doc", "ordinal"), "symbols": ("repo", "doc", "name")}


def _remove_duplicates(database: SharedDatabase, shard: int) -> int:
    """Remove rows that two publishers wrote at the same time. The rows of a document in `trigrams` cannot be told
    apart; there a second copy only costs space."""
    removed = 0
    for name in ("documents", "chunks", "vectors", "symbols"):
        table = database.table(name, shard)
        columns = KEYS.get(name, ("repo", "doc"))
        rows = table.scan("true", columns, with_row_id=True)
        seen: set[tuple[Any, ...]] = set()
        extra: list[int] = []
        keys = zip(*(rows[column].to_pylist() for column in columns), strict=True)
        for key, row in zip(keys, rows["_rowid"].to_pylist(), strict=True):
            if key in seen:
                extra.append(row)
            seen.add(key)
        for start in range(0, len(extra), ROWS_AT_ONCE):
            table.delete(f"_rowid IN ({','.join(map(str, extra[start : start + ROWS_AT_ONCE]))})")
        removed += len(extra)
    return removed


ROWS_AT_ONCE = 4_000


def _index_shard(database: SharedDatabase, shard: int) -> None:
    for name in CONTENT_TABLES:
        table = database.table(name, shard)
        if name == "vectors":
            _index_vectors(table)
        _compact(table)


def _index_vectors(table: SharedTable) -> None:
    from lancedb.index import IvfSq  # noqa: PLC0415 - after `engine.load`

    rows = table.count()
    index = table.indexes().get("vector")
    if rows >= LEAST_INDEXED_VECTORS and (index is None or rows > RETRAIN * index.num_indexed_rows):
        table.create_index("vector", IvfSq(distance_type=DISTANCE))


def _compact(table: SharedTable) -> None:
    """Merge small files, update the indexes, and remove versions older than an hour."""
    table.optimize(cleanup_older_than=OLD_VERSIONS)
    table.refresh()


def _remove_superseded(database: SharedDatabase, rows: Collection[Head], now: float) -> set[str]:
    """Remove the publications that were replaced more than a day ago, and return their nonces."""
    old = [nonce for nonce, at in _replaced_at(rows).items() if at < now - GRACE_SECONDS]
    for start in range(0, len(old), ROWS_AT_ONCE):
        some = ", ".join(map(quoted, old[start : start + ROWS_AT_ONCE]))
        database.table(MANIFESTS).delete(f"nonce IN ({some})")
    return set(old)


def _remove_old_objects(database: SharedDatabase, published: Collection[str], now: float) -> int:
    """Remove handles, probes and unlisted parts of publications that are older than a day, and return their number. A
    publisher writes the parts shortly before the row that lists them. Times are those of the storage, since the clock
    of this machine may be wrong."""
    since = _storage_time(database, now) - GRACE_SECONDS
    old = [
        one.name
        for prefix in ("handles", "probe", PUBLICATIONS)
        for one in database.storage.list(prefix)
        if one.modified < since and one.name.removeprefix(f"{PUBLICATIONS}/").partition(".")[0] not in published
    ]
    database.storage.delete(old)
    return len(old)


def _storage_time(database: SharedDatabase, now: float) -> float:
    """The time of the storage, from the time stamp of an object that was just written. If `now` differs from the time
    of this machine, the result differs by the same amount."""
    name = f"probe/{uuid4().hex}"
    database.storage.write(name, b"time")
    written = max((one.modified for one in database.storage.list("probe") if one.name == name), default=now)
    database.storage.delete([name])
    return written + (now - time.time())


def needs_optimize(database: SharedDatabase, shard: int) -> bool:
    """Whether so many rows of a shard are not indexed that its queries have become slower."""
    try:
        statuses = [table_status(database.table(name, shard)) for name in CONTENT_TABLES]
    except LlmcError as error:
        log.warning("the state of the shared index is unknown", error=str(error))
        return False
    return any(
        one.unindexed > MOST_UNINDEXED[one.name.rpartition("_")[0]] or one.fragments > MOST_FRAGMENTS
        for one in statuses
    )


def table_status(table: SharedTable) -> TableStatus:
    stats = table.stats()
    unindexed = max((index.num_unindexed_rows or 0 for index in table.indexes().values()), default=0)
    return TableStatus(
        table.name,
        int(stats["num_rows"]),
        int(unindexed),
        int(stats["fragment_stats"]["num_fragments"]),
        int(stats["total_bytes"]),
    )
