"""The keyword store on tantivy: two indexes below one folder, `chunks` for words and `files` for trigrams.

The terms are defined in `llmc.base.words`; `tantivy_index` writes one index. This module makes one store of the two.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import tantivy

from llmc.store.catalog.packing import clean
from llmc.store.keywords.chunk_index import ChunkIndex
from llmc.store.keywords.file_index import FileIndex
from llmc.store.keywords.tantivy_index import KEY

if TYPE_CHECKING:
    from collections.abc import Callable, Collection
    from pathlib import Path

    from llmc.base.model import Document
    from llmc.store.keywords.tantivy_index import TantivyIndex
    from llmc.store.protocols import ChunkHit, KeywordQuery, Trigrams

__all__ = ["TantivyKeywords", "filler"]

# Of tantivy's policy for merging, which treats segments below ten thousand rows as equals.
MERGED_AT_ONCE = 8
SMALL_SEGMENT = 10_000
# Below this a merge that comes by itself is soon enough. After a full build of kubernetes 7 of 14 segments are small,
# with a quarter of the rows.
SCATTERED_ROWS = 1_000
SCATTERED_SHARE = 0.1


def _small(segments: list[int]) -> list[int]:
    return sorted(rows for rows in segments if rows < SMALL_SEGMENT)


def _is_scattered(segments: list[int]) -> bool:
    small = _small(segments)
    least = max(SCATTERED_ROWS, SCATTERED_SHARE * sum(segments))
    return len(small) < MERGED_AT_ONCE and sum(small[:-1]) >= least


def filler(doc: int) -> tantivy.Document:
    row = tantivy.Document()
    row.add_text(KEY, str(doc))
    row.add_integer("doc", doc)
    return row


class TantivyKeywords:
    """`KeywordStore` on tantivy. The folders `chunks` and `files` exist."""

    def __init__(self, folder: Path) -> None:
        self.chunks = ChunkIndex(folder / "chunks")
        self.files = FileIndex(folder / "files")
        self._added: list[int] = []

    def add(self, doc: int, document: Document) -> None:
        self._added.append(doc)
        self.chunks.put(doc, document)
        self.files.put(doc, document.text)

    def delete(self, docs: Collection[int]) -> None:
        self._both(lambda index: index.delete([str(doc) for doc in docs]))

    def commit(self) -> None:
        added, self._added = self._added, []
        try:
            self._both(lambda index: index.commit())
        except BaseException:
            self.rollback()
            self._take_back(added)
            raise

    def _take_back(self, docs: list[int]) -> None:
        """One index may have committed. Where even this fails, the catalog still has the numbers in flight."""
        try:
            self.delete(docs)
            self._both(lambda index: index.commit())
        except Exception:  # noqa: BLE001 the first error is the one to report
            self.rollback()

    def rollback(self) -> None:
        self._added = []
        self.chunks.rollback()
        self.files.rollback()

    def release(self) -> None:
        self._both(lambda index: index.release())

    def reload(self) -> None:
        self.chunks.reload()
        self.files.reload()

    def close(self) -> None:
        self.rollback()

    def _both(self, step: Callable[[TantivyIndex], None]) -> None:
        """At the same time: a commit is mostly waiting for the disk."""
        with ThreadPoolExecutor(2) as pool:
            ends = [pool.submit(step, index) for index in (self.chunks, self.files)]
        for end in ends:
            end.result()

    def is_scattered(self) -> bool:
        """Enough rows in small segments that joining them pays: a tenth of the space and of the time of a search."""
        return any(_is_scattered(index.segments()) for index in (self.chunks, self.files))

    def gather(self, doc: int) -> None:
        """Join small segments. tantivy-py cannot do so: its policy joins eight at a time, so rows of `doc`, which
        the caller will delete, are committed one by one until there are eight small ones."""
        for index in (self.chunks, self.files):
            if _is_scattered(index.segments()):
                for _ in range(MERGED_AT_ONCE - len(_small(index.segments()))):
                    index.add([filler(doc)])
                    index.commit()
        self.release()

    def search(self, query: KeywordQuery, limit: int, within: Collection[int] | None = None) -> list[ChunkHit]:
        return self.chunks.search(query, limit, within)

    def frequencies(self, terms: Collection[str]) -> tuple[int, dict[str, int]]:
        return self.chunks.rows, {term: self.chunks.rows_with("body", clean(term)) for term in terms}

    def chunks_with(self, terms: Collection[str], limit: int) -> list[tuple[int, int]]:
        return self.chunks.chunks_with([clean(term) for term in terms], limit)

    def candidates(self, condition: Trigrams, limit: int | None = None, *, across_lines: bool = False) -> list[int]:
        return sorted(self.files.candidates(condition, across_lines=across_lines))[:limit]

    def estimate(self, condition: Trigrams) -> int:
        return self.files.estimate(condition)

    def docs(self) -> set[int]:
        return set(self.chunks.counts()) | self.files.docs()
