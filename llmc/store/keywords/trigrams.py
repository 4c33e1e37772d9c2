"""The text that the trigram index sees: folded, and cut into parts. grep's planner folds with the same function.

`fold` is simple case folding, one character to one character, so that a pattern and a file meet whatever their case:
`K` (kelvin), `ſ` and `ς` become `k`, `s` and `σ`. A character whose full folding is longer (`ß`, `İ`) stays single.
Letters that Unicode paired after this Python was built are not folded: a planner that ignores case asks only for
trigrams in ASCII.

A large text is cut into parts, each a run of whole lines and each a row of the index. A match within a line lies
within a part, so a line-wise condition holds in one part of every document that matches. A line that is larger than a
part is not cut. Each part begins with the last two characters before it: a trigram across the cut is in the document
all the same, which is what a condition across lines is tested on.
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

# Unicode 15.1 paired these; newer regex engines know it, and full folding makes more than one character of each.
_LATE_PAIRS = {"\u1fd3": "\u0390", "\u1fe3": "\u03b0", "\ufb05": "\ufb06"}


def _single(character: str) -> str:
    lowered = character.lower()
    return _LATE_PAIRS.get(character, lowered if len(lowered) == 1 else character)


# Where the characters lie whose full folding is longer than they are; a test looks at all of Unicode.
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
    """What a file must contain to contain `text`, whatever the case."""
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
