"""The task pool of the research roles: bounded concurrency, deadlines, cancellation, stable errors, read budgets."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest
from daemons import until

from llmc.answers.research.budget import Budget, MeteredRootFs, ReadMeter
from llmc.answers.research.errors import CanceledError, OverBudgetError
from llmc.answers.research.result import Result, ResultStatus, RoleOutcome, TaskResult
from llmc.answers.research.runtime import RunningTask, Stop, Task, TaskPool, as_completed
from llmc.base.errors import QueryError
from llmc.base.root_fs import RootFs

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

PATIENCE_MS = 60_000
DONE = RoleOutcome(Result("done"))


def task(work: Callable[[Stop], RoleOutcome], deadline_ms: int = PATIENCE_MS) -> Task:
    return Task("locator", work, deadline_ms)


def ended(*running: RunningTask) -> list[TaskResult]:
    return [one.result for one in as_completed(running) if one.result is not None]


def test_worker_pool_enforces_max_concurrent_tasks_and_queues_the_others() -> None:
    pool = TaskPool(2, waiting=10)
    gate, lock = threading.Event(), threading.Lock()
    busy = [0, 0]

    def work(_stop: Stop) -> RoleOutcome:
        with lock:
            busy[0] += 1
            busy[1] = max(busy)
            if busy[0] == 2:
                gate.set()
        assert gate.wait(60)
        with lock:
            busy[0] -= 1
        return DONE

    results = ended(*(pool.submit(task(work)) for _ in range(8)))
    assert [one.status for one in results] == [ResultStatus.OK] * 8
    assert busy[1] == 2


def test_a_saturated_pool_rejects_predictably_and_says_so() -> None:
    pool, gate, begun = TaskPool(1, waiting=1), threading.Event(), threading.Event()

    def work(_stop: Stop) -> RoleOutcome:
        begun.set()
        gate.wait(60)
        return DONE

    first = pool.submit(task(work))
    assert begun.wait(60)
    second, third = pool.submit(task(work)), pool.submit(task(work))
    assert third.result is not None
    assert third.result.error is not None
    assert (third.result.status, third.result.error.name) == (ResultStatus.ERROR, "queue_full")
    gate.set()
    assert [one.status for one in ended(first, second)] == [ResultStatus.OK, ResultStatus.OK]


def test_a_task_exceeding_its_deadline_is_canceled_and_reported_as_timed_out() -> None:
    pool, gate, stopped = TaskPool(1, waiting=0), threading.Event(), threading.Event()

    def work(stop: Stop) -> RoleOutcome:
        gate.wait(60)
        try:
            stop.check()
        finally:
            stopped.set()
        return DONE

    (wrapped,) = ended(pool.submit(task(work, deadline_ms=20)))
    assert wrapped.status is ResultStatus.TIMEOUT
    shown = wrapped.as_dict()
    assert set(shown) == {"status", "error", "timing"}
    assert shown["error"]["name"] == "timeout"
    gate.set()
    assert stopped.wait(60)


def test_a_task_that_timed_out_while_it_waited_is_never_begun() -> None:
    pool, gate, begun = TaskPool(1, waiting=5), threading.Event(), threading.Event()
    worked: list[str] = []

    def hold(_stop: Stop) -> RoleOutcome:
        begun.set()
        gate.wait(60)
        return DONE

    def note(_stop: Stop) -> RoleOutcome:
        worked.append("second")
        return DONE

    first = pool.submit(task(hold))
    assert begun.wait(60)
    (wrapped,) = ended(pool.submit(task(note, deadline_ms=10)))
    assert wrapped.status is ResultStatus.TIMEOUT
    gate.set()
    ended(first)
    assert not worked


def test_an_explicitly_canceled_task_stops_further_tool_execution(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("a")
    told, begun, read = threading.Event(), threading.Event(), threading.Event()
    seen: list[str] = []

    def work(stop: Stop) -> RoleOutcome:
        root_fs = MeteredRootFs(RootFs(str(tmp_path)), ReadMeter(Budget(10, 1000)), stop.check)
        root_fs.read("a.txt", 100)
        seen.append("first")
        begun.set()
        told.wait(60)
        try:
            root_fs.read("a.txt", 100)
            seen.append("second")
        finally:
            read.set()
        return DONE

    running = TaskPool(1, waiting=0).submit(task(work), told.is_set)
    assert begun.wait(60)
    told.set()
    (wrapped,) = [one.result for one in as_completed([running], told.is_set)]
    assert wrapped is not None
    assert wrapped.status is ResultStatus.CANCELED
    assert read.wait(60)
    assert seen == ["first"]


def test_failures_of_tools_surface_as_structured_errors_with_stable_codes() -> None:
    def refused(_stop: Stop) -> RoleOutcome:
        raise QueryError("there is no such filter", reason="a slip")

    def broken(_stop: Stop) -> RoleOutcome:
        raise RuntimeError("with something secret in it")

    def gone(_stop: Stop) -> RoleOutcome:
        raise CanceledError("nobody waits")

    pool = TaskPool(1, waiting=5)
    found = {
        wrapped.error.name: wrapped
        for wrapped in ended(*map(pool.submit, map(task, (refused, broken, gone))))
        if wrapped.error
    }
    assert {name: one.status for name, one in found.items()} == {
        "query": ResultStatus.ERROR,
        "internal": ResultStatus.ERROR,
        "canceled": ResultStatus.CANCELED,
    }
    assert "secret" not in str(found["internal"].as_dict())


def test_what_a_late_task_brings_is_thrown_away() -> None:
    pool, gate = TaskPool(1, waiting=0), threading.Event()

    def work(_stop: Stop) -> RoleOutcome:
        gate.wait(60)
        return DONE

    running = pool.submit(task(work, deadline_ms=10))
    ended(running)
    gate.set()
    running.work()
    assert running.result is not None
    assert running.result.status is ResultStatus.TIMEOUT


def test_workers_leave_when_there_is_nothing_to_do_and_come_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("llmc.answers.research.runtime.IDLE_SECONDS", 0.01)
    pool = TaskPool(3, waiting=3)
    for _ in range(3):
        ended(*(pool.submit(task(lambda _stop: DONE)) for _ in range(3)))
        until(lambda: pool._threads == 0)
    (wrapped,) = ended(pool.submit(task(lambda _stop: DONE)))
    assert wrapped.status is ResultStatus.OK


def test_files_and_bytes_read_are_counted_for_the_role_and_for_the_question(tmp_path: Path) -> None:
    for name in "abc":
        (tmp_path / name).write_text(name * 100)
    question = ReadMeter(Budget(2, 10_000))
    root_fses = [
        MeteredRootFs(RootFs(str(tmp_path)), ReadMeter(Budget(2, 10_000), question), lambda: None) for _ in range(2)
    ]
    root_fses[0].read("a", 1000)
    root_fses[0].read("a", 1000)
    root_fses[1].read("a", 1000)
    root_fses[1].read("b", 1000)
    assert (question.files, question.size) == (2, 200)
    with pytest.raises(OverBudgetError):
        root_fses[0].read("c", 1000)
    assert question.truncated


def test_a_file_larger_than_the_bytes_that_are_left_is_refused_and_a_smaller_one_is_not(tmp_path: Path) -> None:
    (tmp_path / "large").write_text("x" * 500)
    (tmp_path / "small").write_text("x" * 50)
    meter = ReadMeter(Budget(10, 100))
    root_fs = MeteredRootFs(RootFs(str(tmp_path)), meter, lambda: None)
    with pytest.raises(OverBudgetError):
        root_fs.read("large", 1000)
    root_fs.read("small", 1000)
    assert (meter.files, meter.size) == (1, 50)
    assert meter.note == "Read 1 of 2 candidate files: the limit on files or bytes was reached."
