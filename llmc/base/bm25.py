"""BM25 scores of a few texts against a query, for example the units of one file.

The index itself uses tantivy's BM25 over all documents.
"""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from llmc.base.words import QueryWord

__all__ = ["bm25", "query_terms"]

K1: Final = 1.2
B: Final = 0.7
PART: Final = 0.5  # weight of a part of a compound word, relative to the whole word


def query_terms(words: Iterable[QueryWord]) -> dict[str, float]:
    """Term → weight."""
    weights: dict[str, float] = {}
    for word in words:
        for term, weight in ((word.term, 1.0), *((part, PART) for part in word.parts)):
            weights[term] = max(weights.get(term, 0.0), weight)
    return weights


def bm25(counts: Sequence[Mapping[str, int]], sizes: Sequence[int], weights: Mapping[str, float]) -> list[float]:
    """`counts` has each text's occurrences of the query's terms, `sizes` its total number of terms."""
    seen = Counter(term for count in counts for term in count)
    rarity = {term: math.log(1 + (len(counts) - seen[term] + 0.5) / (seen[term] + 0.5)) for term in weights}
    mean = sum(sizes) / max(1, len(sizes)) or 1.0
    return [
        sum(
            weights[term] * rarity[term] * n * (K1 + 1) / (n + K1 * (1 - B + B * size / mean))
            for term, n in count.items()
        )
        for count, size in zip(counts, sizes, strict=True)
    ]
