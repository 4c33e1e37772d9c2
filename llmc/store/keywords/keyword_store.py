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

# tantivy's merge policy treats segments below ten thousand rows as equal, and merges eight at a time.
MERGED_AT_ONCE = 8
SMALL_SEGMENT = 10_000
# With fewer rows in small segments, the next automatic merge is soon enough. After a full build of kubernetes, 7 of 14
# segments are small and have a quarter of the rows.
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
            self._undo_commit(added)
            raise

    def _undo_commit(self, docs: list[int]) -> None:
        """Undo the commit of one index after the other one failed. If this fails too, the catalog still has the
        documents in flight."""
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

    def reopen(self) -> None:
        self.chunks.open()
        self.files.open()

    def close(self) -> None:
        self.rollback()

    def _both(self, step: Callable[[TantivyIndex], None]) -> None:
        """Run the step on both indexes at the same time: a commit mostly waits for the disk."""
        with ThreadPoolExecutor(2) as pool:
            ends = [pool.submit(step, index) for index in (self.chunks, self.files)]
        for end in ends:
            end.result()

    def is_scattered(self) -> bool:
        """Whether enough rows are in small segments that merging them saves a tenth of the space and of the search
        time."""
        return any(_is_scattered(index.segments()) for index in (self.chunks, self.files))

    def merge_small_segments(self, doc: int) -> None:
        """Merge small segments. tantivy-py has no call for it, but its policy merges eight at a time. So rows of `doc`,
        which the caller deletes afterwards, are committed one by one until there are eight small segments."""
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
