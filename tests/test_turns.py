"""Calls take turns: so many at once, in the order in which they came, and never in each other's way."""

from __future__ import annotations

import threading
import time
from functools import partial
from typing import TYPE_CHECKING

import pytest

from llmc.turns import Turns

if TYPE_CHECKING:
    from collections.abc import Callable


def together(acts: list[Callable[[], object]]) -> None:
    threads = [threading.Thread(target=act) for act in acts]
    for thread in threads:
        thread.start()
        time.sleep(0.002)  # in this order
    for thread in threads:
        thread.join(20)
        assert not thread.is_alive()


def test_no_more_at_once_than_there_are_turns_and_all_get_one() -> None:
    turns, lock = Turns(2), threading.Lock()
    inside, most, done = 0, 0, []

    def act(number: int) -> None:
        nonlocal inside, most
        with turns.turn():
            with lock:
                inside += 1
                most = max(most, inside)
                done.append(number)
            time.sleep(0.01)
            with lock:
                inside -= 1

    together([partial(act, number) for number in range(12)])
    assert most == 2
    assert done == list(range(12))


def test_who_waits_lets_others_go_on_and_comes_before_those_who_have_not_begun() -> None:
    turns, said = Turns(1), list[str]()
    begun, may_go = threading.Event(), threading.Event()

    def waits() -> None:
        with turns.turn():
            begun.set()
            with turns.waiting():
                may_go.wait(20)
            said.append("first")

    def computes(name: str) -> None:
        begun.wait(20)
        with turns.turn():
            if name == "second":
                may_go.set()
                time.sleep(0.05)  # the others are in line by now
            said.append(name)

    together([waits, *(partial(computes, name) for name in ("second", "third", "fourth"))])
    assert said == ["second", "first", "third", "fourth"]


def test_a_turn_within_a_turn_is_the_same_one_and_an_error_gives_it_back() -> None:
    turns = Turns(1)
    for _ in range(2):
        with pytest.raises(ValueError, match="wrong"), turns.turn(), turns.turn():
            raise ValueError("wrong")
    with turns.waiting(), turns.turn():
        pass
    with turns.turn(), turns.waiting(), turns.turn():
        pass
