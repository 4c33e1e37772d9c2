"""The pool that roles run in: so many at once, so many waiting, each with a deadline, each to be cancelled.

    pool = pool_of(settings.runtime)
    running = [pool.submit(task, cancelled) for task in tasks]
    for one in finished(running, cancelled): ...

A task is a function of a `Stop`, which it (or the toolbox that it works with) asks before each step: past the deadline
or after a cancellation the step raises. Whoever waits does not depend on that: at the deadline it has its answer, and
what the worker still brings is thrown away. What a task raises becomes an error with a stable code; a `Wrapped` is all
that ever leaves.
"""

from __future__ import annotations

import queue
import threading
import time
from collections import deque
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from llmc.answers.research.errors import CanceledError, DeadlineError, QueueFullError
from llmc.answers.research.result import Failure, ResultStatus, RoleOutcome, Wrapped, bounded
from llmc.base import logs
from llmc.base.errors import LlmcError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from llmc.settings import Runtime

__all__ = ["RunningTask", "Stop", "Task", "TaskPool", "finished", "pool_of"]

log = logs.get("research")

# A worker without work leaves; a new one costs 0.1 ms.
IDLE_SECONDS = 5.0
# How soon a waiter notices that its client has gone.
POLL_SECONDS = 0.05


class Stop:
    """When a task must end: at a moment of the monotonic clock, or when told."""

    def __init__(self, at: float, cancelled: Callable[[], bool] = lambda: False) -> None:
        self.at = at
        self._outside = cancelled
        self._told = threading.Event()

    def cancel(self) -> None:
        self._told.set()

    @property
    def cancelled(self) -> bool:
        return self._told.is_set() or self._outside()

    @property
    def left(self) -> float:
        return self.at - time.monotonic()

    def check(self) -> None:
        """Raise if it is time. To be called before each step."""
        if self.left <= 0:
            raise DeadlineError("the deadline has passed")
        if self.cancelled:
            raise CanceledError("nobody waits for this any more")


@dataclass(frozen=True, slots=True)
class Task:
    """`name` is the role's key, `work` what it does."""

    name: str
    work: Callable[[Stop], RoleOutcome]
    deadline_ms: int


class RunningTask:
    """A task that was handed in. `wrapped` is its end, `outcome` what it brought; both are set once."""

    def __init__(self, task: Task, stop: Stop) -> None:
        self.task = task
        self.stop = stop
        self.wrapped: Wrapped | None = None
        self.outcome: RoleOutcome | None = None
        self._submitted = time.monotonic()
        self._clock = time.time()
        self._lock = threading.Lock()
        self._listeners: list[queue.SimpleQueue[RunningTask]] = []

    def work(self) -> None:
        """In a worker's thread."""
        if self.wrapped is not None:
            return  # it ended while it waited
        try:
            self.stop.check()
            outcome = self.task.work(self.stop)
            self.stop.check()
        except LlmcError as error:
            self.end(STATUSES.get(error.code, ResultStatus.ERROR), error=Failure(error.code, said(error)))
        except Exception as error:
            log.exception("a role failed", role=self.task.name)
            self.end(ResultStatus.ERROR, error=Failure("internal", type(error).__name__))
        else:
            self.end(ResultStatus.OK, outcome)

    def end(self, status: ResultStatus, outcome: RoleOutcome | None = None, error: Failure | None = None) -> None:
        """The first end is the end."""
        with self._lock:
            if self.wrapped is not None:
                return
            elapsed = int((time.monotonic() - self._submitted) * 1000)
            value = bounded(outcome.result) if outcome else None
            self.outcome = outcome
            self.wrapped = Wrapped(status, value, error, int(self._clock * 1000), elapsed)
            listeners = list(self._listeners)
        for listener in listeners:
            listener.put(self)

    def listen(self, listener: queue.SimpleQueue[RunningTask]) -> None:
        with self._lock:
            if self.wrapped is None:
                self._listeners.append(listener)
                return
        listener.put(self)

    def expire(self) -> None:
        self.stop.cancel()
        self.end(ResultStatus.TIMEOUT, error=Failure("timeout", f"it took longer than {self.task.deadline_ms} ms"))

    def cancel(self) -> None:
        self.stop.cancel()
        self.end(ResultStatus.CANCELED, error=Failure("canceled", "the call was cancelled"))


STATUSES = {DeadlineError.code: ResultStatus.TIMEOUT, CanceledError.code: ResultStatus.CANCELED}


def said(error: LlmcError) -> str:
    return f"{error.message}: {error.reason}" if error.reason else error.message


class TaskPool:
    """`size` tasks at once and `waiting` in line; a further one is refused, and its wrapper says so."""

    def __init__(self, size: int, waiting: int) -> None:
        self.size = size
        self.waiting = waiting
        self._line: deque[RunningTask] = deque()
        self._threads = 0
        self._active = 0
        self._wake = threading.Condition()

    def submit(self, task: Task, cancelled: Callable[[], bool] = lambda: False) -> RunningTask:
        running = RunningTask(task, Stop(time.monotonic() + task.deadline_ms / 1000, cancelled))
        with self._wake:
            if len(self._line) + self._active >= self.size + self.waiting:
                running.end(ResultStatus.ERROR, error=Failure(QueueFullError.code, self._full()))
                return running
            self._line.append(running)
            if self._threads < min(self.size, len(self._line) + self._active):
                self._threads += 1
                threading.Thread(target=self._work, name="llmc-research", daemon=True).start()
            self._wake.notify()
        return running

    def _full(self) -> str:
        return f"{self.size} tasks run and {self.waiting} wait; ask again in a moment"

    def _work(self) -> None:
        while (running := self._next()) is not None:
            running.work()
            with self._wake:
                self._active -= 1

    def _next(self) -> RunningTask | None:
        with self._wake:
            if not self._line:
                self._wake.wait(IDLE_SECONDS)
            if self._line:
                self._active += 1
                return self._line.popleft()
            self._threads -= 1
            return None


def finished(running: Sequence[RunningTask], cancelled: Callable[[], bool] = lambda: False) -> Iterator[RunningTask]:
    """Each task as it ends, none later than its deadline. To be used in the thread of the call."""
    ended: queue.SimpleQueue[RunningTask] = queue.SimpleQueue()
    for one in running:
        one.listen(ended)
    for _ in running:
        yield _next_end(running, ended, cancelled)


def _next_end(
    running: Sequence[RunningTask], ended: queue.SimpleQueue[RunningTask], cancelled: Callable[[], bool]
) -> RunningTask:
    while True:
        soonest = min((one.stop.left for one in running if one.wrapped is None), default=POLL_SECONDS)
        try:
            return ended.get(timeout=max(0.0, min(soonest, POLL_SECONDS)))
        except queue.Empty:
            pass
        for one in running:
            if cancelled():
                one.cancel()
            elif one.stop.left <= 0:
                one.expire()


@lru_cache(maxsize=8)
def _pool(size: int, waiting: int) -> TaskPool:
    return TaskPool(size, waiting)


def pool_of(settings: Runtime) -> TaskPool:
    """One pool for all clients whose settings say the same."""
    return _pool(settings.max_concurrent_tasks, settings.max_queued_tasks)
