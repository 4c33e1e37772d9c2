"""The contents and the storage of a shared index, for `llmc shared status`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from llmc.store.shared.heads import all_heads
from llmc.store.shared.maintenance import TableStatus, needs_optimize, shards_of, table_status
from llmc.store.shared.schema import CONTENT_TABLES, MANIFESTS

if TYPE_CHECKING:
    from llmc.store.shared.database import SharedDatabase

__all__ = ["SharedStatus", "shared_status"]


@dataclass(frozen=True, slots=True)
class SharedStatus:
    """`bytes` and `objects` count everything stored below the URL, which determines the price of the storage."""

    url: str
    format: int
    embedder: str
    dimension: int
    repositories: int
    refs: int
    documents: int
    chunks: int
    shards: int
    objects: int
    bytes: int
    handles: int
    needs_optimize: bool
    tables: tuple[TableStatus, ...]


def shared_status(database: SharedDatabase) -> SharedStatus:
    heads = list(all_heads(database).values())
    live = [head for head in heads if not head.is_dropped]
    shards = shards_of(heads)
    for shard in shards:
        database.refresh(shard)
    tables = [table_status(database.table(name, shard)) for shard in shards for name in CONTENT_TABLES]
    tables.append(table_status(database.table(MANIFESTS)))
    objects = list(database.storage.list())
    return SharedStatus(
        url=database.url,
        format=database.description.format,
        embedder=database.description.embedder,
        dimension=database.description.dimension,
        repositories=len({head.repo for head in live}),
        refs=len(live),
        documents=sum(one.rows for one in tables if one.name.startswith("documents")),
        chunks=sum(one.rows for one in tables if one.name.startswith("chunks")),
        shards=len(shards),
        objects=len(objects),
        bytes=sum(one.size for one in objects),
        handles=sum(one.name.startswith("handles/") for one in objects),
        needs_optimize=any(needs_optimize(database, shard) for shard in shards),
        tables=tuple(tables),
    )
