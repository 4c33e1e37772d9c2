"""Which lines are kept? Those that are likely enough for what they cost, the best bargain first, while there is room.

Candidates are whole units and the passages inside long ones. A unit is worth what its passages are and what it is as a
whole, so a question about one step of a long function keeps that step and its enclosing lines, and a question about the
function keeps all of it. Where one candidate is far ahead, little else is worth its tokens; where many could be meant,
many are kept. The same price for every text spends the tokens where they decide something.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

    from llmc.retrieval.passages.score import Likelihoods
    from llmc.retrieval.passages.units import InnerPassage, TextUnit

__all__ = ["Choice", "choose"]

THRIFT: Final = 0.7  # how much cost counts against likelihood: 0 not at all, 1 in full
LEAST: Final = math.log(0.16)  # the likelihood that is worth all tokens of a text; a tenth of them is worth a fifth
DOCUMENTED: Final = math.log(2)  # so much more likely must be what keeps its long documentation whole
FAR: Final = 2.5  # in prose, logs and lists: what scores so much less than the best says nothing of it
MARK: Final = 4.0  # tokens of a mark and a number before each
TINIEST: Final = 1e-12
# The likelihood from which on something that was left out is named, and the likeliest of it.
NOTABLE, RUNNER_UP = 0.02, 0.001


@dataclass(frozen=True, slots=True)
class Choice:
    """`lines` are kept, from 0. `dropped` may be meant as well; `best` is the likelihood of the likeliest unit."""

    lines: set[int]
    dropped: tuple[TextUnit, ...]
    best: float


class _Candidates:
    """Units first, then passages; `values` are what keeping each is worth now."""

    def __init__(
        self,
        units: Sequence[TextUnit],
        passages: Sequence[InnerPassage],
        likely: Likelihoods,
        costs: Sequence[float],
    ) -> None:
        self.texts = [*units, *(passage.text for passage in passages)]
        self.owners = [-1] * len(units) + [passage.unit for passage in passages]
        self.own = [*likely.units, *likely.passages]
        self.values = list(self.own)
        for at, owner in enumerate(self.owners):
            if owner >= 0:
                self.values[owner] += self.own[at]
        self.is_code = any(unit.defines for unit in units)
        self._costs = costs
        self._sums = list(accumulate(costs, initial=0.0))

    def worth(self, at: int, *, whole: bool = False) -> float:
        """By the cost of the text alone; the lines around it are often kept already."""
        unit, spare = self.texts[at], (0, 0) if whole else self.texts[at].spare
        cost = MARK + self._sums[unit.end] - self._sums[unit.start] - (self._sums[spare[1]] - self._sums[spare[0]])
        return self.bargain(at, cost)

    def bargain(self, at: int, cost: float) -> float:
        return math.log(self.values[at] + TINIEST) - THRIFT * math.log(cost / self._sums[-1])

    def cost(self, lines: set[int]) -> float:
        return MARK + sum(self._costs[line] for line in lines)

    def near_enough(self) -> list[int]:
        """Of definitions one is asked about, and all are in question; of other text whatever is near the best."""
        if self.is_code:
            return list(range(len(self.texts)))
        least = math.log(max(self.values, default=0.0) + TINIEST) - FAR
        return [at for at, value in enumerate(self.values) if math.log(value + TINIEST) >= least]

    def take(self, at: int) -> None:
        """A passage that is kept is no reason to keep the rest of its unit."""
        if self.owners[at] >= 0:
            self.values[self.owners[at]] -= self.own[at]


def choose(
    units: Sequence[TextUnit],
    passages: Sequence[InnerPassage],
    likely: Likelihoods,
    costs: Sequence[float],
    room: float,
) -> Choice:
    """With each text the first lines of what encloses it."""
    found = _Candidates(units, passages, likely, costs)
    least = LEAST if found.is_code else -math.inf
    best = max(found.values, default=0.0)
    kept: set[int] = set()
    for at in sorted(found.near_enough(), key=found.worth, reverse=True):
        if kept and found.worth(at) < least:
            continue
        for whole in (True, False) if found.worth(at, whole=True) >= least + DOCUMENTED else (False,):
            more = lines_of(found.texts[at], whole=whole) - kept
            cost = found.cost(more)
            if more and cost <= room and (not kept or found.bargain(at, cost) >= least):
                kept |= more
                room -= cost
                found.take(at)
                break
    if not kept and found.texts:
        kept = lines_of(found.texts[max(range(len(found.texts)), key=found.worth)], whole=False)
    return Choice(kept, dropped(found, kept), best)


def lines_of(unit: TextUnit, *, whole: bool) -> set[int]:
    return {*(range(unit.start, unit.end) if whole else unit.essence()), *unit.heads}


def dropped(found: _Candidates, kept: set[int]) -> tuple[TextUnit, ...]:
    """The likeliest texts of which nothing is kept but enclosing lines, one of each name."""
    named: dict[str, TextUnit] = {}
    likely = sorted(zip(found.own, found.texts, strict=True), key=lambda one: -one[0])
    for value, text in likely:
        if value < (NOTABLE if named else RUNNER_UP):
            break
        if text.name and kept.isdisjoint(range(text.signature + 1, text.end)):
            named.setdefault(text.name, text)
    return tuple(named.values())
