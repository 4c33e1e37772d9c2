"""How often does a word occur in the paths of a root? Counted once for each distinct word of them.

A tree of 30,000 files has 2 MB of paths and 6,500 distinct words in them. To count a part of a word in all paths takes
1.1 ms, among the distinct words 40 µs, and a ranking needs several. `changed` counts only
what a save added and removed.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from itertools import accumulate
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["PathWords"]

END: Final = "\0"
_WORD: Final = re.compile(r"[^\W_]+")
# For ASCII text, replacing other characters by spaces and splitting takes a third of the pattern's time.
_ASCII_WORDS: Final = "".join(c if c.isalnum() else " " for c in map(chr, range(128)))


def _words(text: str) -> list[str]:
    return text.translate(_ASCII_WORDS).split() if text.isascii() else _WORD.findall(text)


class PathWords:
    """It never changes. Texts are lower-case paths with anything but letters and digits between them."""

    def __init__(self, counts: Counter[str]) -> None:
        self._counts = counts
        self._text = END.join(counts)
        self._repeated = list(counts.values())
        self._starts = [0, *accumulate(len(word) + 1 for word in counts)]

    @classmethod
    def of(cls, text: str) -> PathWords:
        return cls(Counter(_words(text)))

    def changed(self, added: Iterable[str], removed: Iterable[str]) -> PathWords:
        """After some paths were added and others removed."""
        difference = Counter(_words(END.join(added)))
        difference.subtract(_words(END.join(removed)))
        if not any(difference.values()):  # as after most saves
            return self
        counts = Counter(self._counts)
        counts.update(difference)
        return PathWords(+counts)

    def mentions(self, part: str) -> int | None:
        """How often this part of a word occurs; None if it is not part of one word."""
        if not _WORD.fullmatch(part):
            return None
        total, at = 0, self._text.find(part)
        while at >= 0:
            total += self._repeated[bisect_right(self._starts, at) - 1]
            at = self._text.find(part, at + len(part))
        return total
