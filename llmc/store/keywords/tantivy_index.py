"""One tantivy index on disk: opening, writing, committing, searching.

It avoids pitfalls of tantivy that were found by experiment. Deletes use a raw text key: a delete on a numeric field
removes nothing, or aborts the process. tantivy raises ValueError for any error on disk. After a failed commit a
writer reports success but stores nothing, so it is dropped. Tokenizers are not part of the index and are registered
whenever it is opened. Merges continue after a commit and change the files on disk again: `release` waits for them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import tantivy

from llmc.store.integrity.checksums import live_files, read_meta
from llmc.store.integrity.native_errors import guard

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator
    from pathlib import Path

__all__ = ["KEY", "TantivyIndex"]

KEY = "key"
# One thread: merging the additional segments costs more than a second core saves. A heap of 30 MB builds the same index
# as 100 MB in the same time; tantivy requires at least 15 MB.
HEAP_BYTES = 30_000_000


class TantivyIndex:
    """`analyzers` maps tokenizer names to analyzers; `KEY` must be a raw text field of `schema`."""

    def __init__(self, folder: Path, schema: tantivy.Schema, analyzers: dict[str, tantivy.TextAnalyzer]) -> None:
        self.folder = folder
        self.schema = schema
        self._analyzers = analyzers
        self._writer: tantivy.IndexWriter | None = None
        self.open()

    def open(self) -> None:
        """Open the index, or open it again, which gives the pages of its files back to the system: 47 MB of kubernetes
        after a hundred calls. Searches that are running keep the former one."""
        with guard(self.folder, "opening the keyword index", ValueError, RuntimeError):
            index = tantivy.Index(self.schema, path=str(self.folder), reuse=True)
            for name, analyzer in self._analyzers.items():
                index.register_tokenizer(name, analyzer)
            index.config_reader("manual")
            index.reload()
            self._index, self._searcher = index, index.searcher()

    def add(self, documents: Iterable[tantivy.Document]) -> None:
        with guard(self.folder, "writing the keyword index", ValueError, RuntimeError):
            writer = self._open_writer()
            for document in documents:
                writer.add_document(document)

    def delete(self, keys: Collection[str]) -> None:
        with guard(self.folder, "deleting from the keyword index", ValueError, RuntimeError):
            writer = self._open_writer()
            for key in keys:
                writer.delete_documents_by_term(KEY, key)

    def _open_writer(self) -> tantivy.IndexWriter:
        if self._writer is None:
            self._drop_strays()
            self._writer = self._index.writer(HEAP_BYTES, 1)
        return self._writer

    def _drop_strays(self) -> None:
        """Remove the files of failed commits: tantivy would reuse their names and refuse to overwrite them."""
        live = {*live_files(self.folder), ".managed.json"}
        for path in self.folder.iterdir():
            if path.name not in live and path.suffix != ".lock":
                path.unlink()

    def commit(self) -> None:
        """Commit everything or nothing; readers of this object see it at once."""
        if self._writer is None:
            return
        try:
            with guard(self.folder, "committing the keyword index", ValueError, RuntimeError):
                self._writer.commit()
        except BaseException:
            self.rollback()
            raise
        self.reload()

    def rollback(self) -> None:
        """Drop the writer with its buffer; this works in any state that an error left it in."""
        self._writer = None

    def release(self) -> None:
        """Wait for merges, then release the lock, the threads and the heap."""
        writer, self._writer = self._writer, None
        if writer is not None:
            with guard(self.folder, "merging the keyword index", ValueError, RuntimeError):
                writer.wait_merging_threads()
            self.reload()

    def reload(self) -> None:
        with guard(self.folder, "reading the keyword index", ValueError, RuntimeError):
            self._index.reload()
            self._searcher = self._index.searcher()

    def segments(self) -> list[int]:
        """The number of rows in each segment, including deleted ones."""
        return [segment["max_doc"] for segment in read_meta(self.folder)["segments"]]

    # --- searching

    @property
    def rows(self) -> int:
        return int(self._searcher.num_docs)

    def rows_with(self, field: str, term: str) -> int:
        """The number of rows with a term, including deleted rows that are not merged away yet."""
        with guard(self.folder, "reading the keyword index", ValueError, RuntimeError):
            return int(self._searcher.doc_freq(field, term))

    def column(self, query: tantivy.Query, limit: int, field: str) -> list[Any]:
        """A fast field of the matching rows, unranked; takes half the time of `hits`."""
        return self._best(query, limit, (field,))[1][0]

    def columns(self, query: tantivy.Query, limit: int, fields: tuple[str, ...]) -> Iterator[tuple[Any, ...]]:
        """`column` for several fields."""
        return zip(*self._best(query, limit, fields)[1], strict=True)

    def hits(self, query: tantivy.Query, limit: int, fields: tuple[str, ...]) -> list[tuple[Any, ...]]:
        """(score, *fast fields) of the best rows, best first."""
        scores, columns = self._best(query, limit, fields)
        return list(zip(scores, *columns, strict=True))

    def _best(self, query: tantivy.Query, limit: int, fields: tuple[str, ...]) -> tuple[list[float], list[list[Any]]]:
        searcher = self._searcher
        with guard(self.folder, "reading the keyword index", ValueError, RuntimeError):
            found = searcher.search(query, limit=max(1, limit), count=False).hits
            addresses = [address for _, address in found]
            columns = [searcher.fast_field_values(field, addresses) for field in fields]
        return [score for score, _ in found], columns
