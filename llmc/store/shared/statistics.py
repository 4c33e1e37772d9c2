"""The number of chunks of a published tree that contain each term, which determines how rare a word is.

LanceDB's full-text indexes cover all repositories together and do not tell how often a term occurs, so a publication
carries the counts of its tree. Each publication updates the counts of the previous one with
the added and removed chunks.
"""

from __future__ import annotations

import zlib
from collections import Counter
from typing import TYPE_CHECKING, Final

import numpy as np

from llmc.base import words
from llmc.base.errors import CorruptStoreError
from llmc.store.catalog.packing import clean

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    import numpy.typing as npt

    from llmc.base.model import Document

    TermCounts = tuple[int, Counter[int]]  # chunks, and hash → how many of them have the term
    Numbers = npt.NDArray[np.uint32]

__all__ = ["FIELDS", "TermStatistics", "count_chunks", "counts_of"]

FIELDS: Final = ("body", "name", "path")


class TermStatistics:
    """Hash of a field's term → number of chunks that have it. Of 100,000 terms, about two share a hash."""

    def __init__(self, chunks: int, hashes: Numbers, counts: Numbers) -> None:
        self.chunks = chunks
        self._hashes = hashes
        self._counts = counts

    @classmethod
    def of(cls, chunks: int, counts: Mapping[int, int]) -> TermStatistics:
        kept = sorted((number, count) for number, count in counts.items() if count > 0)
        hashes = np.fromiter((number for number, _ in kept), np.uint32, len(kept))
        return cls(max(chunks, 0), hashes, np.fromiter((count for _, count in kept), np.uint32, len(kept)))

    @property
    def size(self) -> int:
        return int(self._hashes.nbytes + self._counts.nbytes)

    def count(self, field: str, terms: Collection[str]) -> dict[str, int]:
        """The number of chunks whose field has each term."""
        listed = list(terms)
        return dict(zip(listed, self.count_each([(field, term) for term in listed]), strict=True))

    def count_each(self, terms: Sequence[tuple[str, str]]) -> list[int]:
        """The number of chunks that have each term, given as (field, term)."""
        if not len(self._hashes):
            return [0] * len(terms)
        wanted = np.fromiter((term_hash(field, term) for field, term in terms), np.uint32, len(terms))
        at = np.minimum(np.searchsorted(self._hashes, wanted), len(self._hashes) - 1)
        counts: list[int] = np.where(self._hashes[at] == wanted, self._counts[at], 0).tolist()
        return counts

    def changed(self, chunks: int, difference: Mapping[int, int]) -> TermStatistics:
        """The statistics after adding and removing chunks."""
        counts = Counter(dict(zip(self._hashes.tolist(), self._counts.tolist(), strict=True)))
        counts.update(difference)
        return TermStatistics.of(self.chunks + chunks, counts)

    def pack(self) -> bytes:
        """Differences of sorted hashes compress to two bytes each."""
        steps = np.diff(self._hashes, prepend=np.uint32(0)).astype("<u4")
        body = steps.tobytes() + self._counts.astype("<u4").tobytes()
        return self.chunks.to_bytes(8, "little") + zlib.compress(_by_bytes(body))

    @classmethod
    def unpack(cls, packed: bytes) -> TermStatistics:
        try:
            numbers = np.frombuffer(_from_bytes(zlib.decompress(packed[8:])), "<u4")
            steps, counts = np.split(numbers, 2)
        except (zlib.error, ValueError) as error:
            raise CorruptStoreError(
                "the statistics of a published repository are damaged", hint="Publish the repository again."
            ) from error
        hashes = np.cumsum(steps, dtype=np.uint64).astype(np.uint32)
        return cls(int.from_bytes(packed[:8], "little"), hashes, counts)


def _by_bytes(numbers: bytes) -> bytes:
    """All first bytes, all second bytes, ...: the high bytes are mostly zero and compress well."""
    return np.frombuffer(numbers, np.uint8).reshape(-1, 4).T.tobytes()


def _from_bytes(numbers: bytes) -> bytes:
    return np.frombuffer(numbers, np.uint8).reshape(4, -1).T.tobytes()


def term_hash(field: str, term: str) -> int:
    return zlib.crc32(f"{field}\0{term}".encode("utf-8", "replace"))


def counts_of(documents: Iterable[Document]) -> TermCounts:
    """Count the terms in the chunks of documents."""
    return count_chunks(
        (words.body(chunk.text), words.name(chunk.name), words.path(clean(document.path)))
        for document in documents
        for chunk in document.parsed.chunks
    )


def count_chunks(chunks: Iterable[tuple[str, str, str]]) -> TermCounts:
    """`chunks` are the analysed body, name and path of each."""
    number = 0
    held: list[Counter[str]] = [Counter() for _ in FIELDS]
    for number, texts in enumerate(chunks, 1):  # noqa: B007 - the last one is how many there are
        for counter, text in zip(held, texts, strict=True):
            counter.update(set(text.split()))
    counts: Counter[int] = Counter()
    for field, counter in zip(FIELDS, held, strict=True):
        for term, count in counter.items():
            counts[term_hash(field, term)] += count
    return number, counts
