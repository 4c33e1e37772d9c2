"""Which repositories a caller may read. The only place where permissions become part of a query.

An `Access` is what a token or an issuer grants: patterns of repository names. A `Readable` gives access to the tables
restricted to some repositories. Catalog, keywords, vectors and documents only get a `Readable`, so no query can omit
the restriction.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from llmc.store.shared.database import quoted

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa

    from llmc.store.shared.database import SharedDatabase
    from llmc.store.shared.manifest import Head

__all__ = ["EVERYTHING", "NOTHING", "Access", "Readable", "matches"]


@dataclass(frozen=True, slots=True)
class Access:
    """Patterns of repository names: `*` matches anything but `/`, `**` anything. Names that match `without` are
    excluded."""

    patterns: frozenset[str]
    without: frozenset[str] = frozenset()

    @classmethod
    def of(cls, patterns: Iterable[str]) -> Access:
        """Parse patterns; a leading `!` excludes names."""
        listed = [pattern.strip() for pattern in patterns]
        without = frozenset(pattern[1:] for pattern in listed if pattern.startswith("!"))
        return cls(frozenset(pattern for pattern in listed if pattern and not pattern.startswith("!")), without)

    def permits(self, repo: str) -> bool:
        is_granted = any(matches(pattern, repo) for pattern in self.patterns)
        return is_granted and not any(matches(pattern, repo) for pattern in self.without)


EVERYTHING = Access(frozenset({"**"}))
NOTHING = Access(frozenset())


def matches(pattern: str, repo: str) -> bool:
    if pattern == "**":
        return True
    pattern_parts, parts = pattern.split("/"), repo.split("/")
    if pattern_parts[-1] == "**":
        pattern_parts, parts = pattern_parts[:-1], parts[: len(pattern_parts) - 1]
    return len(pattern_parts) == len(parts) and all(map(_part_matches, parts, pattern_parts))


def _part_matches(part: str, pattern: str) -> bool:
    return fnmatchcase(part, pattern)


class Readable:
    """The tables, restricted to the repositories of each shard. Several shards are queried at the same time."""

    def __init__(self, database: SharedDatabase, repos: Mapping[int, Collection[str]]) -> None:
        self._database = database
        self._by_shard = {shard: frozenset(some) for shard, some in repos.items()}
        self.repos = frozenset(repo for some in repos.values() for repo in some)
        self._clauses = {shard: f"repo IN ({', '.join(map(quoted, sorted(some)))})" for shard, some in repos.items()}

    @classmethod
    def of(cls, database: SharedDatabase, heads: Sequence[Head]) -> Readable:
        """The tables of the repositories of these publications."""
        repos: dict[int, set[str]] = {}
        for head in heads:
            repos.setdefault(head.shard, set()).add(head.repo)
        return cls(database, repos)

    def only(self, repos: Collection[str]) -> Readable:
        """Restricted further to these repositories, so that fewer shards are queried."""
        kept = {shard: some & set(repos) for shard, some in self._by_shard.items()}
        return Readable(self._database, {shard: some for shard, some in kept.items() if some})

    def publication_parts(self, heads: Iterable[Head], part: str) -> dict[str, bytes]:
        """nonce → the files or terms of a publication, all fetched at once. Missing objects, and those of
        other repositories, are omitted."""
        names = {head.part(part): head.nonce for head in heads if head.repo in self.repos}
        found = self._database.storage.read_many(list(names))
        return {names[name]: data for name, data in found.items()}

    def scan(self, table: str, where: str, columns: Sequence[str], limit: int | None = None) -> pa.Table:
        return self._query_shards(
            lambda shard, clause: self._database.table(table, shard).scan(restricted(clause, where), columns, limit),
            columns,
        )

    def match(self, table: str, query: Any, columns: Sequence[str], limit: int, where: str = "") -> pa.Table:
        """The best rows of all shards, best first."""
        found = self._query_shards(
            lambda shard, clause: self._database.table(table, shard).match(
                query, restricted(clause, where), columns, limit
            ),
            (*columns, SCORE),
        )
        return found if len(self._clauses) <= 1 else found.sort_by([(SCORE, "descending")]).slice(0, limit)

    def nearest(self, query: npt.NDArray[np.float32], columns: Sequence[str], limit: int, where: str = "") -> pa.Table:
        """The nearest rows of all shards, nearest first."""
        found = self._query_shards(
            lambda shard, clause: self._database.table("vectors", shard).nearest(
                query, restricted(clause, where), columns, limit
            ),
            (*columns, DISTANCE),
        )
        return found if len(self._clauses) <= 1 else found.sort_by([(DISTANCE, "ascending")]).slice(0, limit)

    def _query_shards(self, ask: Callable[[int, str], pa.Table], columns: Sequence[str]) -> pa.Table:
        import pyarrow as pa  # noqa: PLC0415 - comes with lancedb

        if not self._clauses:
            return pa.table({name: pa.array([]) for name in columns})
        if len(self._clauses) == 1:
            ((shard, clause),) = self._clauses.items()
            return ask(shard, clause)
        return pa.concat_tables(POOL.map(ask, self._clauses.keys(), self._clauses.values())).combine_chunks()


SCORE, DISTANCE = "_score", "_distance"
POOL = ThreadPoolExecutor(8, "llmc-shards")


def restricted(clause: str, where: str) -> str:
    return f"({clause}) AND ({where})" if where else clause
