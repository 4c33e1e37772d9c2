"""Variants of a text as a reader would see it, which are searched for secrets in addition to the text itself.

A colour code or an invisible character in front of a token, or inside it, hides the token from every pattern
(`\\x1b[31mghp_...`). A view is the text without them, with a mapping to positions in the original. Colour
codes count whether they are real or spelled out (`\\033[31m` in a source file, `^[[31m` from `cat -v`). In another
view the escapes `\\n` and `%3D` no longer end with a letter, which made the token after them look like the end of a
word. The original is always searched too, because removing a NUL can join two words that were apart.

Most texts have nothing to remove (`Signs.hidden`). This module does not decide what is secret.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from llmc.envelope.redact.table import compiled, table
from llmc.envelope.visible import INVISIBLE, TERMINAL_ESCAPES

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["TextView", "views"]

# Every escape begins with such a character. `re` skips all others 15 times as fast as it tries two alternatives.
_CHARACTER: Final = re.compile(f"[{INVISIBLE}]")
_ESCAPE: Final = re.compile(TERMINAL_ESCAPES)
# Part of every match of the two, for RE2 and bytes.
_NEAR: Final = rb"[\x00-\x08\x0e-\x1b\x7f-\xff]"
_SPELLED: Final = (
    rb"(?:\\(?:e|E|0?33|x1[bB]|u001[bB]|u\{1[bB]\})|\^\[)?\[[0-9][0-9;:]{0,40}m"
    rb"|\\u(?:200[b-fB-F]|202[a-eA-E]|206[0-9a-fA-F]|00[aA][dD]|[fF][eE][fF][fF])"
)
_ESCAPED_SPACE: Final = (b"\\n", b"\\t", b"\\r")
_PERCENT_ESCAPE: Final = re.compile(rb"%(?:0[AaDd]|2[02567]|3[AaBbDdFf])(?=[A-Za-z0-9])")
_BOUNDARY: Final = b"\x01"


@dataclass(frozen=True, slots=True)
class TextView:
    """`gaps` are positions in `data` where something was removed, `shifts` how many bytes were removed up to there.

    A view `for_formats` is searched for known formats only: names and values would be read differently in it.
    """

    data: bytes
    gaps: tuple[int, ...] = ()
    shifts: tuple[int, ...] = ()
    for_formats: bool = False

    def original(self, start: int, end: int) -> tuple[int, int]:
        """The span in the original text, including what was removed inside it."""
        if not self.gaps:
            return start, end
        return start + self._shift(start), end + self._shift(end - 1)

    def _shift(self, at: int) -> int:
        index = bisect_right(self.gaps, at)
        return self.shifts[index - 1] if index else 0


def views(data: bytes) -> Iterator[TextView]:
    """The views of a text, each with only the lines around something hidden."""
    windows = _windows(data)
    if windows:
        for find in (_hidden, _spelled):
            removed = [(start + at, start + to) for start, end in windows for at, to in find(data[start:end])]
            if removed:
                yield _view(data, sorted([*removed, *_between(windows, len(data))]))
        yield from _with_boundaries(data, windows)


def _windows(data: bytes) -> list[tuple[int, int]]:
    """(start, end) of the lines with something hidden and their neighbours: a field may span two lines."""
    found: list[tuple[int, int]] = []
    regex, at = compiled(table().hidden), 0
    while (match := regex.search(data, at)) is not None:
        start = data.rfind(b"\n", 0, max(0, data.rfind(b"\n", 0, match.start()))) + 1
        at = (data.find(b"\n", match.end() - 1) + 1) or len(data)
        end = (data.find(b"\n", at) + 1) or len(data)
        if found and start <= found[-1][1]:
            start = found.pop()[0]
        found.append((start, end))
    return found


def _hidden(data: bytes) -> Iterator[tuple[int, int]]:
    """(start, end) of escapes and of other characters without width."""
    if compiled(_NEAR).search(data) is None:  # RE2 takes a twentieth of the time
        return
    text = data.decode("utf-8", "surrogatepass")
    at = start = 0
    while (found := _CHARACTER.search(text, at)) is not None:
        found = _ESCAPE.match(text, found.start()) or found
        start += len(text[at : found.start()].encode("utf-8", "surrogatepass"))
        end = start + len(found[0].encode("utf-8", "surrogatepass"))
        yield start, end
        at, start = found.end(), end


def _spelled(data: bytes) -> Iterator[tuple[int, int]]:
    """(start, end) of those that are spelled in ASCII."""
    return (match.span() for match in compiled(_SPELLED).finditer(data))


def _between(windows: list[tuple[int, int]], size: int) -> list[tuple[int, int]]:
    edges = [0, *(edge for window in windows for edge in window), size]
    return [(start, end) for start, end in zip(edges[::2], edges[1::2], strict=True) if start < end]


def _view(data: bytes, removed: list[tuple[int, int]], *, for_formats: bool = False) -> TextView:
    pieces: list[bytes] = []
    gaps: list[int] = []
    shifts: list[int] = []
    at = size = shift = 0
    for start, end in removed:
        pieces.append(data[at:start])
        size += start - at
        shift += end - start
        gaps.append(size)
        shifts.append(shift)
        at = end
    return TextView(b"".join([*pieces, data[at:]]), tuple(gaps), tuple(shifts), for_formats)


def _with_boundaries(data: bytes, windows: list[tuple[int, int]]) -> Iterator[TextView]:
    """A view of equal length without letters at the end of escapes. Some tokens contain `%3D`, hence two views."""
    part = _view(data, _between(windows, len(data)), for_formats=True)
    spaced = part.data
    for escape in _ESCAPED_SPACE:
        spaced = spaced.replace(escape, b"\\" + _BOUNDARY)
    if spaced != part.data:
        yield replace(part, data=spaced)
    if _PERCENT_ESCAPE.search(spaced):
        yield replace(part, data=_PERCENT_ESCAPE.sub(lambda match: match[0][:2] + _BOUNDARY, spaced))
