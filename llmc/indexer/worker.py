"""Runs large tasks in a separate process: queries stay fast during a build, and a crash affects only that task.

`WorkerProcess` is the parent's side: it starts the process, writes an `IndexTask` to its stdin and reads reports, one
JSON object per line, from its stdout. The process holds the store's lock until it ends. If it is killed, the next
writer repairs the store. `tasks` defines the work.
"""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, BinaryIO

from llmc.base.errors import DaemonError, LlmcError, error_from_fields
from llmc.base.process import kill

if TYPE_CHECKING:
    from collections.abc import Callable

    from llmc.indexer.tasks import IndexTask

__all__ = ["WorkerProcess"]

Report = dict[str, Any]


@dataclass(slots=True)
class WorkerProcess:
    """One run. `stop` may be called from another thread; `run` then raises."""

    on_report: Callable[[Report], None]
    _process: subprocess.Popen[bytes] | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _stopped: bool = False

    def run(self, task: IndexTask) -> Report:
        """Wait until the process has ended; returns its last report. Its error is raised here."""
        process = self._start()
        assert process.stdin is not None
        assert process.stdout is not None
        last: Report = {}
        try:
            with process.stdin as pipe:
                pipe.write(pickle.dumps(task))
            for line in process.stdout:
                last = json.loads(line)
                if "error" not in last:
                    self.on_report(last)
        except BrokenPipeError:
            pass  # it died before it read the task; its exit code is checked below
        except BaseException:
            kill(process)
            raise
        code = process.wait()
        process.stdout.close()
        if "error" in last:
            raise error_from_fields(last["error"])
        if code or "finished" not in last:
            raise DaemonError("the indexing process ended early", reason=f"exit code {code}")
        return last

    def stop(self) -> None:
        with self._lock:
            self._stopped = True
            if self._process is not None:
                self._process.terminate()

    @property
    def stopped(self) -> bool:
        return self._stopped

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process is not None else None

    def _start(self) -> subprocess.Popen[bytes]:
        with self._lock:
            if self._stopped:
                raise DaemonError("llmc is stopping")
            self._process = subprocess.Popen(
                [sys.executable, "-m", "llmc.indexer.worker"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
            )
            return self._process


def main(source: BinaryIO, target: BinaryIO) -> int:
    """The main function of the process."""
    from llmc.indexer.tasks import run  # noqa: PLC0415 - the parent does not need it

    def report(values: Report) -> None:
        target.write(json.dumps(values).encode() + b"\n")
        target.flush()

    task = pickle.loads(source.read())  # noqa: S301 - written by our parent into a private pipe
    try:
        outcome = run(task, report)
    except LlmcError as error:
        report({"error": error.as_dict()})
        return error.exit_code
    except BrokenPipeError:
        return DaemonError.exit_code  # the daemon has exited; what was committed stays
    report({"finished": True, "files": dict(outcome.files), "chunks": outcome.chunks, "cpu_seconds": outcome.cpu})
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.stdin.buffer, sys.stdout.buffer))
