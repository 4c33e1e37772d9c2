"""Words and trigrams of a shared index, on LanceDB's full-text indexes.

BM25 is LanceDB's own, over one column for each field; a query is one boolean query with a match for each field and
boost. Filters match with a boost of 0, so that only `any` scores. `PublishedKeywords` (in `published`) answers a view
from the results of its selection.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

import numpy as np

from llmc.store.catalog.packing import clean
from llmc.store.protocols import ChunkHit, Clause, KeywordQuery
from llmc.store.shared.database import all_of, match_query, quoted
from llmc.store.shared.grams import gram_terms

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from llmc.store.protocols import Trigrams
    from llmc.store.shared.access import Readable

__all__ = ["EVERY_ROW", "WordHit", "candidate_rows", "containing", "document_filters", "word_hits"]

# Hits of equal score are ordered by document and ordinal, which requires all of them, up to this many.
LONGEST_TIE = 4_096
# Intersecting sixteen lists takes as long as two, and more trigrams hardly reduce the candidates.
MOST_TRIGRAMS = 16
# A filter with more documents than this takes longer to parse than searching further down the ranking.
DOCS_IN_FILTER = 4_000
EVERY_ROW = 1 << 30
# Characters by their frequency in source code: a trigram of rare characters has fewer candidates.
COMMON = " etaoinsrlcdpumfhgb_\n.\"(),:vy=-'/wtxk0123456789"

WordHit = tuple[str, ChunkHit]


def compiled(query: KeywordQuery) -> Any:
    """The query as LanceDB's; None if nothing in it scores or must match."""

    def matches(clauses: Iterable[Clause], factor: float) -> list[Any]:
        grouped: dict[tuple[str, float], list[str]] = defaultdict(list)
        for clause in clauses:
            if clause.field != "capsule":  # the capsule is only embedded
                grouped[clause.field, clause.boost * factor].append(clean(clause.term))
        return [match_query(" ".join(terms), field, boost) for (field, boost), terms in grouped.items()]

    groups = [all_of((), ranking=matches(group, 0.0)) for group in query.all]
    ranking = matches(query.any, 1.0)
    return all_of(groups, ranking, matches(query.none, 1.0)) if groups or ranking else None


def containing(terms: Iterable[str]) -> KeywordQuery:
    """A query for the chunks whose text contains every term, with equal scores."""
    return KeywordQuery(any=(), all=tuple((Clause("body", term),) for term in terms))


def word_hits(readable: Readable, query: KeywordQuery, limit: int, within: Collection[int] | None) -> list[WordHit]:
    """(repository, hit) of the best chunks, best first; equal scores by document and ordinal."""
    if limit <= 0 or (within is not None and not within):
        return []
    if within is not None and len(within) > DOCS_IN_FILTER:
        return _filtered(readable, query, limit, frozenset(within))
    where = " AND ".join(_conditions(query, within))
    asked = compiled(query)
    if asked is None:
        return _unscored(readable, where, limit) if where else []
    wanted = limit if query.any else limit + LONGEST_TIE  # without scores all hits are equal
    while True:
        found = readable.match("chunks", asked, ("repo", "doc", "ordinal"), wanted + 1, where)
        scores = found["_score"].to_numpy()
        cut_in_a_tie = len(scores) > wanted and scores[wanted] == scores[limit - 1]
        if not cut_in_a_tie or wanted >= limit + LONGEST_TIE:
            return _ordered(found, scores)[:limit]
        wanted = wanted * 2 + 64


def _filtered(readable: Readable, query: KeywordQuery, limit: int, within: frozenset[int]) -> list[WordHit]:
    """The best chunks in a large scope: reads further down the ranking until there are enough."""
    asked = limit * 4
    while True:
        found = word_hits(readable, query, asked, None)
        kept = [one for one in found if one[1].doc in within]
        if len(kept) >= limit or len(found) < asked:
            return kept[:limit]
        asked *= 4


def _conditions(query: KeywordQuery, within: Collection[int] | None) -> Iterator[str]:
    if query.languages:
        yield f"language IN ({', '.join(map(quoted, sorted(query.languages)))})"
    if within is not None:
        yield f"doc IN ({','.join(str(int(doc)) for doc in sorted(within))})"


def _unscored(readable: Readable, where: str, limit: int) -> list[WordHit]:
    found = readable.scan("chunks", where, ("repo", "doc", "ordinal"))
    return _ordered(found, np.zeros(found.num_rows))[:limit]


def _ordered(found: Any, scores: Any) -> list[WordHit]:
    """Hits in order, without the duplicates of two publishers that wrote the same chunk."""
    columns = zip(*(found[name].to_pylist() for name in ("repo", "doc", "ordinal")), scores.tolist(), strict=True)
    hits = {(repo, doc, at): (repo, ChunkHit(doc, at, score)) for repo, doc, at, score in columns}
    return sorted(hits.values(), key=lambda one: (-one[1].score, one[1].doc, one[1].ordinal, one[0]))


def candidate_rows(readable: Readable, condition: Trigrams, *, across_lines: bool) -> dict[str, set[int]]:
    """repository → documents that may match."""
    asked = _condition_query(condition)
    if asked is None:
        found = readable.scan("trigrams", "", ("repo", "doc"))
    else:
        found = readable.match("trigrams", asked, ("repo", "doc"), EVERY_ROW)
    documents = _by_repo(found)
    if across_lines and asked is not None:
        for repo, docs in _scattered(readable, condition).items():
            documents.setdefault(repo, set()).update(docs)
    return documents


def _condition_query(condition: Trigrams) -> Any:
    """The condition as a query; None if every document is a candidate."""
    terms = " ".join(gram_terms(clean(one)) for one in rarest(condition.all))
    parts = [match_query(terms, "grams", every=True)] if terms else []
    for group in condition.any:
        alternatives = [_condition_query(one) for one in group]
        if alternatives and None not in alternatives:
            parts.append(all_of((), ranking=alternatives))
    return all_of(parts) if parts else None


def rarest(trigrams: Collection[str]) -> list[str]:
    """The trigrams that probably have the fewest documents."""
    return sorted(trigrams, key=lambda one: (-sum(_rarity(letter) for letter in one), one))[:MOST_TRIGRAMS]


def _rarity(letter: str) -> int:
    at = COMMON.find(letter)
    return at if at >= 0 else len(COMMON)


def _scattered(readable: Readable, condition: Trigrams) -> dict[str, set[int]]:
    """Documents of several parts that contain every trigram in some part."""

    def holding(trigram: str) -> dict[str, set[int]]:
        query = match_query(gram_terms(clean(trigram)), "grams")
        return _by_repo(readable.match("trigrams", query, ("repo", "doc"), EVERY_ROW, "cut"))

    found = _by_repo(readable.scan("trigrams", "cut", ("repo", "doc")))
    for trigram in rarest(condition.all):
        found = found and _both(found, holding(trigram))
    for group in condition.any:
        alternatives: dict[str, set[int]] = defaultdict(set)
        for one in group:
            for repo, docs in _scattered(readable, one).items():
                alternatives[repo] |= docs
        found = found and _both(found, alternatives)
    return found


def _both(first: dict[str, set[int]], second: dict[str, set[int]]) -> dict[str, set[int]]:
    return {repo: docs & second[repo] for repo, docs in first.items() if repo in second and docs & second[repo]}


def _by_repo(found: Any) -> dict[str, set[int]]:
    documents: dict[str, set[int]] = defaultdict(set)
    for repo, doc in zip(found["repo"].to_pylist(), found["doc"].to_pylist(), strict=True):
        documents[repo].add(doc)
    return dict(documents)


def document_filters(docs: Collection[int]) -> Iterator[str]:
    """Filters that together select these documents."""
    ordered = sorted(map(int, docs))
    for start in range(0, len(ordered), DOCS_IN_FILTER):
        yield f"doc IN ({','.join(map(str, ordered[start : start + DOCS_IN_FILTER]))})"
