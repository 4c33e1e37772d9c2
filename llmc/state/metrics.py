"""What this process has seen since it started: counters by tool, and the last calls for the web page.

`tools.call` reports every reply here, from any interface; `/metrics` reads the counters of calls, durations, errors and
tokens. All of it is in memory only: the ledger on disk stores figures and no questions.
"""

from __future__ import annotations

import threading
import time
from bisect import bisect_left
from collections import Counter, defaultdict, deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from llmc.envelope.clean import clean_text
from llmc.envelope.redact.redactor import redactor_for
from llmc.envelope.reply import weight_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from llmc.envelope.reply import Reply
    from llmc.state.connected_sessions import ConnectedSession
    from llmc.workspace import Workspace

__all__ = ["BOUNDS", "METER", "RECENT", "CallMeter"]

# Histogram bounds in seconds. A query normally takes 2 to 50 ms; durations above one second get separate buckets.
BOUNDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0, 60.0)
MOST_CALLS = 400
LONGEST_QUESTION = 200
CLI = "cli"


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


@dataclass(frozen=True, slots=True)
class RecentCall:
    """`question` is what the call was about, with secrets redacted; `saved` is negative if a plain tool was cheaper."""

    at: float
    session: str
    client: str
    workspace: str
    tool: str
    question: str
    found: str
    tokens: int
    saved: int
    seconds: float
    error: str


class RecentCalls:
    """Thread-safe."""

    def __init__(self) -> None:
        self._calls: deque[RecentCall] = deque(maxlen=MOST_CALLS)
        self._lock = threading.Lock()

    def add(
        self,
        workspace: Workspace,
        session: ConnectedSession | None,
        name: str,
        *,
        args: Mapping[str, Any],
        seconds: float,
        reply: Reply,
    ) -> None:
        weight = weight_of(reply)
        redactor = redactor_for(workspace.settings.redaction)
        tokens = weight.content + weight.frame
        call = RecentCall(
            at=time.time(),
            session=session.id if session else CLI,
            client=(session.client if session else "") or CLI,
            workspace=", ".join(one.root.name for one in workspace.root_indexes),
            tool=weight.tool or name,
            question=clean_text(question(args), redactor)[:LONGEST_QUESTION],
            found=clean_text(reply.text.partition("\n")[0], redactor)[:LONGEST_QUESTION],
            tokens=tokens,
            saved=0 if weight.fetched else weight.raw - tokens,
            seconds=seconds,
            error=reply.error,
        )
        with self._lock:
            self._calls.append(call)

    def newest(self, count: int = MOST_CALLS, *, session: str = "") -> list[RecentCall]:
        with self._lock:
            calls = list(self._calls)
        chosen = [call for call in reversed(calls) if not session or call.session == session]
        return chosen[:count]


def question(args: Mapping[str, Any]) -> str:
    """The texts of a call, the first argument first."""
    values = (item for value in args.values() for item in (value if isinstance(value, list) else [value]))
    return " ".join(" ".join(value for value in values if isinstance(value, str)).split())


RECENT = RecentCalls()
