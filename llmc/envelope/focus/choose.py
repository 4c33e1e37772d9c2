"""Which units are kept? The likeliest first, for what they cost, while there is room and doubt."""

from __future__ import annotations

import math
from itertools import accumulate
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

    from llmc.envelope.focus.units import Unit

__all__ = ["choose"]

THRIFT: Final = 0.5  # how much cost counts against likelihood: 0 not at all, 1 in full
# The best unit keeps its documentation if it is small (a share of the room) or likely; others only its first line.
SMALL, LIKELY = 0.4, 0.3
FAR: Final = 2.5  # in prose, logs and lists: what scores so much less than the best says nothing of it
MARK: Final = 4.0  # tokens of a mark and a number before each
SURE: Final = 0.993  # of the likelihood; what is left then is not worth its tokens


def choose(units: Sequence[Unit], scores: Sequence[float], costs: Sequence[float], room: float) -> set[int]:
    """The kept lines, from 0; with each unit the first lines of what encloses it."""
    if units and not any(unit.defines for unit in units):
        least = max(scores) - FAR
        near = [at for at, score in enumerate(scores) if score >= least]
        units, scores = [units[at] for at in near], [scores[at] for at in near]
    sums = list(accumulate(costs, initial=0.0))
    ranked = sorted(range(len(units)), key=scores.__getitem__, reverse=True)
    likelihood = shares(scores)
    best = ranked[0] if ranked else 0
    size = sums[units[best].end] - sums[units[best].start] if ranked else 0.0
    whole = {best} if size <= (room if ranked and likelihood[best] >= LIKELY else SMALL * room) else set()

    def worth(index: int) -> float:
        unit = units[index]
        doc = 0.0 if index in whole else sums[unit.doc[1]] - sums[unit.doc[0]]
        return scores[index] - THRIFT * math.log(max(1.0, sums[unit.end] - sums[unit.start] - doc))

    kept: set[int] = set()
    sure = 0.0
    for index in sorted(ranked, key=worth, reverse=True):
        more = lines_of(units[index], whole=index in whole) - kept
        cost = sum(costs[line] for line in more) + MARK
        if cost <= room:
            kept |= more
            room -= cost
            sure += likelihood[index]
        if sure >= SURE:
            break
    return kept or (lines_of(units[best], whole=False) if ranked else kept)


def lines_of(unit: Unit, *, whole: bool) -> set[int]:
    lines = {*range(unit.start, unit.end), *unit.heads}
    return lines if whole else lines - set(range(*unit.doc))


def shares(scores: Sequence[float]) -> list[float]:
    best = max(scores, default=0.0)
    weights = [math.exp(score - best) for score in scores]
    total = sum(weights) or 1.0
    return [weight / total for weight in weights]
