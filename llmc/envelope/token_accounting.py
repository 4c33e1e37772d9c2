"""Counts the tokens of a reply: content, frame, and what a plain tool would have returned.

They are counted once, when the reply is built; sessions, `/metrics` and the ledger use the same figures. Left-out text
is not counted token by token, since that could take longer than the call; its size is estimated from the tokens per
character of the visible text.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from llmc.envelope.tokens import count

if TYPE_CHECKING:
    from llmc.envelope.envelope import Envelope

__all__ = ["TokenAccount", "plain_size", "weigh"]

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
    """Characters of the full result before anything is cut, without the outline that `read` adds to a long file, since
    no plain tool has one."""
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
