"""Captures both ends of an output: the first and last bytes are kept, those between are counted.

An output may be endless, so memory is bounded: half of the limit is for the beginning, half for the end.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

__all__ = ["Capture", "Captured"]


@dataclass(frozen=True, slots=True)
class Captured:
    """`dropped` bytes and lines between head and tail were discarded; if there are none, the tail is empty."""

    head: bytes
    tail: bytes = b""
    dropped: int = 0
    dropped_lines: int = 0

    @property
    def size(self) -> int:
        return len(self.head) + self.dropped + len(self.tail)


class Capture:
    """Collects an output piece by piece."""

    def __init__(self, limit: int) -> None:
        self._half = max(1, limit // 2)
        self._head = bytearray()
        self._tail: deque[bytes] = deque()
        self._tail_size = 0
        self._dropped = 0
        self._dropped_lines = 0
        self.size = 0

    def add(self, piece: bytes) -> None:
        self.size += len(piece)
        room = self._half - len(self._head)
        if room > 0:
            self._head += piece[:room]
            piece = piece[room:]
        if piece:
            self._tail.append(piece)
            self._tail_size += len(piece)
            # Whole pieces are dropped, so the bound may be exceeded by one piece.
            while self._tail_size - len(self._tail[0]) >= self._half:
                self._drop(self._tail.popleft())

    def _drop(self, piece: bytes) -> None:
        self._tail_size -= len(piece)
        self._dropped += len(piece)
        self._dropped_lines += piece.count(b"\n")

    def done(self) -> Captured:
        head, tail = bytes(self._head), b"".join(self._tail)
        if not self._dropped:
            return Captured(head + tail)
        # Partial lines at either cut count as dropped.
        keep, rest = _at_line_end(head)
        lost, _, end = tail.partition(b"\n") if b"\n" in tail else (b"", b"", tail)
        lines = self._dropped_lines + (1 if tail.startswith(lost) and lost else 0)
        cut = len(rest) + len(lost) + (len(tail) - len(lost) - len(end))
        return Captured(keep, end, self._dropped + cut, lines)


def _at_line_end(head: bytes) -> tuple[bytes, bytes]:
    at = head.rfind(b"\n") + 1
    return (head[:at], head[at:]) if at else (head, b"")
