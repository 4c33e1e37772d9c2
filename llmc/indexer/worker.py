"""Large work in a process of its own: a query stays fast while a root is built, and what goes wrong here ends here.

`WorkerProcess` is the parent's end: it starts the process, hands it a `IndexTask` on stdin and reads its reports, a
JSON object a line, from its stdout. The process holds the store's lock while it lives; killed at any moment, it leaves
a store that the next writer repairs. What a job does is `jobs`' business.
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

    def run(self, job: IndexTask) -> Report:
        """Until the process has ended: what it did, in figures. Its error is raised here as what it was."""
        process = self._start()
        assert process.stdin is not None
        assert process.stdout is not None
        last: Report = {}
        try:
            with process.stdin as pipe:
                pipe.write(pickle.dumps(job))
            for line in process.stdout:
                last = json.loads(line)
                if "error" not in last:
                    self.on_report(last)
        except BrokenPipeError:
            pass  # it died before it had the job; its exit code is looked at below
        finally:
            process.stdout.close()
            code = process.wait()
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
    """The process itself."""
    from llmc.indexer.tasks import run  # noqa: PLC0415 - the parent's end does without

    def report(values: Report) -> None:
        target.write(json.dumps(values).encode() + b"\n")
        target.flush()

    job = pickle.loads(source.read())  # noqa: S301 - our own parent wrote it, into a pipe that nobody else has
    try:
        outcome = run(job, report)
    except LlmcError as error:
        report({"error": error.as_dict()})
        return error.exit_code
    except BrokenPipeError:
        return DaemonError.exit_code  # the daemon is gone; what was committed stays
    report({"finished": True, "files": dict(outcome.files), "chunks": outcome.chunks, "cpu_seconds": outcome.cpu})
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.stdin.buffer, sys.stdout.buffer))
