"""A shared index as LanceDB tables: opening, creating, appending, reading. No other module of `shared` calls LanceDB.

LanceDB's asynchronous interface is used from a loop in a thread. Its synchronous interface switches threads six times
per query, and on a busy machine each switch takes a millisecond.

Every call translates errors of the storage. If `optimize` has removed the files of the version in use, the newest
version is read instead. `SharedTable` does not check permissions: queries go through `access.Readable`, which adds
them.
"""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import TYPE_CHECKING, Any, Final, Self, TypeVar

from llmc.base.errors import ConflictError, NotFoundError, StoreError
from llmc.store.shared.loaded import ROW_ID, LoadedRows
from llmc.store.shared.schema import CONTENT_TABLES, MANIFESTS, Description, index_configs, schema_of
from llmc.store.shared.storage import OPTIONS, Storage, storage_errors
from llmc.store.vectors import engine

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence

    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa

__all__ = ["DISTANCE", "SharedDatabase", "SharedTable", "all_of", "match_query", "quoted"]

Found = TypeVar("Found")

# The memory for indexes and metadata of all tables of a process. The indexes of 300,000 chunks take 600 MB in storage,
# of which queries read a part.
CACHE_BYTES = 1_536 << 20
METADATA_BYTES = 64 << 20
# Of unit vectors: 1 - cosine.
DISTANCE: Final = "dot"
# Partitions have some 8,192 rows, so a full shard has 30. With 20 recall@200 is .97 to 1.0 and a search of 500,000
# vectors takes 50 ms of CPU instead of 76; with 12 recall falls to .78.
PROBES = 20
CREATE_ATTEMPTS = 30
APPEND_ATTEMPTS = 4  # LanceDB itself tries for 30 s each time


def match_query(text: str, column: str, boost: float = 1.0, *, every: bool = False) -> Any:
    """Match rows whose column has any of these terms, or all of them with `every`. One query for several terms reads a
    tenth of the data of one query per term."""
    from lancedb.query import FullTextOperator, MatchQuery  # noqa: PLC0415 - after `engine.load`

    make: Any = MatchQuery  # mypy does not see that its fields have defaults
    return make(text, column, boost=boost, operator=FullTextOperator.AND if every else FullTextOperator.OR)


def all_of(queries: Sequence[Any], ranking: Sequence[Any] = (), none: Sequence[Any] = ()) -> Any:
    """Match rows that match every query and none of `none`. `ranking` adds to the score; without `queries`, it must
    match."""
    from lancedb.query import BooleanQuery, Occur  # noqa: PLC0415 - after `engine.load`

    parts = [(Occur.MUST, one) for one in queries]
    parts += [(Occur.SHOULD, one) for one in ranking]
    parts += [(Occur.MUST_NOT, one) for one in none]
    make: Any = BooleanQuery
    return make(parts)


def quoted(text: str) -> str:
    """The string as a literal for a filter."""
    return "'" + text.replace("'", "''") + "'"


@cache
def event_loop() -> asyncio.AbstractEventLoop:
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="llmc-lancedb", daemon=True).start()
    return loop


def wait_for(coroutine: Coroutine[Any, Any, Found]) -> Found:
    return asyncio.run_coroutine_threadsafe(coroutine, event_loop()).result()


# The columns that identify hits. A server keeps them in memory for all rows, 24 bytes each. Loading them takes one or
# two requests, while reading them for the hits of one query takes up to eighty.
LOADED_COLUMNS: Final = {
    "chunks": ("repo", "doc", "ordinal"),
    "vectors": ("repo", "doc", "ordinal"),
    "trigrams": ("repo", "doc"),
    "symbols": ("repo", "name", "doc"),
}
# If more rows than this are missing in memory, all rows are read again, column by column.
MOST_ADDED = 20_000


class SharedTable:
    """One table; thread-safe."""

    def __init__(self, name: str, table: Any, url: str) -> None:
        self.name = name
        self._table = table
        self._url = url
        self._loaded: LoadedRows | None = None

    @property
    def version(self) -> int:
        return int(wait_for(self._table.version()))

    def refresh(self) -> int:
        """Read the newest version from now on, and return its number."""
        with storage_errors(self._url, f"reading {self.name}"):
            wait_for(self._table.checkout_latest())
            return self.version

    # --- reading

    def scan(
        self, where: str, columns: Sequence[str], limit: int | None = None, *, with_row_id: bool = False
    ) -> pa.Table:
        async def run(chosen: Sequence[str], *, row_ids: bool) -> pa.Table:
            search = self._table.query().where(where).select(list(chosen))
            search = search.limit(limit) if limit is not None else search
            return await (search.with_row_id() if row_ids else search).to_arrow()

        return self._read(lambda: run(columns, row_ids=True)) if with_row_id else self._with_columns(run, columns)

    def match(self, query: Any, where: str, columns: Sequence[str], limit: int) -> pa.Table:
        """The best rows of a full-text query, best first, with their `_score`."""

        async def run(chosen: Sequence[str], *, row_ids: bool) -> pa.Table:
            search = self._table.query().where(where).nearest_to_text(query)
            search = search.select([*chosen, "_score"]).limit(limit)
            return await (search.with_row_id() if row_ids else search).to_arrow()

        return self._with_columns(run, columns)

    def nearest(self, query: npt.NDArray[np.float32], where: str, columns: Sequence[str], limit: int) -> pa.Table:
        """The rows whose vector is nearest, nearest first, with their `_distance`."""

        async def run(chosen: Sequence[str], *, row_ids: bool) -> pa.Table:
            search = self._table.query().where(where).nearest_to(query).distance_type(DISTANCE).nprobes(PROBES)
            search = search.select([*chosen, "_distance"]).limit(limit)
            return await (search.with_row_id() if row_ids else search).to_arrow()

        return self._with_columns(run, columns)

    def batches(self, where: str, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """The rows in batches, for data that does not fit into memory at once."""

        async def start() -> Any:
            return await self._table.query().where(where).select(list(columns)).to_batches()

        async def following(reader: Any) -> pa.RecordBatch | None:
            return await anext(reader, None)

        reader = self._read(start)
        with storage_errors(self._url, f"reading {self.name}"):
            while (batch := wait_for(following(reader))) is not None:
                yield batch

    def count(self, where: str | None = None) -> int:
        return int(self._read(lambda: self._table.count_rows(where)))

    def _with_columns(self, run: Callable[..., Coroutine[Any, Any, pa.Table]], columns: Sequence[str]) -> pa.Table:
        """The rows of a query with these columns, taken from memory if they are loaded, else read by the query."""
        loaded = self._loaded
        if loaded is not None and loaded.holds(columns):
            named = loaded.named(self._read(lambda: run((), row_ids=True)), columns)
            if named is not None:
                return named
        return self._read(lambda: run(columns, row_ids=False))

    def _read(self, run: Callable[[], Coroutine[Any, Any, Found]]) -> Found:
        try:
            with storage_errors(self._url, f"reading {self.name}"):
                return wait_for(run())
        except StoreError as error:
            if type(error) is not StoreError:  # only a missing file justifies a second attempt
                raise
        self.refresh()
        with storage_errors(self._url, f"reading {self.name}"):
            return wait_for(run())

    # --- writing

    def add(self, rows: pa.Table) -> None:
        """Append rows. Appends never contradict each other, but LanceDB gives up if others are faster for 30 s."""
        for attempt in range(APPEND_ATTEMPTS):
            try:
                with storage_errors(self._url, f"writing {self.name}"):
                    wait_for(self._table.add(rows))
            except ConflictError:
                if attempt == APPEND_ATTEMPTS - 1:
                    raise
                self.refresh()
            else:
                return

    def delete(self, where: str) -> None:
        with storage_errors(self._url, f"deleting from {self.name}"):
            wait_for(self._table.delete(where))

    def create_index(self, column: str, config: Any) -> None:
        with storage_errors(self._url, f"indexing {self.name}"):
            wait_for(self._table.create_index(column, config=config))

    def indexes(self) -> dict[str, Any]:
        """column → its index as LanceDB describes it."""
        with storage_errors(self._url, f"reading {self.name}"):
            return {index.columns[0]: index for index in wait_for(self._table.list_indices())}

    def optimize(self, **options: Any) -> None:
        with storage_errors(self._url, f"optimizing {self.name}"):
            wait_for(self._table.optimize(**options))

    def prewarm(self) -> None:
        """Load the indexes into memory with some twenty requests. Otherwise the first query for a term loads the
        posting list of that term, one request after the other."""
        with storage_errors(self._url, f"reading {self.name}"):
            for index in wait_for(self._table.list_indices()):
                wait_for(self._table.prewarm_index(index.name))
        self._load_rows()

    def _load_rows(self) -> None:
        """Update the columns in memory. Rows keep their ids until `optimize` assigns new ones."""
        columns = LOADED_COLUMNS.get(self.name.rpartition("_")[0])
        if columns is None:
            return
        known, total = self._loaded, self.count()
        since = known.next_id if known is not None else 0
        added = self.count(f"{ROW_ID} >= {since}") if known is not None else total
        if known is not None and added <= MOST_ADDED and len(known) + added <= 2 * total:
            if added:
                self._loaded = known.extend(self.scan(f"{ROW_ID} >= {since}", columns, with_row_id=True))
        else:
            self._loaded = LoadedRows(self.scan("true", columns, with_row_id=True))

    def stats(self) -> Mapping[str, Any]:
        with storage_errors(self._url, f"reading {self.name}"):
            stats: Mapping[str, Any] = wait_for(self._table.stats())
            return stats


class SharedDatabase:
    """An open shared index; thread-safe."""

    def __init__(self, storage: Storage, description: Description, cache_bytes: int = CACHE_BYTES) -> None:
        self.storage = storage
        self.description = description
        self.url = storage.url
        self.cache_bytes = cache_bytes
        lancedb = engine.load()
        with storage_errors(self.url, "opening the shared index"):
            session = lancedb.Session(
                index_cache_size_bytes=cache_bytes, metadata_cache_size_bytes=min(METADATA_BYTES, cache_bytes)
            )
            options = OPTIONS if storage.scheme else None
            self._connection = wait_for(lancedb.connect_async(self.url, storage_options=options, session=session))
        self._tables: dict[str, SharedTable] = {}

    @classmethod
    def open(cls, url: str, cache_bytes: int = CACHE_BYTES) -> Self:
        storage = Storage(url)
        description = Description.read(storage)
        if description is None:
            raise NotFoundError(
                "there is no shared index here",
                hint="`llmc publish --shared URL` creates it with the first repository.",
            )
        return cls(storage, description, cache_bytes)

    @classmethod
    def create(cls, url: str, description: Description) -> Self:
        """Open the index for publishing, and create it if there is none. Several publishers may do so at once."""
        importing = engine.preload()  # in parallel with the first request to the storage
        try:
            storage = Storage(url, create=True)
            storage.require_conditional_writes()
            known = Description.read(storage)
        finally:
            importing.join()
        if known is None:
            cls(storage, description).create_table(MANIFESTS)
            description.create(storage)
            known = Description.read(storage)
            assert known is not None, "it was created, by this process or another"
        known.require(description)
        return cls(storage, known)

    def create_shard(self, shard: int) -> None:
        """Create the content tables of a shard that do not exist yet. Several publishers may do so at once."""
        for name in CONTENT_TABLES:
            self.create_table(name, shard)

    def create_table(self, name: str, shard: int = 0) -> None:
        full_name = table_name(name, shard)
        for attempt in range(CREATE_ATTEMPTS):
            try:
                with storage_errors(self.url, f"creating {full_name}"):
                    schema = schema_of(name, self.description)
                    wait_for(self._connection.create_table(full_name, schema=schema, exist_ok=True))
                table = self.table(name, shard)
                table.refresh()
                existing = table.indexes()
                for column, config in index_configs(name).items():
                    if column not in existing:
                        table.create_index(column, config)
            except ConflictError:  # another publisher creates it as well
                if attempt == CREATE_ATTEMPTS - 1:
                    raise
            else:
                return

    def table(self, name: str, shard: int = 0, *, newest: bool = False) -> SharedTable:
        """`newest`: read the newest version from now on, even if the table is open already."""
        full_name = table_name(name, shard)
        known = self._tables.get(full_name)
        if known is None:
            with storage_errors(self.url, f"opening {full_name}"):
                opened = wait_for(self._connection.open_table(full_name))
            return self._tables.setdefault(full_name, SharedTable(full_name, opened, self.url))
        if newest:
            known.refresh()
        return known

    def append(self, rows: Mapping[str, pa.Table], shard: int = 0) -> None:
        """Append to several tables in parallel, since each commit mostly waits for the storage."""
        parts = {name: table for name, table in rows.items() if table.num_rows}
        if not parts:
            return
        with ThreadPoolExecutor(len(parts), "llmc-shared-write") as pool:
            ends = [pool.submit(self.table(name, shard).add, table) for name, table in parts.items()]
        for end in ends:
            end.result()

    def versions(self, shard: int) -> dict[str, int]:
        """table → the version in use."""
        return {name: self.table(name, shard).version for name in CONTENT_TABLES}

    def prewarm(self, shard: int) -> None:
        """Load the indexes of a shard into memory."""
        for name in CONTENT_TABLES:
            self.table(name, shard).prewarm()

    def refresh(self, shard: int) -> dict[str, int]:
        """Read the newest versions of a shard from now on: table → version."""
        with ThreadPoolExecutor(len(CONTENT_TABLES), "llmc-shared-refresh") as pool:
            versions = pool.map(lambda name: self.table(name, shard, newest=True).version, CONTENT_TABLES)
            return dict(zip(CONTENT_TABLES, versions, strict=True))


def table_name(name: str, shard: int) -> str:
    return name if name == MANIFESTS else f"{name}_{shard:04d}"
