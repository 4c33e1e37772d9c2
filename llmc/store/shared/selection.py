"""Published repositories that are queried together: one query of the tables serves all their views.

Each repository of a caller is a view, like a root, and retrieval queries view after view. A hundred queries of the
storage would take seconds, so each query runs once for the whole selection; its result is cached, and each view uses
its part. A selection is immutable: after a publication there is a new one.
"""

from __future__ import annotations

import math
import threading
from collections import OrderedDict, defaultdict
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

from llmc.store.shared.access import Readable
from llmc.store.shared.database import match_query, quoted
from llmc.store.shared.documents import DocumentReader
from llmc.store.shared.keywords import candidate_rows, containing, word_hits
from llmc.store.shared.vectors import vector_hits

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Hashable, Sequence

    import numpy as np
    import numpy.typing as npt

    from llmc.store.protocols import ChunkHit, Clause, KeywordQuery, Trigrams
    from llmc.store.shared.index import SharedIndex
    from llmc.store.shared.keywords import WordHit
    from llmc.store.shared.manifest import Head, Manifest
    from llmc.store.shared.statistics import TermStatistics

    Hits = dict[str, list[ChunkHit]]
    TermCount = tuple[int, int]  # chunks, and how many of them have the term

__all__ = ["Selection"]


def reweighted(clause: Clause, own: TermCount, whole: TermCount) -> Clause:
    ratio = math.log2(rarity(own) / rarity(whole))
    return replace(clause, boost=clause.boost * 2 ** (round(ratio * BOOST_STEPS) / BOOST_STEPS))


def rarity(count: TermCount) -> float:
    """The weight of a term in BM25."""
    chunks, holding = count
    return math.log(1 + (max(chunks - holding, 0) + 0.5) / (holding + 0.5))


# Steps per doubling: adjacent boosts differ by 9 %.
BOOST_STEPS = 8

Value = TypeVar("Value")

# The number of cached results of a selection; one call needs a handful.
MOST_RESULTS = 64
MOST_NAMES = 20_000
# How far to search, as a multiple of the limit, if hits are in documents of other refs and former commits.
DEEPEST = 32
# The statistics of a repository take 0.1 to 2 MB; those of the largest repositories show which terms are rare.
MOST_STATISTICS = 32


class Selection:
    """`heads` are the publications that may be read: permissions and `repo:` have been applied."""

    def __init__(self, index: SharedIndex, heads: Sequence[Head]) -> None:
        self.heads = tuple(heads)
        self.description = index.database.description
        self._index = index
        self.readable = Readable.of(index.database, heads)
        self.documents = DocumentReader(self.readable, index.caches)
        self._answers: OrderedDict[Hashable, Any] = OrderedDict()
        self._names: dict[str, dict[str, set[int]]] = {}
        self._expected_names: set[str] = set()
        self._lock = threading.Lock()
        self._last_words: tuple[KeywordQuery | None, int, Hits] = (None, 0, {})
        self._by_repo: dict[str, list[Head]] = defaultdict(list)
        for head in heads:
            self._by_repo[head.repo].append(head)

    def manifest(self, head: Head) -> Manifest:
        return self._index.manifest(head, self.readable, self.heads)

    def statistics(self, head: Head) -> TermStatistics:
        return self._index.statistics(head, self.readable, self._counted)

    # --- words

    def words(self, query: KeywordQuery, limit: int) -> Hits:
        """repository → its part of the best chunks of all. All views pass the same query object, so the last result is
        found without comparing queries term by term."""
        last_query, last_limit, hits = self._last_words
        if last_query is query and last_limit == limit:
            return hits

        def found(most: int) -> list[WordHit]:
            return word_hits(self.readable, self._weighted(query), most, None)

        hits = self._cached(("words", query, limit), lambda: self._best(found, limit))
        self._last_words = (query, limit, hits)
        return hits

    def containing(self, terms: frozenset[str], limit: int) -> Hits:
        """repository → chunks that contain every term."""
        return self._cached(("containing", terms, limit), lambda: self.words(containing(sorted(terms)), limit))

    def nearest(self, query: npt.NDArray[np.float32], limit: int) -> Hits:
        def found(most: int) -> list[WordHit]:
            return vector_hits(self.readable, query, most, None)

        return self._cached(("nearest", query.tobytes(), limit), lambda: self._best(found, limit))

    def _best(self, search: Callable[[int], list[WordHit]], limit: int) -> Hits:
        """The best hits in documents of the selected refs; the tables contain those of other refs as well."""
        most = limit
        while True:
            found = search(most)
            live = self._live(found)
            kept = [one for one in found if one[1].doc in live.get(one[0], ())]
            if len(kept) >= limit // 2 or len(found) < most or most >= DEEPEST * limit:
                break
            most *= 4
        hits: Hits = defaultdict(list)
        for repo, hit in kept[:limit]:
            hits[repo].append(hit)
        return dict(hits)

    def _live(self, found: Collection[WordHit]) -> dict[str, set[int]]:
        docs: dict[str, set[int]] = defaultdict(set)
        for repo, hit in found:
            docs[repo].add(hit.doc)
        return {
            repo: {doc for head in self._by_repo[repo] for doc in self.manifest(head).places.keep(several)}
            for repo, several in docs.items()
        }

    # --- trigrams and names

    def candidates(self, condition: Trigrams, *, across_lines: bool) -> dict[str, set[int]]:
        """repository → documents that may match."""
        return self._cached(
            ("candidates", condition, across_lines),
            lambda: candidate_rows(self.readable, condition, across_lines=across_lines),
        )

    def expect_names(self, names: Collection[str]) -> None:
        """Look up the definitions of these names too with the next query for definitions."""
        with self._lock:
            self._expected_names.update(names)

    def defining(self, repo: str, names: Collection[str]) -> dict[str, set[int]]:
        """name → documents of a repository that define it."""
        with self._lock:
            known = {name: self._names[name] for name in names if name in self._names}
            unknown = set(names) - known.keys()
            if unknown:
                unknown |= self._expected_names - self._names.keys()
                self._expected_names.clear()
        if unknown:
            found = self._defining(f"name IN ({', '.join(map(quoted, sorted(unknown)))})")
            each = {name: {repo: docs[name] for repo, docs in found.items() if name in docs} for name in unknown}
            known.update((name, each[name]) for name in names if name in each)
            with self._lock:
                if len(self._names) + len(each) > MOST_NAMES:
                    self._names.clear()
                self._names.update(each)
        return {name: docs[repo] for name, docs in known.items() if repo in docs}

    def defining_prefix(self, start: str, end: str) -> dict[str, dict[str, set[int]]]:
        where = f"name >= {quoted(start)} AND name < {quoted(end)}" if start else ""
        return self._cached(("prefix", start), lambda: self._defining(where))

    def _defining(self, where: str) -> dict[str, dict[str, set[int]]]:
        rows = self.readable.scan("symbols", where, ("repo", "name", "doc"))
        found: dict[str, dict[str, set[int]]] = defaultdict(lambda: defaultdict(set))
        for repo, name, doc in zip(*(rows[column].to_pylist() for column in ("repo", "name", "doc")), strict=True):
            found[repo][name].add(doc)
        return {repo: dict(names) for repo, names in found.items()}

    # --- statistics

    def frequencies(self, head: Head, terms: Collection[str]) -> tuple[int, dict[str, int]]:
        """The number of chunks of a repository, and how many of them have each term. If there are many repositories,
        the largest ones represent all."""
        if head.nonce not in self._counted_nonces:
            return 0, dict.fromkeys(terms, 0)
        statistics = self.statistics(head)
        counts = statistics.count("body", terms)
        if head is self._counted[0] and len(self._counted) < len(self.heads):
            counts = {term: count or int(self._occurs(term)) for term, count in counts.items()}
        return statistics.chunks, counts

    @cached_property
    def _counted(self) -> list[Head]:
        return sorted(self.heads, key=lambda head: (-head.chunks, head.name))[:MOST_STATISTICS]

    @cached_property
    def _counted_nonces(self) -> frozenset[str]:
        return frozenset(head.nonce for head in self._counted)

    def _occurs(self, term: str) -> bool:
        """Whether any chunk has the term, including repositories without counts."""
        return bool(self.readable.match("chunks", match_query(term, "body"), ("doc",), 1).num_rows)

    def _weighted(self, query: KeywordQuery) -> KeywordQuery:
        """Correct the weights of terms. LanceDB weights a term by its rarity among all repositories of a shard, but
        relevant is the rarity among the selected ones, where the name of a project is a common word. The boost of each
        clause compensates the difference, in steps, so that few different boosts remain. Rows without an index are
        already weighted among those that the query may read."""
        shards = {head.shard for head in self.heads}
        if not query.any or not all(map(self._index.is_indexed, shards)):
            return query
        around = self._index.largest_heads(shards, MOST_STATISTICS)
        everything = [*self._counted, *(head for head in around if head.nonce not in self._counted_nonces)]
        if len(everything) == len(self._counted):
            return query
        own = self._index.term_counts(self._counted, query.any)
        whole = self._index.term_counts(everything, query.any)
        return replace(query, any=tuple(map(reweighted, query.any, own, whole)))

    def _cached(self, key: Hashable, make: Callable[[], Value]) -> Value:
        with self._lock:
            found: Value | None = self._answers.get(key)
            if found is not None:
                self._answers.move_to_end(key)
                return found
        value = make()
        with self._lock:
            self._answers[key] = value
            while len(self._answers) > MOST_RESULTS:
                self._answers.popitem(last=False)
        return value
