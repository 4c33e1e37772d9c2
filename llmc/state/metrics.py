"""What this process has answered since it began: calls, time, errors, tokens, by tool.

`tools.answer` reports each reply here, whatever surface asked; `/metrics` and whoever else wants figures read it.
"""

from __future__ import annotations

import threading
import time
from bisect import bisect_left
from collections import Counter, defaultdict
from dataclasses import dataclass, field, replace
from functools import wraps
from typing import TYPE_CHECKING, ParamSpec

from llmc.envelope.token_accounting import weigh

if TYPE_CHECKING:
    from collections.abc import Callable

    from llmc.envelope.token_accounting import TokenAccount
    from llmc.tools import Reply

__all__ = ["BOUNDS", "METER", "CallMeter", "metered"]

# Seconds. A query takes 2 to 50 ms when all is well; what lies above one second is worth a bar of its own.
BOUNDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0, 60.0)

Arguments = ParamSpec("Arguments")


@dataclass(slots=True)
class Timing:
    """One histogram: how many calls fell below each bound, and above all of them."""

    counts: list[int] = field(default_factory=lambda: [0] * (len(BOUNDS) + 1))
    seconds: float = 0.0


class CallMeter:
    """Safe from many threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.timings: defaultdict[str, Timing] = defaultdict(Timing)
        self.errors: Counter[tuple[str, str]] = Counter()
        self.content: Counter[str] = Counter()
        self.frame: Counter[str] = Counter()

    @property
    def calls(self) -> int:
        """All that were answered."""
        with self._lock:
            return sum(sum(timing.counts) for timing in self.timings.values())

    def observe(self, tool: str, seconds: float, reply: Reply, weight: TokenAccount) -> None:
        with self._lock:
            timing = self.timings[tool]
            timing.counts[bisect_left(BOUNDS, seconds)] += 1
            timing.seconds += seconds
            self.content[tool] += weight.content
            self.frame[tool] += weight.frame
            if reply.error:
                self.errors[tool, reply.error] += 1


METER = CallMeter()
_inside = threading.local()


def metered(answer: Callable[Arguments, Reply]) -> Callable[Arguments, Reply]:
    """`answer(workspace, handles, name, …)`, weighed and reported. A tool that has another one answer (the gateway) is
    one call: the other's."""

    @wraps(answer)
    def measured(*args: Arguments.args, **options: Arguments.kwargs) -> Reply:
        started = time.perf_counter()
        reply = answer(*args, **options)
        if getattr(_inside, "last", None) is not reply:
            if reply.weight is None:
                reply = replace(reply, weight=replace(weigh(reply.text, reply.frame), tool=str(args[2])))
            assert reply.weight is not None
            METER.observe(str(args[2]), time.perf_counter() - started, reply, reply.weight)
            _inside.last = reply
        return reply

    return measured
