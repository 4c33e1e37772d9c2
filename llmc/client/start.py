"""Starting the daemon from a client: once, however many clients find at the same time that none is running.

The client that gets the start lock looks again, and then starts one; the others wait for the socket. Imported only
when there is something to start. The daemon gets an environment of its own: what made one shell special must not follow
every later client around.
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
from llmc.client.connection import dial, last_words

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from llmc.base.home import Home

__all__ = ["default_command", "import_path", "start_daemon"]

# A cold disk and a loaded machine: importing the daemon was seen to take 3 s there, against 0.15 s otherwise.
START_SECONDS = 20.0
LOOK_SECONDS = 0.01
KEEP = frozenset({
    *("HOME", "USER", "LOGNAME", "SHELL", "PATH", "TMPDIR", "LANG", "LANGUAGE", "TZ"),
    *("LD_LIBRARY_PATH", "PYTHONHOME", "SSL_CERT_FILE", "SSL_CERT_DIR"),
    *("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy"),
})  # fmt: skip
# Settings may name keys of model endpoints as `${…_API_KEY}`; LLMC_PASS_ENV names what else the daemon is to have.
KEEP_PREFIXES = ("LLMC_", "LC_", "XDG_")
KEEP_SUFFIXES = ("_API_KEY",)


def start_daemon(home: Home, environ: Mapping[str, str], command: Sequence[str] = ()) -> int:
    """Return when somebody listens: the pid of the daemon that this call started, or 0 when another did."""
    home.make()
    deadline = time.monotonic() + START_SECONDS
    with _start_lock(home, deadline):
        while time.monotonic() < deadline:
            if (connection := dial(home)) is not None:
                connection.close()
                return 0
            if read_owner(home) is None:
                return _spawn(home, environ, command or default_command(), deadline)
            time.sleep(LOOK_SECONDS)  # it is just starting or leaving
    raise _unreachable(home)


def default_command() -> list[str]:
    # -P: not the folder that the daemon happens to stand in.
    return [sys.executable, "-P", "-m", "llmc.server"]


@contextlib.contextmanager
def _start_lock(home: Home, deadline: float) -> Iterator[None]:
    """Also ends at the deadline: whoever held it until then has waited for the same daemon."""
    try:
        fd = os.open(home.start_lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except OSError as error:
        raise DaemonError(
            f"cannot write in {home.path}",
            reason=error.strerror or str(error),
            hint="Set LLMC_HOME to a folder that you may write, or run the command with --no-daemon.",
        ) from error
    try:
        while time.monotonic() < deadline:
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                time.sleep(LOOK_SECONDS)
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
        starter.wait()  # it forks at once, and what we wait for is its child
        return _pid_of(home, _read_line(reading, deadline))
    finally:
        os.close(reading)
        if writing >= 0:
            os.close(writing)


def _fresh_output(home: Home) -> BinaryIO:
    """The words of the daemon before stay beside it: it may have crashed, and nobody has looked yet."""
    output = Path(home.output)
    if output.exists() and output.stat().st_size:
        output.replace(f"{output}.1")
    return output.open("ab")


def _read_line(fd: int, deadline: float) -> bytes:
    """What the daemon said when it was ready; empty when it ended, or took too long, before that."""
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
            reason=last_words(home),
            hint=f"The log is {home.log}; `llmc doctor` looks for the cause, --no-daemon does without.",
        )
    answer: dict[str, Any] = json.loads(line)
    if "error" in answer:
        raise error_from_fields(answer["error"])
    return int(answer["pid"])


def _environment(home: Home, environ: Mapping[str, str]) -> dict[str, str]:
    named = set(environ.get("LLMC_PASS_ENV", "").replace(",", " ").split())
    kept = {name: value for name, value in environ.items() if name in named or _is_kept(name)}
    kept["LLMC_HOME"] = home.path
    path = import_path(environ.get("PYTHONPATH", ""))
    if path:
        kept["PYTHONPATH"] = path
    return kept


def _is_kept(name: str) -> bool:
    return name in KEEP or name.startswith(KEEP_PREFIXES) or name.endswith(KEEP_SUFFIXES)


def import_path(given: str) -> str:
    """The absolute entries of PYTHONPATH, and where this llmc was imported from unless that is an installed one."""
    entries = [entry for entry in given.split(os.pathsep) if Path(entry).is_absolute()]
    here = Path(__file__).absolute().parents[2]
    if here.name not in {"site-packages", "dist-packages"} and str(here) not in entries:
        entries.insert(0, str(here))
    return os.pathsep.join(entries)


def _unreachable(home: Home) -> DaemonGoneError:
    owner = read_owner(home)
    who = owner.describe() if owner else "another command is starting it"
    return DaemonGoneError(
        "the daemon does not answer",
        reason=f"{who}; waited {START_SECONDS:.0f} s",
        hint="`llmc stop --force` ends it; the log is " + home.log,
    )
