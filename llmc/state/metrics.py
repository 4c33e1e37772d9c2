"""Counters of this process since it started: calls, durations, errors and tokens by tool.

`tools.call` reports every reply here, from any interface; `/metrics` reads the counters.
"""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from llmc.envelope.reply import weight_of

if TYPE_CHECKING:
    from llmc.envelope.reply import Reply

__all__ = ["BOUNDS", "METER", "CallMeter"]

# Histogram bounds in seconds. A query normally takes 2 to 50 ms; durations above one second get separate buckets.
BOUNDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0, 60.0)


@dataclass(slots=True)
class Timing:
    """One histogram: the number of calls per bucket, the last one above all bounds."""

    counts: list[int] = field(default_factory=lambda: [0] * (len(BOUNDS) + 1))
    seconds: float = 0.0


class CallMeter:
    """Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.timings: defaultdict[str, Timing] = defaultdict(Timing)
        self.errors: Counter[tuple[str, str]] = Counter()
        self.content: Counter[str] = Counter()
        self.frame: Counter[str] = Counter()

    @property
    def calls(self) -> int:
        """The number of calls answered."""
        with self._lock:
            return sum(sum(timing.counts) for timing in self.timings.values())

    def observe(self, tool: str, seconds: float, reply: Reply) -> None:
        weight = weight_of(reply)
        with self._lock:
            timing = self.timings[tool]
            timing.counts[bisect_left(BOUNDS, seconds)] += 1
            timing.seconds += seconds
            self.content[tool] += weight.content
            self.frame[tool] += weight.frame
            if reply.error:
                self.errors[tool, reply.error] += 1


METER = CallMeter()
