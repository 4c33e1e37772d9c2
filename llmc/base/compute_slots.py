"""Who computes now? Calls that take milliseconds take turns, two at a time, in the order in which they came.

One interpreter computes one thing at a time. Where sixteen threads want to at once, each is sent away in the midst of
its work again and again: 16 clients got 55 replies a second, 20 ms of CPU each, and with turns 70, 15 ms each; the
slowest twentieth took 300 ms instead of 590. Who waits for another program, or for the index to catch up, lets others
go on meanwhile, and comes before those who have not begun.
"""

from __future__ import annotations

import threading
from collections import deque
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["ComputeSlots", "turn", "waiting"]

AT_ONCE: Final = 2


class ComputeSlots:
    """Each thread has at most one turn."""

    def __init__(self, at_once: int = AT_ONCE) -> None:
        self._free = at_once
        self._lock = threading.Lock()
        self._new: deque[threading.Lock] = deque()
        self._back: deque[threading.Lock] = deque()
        self._mine = threading.local()

    @contextmanager
    def turn(self) -> Iterator[None]:
        if self._is_mine():
            yield
            return
        self._take(self._new)
        try:
            yield
        finally:
            self._give()

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """While this thread waits for something else than the processor."""
        if not self._is_mine():
            yield
            return
        self._give()
        try:
            yield
        finally:
            self._take(self._back)

    def _is_mine(self) -> bool:
        return bool(getattr(self._mine, "turn", False))

    def _take(self, queue: deque[threading.Lock]) -> None:
        self._mine.turn = True
        with self._lock:
            if self._free:
                self._free -= 1
                return
            called = threading.Lock()
            called.acquire()
            queue.append(called)
        called.acquire()

    def _give(self) -> None:
        self._mine.turn = False
        with self._lock:
            queue = self._back or self._new
            if queue:
                queue.popleft().release()
            else:
                self._free += 1


_turns = ComputeSlots()
turn, waiting = _turns.turn, _turns.waiting
