"""The task pool for research roles: bounded concurrency and queue, with deadlines and cancellation.

    pool = pool_of(settings.runtime)
    running = [pool.submit(task, cancelled) for task in tasks]
    for one in as_completed(running, cancelled): ...

A task is a function of a `Stop`, which it (or its toolbox) checks before each step; the check raises past the deadline
or after cancellation. The waiting caller does not depend on that: at the deadline it gets a result, and whatever the
worker returns later is discarded. Exceptions become errors with a stable code, so callers only see a `TaskResult`.
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
from llmc.answers.research.result import Failure, ResultStatus, RoleOutcome, TaskResult, bounded
from llmc.base import logs
from llmc.base.errors import LlmcError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from llmc.settings import Runtime

__all__ = ["RunningTask", "Stop", "Task", "TaskPool", "as_completed", "pool_of"]

log = logs.get("research")

# Idle workers exit; starting a new one costs 0.1 ms.
IDLE_SECONDS = 5.0
# How often a waiting caller checks for cancellation.
POLL_SECONDS = 0.05


class Stop:
    """When a task must end: at a time of the monotonic clock, or when it is cancelled."""

    def __init__(self, at: float, cancelled: Callable[[], bool] = lambda: False) -> None:
        self.at = at
        self._outside = cancelled
        self._cancel_requested = threading.Event()

    def cancel(self) -> None:
        self._cancel_requested.set()

    @property
    def cancelled(self) -> bool:
        return self._cancel_requested.is_set() or self._outside()

    @property
    def left(self) -> float:
        return self.at - time.monotonic()

    def part(self, share: float) -> Stop:
        """A stop after this share of the time that is left."""
        return Stop(self.at - (1 - share) * max(0.0, self.left), lambda: self.cancelled)

    def check(self) -> None:
        """Raise if the task must end. Call this before each step."""
        if self.left <= 0:
            raise DeadlineError("the deadline has passed")
        if self.cancelled:
            raise CanceledError("cancelled by the client")


@dataclass(frozen=True, slots=True)
class Task:
    """`name` is the key of the role, `work` the function to run."""

    name: str
    work: Callable[[Stop], RoleOutcome]
    deadline_ms: int


class RunningTask:
    """A submitted task. `result` is how it ended, `outcome` what the role returned; both are set once."""

    def __init__(self, task: Task, stop: Stop) -> None:
        self.task = task
        self.stop = stop
        self.result: TaskResult | None = None
        self.outcome: RoleOutcome | None = None
        self._submitted = time.monotonic()
        self._clock = time.time()
        self._lock = threading.Lock()
        self._listeners: list[queue.SimpleQueue[RunningTask]] = []

    def work(self) -> None:
        """Run the task; called in a worker thread."""
        if self.result is not None:
            return  # it ended while queued
        try:
            self.stop.check()
            outcome = self.task.work(self.stop)
            self.stop.check()
        except LlmcError as error:
            self.end(STATUSES.get(error.code, ResultStatus.ERROR), error=Failure(error.code, error_text(error)))
        except Exception as error:
            log.exception("role failed", role=self.task.name)
            self.end(ResultStatus.ERROR, error=Failure("internal", type(error).__name__))
        else:
            self.end(ResultStatus.OK, outcome)

    def end(self, status: ResultStatus, outcome: RoleOutcome | None = None, error: Failure | None = None) -> None:
        """Set the result; only the first call counts."""
        with self._lock:
            if self.result is not None:
                return
            elapsed = int((time.monotonic() - self._submitted) * 1000)
            value = bounded(outcome.result) if outcome else None
            self.outcome = outcome
            self.result = TaskResult(status, value, error, int(self._clock * 1000), elapsed)
            listeners = list(self._listeners)
        for listener in listeners:
            listener.put(self)

    def listen(self, listener: queue.SimpleQueue[RunningTask]) -> None:
        with self._lock:
            if self.result is None:
                self._listeners.append(listener)
                return
        listener.put(self)

    def expire(self) -> None:
        self.stop.cancel()
        self.end(ResultStatus.TIMEOUT, error=Failure("timeout", f"timed out after {self.task.deadline_ms} ms"))

    def cancel(self) -> None:
        self.stop.cancel()
        self.end(ResultStatus.CANCELED, error=Failure("canceled", "the call was cancelled"))


STATUSES = {DeadlineError.code: ResultStatus.TIMEOUT, CanceledError.code: ResultStatus.CANCELED}


def error_text(error: LlmcError) -> str:
    return error.without_hint


class TaskPool:
    """Runs `size` tasks at once and queues `waiting` more; further tasks end at once with `queue_full`."""

    def __init__(self, size: int, waiting: int) -> None:
        self.size = size
        self.waiting = waiting
        self._queue: deque[RunningTask] = deque()
        self._threads = 0
        self._active = 0
        self._wake = threading.Condition()

    def submit(self, task: Task, cancelled: Callable[[], bool] = lambda: False) -> RunningTask:
        running = RunningTask(task, Stop(time.monotonic() + task.deadline_ms / 1000, cancelled))
        with self._wake:
            if len(self._queue) + self._active >= self.size + self.waiting:
                running.end(ResultStatus.ERROR, error=Failure(QueueFullError.code, self._full_message()))
                return running
            self._queue.append(running)
            if self._threads < min(self.size, len(self._queue) + self._active):
                self._threads += 1
                threading.Thread(target=self._work, name="llmc-research", daemon=True).start()
            self._wake.notify()
        return running

    def _full_message(self) -> str:
        return f"the task queue is full ({self.size} running, {self.waiting} queued); try again in a moment"

    def _work(self) -> None:
        while (running := self._next()) is not None:
            running.work()
            with self._wake:
                self._active -= 1

    def _next(self) -> RunningTask | None:
        with self._wake:
            if not self._queue:
                self._wake.wait(IDLE_SECONDS)
            if self._queue:
                self._active += 1
                return self._queue.popleft()
            self._threads -= 1
            return None


def as_completed(
    running: Sequence[RunningTask], cancelled: Callable[[], bool] = lambda: False
) -> Iterator[RunningTask]:
    """Yield each task as it ends, none later than its deadline. Call this from the thread of the request."""
    ended: queue.SimpleQueue[RunningTask] = queue.SimpleQueue()
    for one in running:
        one.listen(ended)
    for _ in running:
        yield _next_end(running, ended, cancelled)


def _next_end(
    running: Sequence[RunningTask], ended: queue.SimpleQueue[RunningTask], cancelled: Callable[[], bool]
) -> RunningTask:
    while True:
        soonest = min((one.stop.left for one in running if one.result is None), default=POLL_SECONDS)
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
    """The pool shared by all clients with the same settings."""
    return _pool(settings.max_concurrent_tasks, settings.max_queued_tasks)
