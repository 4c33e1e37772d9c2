"""The writer of one store: a thread that applies all changes to it, one batch after the other.

The thread sleeps until a root of the store has pending changes. Small batches are indexed in the daemon, so that a
save is searchable at once, and the store stays open for the next save; large batches go to a worker process. A full
disk, a damaged store or a dead worker ends the batch, not the thread: its changes stay pending and are tried again.
"""

from __future__ import annotations

import threading
import time
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeVar

from llmc.base import logs
from llmc.base.errors import CorruptStoreError, DaemonError, LlmcError, NewerFormatError, RootError, StoreFullError
from llmc.indexer import tasks
from llmc.indexer.root_index import BuildProgress
from llmc.indexer.worker import WorkerProcess

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from llmc.embed import Embedder
    from llmc.indexer.root_index import PendingBatch, RootIndex
    from llmc.store import Store

__all__ = ["REBUILDING_INDEX", "REBUILDING_VECTORS", "WriterThread", "rebuild_note", "vector_note"]

log = logs.get("writer")
T = TypeVar("T")

# Parsing and embedding this many files takes a tenth of a second; starting a process takes half of one.
INLINE_FILES = 32
# With a save every second, there are enough versions to merge after 40 seconds.
OPTIMIZE_SECONDS = 30.0
REBUILDING_VECTORS, REBUILDING_INDEX = "rebuilding the vectors", "rebuilding the index"
PAUSED = "paused"
MINUTES_FROM = 90.0
RETRY_SECONDS = (1.0, 5.0, 15.0, 60.0)
# The fields of a worker's last report that are logged.
REPORTED = ("files", "chunks", "cpu_seconds")


class PausedRoundError(Exception):
    """The round was interrupted by `pause`; nothing failed."""


@dataclass(eq=False)
class WriterThread:
    """`store` is the reader that all queries use."""

    family: str
    folder: str
    store: Store
    embedder: Embedder | None
    processes: bool = True  # False: everything happens in this process (tests, --no-daemon)
    on_commit: Callable[[RootIndex, set[str]], None] = lambda _index, _paths: None
    root_indexes: list[RootIndex] = field(default_factory=list)
    trouble: str = ""  # the reason why nothing can be written at the moment
    paused: bool = False  # by the user; queries then read pending paths from disk
    note: str = ""  # the reason for a rebuild of the index or its vectors, while it runs
    retired: list[Store] = field(default_factory=list)  # replaced, but a query may still use it
    _writable: tasks.WritableStore = field(init=False)
    _worker: WorkerProcess | None = None
    _calls: list[tuple[Callable[[], Any], Future[Any]]] = field(default_factory=list)
    _wake: threading.Condition = field(default_factory=threading.Condition)
    _hurry: bool = False
    _optimize_after: float = 0.0
    _repairing: bool = False  # a damaged vector table is being replaced
    _closed: bool = False
    _failures: int = 0
    _failed_at: float = 0.0
    _thread: threading.Thread | None = None

    def __post_init__(self) -> None:
        self._writable = tasks.WritableStore(self.folder)

    def start(self) -> None:
        self._thread = threading.Thread(target=self._run, name="llmc-writer", daemon=True)
        self._thread.start()

    def wake(self, *, hurry: bool = False) -> None:
        """Process pending changes; `hurry` skips the debounce time, for a query that waits."""
        with self._wake:
            self._hurry = self._hurry or hurry
            self._wake.notify_all()

    def pause(self) -> None:
        """Stop indexing. A running worker is stopped; its commits stay, and the other changes are pending until
        `resume`."""
        with self._wake:
            self.paused = True
            worker = self._worker
        for root_index in self.root_indexes:
            root_index.progress = BuildProgress(PAUSED)
        if worker is not None:
            worker.stop()

    def resume(self) -> None:
        with self._wake:
            self.paused = False
            self._wake.notify_all()
        for root_index in self.root_indexes:
            if root_index.progress is not None and root_index.progress.stage == PAUSED:
                root_index.progress = None

    def do(self, function: Callable[[], T]) -> Future[T]:
        """Call a function between two batches, while nothing else writes."""
        future: Future[T] = Future()
        with self._wake:
            self._calls.append((function, future))
            self._wake.notify_all()
        return future

    def close(self) -> None:
        with self._wake:
            self._closed = True
            self._wake.notify_all()
        if self._worker is not None:
            self._worker.stop()
        if self._thread is not None:
            self._thread.join()

    @property
    def notice(self) -> str:
        """`note`, and how long the rebuild takes once its rate is known."""
        rebuilt = [root_index.progress for root_index in self.root_indexes if root_index.progress is not None]
        left = max((progress.eta for progress in rebuilt if progress.eta is not None), default=None)
        if not self.note or left is None:
            return self.note
        return f"{self.note} (about {f'{left:.0f} s' if left < MINUTES_FROM else f'{left / 60:.0f} min'} left)"

    @property
    def busy(self) -> bool:
        return self._worker is not None or any(root_index.pending for root_index in self.root_indexes)

    @property
    def worker_pid(self) -> int | None:
        return self._worker.pid if self._worker is not None else None

    # ---- the thread ----

    def _run(self) -> None:
        try:
            while self._wait():
                self._step()
        finally:
            self._release()

    def _step(self) -> None:
        calls = self._take_calls()
        if calls or self._writable.is_due():  # a call may open the store itself
            self._release()
        for function, future in calls:
            run_call(function, future)
        for root_index in list(self.root_indexes):
            if not self.paused and not self._closed:
                self._round(root_index)

    def _release(self) -> None:
        """Close the store for writing; errors are only logged, since its commits are safe."""
        try:
            self._writable.release()
        except LlmcError as error:
            log.warning("closing the index failed", folder=self.folder, error=str(error))

    def _wait(self) -> bool:
        """Wait until there is work to do now; False when the thread is closing."""
        with self._wake:
            while not self._closed and not self._calls:
                delay = self._seconds_to_round()
                if (delay is not None and delay <= 0) or self._writable.is_due():
                    break
                delays = (delay, self._writable.check_seconds)
                self._wake.wait(min((one for one in delays if one is not None), default=None))
            self._hurry = False
            return not self._closed

    def _seconds_to_round(self) -> float | None:
        """Seconds until the next round: changes within the debounce time become one batch."""
        if self.paused:
            return None
        delays = [delay for root_index in self.root_indexes if (delay := self._delay_of(root_index)) is not None]
        if not delays:
            return None
        if self._failures:
            return RETRY_SECONDS[min(self._failures, len(RETRY_SECONDS)) - 1] - (time.monotonic() - self._failed_at)
        return 0.0 if self._hurry else min(delays)

    def _delay_of(self, root_index: RootIndex) -> float | None:
        index = root_index.settings.index
        if root_index.pending:
            owed = root_index.pending.unsettled_for()
            return min(index.debounce_ms / 1000 - root_index.pending.quiet_for(), index.settle_ms / 1000 - owed)
        if index.rescan_seconds and root_index.last_scan is not None:
            due = root_index.last_scan + index.rescan_seconds - time.time()
            if due <= 0:
                root_index.pending.mark_folder("", "timer")
                return 0.0
            return due
        return None

    def _take_calls(self) -> list[tuple[Callable[[], Any], Future[Any]]]:
        with self._wake:
            calls, self._calls = self._calls, []
            return calls

    def _round(self, root_index: RootIndex) -> None:
        batch = root_index.pending.take()
        if not batch:
            return
        try:
            if batch.folders:
                self._release()  # other processes do not wait as long as a walk may take
                root_index.progress = BuildProgress("scan")
                found = root_index.walk(self.store.catalog, batch.folders)
                batch = root_index.pending.expand(batch, found)
            self._index(root_index, batch)
        except CorruptStoreError as error:
            self.note = rebuild_note(error)
            log.warning(self.note, folder=self.folder, error=str(error))
            self.rebuild()
        except RootError as error:
            root_index.error = error.one_line
            root_index.pending.settle(batch)
        except PausedRoundError:
            log.info("paused", root=root_index.root.path)
        except LlmcError as error:
            self._failed(root_index, error)
        except Exception as error:  # the next round tries again
            log.exception("indexing failed", root=root_index.root.path)
            self._failed(root_index, error)
        else:
            root_index.pending.settle(batch)
            root_index.error = self.trouble = ""
            self._failures = 0
        finally:
            root_index.progress = BuildProgress(PAUSED) if self.paused else None

    def _failed(self, root_index: RootIndex, error: Exception) -> None:
        self._failures += 1
        self._failed_at = time.monotonic()
        message = error.one_line if isinstance(error, LlmcError) else str(error)
        is_first = message not in {self.trouble, root_index.error}
        if isinstance(error, StoreFullError | NewerFormatError):
            self.trouble = message
        else:
            root_index.error = message
        if is_first:  # log it once: the same failure repeats every minute
            log.warning("indexing failed", root=root_index.root.path, error=message)

    def _index(self, root_index: RootIndex, batch: PendingBatch) -> None:
        """Update the store for these paths. A worker takes minutes for a large root, and its commits are settled at
        once."""
        if batch.paths:
            shown, hidden = root_index.split_by_rules(batch.paths)
            task = tasks.IndexTask(self.folder, root_index.root, root_index.settings, shown, hidden)
            root_index.progress = BuildProgress("index", 0, len(batch.paths))
            if len(task.paths) > INLINE_FILES and self._may_know(root_index):
                with self._opened(root_index) as store:
                    task = replace(task, paths=tasks.adopt_here(task, store, root_index.root_fs))
                root_index.pending.settle(batch, set(shown).difference(task.paths))
            if self.processes and len(task.paths) > INLINE_FILES:
                self._in_worker(root_index, task, batch)
            elif task.paths or task.hidden:
                self._run_here(root_index, task)
            self.on_commit(root_index, set(batch.paths))
        if "" in batch.folders:
            self._fill_vectors(root_index)
            root_index.walked()
            if all(each.built for each in self.root_indexes):
                self.note = ""
                self._repairing = False
        self._optimize_vectors(root_index)

    def _may_know(self, root_index: RootIndex) -> bool:
        """Whether the store may already have many documents of the root, from another work tree or branch."""
        return root_index.built or any(root.id != root_index.root.id for root in self.store.catalog.roots())

    def _fill_vectors(self, root_index: RootIndex) -> None:
        """Embed documents that have no vectors: the model was changed, or was not available for a while."""
        self.store.refresh()
        places = self.store.catalog.places(root_index.root.id)
        if self.embedder is None or not places.keep(self.store.without_vectors()):
            return
        task = tasks.IndexTask(self.folder, root_index.root, root_index.settings)
        root_index.progress = BuildProgress("embed")
        if self.processes:
            self._in_worker(root_index, task)
        else:
            self._run_here(root_index, task)

    def _optimize_vectors(self, root_index: RootIndex) -> None:
        """Merge the small files that saves leave in the vector table, in a worker because it needs 100 MB. After a
        failure, as on a full disk, it is retried only after some time."""
        now = time.monotonic()
        if now < self._optimize_after or self.embedder is None or not self.store.scattered_vectors():
            return
        self._optimize_after = now + OPTIMIZE_SECONDS
        task = tasks.IndexTask(self.folder, root_index.root, root_index.settings)
        if self.processes:
            self._in_worker(root_index, task)
        else:
            self._run_here(root_index, task)

    def _opened(self, root_index: RootIndex) -> AbstractContextManager[Store]:
        return self._writable.opened(root_index.root, self.embedder, self._mark_vectors)

    def _run_here(self, root_index: RootIndex, task: tasks.IndexTask) -> None:
        report = self._report_to(root_index, task)
        with self._opened(root_index) as store:
            tasks.run_here(task, store, root_index.root_fs, self.embedder, report)

    def _in_worker(self, root_index: RootIndex, task: tasks.IndexTask, batch: PendingBatch | None = None) -> None:
        worker = WorkerProcess(self._report_to(root_index, task, batch))
        with self._wake:
            if self._closed:
                return
            if self.paused:
                raise PausedRoundError
            self._worker = worker
        self._release()
        try:
            done = worker.run(task)
            log.info("worker finished", root=root_index.root.path, **{name: done[name] for name in REPORTED})
        except DaemonError:
            if worker.stopped and not self._closed:
                raise PausedRoundError from None
            raise
        finally:
            self._worker = None

    def _report_to(
        self, root_index: RootIndex, task: tasks.IndexTask, batch: PendingBatch | None = None
    ) -> Callable[[dict[str, Any]], None]:
        started = time.monotonic()
        # In the order of their commits. The last one is settled when the worker has ended: a query that waits for the
        # batch also waits for its vectors.
        in_order = (*task.paths, *task.hidden)[:-1]
        settled = 0

        def report(values: dict[str, Any]) -> None:
            nonlocal settled
            done, total = values.get("done", 0), values.get("total", 0)
            rate = done / max(time.monotonic() - started, 0.001)
            root_index.progress = BuildProgress(values.get("stage", "index"), done, total, rate, values.get("path", ""))
            if values.get("committed"):
                root_index.last_commit = time.time()
                if batch is not None:
                    root_index.pending.settle(batch, in_order[settled:done])
                    settled = done
            if values.get("lost_vectors"):
                self._mark_vectors(values["lost_vectors"])

        return report

    def repair_vectors(self, reason: str) -> None:
        """Drop an unusable vector table and embed every document again; returns immediately."""
        with self._wake:
            if self._repairing or not self.root_indexes:
                return
            self._repairing = True
        self.do(lambda: self._drop_vectors(reason))

    def _drop_vectors(self, reason: str) -> None:
        tasks.drop_vectors_here(self.folder, self.embedder, reason)
        self._mark_vectors(reason)

    def _mark_vectors(self, reason: str) -> None:
        self.note = vector_note(reason)
        log.warning(self.note, folder=self.folder)
        for root_index in self.root_indexes:
            root_index.pending.mark_folder("", "the vectors are rebuilt")

    def rebuild(self) -> None:
        """Empty the store and index everything again."""
        self._release()
        self.store.rebuild()
        for root_index in self.root_indexes:
            root_index.built = False
            root_index.pending.mark_folder("", "the index is rebuilt")


def rebuild_note(error: CorruptStoreError) -> str:
    return f"{REBUILDING_INDEX}: {error.reason or error.message}"


def vector_note(reason: str) -> str:
    return f"{REBUILDING_VECTORS}: {reason}"


def run_call(function: Callable[[], Any], future: Future[Any]) -> None:
    try:
        future.set_result(function())
    except BaseException as error:  # noqa: BLE001 - raised where the result is awaited
        future.set_exception(error)
