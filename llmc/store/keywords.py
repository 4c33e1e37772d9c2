"""The keyword store on tantivy: two indexes below one folder, `chunks` for words and `files` for trigrams.

What the terms are is `llmc.words`' business, how an index is written `shelf`'s. Here the two become one store.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from llmc.store.chunks import ChunkIndex
from llmc.store.files import FileIndex

if TYPE_CHECKING:
    from collections.abc import Callable, Collection
    from pathlib import Path

    from llmc.model import Document
    from llmc.store.protocols import ChunkHit, KeywordQuery, Trigrams
    from llmc.store.shelf import Shelf

__all__ = ["TantivyKeywords"]


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
        self._both(lambda shelf: shelf.delete([str(doc) for doc in docs]))

    def commit(self) -> None:
        added, self._added = self._added, []
        try:
            self._both(lambda shelf: shelf.commit())
        except BaseException:
            self.rollback()
            self._take_back(added)
            raise

    def _take_back(self, docs: list[int]) -> None:
        """One index may have committed. Where even this fails, the catalog still has the numbers in flight."""
        try:
            self.delete(docs)
            self._both(lambda shelf: shelf.commit())
        except Exception:  # noqa: BLE001 the first error is the one to report
            self.rollback()

    def rollback(self) -> None:
        self._added = []
        self.chunks.rollback()
        self.files.rollback()

    def release(self) -> None:
        self._both(lambda shelf: shelf.release())

    def reload(self) -> None:
        self.chunks.reload()
        self.files.reload()

    def close(self) -> None:
        self.rollback()

    def _both(self, step: Callable[[Shelf], None]) -> None:
        """At the same time: a commit is mostly waiting for the disk."""
        with ThreadPoolExecutor(2) as pool:
            ends = [pool.submit(step, shelf) for shelf in (self.chunks, self.files)]
        for end in ends:
            end.result()

    def search(self, query: KeywordQuery, limit: int, within: Collection[int] | None = None) -> list[ChunkHit]:
        return self.chunks.search(query, limit, within)

    def candidates(self, condition: Trigrams, limit: int | None = None, *, across_lines: bool = False) -> list[int]:
        return sorted(self.files.candidates(condition, across_lines=across_lines))[:limit]

    def estimate(self, condition: Trigrams) -> int:
        return self.files.estimate(condition)

    def docs(self) -> set[int]:
        return set(self.chunks.counts()) | self.files.docs()
