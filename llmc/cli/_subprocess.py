"""How `te` runs a command: in a process group of its own, with its output read here and Ctrl-C passed on.

The command has no terminal to ask on (`setsid`); what is piped into `te` is piped into it. The first Ctrl-C (or
SIGTERM) goes to the whole group, the second kills it. An output that does not end is kept at both ends only.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
import sys
import tempfile
import threading
import time
from typing import TYPE_CHECKING, Any, Self

from llmc.base.errors import DaemonError
from llmc.extend.shell.capture import Capture, Captured

if TYPE_CHECKING:
    from llmc.base.home import Home

__all__ = ["FinishedProcess", "pass_through", "run"]

LIMIT = 4 << 20  # as much as a large build writes; redacting it takes a second
PIECE = 1 << 16
# Once the command has ended, whoever else still holds its output (a server that it started) is not waited for.
LINGER_SECONDS = 0.3
SHOW_SECONDS = 2.0
GRACE_SECONDS = 3.0
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class FinishedProcess:
    """A command that has ended; its output lies in `spool` until this is closed."""

    def __init__(self, code: int, seconds: float, output: Captured, home: Home, *, interrupted: bool) -> None:
        self.signal = -code if code < 0 else 0
        self.code = 128 - code if code < 0 else code
        self.seconds = seconds
        self.interrupted = interrupted
        self.head, self.dropped, self.dropped_lines = len(output.head), output.dropped, output.dropped_lines
        self.spool = _written(output, home)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(OSError):
            os.unlink(self.spool)  # noqa: PTH108 - pathlib costs 5 ms

    def print_raw(self) -> None:
        with open(self.spool, "rb") as file:  # noqa: PTH123 - likewise
            sys.stdout.flush()
            sys.stdout.buffer.write(file.read(self.head))
            if self.dropped:
                sys.stdout.buffer.write(f"… {self.dropped:,} bytes were not kept …\n".encode())
            sys.stdout.buffer.write(file.read())
            sys.stdout.flush()


def run(words: list[str], home: Home, *, quiet: bool) -> FinishedProcess:
    started = time.monotonic()
    read, write = os.pipe()
    try:
        process = subprocess.Popen(words, stdin=_stdin(), stdout=write, stderr=write, start_new_session=True)
    except BaseException:
        os.close(read)
        raise
    finally:
        os.close(write)
    capture = Capture(LIMIT)
    with _Passed(process) as passed:
        _listen(process, read, capture, passed, quiet=quiet)
        code = process.wait()
    os.close(read)
    if passed.count:
        _end_group(process.pid)
    return FinishedProcess(code, time.monotonic() - started, capture.done(), home, interrupted=bool(passed.count))


def pass_through(words: list[str]) -> int:
    """The command has this terminal to itself."""
    ours = {number: signal.signal(number, signal.SIG_IGN) for number in (signal.SIGINT, signal.SIGQUIT)}
    try:
        # The child gets the handlers back before it starts; a shell does the same.
        process = subprocess.Popen(words, preexec_fn=_default_signals)  # noqa: PLW1509 - one thread
        code = process.wait()
    finally:
        for number, handler in ours.items():
            signal.signal(number, handler)
    return 128 - code if code < 0 else code


def _default_signals() -> None:
    for number in (signal.SIGINT, signal.SIGQUIT):
        signal.signal(number, signal.SIG_DFL)


def _stdin() -> int | None:
    """What is piped or redirected into `te`; never the terminal, which the command could not read from."""
    try:
        return subprocess.DEVNULL if os.isatty(0) else None
    except OSError:
        return subprocess.DEVNULL


class _Passed:
    """Signals to us go to the command's group; after the first there is a grace, then the end."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process
        self._before: dict[int, Any] = {}
        self.count = 0
        self.until = float("inf")

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            self._before = {number: signal.signal(number, self._pass) for number in SIGNALS}
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _pass(self, number: int, _frame: object) -> None:
        self.count += 1
        self.until = min(self.until, time.monotonic() + GRACE_SECONDS)
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, number if self.count == 1 else signal.SIGKILL)


def _listen(process: subprocess.Popen[bytes], read: int, capture: Capture, passed: _Passed, *, quiet: bool) -> None:
    begun = shown = time.monotonic()
    ended = float("inf")
    with selectors.DefaultSelector() as selector:
        selector.register(read, selectors.EVENT_READ)
        while True:
            now = time.monotonic()
            if selector.select(0.1):
                piece = os.read(read, PIECE)
                if not piece:
                    break
                capture.add(piece)
            if process.poll() is not None:
                ended = min(ended, now)
                if now - ended > LINGER_SECONDS:
                    break
            if now > passed.until:
                _end_group(process.pid)
                passed.until = float("inf")
            if not quiet and now - shown > SHOW_SECONDS:
                shown = now
                _progress(now - begun, capture.size)
    if not quiet and shown > begun:
        sys.stderr.write("\r\x1b[K")
        sys.stderr.flush()


def _progress(seconds: float, size: int) -> None:
    sys.stderr.write(f"\r\x1b[Kllmc: running, {seconds:.0f} s, {size / 1024:,.0f} KiB so far")
    sys.stderr.flush()


def _end_group(group: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, signal.SIGKILL)


def _written(output: Captured, home: Home) -> str:
    """In the home, or where temporary files go when that cannot be written."""
    folder: str | None = os.path.join(home.path, "outputs")  # noqa: PTH118 - see above
    try:
        home.make()
        os.makedirs(str(folder), mode=0o700, exist_ok=True)  # noqa: PTH103 - likewise
    except (OSError, DaemonError):
        folder = None
    try:
        fd, path = tempfile.mkstemp(prefix="te-", dir=folder)
    except OSError:
        fd, path = tempfile.mkstemp(prefix="te-")
    with os.fdopen(fd, "wb") as file:
        file.write(output.head + output.tail)
    return path
