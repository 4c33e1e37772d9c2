"""What a reply weighs: tokens of what was found, of the frame, and of what a plain tool would have given instead.

It is counted once, when the reply is made, and carried along: the figures of a session, of `/metrics` and of the ledger
are the same ones. What was left out is not counted token by token (a whole log would take longer than its answer): its
characters weigh what those that are shown do.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from llmc.envelope.tokens import count

if TYPE_CHECKING:
    from llmc.envelope.envelope import Envelope

__all__ = ["TokenAccount", "plain_size", "weigh"]

# Exact for whatever has a budget; megabytes that were asked for with `all` are not worth a second of counting.
LARGEST_COUNTED: Final = 64 << 10
# Of source code in o200k, measured over the demo workspace and Django: 3.3 to 4.1.
CHARACTERS: Final = 3.6
# The beginning of a file is denser than the rest of it. Without this, what was left out of 60 files of Django was put
# 2.4 % too high in the median and 3.5 % on average; it must rather be too low.
CAUTION: Final = 0.95
# A reply shorter than this (one line that says "unchanged") does not tell what the text behind it weighs.
TELLING: Final = 400
# `plain_size` adds up and does not render; so near, the two are the same text.
ALIKE: Final = 0.02
FEW: Final = 24
# Some 70,000 tokens. No client shows as much, so that there is no need to add up the rest.
ENOUGH: Final = 256 << 10


@dataclass(frozen=True, slots=True)
class TokenAccount:
    """In tokens. `raw` is what a plain tool would have returned; `fetched`: a handle led here, and `raw` was counted
    when the handle was given. `tool` is the one that answered, which a gateway may have called. `files` are the places
    that were read; `cut`: not all of it is shown.
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
    """`size` is how many characters a plain tool would have returned; 0 is as many as are here."""
    framed = counted(frame)
    content = max(0, counted(text) - framed)
    shown = len(text) - len(frame)
    if size > ENOUGH:  # nobody has counted further
        size = max(size, shown)
    if not size or abs(size - shown) <= shown * ALIKE + FEW:
        return TokenAccount(content, framed, content)
    heavy = content / shown if shown >= TELLING else 1 / CHARACTERS
    return TokenAccount(content, framed, round(content + (size - shown) * heavy * CAUTION))


def counted(text: str) -> int:
    return count(text) if len(text) <= LARGEST_COUNTED else round(len(text) / CHARACTERS)


def plain_size(envelope: Envelope) -> int:
    """Characters of everything that was found, before anything is cut. The outline that `read` adds to a long file is
    ours: no plain tool has it."""
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
