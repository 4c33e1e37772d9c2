"""Compute slots: limited concurrency, in order of arrival, without interference between calls."""

from __future__ import annotations

import threading
from collections import deque
from functools import partial
from typing import TYPE_CHECKING

import pytest

from llmc.base.concurrency import ComputeSlots

if TYPE_CHECKING:
    from collections.abc import Callable

SECONDS = 20


class Line(deque[threading.Lock]):
    """Signals when a call waits in it."""

    def __init__(self) -> None:
        super().__init__()
        self._came = threading.Semaphore(0)

    def append(self, called: threading.Lock) -> None:
        super().append(called)
        self._came.release()

    def wait(self) -> None:
        assert self._came.acquire(timeout=SECONDS)


def with_lines(at_once: int) -> tuple[ComputeSlots, Line, Line]:
    """(slots, queue of calls that have not started, queue of calls that resume)."""
    turns = ComputeSlots(at_once)
    turns._new, turns._returning = lines = Line(), Line()
    return turns, *lines


def started(act: Callable[[], object]) -> threading.Thread:
    thread = threading.Thread(target=act)
    thread.start()
    return thread


def ended(threads: list[threading.Thread]) -> None:
    for thread in threads:
        thread.join(SECONDS)
        assert not thread.is_alive()


def test_no_more_at_once_than_there_are_turns_and_all_get_one() -> None:
    turns, lock, pair = ComputeSlots(2), threading.Lock(), threading.Barrier(2, timeout=SECONDS)
    inside, most, done = 0, 0, 0

    def act() -> None:
        nonlocal inside, most, done
        with turns.slot():
            with lock:
                inside += 1
                most = max(most, inside)
            pair.wait()  # the other slot is taken, too
            with lock:
                inside -= 1
                done += 1

    ended([started(act) for _ in range(12)])
    assert (most, done) == (2, 12)


def test_slots_are_given_in_the_order_of_the_requests() -> None:
    turns, new, _ = with_lines(1)
    begun, may_go, done = threading.Event(), threading.Event(), list[int]()

    def first() -> None:
        with turns.slot():
            begun.set()
            assert may_go.wait(SECONDS)

    def act(number: int) -> None:
        with turns.slot():
            done.append(number)

    threads = [started(first)]
    assert begun.wait(SECONDS)
    for number in range(10):
        threads.append(started(partial(act, number)))
        new.wait()
    may_go.set()
    ended(threads)
    assert done == list(range(10))


def test_a_waiting_call_frees_its_slot_and_resumes_before_calls_that_have_not_begun() -> None:
    turns, new, back = with_lines(1)
    given, inside, said = threading.Event(), threading.Event(), list[str]()
    may_go, may_end = threading.Event(), threading.Event()

    def waits() -> None:
        with turns.slot():
            with turns.released():
                given.set()
                assert may_go.wait(SECONDS)
            said.append("first")

    def second() -> None:
        with turns.slot():
            inside.set()
            assert may_end.wait(SECONDS)
            said.append("second")

    def later(name: str) -> None:
        with turns.slot():
            said.append(name)

    threads = [started(waits)]
    assert given.wait(SECONDS)
    threads.append(started(second))
    assert inside.wait(SECONDS)
    for name in ("third", "fourth"):
        threads.append(started(partial(later, name)))
        new.wait()
    may_go.set()
    back.wait()
    may_end.set()
    ended(threads)
    assert said == ["second", "first", "third", "fourth"]


def test_a_turn_within_a_turn_is_the_same_one_and_an_error_gives_it_returning() -> None:
    turns = ComputeSlots(1)
    for _ in range(2):
        with pytest.raises(ValueError, match="wrong"), turns.slot(), turns.slot():
            raise ValueError("wrong")
    with turns.released(), turns.slot():
        pass
    with turns.slot(), turns.released(), turns.slot():
        pass


def test_a_call_that_never_ends_does_not_keep_the_others_waiting() -> None:
    turns, stuck, done = ComputeSlots(1, lease=0.05), threading.Event(), threading.Event()
    entered = threading.Event()

    def hang() -> None:
        with turns.slot():
            entered.set()
            stuck.wait(SECONDS)

    def work() -> None:
        with turns.slot():
            done.set()

    hanging = started(hang)
    assert entered.wait(SECONDS)
    working = started(work)
    assert done.wait(SECONDS)
    stuck.set()
    ended([hanging, working])
    with turns.slot():  # releasing the first one late has not added a slot
        assert turns._free == 0
    assert turns._free == 1
