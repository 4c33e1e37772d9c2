"""The `chunks` index of the keyword store: BM25 over body, name, path and capsule of every chunk.

A chunk is one row. A very long line is a chunk of its own with several rows, since BM25 gives a word among thousands of
others almost no score; its best row counts.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import tantivy

from llmc.base import words
from llmc.store.catalog.packing import clean
from llmc.store.keywords.tantivy_index import KEY, TantivyIndex
from llmc.store.protocols import ChunkHit

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from pathlib import Path

    from llmc.base.model import Document
    from llmc.store.protocols import Clause, KeywordQuery

__all__ = ["ChunkIndex"]

FIELDS = ("body", "name", "path", "capsule")
# A filter is a list of terms of 1 µs each. A small one is used at once, a larger one only if the top of the unfiltered
# ranking does not contain enough hits.
SMALL_FILTER = 200
LARGEST_FILTER = 20_000
# Hits of equal score are ordered by document and ordinal, which requires all of them. More than this are cut in
# tantivy's order.
LONGEST_TIE = 4_096
# Chunks of several lines have at most 3,000 characters.
LONG_BODY = 12_000
PART_TERMS = 600

Must, Should, MustNot = tantivy.Occur.Must, tantivy.Occur.Should, tantivy.Occur.MustNot
Query = tantivy.Query


def schema() -> tantivy.Schema:
    builder = tantivy.SchemaBuilder()
    builder.add_text_field(KEY, tokenizer_name="raw", index_option="basic")
    builder.add_integer_field("doc", fast=True)
    builder.add_integer_field("ordinal", fast=True)
    for field in FIELDS:
        builder.add_text_field(field, tokenizer_name="terms", index_option="freq")
    builder.add_text_field("language", tokenizer_name="raw", index_option="basic")
    return builder.build()


class ChunkIndex(TantivyIndex):
    def __init__(self, folder: Path) -> None:
        terms = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.whitespace()).build()
        super().__init__(folder, schema(), {"terms": terms})

    def put(self, doc: int, document: Document) -> None:
        self.add(rows(doc, document))

    def counts(self) -> dict[int, int]:
        """Chunks of each document."""
        chunks = {(doc, ordinal) for _, doc, ordinal in self.hits(Query.all_query(), self.rows, ("doc", "ordinal"))}
        return dict(Counter(doc for doc, _ in chunks))

    def search(self, query: KeywordQuery, limit: int, within: Collection[int] | None) -> list[ChunkHit]:
        if limit <= 0 or (within is not None and not within):
            return []
        if within is None or len(within) <= SMALL_FILTER:
            return self._top(self._compile(query, within), limit)
        return self._filtered(query, limit, frozenset(within))

    def chunks_with(self, terms: Collection[str], limit: int) -> list[tuple[int, int]]:
        if not all(self.rows_with("body", term) for term in terms):
            return []
        held = [(Must, Query.term_query(self.schema, "body", term, index_option="basic")) for term in terms]
        query = Query.const_score_query(Query.boolean_query(held), 1.0)
        return list(dict.fromkeys(self.columns(query, limit, ("doc", "ordinal"))))

    def _filtered(self, query: KeywordQuery, limit: int, within: frozenset[int]) -> list[ChunkHit]:
        """Search further and further down the ranking for hits in these documents, then let tantivy filter if
        possible."""
        everything, depth = self._compile(query, None), limit * 4
        while True:
            found = self._top(everything, depth)
            kept = [hit for hit in found if hit.doc in within]
            if len(kept) >= limit or len(found) < depth:
                return kept[:limit]
            if len(within) <= LARGEST_FILTER:
                return self._top(self._compile(query, within), limit)
            depth *= 4

    def _top(self, query: Query, limit: int) -> list[ChunkHit]:
        depth = limit
        while True:
            hits = self.hits(query, depth + 1, ("doc", "ordinal"))
            best: dict[tuple[int, int], float] = {}
            for score, doc, ordinal in hits:
                best.setdefault((doc, ordinal), score)
            scores = list(best.values())
            cut_in_a_tie = len(hits) > depth and (len(scores) < limit or hits[depth][0] == scores[limit - 1])
            if not cut_in_a_tie or depth >= limit + LONGEST_TIE:
                break
            depth = depth * 2 + 64
        found = [ChunkHit(doc, ordinal, score) for (doc, ordinal), score in best.items()]
        return sorted(found, key=lambda hit: (-hit.score, hit.doc, hit.ordinal))[:limit]

    def _compile(self, query: KeywordQuery, within: Collection[int] | None) -> Query:
        """Compile the query. Only `any` scores; it must match if there is no other condition, otherwise it only
        ranks."""
        scored = [(Should, self._term(clause)) for clause in query.any]
        filters = [Query.boolean_query([(Should, self._term(clause)) for clause in group]) for group in query.all]
        if query.languages:
            filters.append(Query.term_set_query(self.schema, "language", sorted(query.languages)))
        if within is not None:
            filters.append(Query.term_set_query(self.schema, KEY, [str(doc) for doc in sorted(within)]))
        if not scored and not filters:
            return Query.empty_query()
        # Beside a filter, clauses that should match need not, unless they form one that must. Without a filter they are
        # not nested, since that takes a tenth of the time.
        parts = scored if query.all or not filters or not scored else [(Must, Query.boolean_query(scored))]
        parts = [*parts, *((Must, Query.const_score_query(one, 0.0)) for one in filters)]
        return Query.boolean_query([*parts, *((MustNot, self._term(clause)) for clause in query.none)])

    def _term(self, clause: Clause) -> Query:
        term = Query.term_query(self.schema, clause.field, clean(clause.term), index_option="freq")
        return term if clause.boost == 1.0 else Query.boost_query(term, clause.boost)


def rows(doc: int, document: Document) -> Iterator[tantivy.Document]:
    path = words.path(clean(document.path))
    for chunk in document.parsed.chunks:
        for body in parts(clean(words.body(chunk.text))):
            row = tantivy.Document()
            row.add_text(KEY, str(doc))
            row.add_integer("doc", doc)
            row.add_integer("ordinal", chunk.ordinal)
            row.add_text("body", body)
            row.add_text("name", clean(words.name(chunk.name)))
            row.add_text("path", path)
            row.add_text("capsule", clean(words.body(chunk.capsule)))
            row.add_text("language", clean(document.parsed.language))
            yield row


def parts(body: str) -> Iterator[str]:
    if len(body) <= LONG_BODY:
        yield body
        return
    terms = body.split(" ")
    for start in range(0, len(terms), PART_TERMS):
        yield " ".join(terms[start : start + PART_TERMS])
