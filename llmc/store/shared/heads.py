"""The list of publications: the current one of each ref, the shard of each repository, and appending another one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmc.store.shared.manifest import HEAD_COLUMNS, newest, read_heads
from llmc.store.shared.schema import MANIFESTS, SHARD_CHUNKS, schema_of

if TYPE_CHECKING:
    from collections.abc import Collection

    from llmc.store.shared.database import SharedDatabase
    from llmc.store.shared.manifest import Head

__all__ = ["all_heads", "append_head", "is_newer", "next_sequence", "shard_of"]


def is_newer(head: Head, committed: float) -> bool:
    """Whether a publication is newer than a commit of this time, which a late publisher must not replace it with."""
    return not head.is_dropped and head.committed > committed


def next_sequence(before: Head | None, committed: float) -> int:
    """The sequence number for a publication. It increases only if an older commit replaces a newer one, or if the ref
    was dropped. Otherwise the newest commit is current, in whatever order publishers read and write the table."""
    if before is None:
        return 1
    return before.sequence + (before.is_dropped or is_newer(before, committed))


def all_heads(database: SharedDatabase) -> dict[tuple[str, str], Head]:
    """(repository, ref) → its current publication, dropped refs included."""
    table = database.table(MANIFESTS, newest=True)
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
