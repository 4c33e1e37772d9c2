"""Prepares text for the trigram index: folded, and cut into parts. grep's planner folds with the same function.

`fold` is simple case folding, one character to one character, so that patterns and files match in any case:
`K` (kelvin), `ſ` and `ς` become `k`, `s` and `σ`. A character whose full folding is longer (`ß`, `İ`) stays single.
Case pairs that Unicode added after this Python was built are not folded, so a case-insensitive pattern uses only ASCII
trigrams.

A large text is cut into parts, each a run of whole lines and each a row of the index. A match within a line lies within
a part, so one part of every matching document meets a line-wise condition. A line that is longer than a part is not
cut. Each part begins with the last two characters of the previous one, so that trigrams across the cut are indexed for
conditions across lines.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["fold", "parts", "trigrams"]

# Smaller parts give fewer false candidates and a larger index: 64 Ki characters is some 1,600 lines.
PART_CHARACTERS = 64 * 1024
OVERLAP = 2

# Case pairs of Unicode 15.1, which newer regex engines support; full folding makes more than one character of each.
_LATE_PAIRS = {"\u1fd3": "\u0390", "\u1fe3": "\u03b0", "\ufb05": "\ufb06"}


def _single(character: str) -> str:
    lowered = character.lower()
    return _LATE_PAIRS.get(character, lowered if len(lowered) == 1 else character)


# The blocks of characters whose full folding is longer than one character; a test checks all of Unicode.
_BLOCKS = (range(0xDF, 0x590), range(0x1E90, 0x2000), range(0xFB00, 0xFB18))
_GROWING = {c: _single(c) for block in _BLOCKS for c in map(chr, block) if len(c.casefold()) > 1}
_GROWS = re.compile(f"([{''.join(_GROWING)}])")


def fold(text: str) -> str:
    """`text` without case, character by character: `len(fold(text)) == len(text)`."""
    if text.isascii():
        return text.lower()
    folded = text.casefold()
    if len(folded) == len(text):
        return folded
    return "".join(_GROWING.get(run) or run.casefold() for run in _GROWS.split(text))


def trigrams(text: str) -> frozenset[str]:
    """The trigrams that every file containing `text`, in any case, must have."""
    folded = fold(text)
    return frozenset(folded[i : i + 3] for i in range(len(folded) - 2))


def parts(text: str) -> Iterator[str]:
    """`text` as folded parts of whole lines; at least one, so that every document is in the index."""
    folded = fold(text)
    start = 0
    while len(folded) - start > PART_CHARACTERS:
        end = folded.rfind("\n", start, start + PART_CHARACTERS) + 1
        if end == 0:
            end = folded.find("\n", start + PART_CHARACTERS) + 1
        if end == 0:
            break
        yield folded[max(0, start - OVERLAP) : end]
        start = end
    yield folded[max(0, start - OVERLAP) :]
