"""The process that runs a command and kills everything that it started.

Run as a script that imports nothing from llmc, so it starts in 20 ms. It becomes the parent of every orphan below it (a
subreaper, Linux), so grandchildren that leave their session or parent are still found. It restricts the programs to the
files of the plan (Landlock, Linux 5.13), starts them, and kills all of them before it exits for any reason. If the
daemon dies, the kernel signals the supervisor, which does the same.

The plan arrives as JSON on stdin; the outcome is written as JSON to the descriptor named in the plan. Program output
goes to stdout. Other systems have neither subreaper nor Landlock; there only the process group is killed.
"""

from __future__ import annotations

import ctypes
import json
import os
import resource
import signal
import subprocess
import sys
import time
from typing import Any

PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER, PR_SET_NO_NEW_PRIVS = 1, 36, 38
CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446
EXECUTE, WRITE_FILE, READ_FILE, READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
FIRST, REFER, TRUNCATE, IOCTL = (1 << 13) - 1, 1 << 13, 1 << 14, 1 << 15
READING = EXECUTE | READ_FILE | READ_DIR
OF_A_FILE = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL
SCOPED = 0b11  # abstract sockets and signals
SINCE_REFER, SINCE_TRUNCATE, SINCE_SCOPED = 2, 3, 6  # versions of Landlock
STDERR = 2
LINUX = sys.platform.startswith("linux")
NOT_FOUND, NOT_EXECUTABLE = 127, 126
# After this many rounds a process cannot be killed (uninterruptible in the kernel); it is reported.
ROUNDS = 400
ENDED = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


class Stopped(BaseException):
    """The command timed out or was cancelled."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


def main() -> None:
    plan = json.loads(sys.stdin.buffer.read())
    outcome: dict[str, Any] = {"code": None, "signal": 0, "stopped": "", "left": 0, "fenced": False, "problem": ""}
    prepare(plan, outcome)
    try:
        outcome["code"], outcome["signal"] = run_all(plan["pipelines"], plan["cwd"])
    except Stopped as stop:
        outcome["stopped"] = stop.why
    except OSError as error:
        outcome["code"], outcome["problem"] = failed_start(error), os.strerror(error.errno or 0)
        outcome["program"] = str(error.filename or "")
    for number in (signal.SIGALRM, *ENDED):
        signal.signal(number, signal.SIG_IGN)
    outcome["left"] = end_all()
    os.write(plan["report"], json.dumps(outcome).encode())


def prepare(plan: dict[str, Any], outcome: dict[str, Any]) -> None:
    for number in ENDED:
        signal.signal(number, stopper("cancelled"))
    signal.signal(signal.SIGALRM, stopper("time"))
    if LINUX:
        libc = ctypes.CDLL(None, use_errno=True)
        libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        libc.prctl(PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
        if os.getppid() != plan["parent"]:
            raise SystemExit(1)  # the parent died before the signal was set up
        if plan["fence"]:
            fence.build(libc, plan["readable"], plan["writable"])
            outcome["fenced"] = fence.ruleset >= 0
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.setitimer(signal.ITIMER_REAL, plan["seconds"])


def stopper(why: str) -> Any:
    def stop(_number: int, _frame: object) -> None:
        for number in (signal.SIGALRM, *ENDED):
            signal.signal(number, signal.SIG_IGN)  # ignore further signals
        raise Stopped(why)

    return stop


def failed_start(error: OSError) -> int:
    return NOT_FOUND if isinstance(error, FileNotFoundError) else NOT_EXECUTABLE


def run_all(pipelines: list[dict[str, Any]], cwd: str) -> tuple[int, int]:
    """Run the pipelines like a shell: `&&` continues after success, `||` after failure, `;` always."""
    code, number = 0, 0
    for pipeline in pipelines:
        if (pipeline["join"] == "&&" and code) or (pipeline["join"] == "||" and not code):
            continue
        code, number = run_pipeline(pipeline["commands"], cwd)
    return code, number


def run_pipeline(commands: list[dict[str, Any]], cwd: str) -> tuple[int, int]:
    processes: list[subprocess.Popen[bytes]] = []
    before: Any = None
    for at, command in enumerate(commands):
        last = at == len(commands) - 1
        stdin, stdout, stderr, opened = streams(command, before, last=last)
        # preexec_fn is safe here: this process has one thread.
        process = subprocess.Popen(
            command["words"],
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            cwd=cwd,
            preexec_fn=fence,  # noqa: PLW1509
        )
        for stream in (*opened, before):
            if stream is not None:
                stream.close()
        before = process.stdout
        processes.append(process)
    codes = [process.wait() for process in processes]
    code = codes[-1]
    return (128 - code, -code) if code < 0 else (code, 0)


def streams(command: dict[str, Any], before: Any, *, last: bool) -> tuple[Any, Any, Any, list[Any]]:
    """(stdin, stdout, stderr, opened files); without redirections both outputs go to the supervisor's stdout."""
    stdin: Any = before if before is not None else subprocess.DEVNULL
    stdout: Any = None if last else subprocess.PIPE
    stderr: Any = sys.stdout
    opened: list[Any] = []
    for redirect in command["redirects"]:
        if redirect["fd"] == STDERR and not redirect["target"]:
            stderr = stdout if stdout not in (None, subprocess.PIPE) else (sys.stdout if last else subprocess.STDOUT)
            continue
        opened.append(opened_file(redirect))
        if redirect["fd"] == 0:
            stdin = opened[-1]
        elif redirect["fd"] == 1:
            stdout = opened[-1]
        else:
            stderr = opened[-1]
    return stdin, stdout, stderr, opened


def opened_file(redirect: dict[str, Any]) -> Any:
    """Open the target of a redirection; it must not be a symbolic link, whatever it was when it was checked."""
    writing = os.O_WRONLY | os.O_CREAT | (os.O_APPEND if redirect["append"] else os.O_TRUNC)
    flags = os.O_RDONLY if redirect["fd"] == 0 else writing
    fd = os.open(redirect["target"], flags | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
    return os.fdopen(fd, "rb" if redirect["fd"] == 0 else "wb")


def end_all() -> int:
    """Kill every process below this one, and return how many there were. They are stopped first, so that none can
    start another meanwhile.
    """
    ended: set[int] = set()
    for _ in range(ROUNDS):
        reap()
        below = descendants()
        if not below:
            break
        for number in (signal.SIGSTOP, signal.SIGKILL):
            for pid in below:
                try:
                    os.kill(pid, number)
                except ProcessLookupError:
                    pass
                except PermissionError:
                    pass
        ended |= below
        time.sleep(0.005)
    return len(ended)


def reap() -> None:
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass


def descendants() -> set[int]:
    """Every running process below this one."""
    if not os.path.isdir("/proc/self"):  # noqa: PTH112 - pathlib would take 10 ms to import
        return set()
    children: dict[int, list[int]] = {}
    dead: set[int] = set()
    for name in os.listdir("/proc"):  # noqa: PTH208 - see above
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", "rb") as file:  # noqa: PTH123 - see above
                    fields = file.read().rpartition(b")")[2].split()
            except OSError:
                continue
            children.setdefault(int(fields[1]), []).append(int(name))
            if fields[0] in b"ZX":
                dead.add(int(name))
    found: set[int] = set()
    waiting = [os.getpid()]
    while waiting:
        below = children.get(waiting.pop(), [])
        found.update(below)
        waiting += below
    return found - dead


class Confinement:
    """Landlock restrictions of the programs: access only to listed files and, on Linux 6.12, signals only among
    themselves, so that they cannot kill the supervisor. Each program applies them right before it starts.
    """

    def __init__(self) -> None:
        self.ruleset = -1
        self._libc: Any = None

    def build(self, libc: Any, readable: list[str], writable: list[str]) -> None:
        version = libc.syscall(CREATE_RULESET, None, 0, 1)
        if version <= 0:
            return
        everything = FIRST | (REFER if version >= SINCE_REFER else 0) | (TRUNCATE if version >= SINCE_TRUNCATE else 0)
        scoped = SCOPED if version >= SINCE_SCOPED else 0
        handled = (ctypes.c_uint64 * 3)(everything, 0, scoped)
        size = 24 if scoped else 8
        self.ruleset = libc.syscall(CREATE_RULESET, ctypes.byref(handled), size, 0)
        if self.ruleset >= 0:
            for path, access in [*((path, READING) for path in readable), *((path, everything) for path in writable)]:
                add_rule(libc, self.ruleset, path, access)
            self._libc = libc

    def __call__(self) -> None:
        if self.ruleset >= 0:
            add_rule(self._libc, self.ruleset, f"/proc/{os.getpid()}", READING | WRITE_FILE)
            self._libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
            if self._libc.syscall(RESTRICT_SELF, self.ruleset, 0):
                os._exit(NOT_EXECUTABLE)


fence = Confinement()


def add_rule(libc: Any, ruleset: int, path: str, access: int) -> None:
    try:
        fd = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    try:
        if not os.path.isdir(path):  # noqa: PTH112 - see above
            access &= OF_A_FILE
        rule = (ctypes.c_uint32 * 3)(access & 0xFFFFFFFF, access >> 32, fd)  # a packed u64 and an i32
        libc.syscall(ADD_RULE, ruleset, 1, ctypes.byref(rule), 0)
    finally:
        os.close(fd)


if __name__ == "__main__":
    main()
