"""The programs that print files or lists of them, which `llmc te` prints compactly and agent hooks may rewrite."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["LISTS", "MATCHING", "TEXTS", "is_listing", "program_of"]

# These programs print files verbatim. Agents edit files based on this output, so it is never rearranged.
TEXTS: Final = frozenset({"cat", "sed", "head", "tail", "nl"})
# These programs print lists, which can be regrouped.
MATCHING: Final = frozenset({"rg", "grep", "egrep", "fgrep"})
LISTS: Final = MATCHING | {"find", "fd", "ls", "tree"}


def program_of(words: Sequence[str]) -> str:
    return words[0].rpartition("/")[2] if words else ""


def is_listing(words: Sequence[str]) -> bool:
    return program_of(words) in LISTS or program_of(words) in TEXTS
