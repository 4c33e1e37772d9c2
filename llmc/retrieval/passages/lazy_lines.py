"""The lines of a long file, each created on first access: a search shows a few dozen of thousands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, overload

import numpy as np

from llmc.base.text import split_lines

if TYPE_CHECKING:
    from llmc.base.model import ChunkPlace

__all__ = ["PlainLines", "lowered_passage", "passage"]


def passage(lines: Sequence[str], place: ChunkPlace) -> str:
    """The text of a place."""
    if isinstance(lines, PlainLines):
        return lines.text(place.start_line - 1, place.end_line)
    return "\n".join(lines[place.start_line - 1 : place.end_line])


def lowered_passage(lines: Sequence[str], place: ChunkPlace) -> str:
    """What `passage(lines, place).lower()` gives; several signals look at the same places."""
    if isinstance(lines, PlainLines):
        return lines.lowered(place.start_line - 1, place.end_line)
    return passage(lines, place).lower()


class PlainLines(Sequence[str]):
    """The lines as `split_lines` returns them, of text that `is_plain`."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        # Start of each line, and the end of the last one.
        ends = np.flatnonzero(np.frombuffer(data, np.uint8) == ord("\n")) + 1
        rest = [len(data)] if not data.endswith(b"\n") and data else []
        self._bounds = np.concatenate(([0], ends, rest)).astype(np.intp)
        self._lowered: dict[tuple[int, int], str] = {}

    def __len__(self) -> int:
        return len(self._bounds) - 1

    @overload
    def __getitem__(self, at: int) -> str: ...
    @overload
    def __getitem__(self, at: slice) -> list[str]: ...
    def __getitem__(self, at: int | slice) -> str | list[str]:
        if not isinstance(at, slice):
            line = range(len(self))[at]
            return self[line : line + 1][0]
        first, last, step = at.indices(len(self))
        if step != 1:
            return [self[line] for line in range(first, last, step)]
        return split_lines(self._part(first, last))

    def text(self, first: int, last: int) -> str:
        """Same as `"\n".join(self[first:last])`."""
        part = self._part(*slice(first, last).indices(len(self))[:2])
        if "\r" in part:
            return "\n".join(split_lines(part))
        return part.removesuffix("\n")

    def lowered(self, first: int, last: int) -> str:
        """The same in lower case, computed once."""
        found = self._lowered.get((first, last))
        if found is None:
            found = self._lowered[first, last] = self.text(first, last).lower()
        return found

    def _part(self, first: int, last: int) -> str:
        return self._data[self._bounds[first] : self._bounds[max(first, last)]].decode()
