"""Threads for calls, each call bounded in time and memory whatever it does.

`CallThreads.submit_call` returns a future that always completes: with the result, with the exception of the call, or at
a limit with `CallTimeoutError` or `CallMemoryError`. At that moment the call's slot is free again and its thread no
longer belongs to the pool. The thread itself is asked to stop (`RunningRequest.cancel`) and, if it does not,
interrupted with an exception; a thread inside native code ends when that returns. Limits come from the `RunningRequest`
(see `RunningRequest.allow`).
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import math
import os
import threading
import time
from collections import deque
from concurrent.futures import Executor, Future, InvalidStateError
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeVar

from llmc.base import logs
from llmc.base.concurrency import revoke
from llmc.base.errors import CallMemoryError, CallTimeoutError, LlmcError
from llmc.base.malloc import trim_heap
from llmc.envelope.request import DEFAULT_SECONDS

if TYPE_CHECKING:
    from collections.abc import Callable

    from llmc.envelope.request import RunningRequest

__all__ = ["CallInterrupted", "CallThreads"]

log = logs.get("calls")

Answer = TypeVar("Answer")

# How often limits are checked: a runaway loop in Python allocates some 100 MB in this time.
TICK_SECONDS: Final = 0.1
# How long a call may take to stop before its thread is interrupted, and between two interruptions.
GRACE_SECONDS: Final = 2.0
# A cancelled call may have to end its own processes first.
CANCELLED_SECONDS: Final = 10.0
# Idle threads end after this time; the pool of an idle daemon has none.
IDLE_SECONDS: Final = 60.0
PAGE_BYTES: Final = os.sysconf("SC_PAGE_SIZE")


class CallInterrupted(BaseException):
    """Raised inside the thread of a call that went over a limit and did not stop when asked to."""


@dataclass(eq=False, slots=True)
class Job:
    """One call from submission to its end. `resident` is the memory of the process when the call began."""

    act: Callable[[], Any]
    call: RunningRequest | None
    failed: Callable[[LlmcError], Any] | None
    future: Future[Any] = field(default_factory=Future)
    thread: threading.Thread | None = None
    began: float = math.inf
    resident: int = 0
    stopping: float = 0.0  # when its thread was last asked to stop or interrupted

    @property
    def seconds(self) -> float:
        return DEFAULT_SECONDS if self.call is None else self.call.seconds

    @property
    def limited_from(self) -> float:
        return self.began if self.call is None else max(self.began, self.call.limited_from)

    @property
    def memory(self) -> float:
        return math.inf if self.call is None else self.call.memory

    def finish(self, error: BaseException) -> None:
        """Complete the future unless it is complete already. StopIteration would leave an asyncio future pending."""
        if isinstance(error, StopIteration):
            error = RuntimeError(f"StopIteration: {error}")
        with contextlib.suppress(InvalidStateError):
            if self.failed is not None and isinstance(error, LlmcError):
                self.future.set_result(self.failed(error))
            else:
                self.future.set_exception(error)

    def cpu_seconds(self) -> float:
        """The CPU time of its thread; 0 where the system does not provide it."""
        clock = getattr(time, "pthread_getcpuclockid", None)
        if clock is None or self.thread is None or self.thread.ident is None:
            return 0.0
        try:
            return time.clock_gettime(clock(self.thread.ident))
        except OSError:
            return 0.0


class CallThreads(Executor):
    """At most `size` calls run at once, the rest wait in order. Threads start when needed and end when idle."""

    def __init__(self, size: int, name: str) -> None:
        self._size = size
        self._name = name
        self._waiting: deque[Job] = deque()
        self._threads: set[threading.Thread] = set()
        self._idle = 0
        self._closed = False
        self._changed = threading.Condition()

    def submit(self, act: Callable[..., Any], /, *args: Any, **options: Any) -> Future[Any]:
        """Submit work without a `RunningRequest`; the default limits apply."""
        return self.submit_call(partial(act, *args, **options))

    def submit_call(
        self,
        act: Callable[[], Answer],
        call: RunningRequest | None = None,
        failed: Callable[[LlmcError], Any] | None = None,
    ) -> Future[Answer]:
        """`failed` creates the result of a call that exceeded a limit; without it the future has the error."""
        job = Job(act, call, failed)
        with self._changed:
            if self._closed:
                raise RuntimeError("the pool is closed")
            self._waiting.append(job)
            if self._idle:
                self._changed.notify()
            else:
                self._start_thread()
        return job.future

    async def run(self, act: Callable[[], Answer], call: RunningRequest | None = None) -> Answer:
        return await asyncio.wrap_future(self.submit_call(act, call))

    def shutdown(self, wait: bool = False, *, cancel_futures: bool = True) -> None:  # noqa: ARG002 - Executor's signature
        """End idle threads without waiting for busy ones, and cancel jobs that have not started."""
        with self._changed:
            self._closed = True
            for job in self._waiting if cancel_futures else ():
                job.future.cancel()
            if cancel_futures:
                self._waiting.clear()
            self._changed.notify_all()

    def abandon(self, job: Job) -> None:
        """The job's thread no longer counts; another one takes its place if work is waiting."""
        with self._changed:
            self._threads -= {job.thread}
            if self._waiting and not self._idle:
                self._start_thread()

    def _start_thread(self) -> None:
        """Call this with the lock held."""
        if len(self._threads) < self._size:
            thread = threading.Thread(target=self._work, name=self._name, daemon=True)
            self._threads.add(thread)
            thread.start()

    def _work(self) -> None:
        me = threading.current_thread()
        with contextlib.suppress(CallInterrupted):  # it may arrive after the call it was meant for
            while (job := self._next(me)) is not None:
                execute(self, job)
                del job

    def _next(self, me: threading.Thread) -> Job | None:
        with self._changed:
            while me in self._threads:
                while self._waiting:
                    job = self._waiting.popleft()
                    if job.future.set_running_or_notify_cancel():
                        return job
                if self._closed:
                    break
                self._idle += 1
                try:
                    woken = self._changed.wait(IDLE_SECONDS)
                finally:
                    self._idle -= 1
                if not woken and not self._waiting:
                    break
            self._threads.discard(me)
            return None


def execute(pool: CallThreads, job: Job) -> None:
    job.thread, job.began, job.resident = threading.current_thread(), time.monotonic(), resident_bytes()
    WATCHDOG.add(pool, job)
    try:
        result = job.act()
    except BaseException as error:  # noqa: BLE001 - any exception is the result of the call; the thread continues
        WATCHDOG.remove(job)
        job.finish(error)
    else:
        WATCHDOG.remove(job)
        with contextlib.suppress(InvalidStateError):
            job.future.set_result(result)


class Watchdog:
    """One thread for all pools. It sleeps while no call runs."""

    def __init__(self) -> None:
        self._jobs: dict[Job, CallThreads] = {}
        self._lock = threading.Lock()
        self._work = threading.Event()
        self._thread: threading.Thread | None = None

    def add(self, pool: CallThreads, job: Job) -> None:
        with self._lock:
            self._jobs[job] = pool
            if self._thread is None:
                self._thread = threading.Thread(target=self._watch, name="llmc-watchdog", daemon=True)
                self._thread.start()
        self._work.set()

    def remove(self, job: Job) -> None:
        """After this no exception is raised into the job's thread; one that was raised before may still arrive."""
        while job in self._jobs:
            with contextlib.suppress(CallInterrupted), self._lock:
                self._jobs.pop(job, None)

    def _watch(self) -> None:
        while True:
            self._work.wait()
            time.sleep(TICK_SECONDS)
            with self._lock:
                jobs = list(self._jobs.items())
                if not jobs:
                    self._work.clear()
            try:
                self._check(jobs)
            except Exception:
                log.exception("watchdog")

    def _check(self, jobs: list[tuple[Job, CallThreads]]) -> None:
        now = time.monotonic()
        for job, pool in jobs:
            if job.stopping:
                if now - job.stopping > GRACE_SECONDS:
                    self._interrupt(pool, job)
            elif now - job.limited_from > job.seconds:
                self._stop(pool, job, CallTimeoutError(job.seconds))
            elif job.call is not None and job.call.cancelled and job.seconds < math.inf:
                job.stopping = now + CANCELLED_SECONDS - GRACE_SECONDS
        self._check_memory(jobs)

    def _check_memory(self, jobs: list[tuple[Job, CallThreads]]) -> None:
        """Stop the busiest of the calls during which the process grew too much, since memory is not tracked per
        call."""
        resident = resident_bytes()
        over = [(job, pool) for job, pool in jobs if not job.stopping and resident - job.resident > job.memory]
        if not over:
            return
        job, pool = max(over, key=lambda one: one[0].cpu_seconds())
        self._stop(pool, job, CallMemoryError(int(job.memory)))
        self._interrupt(pool, job)
        if job.thread is not None:
            job.thread.join(GRACE_SECONDS)
        trim_heap()
        after = resident_bytes()
        for other, _ in jobs:
            other.resident = max(other.resident, after)

    def _stop(self, pool: CallThreads, job: Job, error: LlmcError) -> None:
        job.stopping = time.monotonic()
        log.warning("call stopped", reason=error.message, seconds=round(job.stopping - job.began, 1))
        if job.call is not None:
            job.call.cancel()
        if job.thread is not None and job.thread.ident is not None:
            revoke(job.thread.ident)
        pool.abandon(job)
        job.finish(error)

    def _interrupt(self, pool: CallThreads, job: Job) -> None:
        """The exception may arrive after the call has ended, so the thread never takes another job."""
        pool.abandon(job)
        job.stopping = time.monotonic()
        with self._lock:
            if job in self._jobs and job.thread is not None and job.thread.ident is not None:
                raise_in(job.thread.ident, CallInterrupted)
        if job.thread is not None and not job.thread.is_alive():
            self.remove(job)
            job.finish(CallInterrupted())


def raise_in(thread: int, error: type[BaseException]) -> None:
    """Raise at the thread's next Python instruction; native code is not interrupted."""
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(error))


def resident_bytes() -> int:
    """Resident memory of the process; 0 where the system does not provide it, and memory is then not bounded."""
    try:
        with open("/proc/self/statm", "rb") as file:  # noqa: PTH123 - read before each call; Path doubles its cost
            return int(file.read().split()[1]) * PAGE_BYTES
    except (OSError, ValueError, IndexError):
        return 0


WATCHDOG: Final = Watchdog()
