"""The bundled ripgrep, fenced in: it sees the files of one root and nothing else.

ripgrep opens paths by name, so that a folder swapped for a link while it runs could lead it outside. The kernel forbids
that: the thread that starts it first gives up (Landlock, Linux 5.13) every file access but reading below the root, and
the child inherits this. Where the kernel lacks Landlock, ripgrep gets no names, only files opened by `root_fs`, as
`/proc/self/fd/N`. Where neither works, `available` says so and the caller scans in process.
"""

from __future__ import annotations

import ctypes
import fcntl
import io
import os
import shutil
import subprocess
import sys
import sysconfig
import threading
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from llmc.base.concurrency import released
from llmc.base.errors import LlmcError, QueryError, SearchTimeoutError
from llmc.base.process import killed_at

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from llmc.base.root_fs import RootFs

__all__ = ["FileRows", "available", "check", "file_types", "landlock", "run", "stream"]

# Linux takes 128 KiB for one argument and a quarter of the stack (2 MiB) for all; half of that leaves room.
ARGUMENT_BYTES: Final = 1_000_000
FD_BATCH: Final = 200
# A pattern of 1,000 characters with nested repetitions takes some 2 s on an idle core before ripgrep refuses it.
CHECK_SECONDS: Final = 10.0
MAX_OUTPUT: Final = 512 * 1024 * 1024
PIECE: Final = 1 << 18
PIPE: Final = 1 << 20
FILL_SECONDS: Final = 0.004  # ripgrep prints up to 60 MB a second

CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446
EXECUTE, READ_FILE, READ_DIR = 1 << 0, 1 << 2, 1 << 3
ALL_ACCESS = (1 << 13) - 1  # every right of the first Landlock version
PR_SET_NO_NEW_PRIVS = 38


SLOW_HINT: Final = "Make the pattern more specific, name a path, or raise limits.query_timeout_ms."
LEAST_SECONDS: Final = 0.5  # for a batch that is reached late


@dataclass(slots=True)
class Limit:
    """`deadline` is on the monotonic clock; `seconds` is the limit that it was made of."""

    deadline: float
    seconds: float

    def restart(self) -> None:
        self.deadline = time.monotonic() + self.seconds


@dataclass(frozen=True, slots=True)
class FileRows:
    """What ripgrep printed for a file: `12:text` for a match, `13-text` for context, one a line; or a bare count."""

    path: str
    rows: bytes = b""


@cache
def program() -> str | None:
    beside = Path(sysconfig.get_path("scripts")) / "rg"
    return str(beside) if beside.exists() else shutil.which("rg")


@cache
def landlock() -> bool:
    if not sys.platform.startswith("linux"):
        return False
    return int(ctypes.CDLL(None, use_errno=True).syscall(CREATE_RULESET, None, 0, 1)) > 0


def available() -> bool:
    return program() is not None and sys.platform.startswith("linux")


def check(options: Sequence[str]) -> None:
    """Let ripgrep check a pattern; QueryError has its message, or says that checking took too long."""
    command = [program() or "rg", "--no-config", *options, "--", "-"]  # a pattern alone, no file
    try:
        with released():
            done = subprocess.run(
                command, stdin=subprocess.DEVNULL, capture_output=True, timeout=CHECK_SECONDS, check=False
            )
    except subprocess.TimeoutExpired:
        raise QueryError(
            "the pattern is too complex",
            reason=f"ripgrep needed more than {CHECK_SECONDS:g} s to read it",
            hint="Use fewer or smaller repetitions.",
        ) from None
    if done.returncode == 2:  # noqa: PLR2004 - ripgrep's code for an error
        said = done.stderr.decode("utf-8", "replace").strip().removeprefix("rg: ")
        reason, needs_pcre, _ = said.partition("\n\nConsider enabling PCRE2")
        hint = "Match more, and leave out the rest with a second pattern or a path." if needs_pcre else ""
        raise QueryError("the pattern cannot be read", reason=reason, hint=hint)


@cache
def file_types() -> dict[str, tuple[str, ...]]:
    """ripgrep's own table for `-t`: name → globs."""
    listed = subprocess.run(
        [program() or "rg", "--no-config", "--type-list"], capture_output=True, text=True, check=True
    )
    rows = (line.partition(": ") for line in listed.stdout.splitlines())
    return {name: tuple(glob.strip() for glob in globs.split(",")) for name, _, globs in rows}


def run(
    root_fs: RootFs, options: Sequence[str], paths: Sequence[str], deadline: float, limit: float
) -> Iterator[FileRows]:
    """Search these files of a root; in no particular order, and only those that match. `limit` is the time limit that
    `deadline` comes from, for the message."""
    for batch in by_size(paths) if landlock() and not root_fs.is_virtual else by_count(paths):
        yield from run_batch(root_fs, options, batch, Limit(deadline, limit))


def run_batch(root_fs: RootFs, options: Sequence[str], paths: Sequence[str], limit: Limit) -> Iterator[FileRows]:
    names: dict[bytes, str] = {}
    fds: list[int] = []
    for path in paths:
        if root_fs.denylist.denies(path):
            continue
        if landlock() and not root_fs.is_virtual and "\n" not in path:  # an empty line ends a file's rows
            names[os.fsencode("./" + path)] = path
            continue
        try:
            fds.append(root_fs.open(path))
        except LlmcError:
            continue
        os.set_inheritable(fds[-1], True)
        names[f"/proc/self/fd/{fds[-1]}".encode()] = path
    try:
        output = communicate(root_fs, options, list(names), limit)
    finally:
        for fd in fds:
            os.close(fd)
    yield from parsed(output, names, options)


def parsed(output: bytes, names: dict[bytes, str], options: Sequence[str]) -> Iterator[FileRows]:
    if "--files-with-matches" in options:
        yield from (FileRows(names[name]) for name in output.split(b"\0") if name in names)
        return
    for block in output.split(b"\n" if "--count" in options else b"\n\n"):
        name, _, rows = block.partition(b"\0")
        if name in names:
            yield FileRows(names[name], rows.removesuffix(b"\n"))


def stream(
    root_fs: RootFs, options: Sequence[str], paths: Sequence[str], deadline: float, limit: float
) -> Iterator[bytes]:
    """The matches in the order of the paths, a piece at a time: each file's path, NUL and its lines, with an empty line
    between files. The time limit is for the first piece and then for each further one, however long a reader takes.
    Only where Landlock works, and only paths without a line break."""
    assert landlock()
    allowed = Limit(deadline, limit)
    before, between = False, b""
    for batch in by_size([path for path in paths if not root_fs.denylist.denies(path)]):
        names = [os.fsencode(path) for path in batch]
        shown = ["--heading", "--threads=1", *options]
        with process(root_fs, shown, names, allowed) as output:
            for piece in gathered(output):
                yield between + piece
                before, between = True, b""
                allowed.restart()
        between = b"\n" if before else b""


def gathered(output: io.BufferedReader) -> Iterator[bytes]:
    """What comes, the first of it at once. ripgrep writes the matches of one file at a time, 6 KB on average: after a
    short piece the pipe is given time to fill, since each piece passes through the daemon, the socket and the
    client."""
    with suppress(OSError, AttributeError):
        fcntl.fcntl(output, fcntl.F_SETPIPE_SZ, PIPE)
    pieces = 0
    while piece := output.read1(PIECE):
        yield piece
        pieces += 1
        if pieces > 1 and len(piece) < PIECE // 2:
            time.sleep(FILL_SECONDS)


def communicate(root_fs: RootFs, options: Sequence[str], names: Sequence[bytes], limit: Limit) -> bytes:
    with process(root_fs, ["--heading", *options], names, limit) as output, released():
        found = output.read(MAX_OUTPUT + 1)
    if len(found) > MAX_OUTPUT:
        raise QueryError(f"the search was stopped at its limit of {MAX_OUTPUT >> 20} MiB of matches", hint=SLOW_HINT)
    return found


@contextmanager
def process(
    root_fs: RootFs, options: Sequence[str], names: Sequence[bytes], limit: Limit
) -> Iterator[io.BufferedReader]:
    """What ripgrep prints for these files. It is killed when the block ends before it does, and QueryError says so when
    the time limit ended it."""
    command = [program() or "rg", "--no-config", "--color=never", "--with-filename", "--null", "--text"]
    command += ["--no-messages", "--no-context-separator", *options, "--"]
    running = started(root_fs, [*command, *names])
    assert isinstance(running.stdout, io.BufferedReader)
    least = time.monotonic() + LEAST_SECONDS
    with killed_at(running, lambda: max(least, limit.deadline)) as late:
        yield running.stdout
    if late.is_set():
        raise SearchTimeoutError(f"the search was stopped at its time limit of {limit.seconds:g} s", hint=SLOW_HINT)


def started(root_fs: RootFs, command: Sequence[bytes | str]) -> subprocess.Popen[bytes]:
    found: list[subprocess.Popen[bytes] | OSError] = []
    top = root_fs.open_folder("")
    try:
        with Path(os.devnull).open("rb") as nothing:
            thread = threading.Thread(target=fenced, args=(top, command, nothing.fileno(), found))
            thread.start()
            thread.join()
    finally:
        os.close(top)
    if isinstance(found[0], OSError):
        raise QueryError("the bundled ripgrep did not start", reason=str(found[0]), hint="llmc doctor") from found[0]
    return found[0]


def fenced(
    top: int, command: Sequence[bytes | str], stdin: int, started: list[subprocess.Popen[bytes] | OSError]
) -> None:
    """In a thread of its own, which ends with this: what it gives up cannot be taken back."""
    try:
        if landlock():
            fence(top)
        started.append(
            subprocess.Popen(
                command,
                stdin=stdin,
                stdout=subprocess.PIPE,
                stderr=stdin,
                cwd=f"/proc/self/fd/{top}",
                close_fds=False,
                pass_fds=(),
                env={},
            )
        )
    except OSError as error:
        started.append(error)


def fence(top: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    handled = ctypes.c_uint64(ALL_ACCESS)
    ruleset = libc.syscall(CREATE_RULESET, ctypes.byref(handled), 8, 0)
    binary = os.open(program() or "rg", os.O_PATH | os.O_CLOEXEC)
    try:
        for fd, access in ((top, READ_FILE | READ_DIR), (binary, EXECUTE | READ_FILE)):
            rule = (ctypes.c_uint32 * 3)(
                access, 0, fd
            )  # a packed u64 and an i32, little-endian as on every Linux we know
            if libc.syscall(ADD_RULE, ruleset, 1, ctypes.byref(rule), 0):
                raise OSError(ctypes.get_errno(), "landlock_add_rule")
        libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
        if libc.syscall(RESTRICT_SELF, ruleset, 0):
            raise OSError(ctypes.get_errno(), "landlock_restrict_self")
    finally:
        os.close(binary)
        os.close(ruleset)


def by_size(paths: Sequence[str]) -> Iterator[list[str]]:
    batch: list[str] = []
    size = 0
    for path in paths:
        batch.append(path)
        size += len(path) + 16
        if size > ARGUMENT_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def by_count(paths: Iterable[str]) -> Iterator[list[str]]:
    listed = list(paths)
    for start in range(0, len(listed), FD_BATCH):
        yield listed[start : start + FD_BATCH]
