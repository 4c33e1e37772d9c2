"""A private home for a test, with its daemon and the real `llmc` in subprocesses."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import llmc
from llmc.base.daemon_lock import read_owner
from llmc.base.home import find_home
from llmc.client.daemon_client import Caller, DaemonConnection

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

TWIN = str(Path(__file__).with_name("fake_daemon.py"))
PATIENCE = 120.0  # for a machine that is busy with other work


class Place:
    """A state folder for llmc, its environment, and the daemon that runs in it."""

    def __init__(self, folder: Path, **variables: str) -> None:
        here = str(Path(llmc.__file__).parents[1])
        self.environ = {**os.environ, "LLMC_HOME": str(folder), "PYTHONPATH": here, **variables}
        self.home = find_home(self.environ)
        self.said: list[str] = []

    def caller(self, **variables: str) -> Caller:
        environ = {**self.environ, **variables}
        return Caller(self.home, environ, cwd="/", notify=self.said.append, command=[sys.executable, TWIN])

    def connect(self, *, start: bool = True, **variables: str) -> DaemonConnection:
        return self.caller(**variables).connect(start=start)

    def twin(self, **options: Any) -> subprocess.Popen[str]:
        """The fake daemon as a child of the test."""
        return subprocess.Popen([sys.executable, TWIN], env=self.environ, text=True, stderr=subprocess.PIPE, **options)

    def llmc(self, *arguments: str, work_tree: bool = True, **options: Any) -> subprocess.CompletedProcess[str]:
        """`work_tree`: make its folder a git work tree, since other folders are roots only if they are named."""
        command = [sys.executable, "-m", "llmc", *arguments]
        if work_tree and options.get("cwd"):
            as_work_tree(Path(options["cwd"]))
        return subprocess.run(
            command, env=self.environ, text=True, capture_output=True, timeout=PATIENCE, check=False, **options
        )

    @property
    def pid(self) -> int:
        owner = read_owner(self.home)
        assert owner is not None
        return owner.pid

    def wait_until_free(self) -> None:
        """Wait until no daemon holds the lock of this place."""
        with Path(self.home.lock).open() as lock:
            wait_for_lock(lock)

    def end(self) -> None:
        owner = read_owner(self.home)
        if owner is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(owner.pid, signal.SIGKILL)
            self.wait_until_free()


def as_work_tree(folder: Path) -> Path:
    """Make the folder of a test a git work tree, unless it is inside one. Other folders are not changed."""
    temporary = Path(tempfile.gettempdir()).resolve()
    is_ours = temporary in folder.resolve().parents and folder.is_dir()
    if is_ours and not any((each / ".git").exists() for each in (folder, *folder.parents)):
        with contextlib.suppress(OSError):
            (folder / ".git").mkdir()
    return folder


def wait_for_lock(lock: IO[str]) -> None:
    """Wait until the daemon that holds the lock has exited."""
    with _alarm():
        fcntl.flock(lock, fcntl.LOCK_SH)


def until(condition: Callable[[], object]) -> None:
    """Polls until the condition holds, for conditions without an event."""
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, "the condition never held"
        time.sleep(0.005)


@contextlib.contextmanager
def _alarm() -> Iterator[None]:
    """Fail the test instead of letting it hang."""

    def ring(_number: int, _frame: object) -> None:
        raise TimeoutError("the daemon did not exit")

    previous = signal.signal(signal.SIGALRM, ring)
    signal.alarm(int(PATIENCE))
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, previous)


class CommandLine:
    """`llmc` commands in one folder."""

    def __init__(self, place: Place, folder: Path) -> None:
        self.place = place
        self.folder = as_work_tree(folder)

    def __call__(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return self.place.llmc(*arguments, cwd=self.folder)

    def text(self, *arguments: str) -> str:
        done = self(*arguments)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def json(self, *arguments: str) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.text(*arguments, "--json"))
        return found


@contextlib.contextmanager
def private_place() -> Iterator[Place]:
    # Not tmp_path: its names may be too long for a socket, and one test needs such a name.
    folder = Path(tempfile.mkdtemp(prefix="llmc-test-"))
    made = Place(folder / "home")
    try:
        yield made
    finally:
        made.end()
        shutil.rmtree(folder)
