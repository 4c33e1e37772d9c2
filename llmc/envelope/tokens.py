"""Counts tokens exactly as OpenAI's o200k does, offline, in 2 MB of memory, and keeps the account of a reply.

The usual tokenizers with this vocabulary take 0.6 s to load and 65 to 140 MB, more than the rest of an idle daemon.
Counting needs less than encoding: whether a run of bytes is a token, and which of two merges comes first. Therefore the
package contains only a 64-bit hash for each of the 199,998 tokens, in order of rank (`o200k.bin`, created by
`tools/make_vocabulary.py`). The counts of pieces are cached, since source code is repetitive. A test compares the
counts with the original tokenizer.

The sum over lines is never less than the count of the whole text, since a piece ends with its line, so code that adds
up lines stays within a budget.

A `TokenAccount` holds content, frame, and what a plain tool would have returned. It is computed once, when the reply is
built; sessions, `/metrics` and the ledger use the same figures. The tokens of text that was left out are estimated from
the tokens per character of the visible text, since counting them could take longer than the call.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from dataclasses import dataclass
from functools import cache, lru_cache, partial
from hashlib import blake2b
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

    from llmc.envelope.envelope import Envelope

__all__ = ["TokenAccount", "count", "count_line", "plain_size", "weigh"]

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
# The same for ASCII, which covers most lines: it takes half the time and needs no other module.
PLAIN = re.compile(
    PIECE.replace(_UPPER, "[A-Z]")
    .replace(_LOWER, "[a-z]")
    .replace(r"\p{L}", "A-Za-z")
    .replace(r"\p{N}{", "[0-9]{")
    .replace(r"\p{N}", "0-9")
)
NEVER = 1 << 30
# Replies with a budget are counted exactly; megabytes returned for `all` are estimated, since counting takes a second.
LARGEST_COUNTED: Final = 64 << 10
# Per token of source code in o200k; measured on the demo workspace and Django: 3.3 to 4.1.
CHARACTERS: Final = 3.6
# The beginning of a file has more tokens per character than the rest. Without this factor, the estimates for 60 files
# of Django were 2.4 % too high in the median and 3.5 % on average; they should rather be too low.
CAUTION: Final = 0.95
# A shorter reply (such as "unchanged" on one line) is not representative of the left-out text.
TELLING: Final = 400
# `plain_size` is computed without rendering; within this tolerance, both are the same text.
ALIKE: Final = 0.02
FEW: Final = 24
# About 70,000 tokens. No client shows more, so the rest need not be added up.
ENOUGH: Final = 256 << 10


def count(text: str) -> int:
    pieces = PLAIN.findall if text.isascii() else _pieces()
    return sum(map(_count_piece, pieces(text)))


@lru_cache(maxsize=4_096)
def count_line(line: str) -> int:
    """The tokens of a line including its line feed."""
    return count(line + "\n")


@cache
def _pieces() -> Callable[[str], list[str]]:
    import regex  # noqa: PLC0415 - 25 ms, needed only for replies

    # With concurrency it would release the GIL and wait for other threads: 5 ms for a line of 50 characters.
    return partial(regex.compile(PIECE).findall, concurrent=False)


@cache
def _ranks() -> Callable[[bytes], int]:
    """bytes → rank, or NEVER if the bytes are not a token."""
    import numpy as np  # noqa: PLC0415 - needed only for replies

    hashes = np.frombuffer(VOCABULARY.read_bytes(), "<u8")
    order = np.argsort(hashes)
    # For single lookups, numpy takes four times as long as bisect on the same memory.
    ordered, ranks = hashes[order].astype(np.uint64).data, order.data

    @lru_cache(maxsize=8_192)
    def rank(token: bytes) -> int:
        wanted = int.from_bytes(blake2b(token, digest_size=8).digest(), "little")
        at = bisect_left(ordered, wanted)
        return ranks[at] if at < len(ordered) and ordered[at] == wanted else NEVER

    return rank


@lru_cache(maxsize=8_192)
def _count_piece(piece: str) -> int:
    token = piece.encode("utf-8", "replace")
    rank = _ranks()
    if len(token) == 1 or rank(token) != NEVER:
        return 1
    return _count_merged(token, rank)


# A run of thousands of equal characters is not text, and merging it would take quadratic time.
LONGEST_PIECE = 512


@lru_cache(maxsize=4096)
def _count_merged(token: bytes, rank: Callable[[bytes], int]) -> int:
    """Merge byte pairs by rank until no pair is a token."""
    if len(token) > LONGEST_PIECE:
        half = len(token) // 2
        return _count_merged(token[:half], rank) + _count_merged(token[half:], rank)
    parts = [token[at : at + 1] for at in range(len(token))]
    ranks = [rank(left + right) for left, right in pairwise(parts)]
    while ranks and (best := min(ranks)) != NEVER:
        at = ranks.index(best)
        parts[at : at + 2] = [parts[at] + parts[at + 1]]
        del ranks[at]
        # Only the two pairs with the new part have changed.
        if at < len(ranks):
            ranks[at] = rank(parts[at] + parts[at + 1])
        if at:
            ranks[at - 1] = rank(parts[at - 1] + parts[at])
    return len(parts)


@dataclass(frozen=True, slots=True)
class TokenAccount:
    """In tokens. `raw` is the size of a plain tool's reply; `fetched`: the reply continues a handle, and `raw` was
    counted when the handle was created. `tool` is the tool that answered, possibly called by the gateway. `files` are
    the files that were read; `cut`: the reply is truncated.
    """

    content: int
    frame: int
    raw: int
    tool: str = ""
    fetched: bool = False
    pending: bool = False
    cut: bool = False
    files: tuple[tuple[str, str], ...] = ()


def weigh(text: str, frame: str = "", size: int = 0) -> TokenAccount:
    """`size` is the number of characters that a plain tool would have returned; 0 means those of this reply."""
    framed = counted(frame)
    content = max(0, counted(text) - framed)
    shown = len(text) - len(frame)
    if size > ENOUGH:  # `plain_size` stopped counting here
        size = max(size, shown)
    if not size or abs(size - shown) <= shown * ALIKE + FEW:
        return TokenAccount(content, framed, content)
    density = content / shown if shown >= TELLING else 1 / CHARACTERS
    return TokenAccount(content, framed, round(content + (size - shown) * density * CAUTION))


def counted(text: str) -> int:
    return count(text) if len(text) <= LARGEST_COUNTED else round(len(text) / CHARACTERS)


def plain_size(envelope: Envelope) -> int:
    """The number of characters of the complete result, without the outline that `read` adds to a long file, since no
    plain tool has one."""
    size = len(envelope.found) + 1
    for group in (*envelope.groups, *envelope.folded):
        if envelope.tool == "read" and group.title == "outline":
            continue
        size += len(group.title) + bool(group.title)
        for item in group.items:
            if item.title:
                size += len(item.title) + 2
            for row in item.rows:
                number = row.number
                size += len(row.text) + (len(str(number)) + 3 if number else 2)
            if size > ENOUGH:
                return size
    return size
