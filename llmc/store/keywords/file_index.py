"""The `files` index of the keyword store: which documents may match a pattern, by trigrams.

A row is a part of a document (`trigrams` cuts texts into parts). One part must meet the whole condition; only if a
match may span lines can several parts of a document meet it together.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import tantivy

from llmc.store.catalog.packing import clean
from llmc.store.keywords.tantivy_index import KEY, TantivyIndex
from llmc.store.keywords.trigrams import parts

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from llmc.store.protocols import Trigrams

__all__ = ["FileIndex"]

# The rarest trigrams of a conjunction decide; each further one costs a posting list and removes next to nothing.
RAREST = 12

Must, Should = tantivy.Occur.Must, tantivy.Occur.Should
Query = tantivy.Query


def schema() -> tantivy.Schema:
    """`cut` marks the parts of a document that has several."""
    builder = tantivy.SchemaBuilder()
    builder.add_text_field(KEY, tokenizer_name="raw", index_option="basic")
    builder.add_integer_field("doc", fast=True)
    builder.add_text_field("trigrams", tokenizer_name="trigrams", index_option="basic")
    builder.add_text_field("cut", tokenizer_name="raw", index_option="basic")
    return builder.build()


class FileIndex(TantivyIndex):
    def __init__(self, folder: Path) -> None:
        tokenizer = tantivy.Tokenizer.ngram(3, 3, prefix_only=False)
        super().__init__(folder, schema(), {"trigrams": tantivy.TextAnalyzerBuilder(tokenizer).build()})

    def put(self, doc: int, text: str) -> None:
        self.add(rows(doc, text))

    def docs(self) -> set[int]:
        return self._matching(Query.all_query())

    def candidates(self, condition: Trigrams, *, across_lines: bool) -> set[int]:
        found = self._matching(self._compile(condition))
        return found | self._scattered(condition) if across_lines else found

    def estimate(self, condition: Trigrams) -> int:
        bounds = [self.rows, *map(self._rows_with, condition.all)]
        return min(bounds + [sum(map(self.estimate, group)) for group in condition.any])

    def _matching(self, query: Query) -> set[int]:
        return set(self.column(query, self.rows, "doc"))

    def _compile(self, condition: Trigrams) -> Query:
        musts = [self._trigram(trigram) for trigram in self._rarest(condition)]
        groups = [group for group in condition.any if not any(alternative.is_empty for alternative in group)]
        musts += [Query.boolean_query([(Should, self._compile(one)) for one in group]) for group in groups]
        if not musts:
            return Query.all_query()
        return Query.const_score_query(Query.boolean_query([(Must, one) for one in musts]), 1.0)

    def _trigram(self, trigram: str) -> Query:
        return Query.term_query(self.schema, "trigrams", trigram, index_option="basic")

    def _rarest(self, condition: Trigrams) -> list[str]:
        return sorted(map(clean, condition.all), key=lambda trigram: (self._rows_with(trigram), trigram))[:RAREST]

    def _rows_with(self, trigram: str) -> int:
        return self.rows_with("trigrams", clean(trigram))

    def _scattered(self, condition: Trigrams) -> set[int]:
        """Documents of several parts that contain every trigram in some part."""
        found = self._cut_docs(None)
        for trigram in self._rarest(condition):
            found = found and found & self._cut_docs(trigram)
        for group in condition.any:
            found = found and found & set().union(*map(self._scattered, group))
        return found

    def _cut_docs(self, trigram: str | None) -> set[int]:
        cut = Query.term_query(self.schema, "cut", "1", index_option="basic")
        both = [(Must, cut)] if trigram is None else [(Must, cut), (Must, self._trigram(trigram))]
        return self._matching(Query.const_score_query(Query.boolean_query(both), 1.0))


def rows(doc: int, text: str) -> Iterator[tantivy.Document]:
    texts = list(parts(clean(text)))
    for part in texts:
        row = tantivy.Document()
        row.add_text(KEY, str(doc))
        row.add_integer("doc", doc)
        row.add_text("trigrams", part)
        if len(texts) > 1:
            row.add_text("cut", "1")
        yield row
