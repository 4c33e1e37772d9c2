"""Runs a command for `te`: in its own process group, with captured output and forwarded signals.

The command has no controlling terminal (`setsid`); stdin is passed on if it is a pipe or file. The first Ctrl-C (or
SIGTERM) goes to the whole group, the second kills it. Of a very long output, only the beginning and end are kept.
"""

from __future__ import annotations

import base64
import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from typing import TYPE_CHECKING, Any, Literal, Self

from llmc.base.errors import DaemonError
from llmc.base.process import read_output, signal_group
from llmc.extend.shell.capture import Capture, Captured

if TYPE_CHECKING:
    from llmc.base.home import Home

__all__ = ["Display", "FinishedProcess", "pass_through", "run"]

Display = Literal["", "progress", "output"]

LIMIT = 4 << 20  # the output of a large build; redacting it takes a second
IN_MESSAGE = 256 << 10
# After the command ended, a process that it started (a server) may keep its output open; wait only briefly.
LINGER_SECONDS = 0.3
SHOW_SECONDS = 2.0
GRACE_SECONDS = 3.0
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class FinishedProcess:
    """A command that has ended, with its output.

    A short output is sent to the daemon in the message (`content`), a long one in a file (`spool`), which is deleted
    when this object is closed. In a sandbox there may be no place for the file.
    """

    def __init__(self, code: int, seconds: float, output: Captured, home: Home, *, interrupted: bool) -> None:
        self.signal = -code if code < 0 else 0
        self.code = 128 - code if code < 0 else code
        self.seconds = seconds
        self.interrupted = interrupted
        self.output = output
        self.spool = ""
        self._home = home

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(OSError):
            os.unlink(self.spool)  # noqa: PTH108 - pathlib costs 5 ms

    def parameters(self) -> dict[str, Any]:
        """The output as parameters of the daemon's `te`; OSError if there is no place for it."""
        output = self.output
        sizes = {"head": len(output.head), "dropped": output.dropped, "dropped_lines": output.dropped_lines}
        data = output.head + output.tail
        if len(data) <= IN_MESSAGE:
            return {"content": base64.b64encode(data).decode("ascii"), **sizes}
        self.spool = _spool(data, self._home)
        return {"spool": self.spool, **sizes}

    def print_raw(self) -> None:
        sys.stdout.flush()
        sys.stdout.buffer.write(self.output.head)
        if self.output.dropped:
            sys.stdout.buffer.write(f"… {self.output.dropped:,} bytes omitted …\n".encode())
        sys.stdout.buffer.write(self.output.tail)
        sys.stdout.flush()


def run(words: list[str], home: Home, *, show: Display, lists: bool = False) -> FinishedProcess:
    """Run the command. `lists`: capture only standard output; standard error is inherited."""
    started = time.monotonic()
    read, write = os.pipe()
    errors = None if lists else write
    capture = Capture(LIMIT)
    with _SignalForwarder() as signals:
        try:
            process = subprocess.Popen(words, stdin=_stdin(), stdout=write, stderr=errors, start_new_session=True)
        except BaseException:
            os.close(read)
            raise
        finally:
            os.close(write)
        signals.attach(process)
        _read_output(process, read, capture, signals, show="" if lists else show)
        code = process.wait()
    os.close(read)
    if signals.count:
        signal_group(process.pid)
    return FinishedProcess(code, time.monotonic() - started, capture.done(), home, interrupted=bool(signals.count))


def pass_through(words: list[str]) -> int:
    """Run the command with this terminal as its own."""
    handlers = {number: signal.signal(number, signal.SIG_IGN) for number in (signal.SIGINT, signal.SIGQUIT)}
    try:
        # The child restores the default handlers before it starts, as in a shell.
        process = subprocess.Popen(words, preexec_fn=_default_signals)  # noqa: PLW1509 - one thread
        code = process.wait()
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
    return 128 - code if code < 0 else code


def _default_signals() -> None:
    for number in (signal.SIGINT, signal.SIGQUIT):
        signal.signal(number, signal.SIG_DFL)


def _stdin() -> int | None:
    """Inherit a pipe or file; never the terminal, which the command could not read from."""
    try:
        return subprocess.DEVNULL if os.isatty(0) else None
    except OSError:
        return subprocess.DEVNULL


class _SignalForwarder:
    """Forwards signals to the command's process group; a grace period after the first, the group is killed."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._handlers: dict[int, Any] = {}
        self._early = 0
        self.count = 0
        self.kill_at = float("inf")

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            self._handlers = {number: signal.signal(number, self._forward) for number in SIGNALS}
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._handlers.items():
            signal.signal(number, handler)

    def attach(self, process: subprocess.Popen[bytes]) -> None:
        """Set the command to forward signals to; a signal that arrived during its start is forwarded now."""
        self._process = process
        if self._early:
            signal_group(process.pid, self._early)

    def _forward(self, number: int, _frame: object) -> None:
        self.count += 1
        self.kill_at = min(self.kill_at, time.monotonic() + GRACE_SECONDS)
        if self._process is None:
            self._early = number
        else:
            signal_group(self._process.pid, number if self.count == 1 else signal.SIGKILL)


def _read_output(
    process: subprocess.Popen[bytes], read: int, capture: Capture, signals: _SignalForwarder, *, show: Display
) -> None:
    started = progress_at = time.monotonic()

    def add(chunk: bytes) -> None:
        capture.add(chunk)
        if show == "output":
            sys.stderr.buffer.write(chunk)
            sys.stderr.flush()

    def proceed() -> bool:
        nonlocal progress_at
        now = time.monotonic()
        if now > signals.kill_at:
            signal_group(process.pid)
            signals.kill_at = float("inf")
        if show == "progress" and now - progress_at > SHOW_SECONDS:
            progress_at = now
            _progress(now - started, capture.size)
        return True

    read_output(process, {read: add}, proceed=proceed, linger=LINGER_SECONDS)
    if progress_at > started:
        sys.stderr.write("\r\x1b[K")
        sys.stderr.flush()


def _progress(seconds: float, size: int) -> None:
    sys.stderr.write(f"\r\x1b[Kllmc: running, {seconds:.0f} s, {size / 1024:,.0f} KiB so far")
    sys.stderr.flush()


def _spool(data: bytes, home: Home) -> str:
    """Write the output to a file in the home folder, or in the temporary folder if that is not writable."""
    folder: str | None = os.path.join(home.path, "outputs")  # noqa: PTH118 - pathlib costs 5 ms
    try:
        home.make()
        os.makedirs(str(folder), mode=0o700, exist_ok=True)  # noqa: PTH103 - pathlib costs 5 ms
    except (OSError, DaemonError):
        folder = None
    try:
        fd, path = tempfile.mkstemp(prefix="te-", dir=folder)
    except OSError:
        fd, path = tempfile.mkstemp(prefix="te-")
    with os.fdopen(fd, "wb") as file:
        file.write(data)
    return path
