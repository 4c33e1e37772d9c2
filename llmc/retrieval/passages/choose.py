"""Which units are kept? Those that are likely enough for what they cost, the best bargain first, while there is room.

Where one function is far ahead, little else is worth its tokens; where many could be meant, many are kept. The same
price for every text spends the tokens where they decide something.
"""

from __future__ import annotations

import math
from itertools import accumulate
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

    from llmc.retrieval.passages.units import TextUnit

__all__ = ["choose"]

THRIFT: Final = 0.7  # how much cost counts against likelihood: 0 not at all, 1 in full
LEAST: Final = math.log(0.16)  # the likelihood that is worth all tokens of a text; a tenth of them is worth a fifth
DOCUMENTED: Final = math.log(2)  # so much more likely must be what keeps its long documentation whole
FAR: Final = 2.5  # in prose, logs and lists: what scores so much less than the best says nothing of it
MARK: Final = 4.0  # tokens of a mark and a number before each


def choose(units: Sequence[TextUnit], scores: Sequence[float], costs: Sequence[float], room: float) -> set[int]:
    """The kept lines, from 0; with each unit the first lines of what encloses it."""
    sums = list(accumulate(costs, initial=0.0))
    likely = logarithms(scores)
    least = LEAST if any(unit.defines for unit in units) else -math.inf

    def worth(index: int, *, whole: bool = False) -> float:
        unit, spare = units[index], (0, 0) if whole else units[index].spare
        cost = MARK + sums[unit.end] - sums[unit.start] - (sums[spare[1]] - sums[spare[0]])
        return likely[index] - THRIFT * math.log(cost / sums[-1])

    kept: set[int] = set()
    for index in sorted(near_enough(units, scores), key=worth, reverse=True):
        if kept and worth(index) < least:
            break
        for whole in (True, False) if worth(index, whole=True) >= least + DOCUMENTED else (False,):
            more = lines_of(units[index], whole=whole) - kept
            cost = sum(costs[line] for line in more) + MARK
            if cost <= room:
                kept |= more
                room -= cost
                break
    return kept or set().union(*(lines_of(units[at], whole=False) for at in best_of(scores)))


def near_enough(units: Sequence[TextUnit], scores: Sequence[float]) -> list[int]:
    """Of definitions one is asked about, and all are in question; of other text whatever is near the best."""
    least = -math.inf if any(unit.defines for unit in units) else max(scores, default=0.0) - FAR
    return [at for at, score in enumerate(scores) if score >= least]


def best_of(scores: Sequence[float]) -> list[int]:
    return sorted(range(len(scores)), key=scores.__getitem__)[-1:]


def lines_of(unit: TextUnit, *, whole: bool) -> set[int]:
    return {*(range(unit.start, unit.end) if whole else unit.essence()), *unit.heads}


def logarithms(scores: Sequence[float]) -> list[float]:
    """Of the likelihoods, which together are one."""
    best = max(scores, default=0.0)
    total = best + math.log(sum(math.exp(score - best) for score in scores) or 1.0)
    return [score - total for score in scores]
