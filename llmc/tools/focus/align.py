"""Which lines of a text does somebody's shortened copy of it hold?

A pruner gives back text and no line numbers. Its lines are found again in order: each at the nearest place behind the
one before. What it added of its own (marks of omission, a fence around code) is found nowhere and dropped: what it
leaves out it may choose, but it cannot put words into a file's mouth.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["aligned"]

FARTHEST: Final = 3  # a short line (a brace, `return`) is everywhere, and must not carry the rest far away


def aligned(lines: Sequence[str], pruned: Sequence[str]) -> list[int]:
    """The numbers, from 1, of the lines that the pruned text kept."""
    where: defaultdict[str, list[int]] = defaultdict(list)
    for number, line in enumerate(lines, 1):
        where[line.strip()].append(number)
    found: list[int] = []
    last = 0
    for line in pruned:
        bare = line.strip()
        known = where.get(bare, ())
        at = bisect_right(known, last)
        if not bare:
            at = at if at < len(known) and known[at] == last + 1 else len(known)
        if at < len(known) and (known[at] - last <= FARTHEST or len(known) == 1 or is_telling(bare)):
            last = known[at]
            found.append(last)
    return found


def is_telling(bare: str) -> bool:
    return sum(letter.isalnum() for letter in bare) > FARTHEST * 2
