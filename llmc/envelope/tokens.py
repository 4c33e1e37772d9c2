"""How many tokens is this? Counted exactly as OpenAI's o200k would, offline, in 2 MB of memory.

The tokenizers that carry this vocabulary take 0.6 s to load and 65 to 140 MB, which is more than the rest of an idle
daemon. Counting needs less than encoding: whether a run of bytes is a token, and which of two merges comes first. So
the package ships one 64-bit hash for each of the 199,998 tokens, in order of rank (`o200k.bin`, made by
`tools/make_vocabulary.py`), and pieces of text are counted once and remembered: source code repeats itself. A test
holds the counts against the original.

The sum over lines is never less than the count of the whole, since a piece ends where a line does; whoever adds up
lines stays below a budget.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from functools import cache, lru_cache, partial
from hashlib import blake2b
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["count", "count_line"]

VOCABULARY = Path(__file__).with_name("o200k.bin")

_ENDING = r"(?:'(?i:s|t|re|ve|m|ll|d))?"
_UPPER, _LOWER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
PIECE = "|".join(
    (
        rf"[^\r\n\p{{L}}\p{{N}}]?{_UPPER}*{_LOWER}+{_ENDING}",
        rf"[^\r\n\p{{L}}\p{{N}}]?{_UPPER}+{_LOWER}*{_ENDING}",
        r"\p{N}{1,3}",
        r" ?[^\s\p{L}\p{N}]+[\r\n/]*",
        r"\s*[\r\n]+",
        r"\s+(?!\S)",
        r"\s+",
    )
)
# The same for ASCII, which most lines are: in half the time, and without a module to load.
PLAIN = re.compile(
    PIECE.replace(_UPPER, "[A-Z]")
    .replace(_LOWER, "[a-z]")
    .replace(r"\p{L}", "A-Za-z")
    .replace(r"\p{N}{", "[0-9]{")
    .replace(r"\p{N}", "0-9")
)
NEVER = 1 << 30


def count(text: str) -> int:
    pieces = PLAIN.findall if text.isascii() else _pieces()
    return sum(map(_count_piece, pieces(text)))


@lru_cache(maxsize=8192)
def count_line(line: str) -> int:
    """A line with its end."""
    return count(line + "\n")


@cache
def _pieces() -> Callable[[str], list[str]]:
    import regex  # noqa: PLC0415 - 25 ms, and only a reply needs it

    # It would let other threads run in the meantime, and wait for them: 5 ms for a line of 50 characters.
    return partial(regex.compile(PIECE).findall, concurrent=False)


@cache
def _ranks() -> Callable[[bytes], int]:
    """bytes → rank, NEVER for what is no token."""
    import numpy as np  # noqa: PLC0415 - likewise

    hashes = np.frombuffer(VOCABULARY.read_bytes(), "<u8")
    order = np.argsort(hashes)
    # Looking up one number at a time, numpy takes four times as long as bisect over the same memory.
    ordered, ranks = hashes[order].astype(np.uint64).data, order.data

    @lru_cache(maxsize=65_536)
    def rank(token: bytes) -> int:
        wanted = int.from_bytes(blake2b(token, digest_size=8).digest(), "little")
        at = bisect_left(ordered, wanted)
        return ranks[at] if at < len(ordered) and ordered[at] == wanted else NEVER

    return rank


@lru_cache(maxsize=65_536)
def _count_piece(piece: str) -> int:
    token = piece.encode("utf-8", "replace")
    rank = _ranks()
    if len(token) == 1 or rank(token) != NEVER:
        return 1
    return _count_merged(token, rank)


# A run of one character, thousands long, is no text: its merges would take quadratic time.
LONGEST_PIECE = 512


@lru_cache(maxsize=4096)
def _count_merged(token: bytes, rank: Callable[[bytes], int]) -> int:
    """Byte pairs merged by rank until none is a token."""
    if len(token) > LONGEST_PIECE:
        half = len(token) // 2
        return _count_merged(token[:half], rank) + _count_merged(token[half:], rank)
    parts = [token[at : at + 1] for at in range(len(token))]
    ranks = [rank(left + right) for left, right in pairwise(parts)]
    while ranks and (best := min(ranks)) != NEVER:
        at = ranks.index(best)
        parts[at : at + 2] = [parts[at] + parts[at + 1]]
        del ranks[at]
        # Only the two pairs that hold the new part have changed.
        if at < len(ranks):
            ranks[at] = rank(parts[at] + parts[at + 1])
        if at:
            ranks[at - 1] = rank(parts[at - 1] + parts[at])
    return len(parts)
