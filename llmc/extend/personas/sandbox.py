"""Runs scripts in worker processes and kills them on timeout.

One warm worker waits for the next job and exits after an idle minute, so an idle daemon is a single process. Concurrent
scripts get workers of their own. Each job has a fresh Lua state; a worker is replaced after a kill or a number of jobs.
"""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import threading
import time
from collections import deque
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from llmc.base.errors import AgentError, AgentTimeoutError
from llmc.base.line_stream import LineBuffer
from llmc.base.process import kill

if TYPE_CHECKING:
    from collections.abc import Callable

    Answer = Callable[[str, list[Any]], Any]

__all__ = ["LuaPool", "Printed", "ScriptJob", "pool"]

WORKER = Path(__file__).with_name("worker.py")
IDLE_SECONDS = 60.0
MOST_JOBS = 200
# Concurrent scripts, each of which may use a core until its timeout; further ones wait briefly.
MOST_WORKERS = 4
ROOM_SECONDS = 5.0
START_SECONDS = 20.0
LARGEST_LINE = 8 << 20  # a message of 1 MiB, escaped
MOST_PRINTED, LONGEST_PRINTED = 50, 500

Printed = list[str]


class ScriptJob:
    """`what` is `describe` or `run` with the kind of script: `run agent`; `given` contains args and config."""

    def __init__(self, name: str, source: str, what: str, given: dict[str, Any], seconds: float) -> None:
        self.name = name
        self.seconds = seconds
        self.line = json.dumps(
            {"name": name, "source": source, "what": what, "given": json.dumps(given), "seconds": seconds}
        )


class GoneError(Exception):
    """The worker exited unexpectedly: a limit of the kernel stopped it, or it was killed."""


class ScriptWorker:
    def __init__(self) -> None:
        spec = find_spec("lupa")
        if spec is None or spec.origin is None:
            raise AgentError("Lua is not installed", hint="Reinstall llmc: it requires the package lupa.")
        self.jobs = 0
        self._lines = LineBuffer(LARGEST_LINE)
        self._received: deque[bytes] = deque()
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", str(WORKER), str(Path(spec.origin).parents[1])],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={},
            cwd="/",
        )
        os.set_blocking(self._fd(1), False)
        try:
            self._receive(time.monotonic() + START_SECONDS)
        except (GoneError, TimeoutError) as error:
            self.end()
            raise AgentError("the process for Lua scripts did not start", reason=str(error)) from None

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    def run(self, job: ScriptJob, answer: Answer, printed: Printed) -> Any:
        """The value returned by the script. Raises TimeoutError, GoneError, AgentError."""
        self.jobs += 1
        deadline = time.monotonic() + job.seconds
        self._send(job.line)
        while True:
            kind, text = self._receive(deadline)
            if kind == "done":
                return json.loads(text)
            if kind == "error":
                raise script_error(job, json.loads(text))
            if kind == "print":
                if len(printed) < MOST_PRINTED:
                    printed.append(str(json.loads(text))[:LONGEST_PRINTED])
            else:
                call = json.loads(text)
                self._send(json.dumps(answer(call["name"], as_list(call["args"]))))

    def end(self) -> None:
        kill(self._process)

    def _send(self, line: str) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(line.encode() + b"\n")
            self._process.stdin.flush()
        except OSError:
            raise GoneError from None

    def _receive(self, deadline: float) -> tuple[str, str]:
        while not self._received:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self._fd(1)], [], [], left)[0]:
                raise TimeoutError
            chunk = os.read(self._fd(1), 1 << 16)
            self._received.extend(self._lines.add(chunk))
            if not chunk or (self._received and not self._received[-1].endswith(b"\n")):
                raise GoneError
        kind, text = json.loads(self._received.popleft())
        return kind, text

    def _fd(self, number: int) -> int:
        stream = (self._process.stdin, self._process.stdout)[number]
        assert stream is not None
        return stream.fileno()


class LuaPool:
    """Thread-safe."""

    def __init__(self) -> None:
        self._spare: ScriptWorker | None = None
        self._lock = threading.Lock()
        self._room = threading.Semaphore(MOST_WORKERS)
        self._timer: threading.Timer | None = None

    def run(self, job: ScriptJob, answer: Answer, printed: Printed) -> Any:
        if not self._room.acquire(timeout=ROOM_SECONDS):
            raise AgentTimeoutError(f"{job.name} was not started", reason=f"{MOST_WORKERS} scripts are running")
        try:
            worker = self._take()
            fit = False
            try:
                result = worker.run(job, answer, printed)
                fit = True
            except AgentError as error:
                fit = error.context.get("stage") in ("parse", "run", "shape")
                raise
            except TimeoutError:
                hint = "Increase `timeout` in its section, or make it do less."
                raise AgentTimeoutError(f"{job.name} took longer than {job.seconds:g} seconds", hint=hint) from None
            except (GoneError, ValueError, RecursionError):
                reason = "its process was killed for using too much memory or time"
                raise AgentError(f"{job.name} failed", reason=reason) from None
            finally:
                self._give_back(worker, fit=fit)
        finally:
            self._room.release()
        return result

    def close(self) -> None:
        with self._lock:
            spare, self._spare = self._spare, None
            if self._timer is not None:
                self._timer.cancel()
        if spare is not None:
            spare.end()

    def _take(self) -> ScriptWorker:
        with self._lock:
            spare, self._spare = self._spare, None
            if self._timer is not None:
                self._timer.cancel()
        if spare is not None and spare.alive:
            return spare
        if spare is not None:
            spare.end()
        return ScriptWorker()

    def _give_back(self, worker: ScriptWorker, *, fit: bool) -> None:
        if fit and worker.jobs < MOST_JOBS and worker.alive:
            with self._lock:
                if self._spare is None:
                    self._spare = worker
                    self._timer = threading.Timer(IDLE_SECONDS, self.close)
                    self._timer.daemon = True
                    self._timer.start()
                    return
        worker.end()


def script_error(job: ScriptJob, failure: dict[str, Any]) -> AgentError:
    stage, message = str(failure.get("stage")), str(failure.get("message"))
    heads = {"parse": "has a syntax error", "shape": "returned an invalid value"}
    return AgentError(f"{job.name} {heads.get(stage, 'failed')}", reason=message, stage=stage)


def as_list(args: Any) -> list[Any]:
    return args if isinstance(args, list) else []


pool = LuaPool()
