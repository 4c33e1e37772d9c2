"""Starts the daemon from a client: only once, even if several clients notice at the same time that none is running.

The client that gets the start lock checks again and then starts the daemon; the others wait for the socket. The daemon
gets a reduced environment, so that variables of one shell do not affect all later clients. This module is imported only
when a daemon has to be started.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import select
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from llmc.base.daemon_lock import read_owner
from llmc.base.errors import DaemonError, DaemonGoneError, error_from_fields
from llmc.client.connection import dial, last_output

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from llmc.base.home import Home

__all__ = ["default_command", "import_path", "start_daemon"]

# On a cold disk and a loaded machine, importing the daemon took 3 s instead of 0.15 s.
START_SECONDS = 20.0
POLL_SECONDS = 0.01
KEEP = frozenset({
    *("HOME", "USER", "LOGNAME", "SHELL", "PATH", "TMPDIR", "LANG", "LANGUAGE", "TZ"),
    *("LD_LIBRARY_PATH", "PYTHONHOME", "SSL_CERT_FILE", "SSL_CERT_DIR"),
    *("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy"),
})  # fmt: skip
# Settings may refer to API keys as `${…_API_KEY}`; LLMC_PASS_ENV lists other variables to pass on.
KEEP_PREFIXES = ("LLMC_", "LC_", "XDG_")
KEEP_SUFFIXES = ("_API_KEY",)


def start_daemon(home: Home, environ: Mapping[str, str], command: Sequence[str] = ()) -> int:
    """Return when a daemon listens: its pid if this call started it, or 0 if another process did."""
    home.make()
    deadline = time.monotonic() + START_SECONDS
    with _start_lock(home, deadline):
        while time.monotonic() < deadline:
            if (connection := dial(home)) is not None:
                connection.close()
                return 0
            if read_owner(home) is None:
                return _spawn(home, environ, command or default_command(), deadline)
            time.sleep(POLL_SECONDS)  # it is starting or exiting
    raise _unreachable(home)


def default_command() -> list[str]:
    # -P: do not import modules from the daemon's current folder.
    return [sys.executable, "-P", "-m", "llmc.server"]


@contextlib.contextmanager
def _start_lock(home: Home, deadline: float) -> Iterator[None]:
    """Hold the start lock. Continues without it at the deadline: its holder has waited for the same daemon."""
    try:
        fd = os.open(home.start_lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except OSError as error:
        raise DaemonError(
            f"cannot write to {home.path}",
            reason=error.strerror or str(error),
            hint="Set LLMC_HOME to a writable folder, or use --no-daemon.",
        ) from error
    try:
        while time.monotonic() < deadline:
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                time.sleep(POLL_SECONDS)
        yield
    finally:
        os.close(fd)


def _spawn(home: Home, environ: Mapping[str, str], command: Sequence[str], deadline: float) -> int:
    reading, writing = os.pipe()
    try:
        with _fresh_output(home) as output:
            starter = subprocess.Popen(
                [*command, "--detach", "--ready-fd", str(writing)],
                stdin=subprocess.DEVNULL, stdout=output, stderr=output,
                cwd="/", env=_environment(home, environ), pass_fds=[writing], start_new_session=True,
            )  # fmt: skip
        os.close(writing)
        writing = -1
        starter.wait()  # it forks at once; the daemon is its child
        return _pid_of(home, _read_line(reading, deadline))
    finally:
        os.close(reading)
        if writing >= 0:
            os.close(writing)


def _fresh_output(home: Home) -> BinaryIO:
    """Keep the output of the previous daemon in a second file: it may contain a crash report."""
    output = Path(home.output)
    if output.exists() and output.stat().st_size:
        output.replace(f"{output}.1")
    return output.open("ab")


def _read_line(fd: int, deadline: float) -> bytes:
    """The daemon's message when it is ready; empty if it ended or timed out before."""
    line = b""
    while not line.endswith(b"\n"):
        ready, _, _ = select.select([fd], [], [], max(0.0, deadline - time.monotonic()))
        chunk = os.read(fd, 65_536) if ready else b""
        if not chunk:
            return b""
        line += chunk
    return line


def _pid_of(home: Home, line: bytes) -> int:
    if not line:
        raise DaemonGoneError(
            "the daemon did not start",
            reason=last_output(home),
            hint=f"See the log {home.log}, run `llmc doctor`, or use --no-daemon.",
        )
    answer: dict[str, Any] = json.loads(line)
    if "error" in answer:
        raise error_from_fields(answer["error"])
    return int(answer["pid"])


def _environment(home: Home, environ: Mapping[str, str]) -> dict[str, str]:
    extra = set(environ.get("LLMC_PASS_ENV", "").replace(",", " ").split())
    passed = {name: value for name, value in environ.items() if name in extra or _is_kept(name)}
    passed["LLMC_HOME"] = home.path
    path = import_path(environ.get("PYTHONPATH", ""))
    if path:
        passed["PYTHONPATH"] = path
    return passed


def _is_kept(name: str) -> bool:
    return name in KEEP or name.startswith(KEEP_PREFIXES) or name.endswith(KEEP_SUFFIXES)


def import_path(pythonpath: str) -> str:
    """The absolute entries of PYTHONPATH, and the folder of this llmc unless it is installed in site-packages."""
    entries = [entry for entry in pythonpath.split(os.pathsep) if Path(entry).is_absolute()]
    here = Path(__file__).absolute().parents[2]
    if here.name not in {"site-packages", "dist-packages"} and str(here) not in entries:
        entries.insert(0, str(here))
    return os.pathsep.join(entries)


def _unreachable(home: Home) -> DaemonGoneError:
    owner = read_owner(home)
    state = owner.describe() if owner else "another command is starting it"
    return DaemonGoneError(
        "the daemon does not respond",
        reason=f"{state}; timed out after {START_SECONDS:.0f} s",
        hint=f"Run `llmc stop --force`, or see the log {home.log}.",
    )
