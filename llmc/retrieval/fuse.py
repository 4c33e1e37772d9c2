"""One score for a chunk out of two lists: keywords and vectors.

Each list is brought to 0..1 by itself, then added. Rank fusion throws away how far apart two hits are; on our judged
sets that cost .02 to .03 of NDCG@10.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeVar

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Fused", "add_weighted", "fuse", "normalised"]

Place = TypeVar("Place")


class Fused(NamedTuple):
    """What each list gave to a chunk, and the sum; `because` says what evidence pointed at it."""

    score: float
    keyword: float
    vector: float
    evidence: float = 0.0
    because: str = ""


def fuse(keyword: Mapping[Place, float], vector: Mapping[Place, float], weight: float) -> dict[Place, Fused]:
    """Every place of either list. `weight` is what the best vector hit is worth, the best keyword hit being worth 1."""
    if not vector:
        return {place: Fused(score, score, 0.0) for place, score in keyword.items()}
    found = {}
    for place in dict.fromkeys((*keyword, *vector)):
        by_keyword, by_vector = keyword.get(place, 0.0), weight * vector.get(place, 0.0)
        found[place] = Fused(by_keyword + by_vector, by_keyword, by_vector)
    return found


def add_weighted(first: Mapping[Place, float], second: Mapping[Place, float], weight: float) -> dict[Place, float]:
    """The sum of two lists, the second times `weight`."""
    found = dict(first)
    for place, score in second.items():
        found[place] = found.get(place, 0.0) + weight * score
    return found


def normalised(scores: Mapping[Place, float], floor: float | None = None) -> dict[Place, float]:
    """The best becomes 1, `floor` (the least of them if not given) becomes 0."""
    if not scores:
        return {}
    top = max(scores.values())
    least = min(scores.values()) if floor is None else floor
    width = top - least
    return {place: (score - least) / width if width > 0 else 1.0 for place, score in scores.items()}
