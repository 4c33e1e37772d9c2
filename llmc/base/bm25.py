"""How much of a question does each of a few texts say? BM25 over texts that stand side by side: the units of a file.

The index has its own, over everything, in tantivy.
"""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from llmc.base.words import QueryWord

__all__ = ["asked_terms", "bm25"]

K1: Final = 1.2
B: Final = 0.7
PART: Final = 0.5  # a part of a compound of the question, beside the whole


def asked_terms(telling: Iterable[QueryWord]) -> dict[str, float]:
    """Term → weight."""
    found: dict[str, float] = {}
    for word in telling:
        for term, weight in ((word.term, 1.0), *((part, PART) for part in word.parts)):
            found[term] = max(found.get(term, 0.0), weight)
    return found


def bm25(counts: Sequence[Mapping[str, int]], sizes: Sequence[int], asked: Mapping[str, float]) -> list[float]:
    """`counts` are how often each text has the terms that are `asked`, `sizes` how many terms it has in all."""
    seen = Counter(term for count in counts for term in count)
    rarity = {term: math.log(1 + (len(counts) - seen[term] + 0.5) / (seen[term] + 0.5)) for term in asked}
    mean = sum(sizes) / max(1, len(sizes)) or 1.0
    return [
        sum(
            asked[term] * rarity[term] * n * (K1 + 1) / (n + K1 * (1 - B + B * size / mean))
            for term, n in count.items()
        )
        for count, size in zip(counts, sizes, strict=True)
    ]
