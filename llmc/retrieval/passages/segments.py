"""Runs of lines that belong together: the paragraphs of a long function, of top-level code, of prose.

A segment begins behind a blank line, at a comment, or where the last one is long enough; it never ends between a
comment and the code below it, or behind a line that opens something. In prose a sentence that ends with a colon stays
with the block that it introduces, and a fenced block is not cut.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from llmc.base.text import indent_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["COMMENTS", "enclosing", "is_comment", "segments"]

COMMENTS: Final = ("#", "//", "/*", "*", "--", ";;")
LONG, LONGEST = 10, 16  # lines from which on a segment ends at the next good place, and at any place
LONGEST_BLOCK: Final = 40  # lines of a fenced block, or of one that a sentence introduces, that stay together
LEVELS: Final = 4  # of enclosing statements that are shown
INDENTED: Final = 3  # columns by which a block is indented deeper than the paragraph that it belongs to
OPENING: Final = ("{", "(", "[", ",", ":", "=", "\\", "=>", "->")
_ATTRIBUTE: Final = re.compile(r"#\[|#!\[|#(?:define|if|el|endif|include|pragma|undef)\b|--\w")
_CLOSING: Final = re.compile(r"[\s)\]},;]*(?:end|fi|done|esac)?[\s;,)]*")
_FENCE: Final = re.compile(r"\s*(?:```|~~~)")
_INTRODUCES: Final = re.compile(r".*:{1,2}\s*$")
_LISTED: Final = re.compile(r"\s*(?:[-*+•]|\d+[.)])\s|\s{2,}\S|\s*(?:```|~~~|\||\.\. )|\$ |>>> ")


def is_comment(line: str) -> bool:
    bare = line.lstrip()
    return bare.startswith(COMMENTS) and not _ATTRIBUTE.match(bare)


def segments(lines: Sequence[str], start: int, end: int, *, prose: bool = False) -> Iterator[tuple[int, int]]:
    """(first, behind the last) of each segment of lines `start` to `end`, from 0; every line is in one."""
    first = start
    for at in range(start + 1, end):
        if _ends(lines, first, at, prose=prose):
            yield first, at
            first = at
    if first < end:
        yield first, end


def _ends(lines: Sequence[str], first: int, at: int, *, prose: bool) -> bool:
    """Whether a segment that began at `first` ends above line `at`."""
    above, line = lines[at - 1], lines[at]
    length = at - first
    if not line.strip() or (prose and length < LONGEST_BLOCK and _is_one(lines, first, at)):
        return False
    commented = not prose and is_comment(line) and not is_comment(above)
    ends = not above.strip() or commented or length >= LONGEST
    if not ends and (length < LONG or prose or is_comment(above) or above.rstrip().endswith(OPENING)):
        return False
    if prose or length >= LONGEST:
        return True
    only_comment = all(is_comment(each) for each in lines[first:at] if each.strip())
    return not only_comment and not _CLOSING.fullmatch(line)


def _is_one(lines: Sequence[str], first: int, at: int) -> bool:
    """Prose: inside a fenced block, or between a paragraph and the block or list that it introduces."""
    before = lines[first:at]
    if sum(1 for each in before if _FENCE.match(each)) % 2:
        return True
    said = next((each for each in reversed(before) if each.strip()), "")
    begins_block = bool(_FENCE.match(lines[at])) or indent_of(lines[at]) >= indent_of(said) + INDENTED
    if _INTRODUCES.match(said) or (begins_block and not _FENCE.match(said)):
        return True
    introduced = any(_INTRODUCES.match(each) for each in before)
    return introduced and bool(_LISTED.match(lines[at])) and bool(_LISTED.match(said))


def enclosing(lines: Sequence[str], at: int, top: int) -> tuple[int, ...]:
    """The statements between lines `top` and `at` that hold line `at`, read off the indentation."""
    depth = indent_of(next((line for line in lines[at:] if line.strip()), ""))
    found: list[int] = []
    for index in range(at - 1, top, -1):
        line = lines[index]
        if not line.strip() or is_comment(line) or indent_of(line) >= depth:
            continue
        depth = indent_of(line)
        if not _CLOSING.fullmatch(line) and line.strip() != "{":
            found.append(index)
        if len(found) == LEVELS or not depth:
            break
    return tuple(reversed(found))
