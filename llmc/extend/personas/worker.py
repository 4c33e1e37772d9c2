"""The process that runs scripts of personas and tools: Lua, one job after the other, each in a fresh state.

Run as a script that imports nothing from llmc (`python -I -S worker.py FOLDER-OF-LUPA`), so it starts in 50 ms. Jobs
arrive as lines of JSON on stdin; messages of a script are written as lines to stdout. Before the first job the process
drops what it does not need: files, programs, sockets (no descriptor can be opened, and on Linux the kernel refuses the
system calls and every path), and memory beyond a limit. A script sees only `prelude.lua` and no Python objects. The
host enforces timeouts by killing this process; a CPU limit is the fallback if the host is gone.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import resource
import struct
import sys
from importlib import import_module
from typing import Any

# Lua's own memory, and all of the process.
LUA_BYTES, ALL_BYTES = 64 << 20, 512 << 20
LARGEST_MESSAGE = 1 << 20
PR_SET_NO_NEW_PRIVS = 38
CREATE_RULESET, RESTRICT_SELF = 444, 446
EVERY_FILE = (1 << 13) - 1  # all access rights of Landlock version 1
ENDS = (b"done", b"error")
PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 22, 2
LOAD, EQUAL, AT_LEAST, RETURN = 0x20, 0x15, 0x35, 0x06  # BPF instructions
OTHER_NUMBERS = 0x40000000  # the x32 system calls of x86_64
ALLOW, REFUSE = 0x7FFF0000, 0x00050001
# open, openat, openat2, socket, connect, execve, execveat, fork, vfork, clone, clone3, ptrace, process_vm_readv, kill,
# unlink, unlinkat, rename, renameat2: system call numbers per architecture.
FORBIDDEN = {
    "x86_64": (0xC000003E, (2, 257, 437, 41, 42, 59, 322, 57, 58, 56, 435, 101, 310, 62, 87, 263, 82, 316)),
    "aarch64": (0xC00000B7, (56, 437, 198, 203, 221, 281, 220, 435, 117, 270, 129, 35, 276)),
}


def main() -> None:
    jobs = os.fdopen(os.dup(0), "rb")
    replies = os.dup(1)
    silent = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(silent, descriptor)
    sys.path.append(sys.argv[1])
    runtime = import_module("lupa.lua54").LuaRuntime  # its folder is known only now
    with open(os.path.join(os.path.dirname(__file__), "prelude.lua"), "rb") as file:  # noqa: PTH118, PTH120, PTH123 - pathlib takes 10 ms
        prelude = file.read()
    run_one(runtime, prelude, {"source": "return {}", "name": "warm", "what": "describe agent", "given": ""}, jobs, -1)
    confine()
    os.write(replies, b'["ready",""]\n')
    for line in jobs:
        job = json.loads(line)
        allow_seconds(job["seconds"])
        run_one(runtime, prelude, job, jobs, replies)


def confine() -> None:
    for limit, value in (
        (resource.RLIMIT_AS, ALL_BYTES),
        (resource.RLIMIT_NOFILE, 0),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_CORE, 0),
    ):
        with contextlib.suppress(OSError, ValueError):  # macOS refuses some
            resource.setrlimit(limit, (value, value))
    if sys.platform.startswith("linux"):
        libc = ctypes.CDLL(None, use_errno=True)
        libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
        refuse_paths(libc)
        refuse_calls(libc)


def refuse_paths(libc: Any) -> None:
    """Landlock (5.13) without rules: no file can be read, written or executed."""
    handled = (ctypes.c_uint64 * 1)(EVERY_FILE)
    ruleset = libc.syscall(CREATE_RULESET, ctypes.byref(handled), 8, 0)
    if ruleset >= 0:
        libc.syscall(RESTRICT_SELF, ruleset, 0)


def refuse_calls(libc: Any) -> None:
    """A seccomp filter: system calls that open, connect, start or inspect something fail with EPERM."""
    machine = FORBIDDEN.get(os.uname().machine)
    if machine is None:
        return
    architecture, calls = machine
    last = len(calls) + 1  # jump distance from the first comparison to the refusing instruction
    steps = [(LOAD, 0, 0, 4), (EQUAL, 1, 0, architecture), (RETURN, 0, 0, REFUSE), (LOAD, 0, 0, 0)]
    steps += [(AT_LEAST, last, 0, OTHER_NUMBERS)]
    steps += [(EQUAL, last - 1 - at, 0, number) for at, number in enumerate(calls)]
    steps += [(RETURN, 0, 0, ALLOW), (RETURN, 0, 0, REFUSE)]
    code = b"".join(struct.pack("HBBI", *step) for step in steps)
    kept = ctypes.create_string_buffer(code, len(code))
    program = struct.pack("HxxxxxxP", len(steps), ctypes.addressof(kept))
    libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, program, 0, 0)


def allow_seconds(seconds: float) -> None:
    """Limit the CPU time from now on; the kernel kills the process at the limit."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    soft = int(used.ru_utime + used.ru_stime + seconds) + 2
    resource.setrlimit(resource.RLIMIT_CPU, (soft, resource.RLIM_INFINITY))


def run_one(runtime: Any, prelude: bytes, job: dict[str, Any], answers: Any, replies: int) -> None:
    """Run one job. Its Lua state is freed before the result is sent, so the next job finds nothing of it."""
    try:
        message = run_script(runtime, prelude, job, answers, replies)
    except Exception as error:  # noqa: BLE001 - every error is reported to the host
        message = (b"error", json.dumps({"stage": "run", "message": f"{type(error).__name__}: {error}"}).encode())
    say(replies, *message)


def run_script(runtime: Any, prelude: bytes, job: dict[str, Any], answers: Any, replies: int) -> tuple[bytes, bytes]:
    lua = runtime(
        encoding=None,
        register_eval=False,
        register_builtins=False,
        unpack_returned_tuples=False,
        max_memory=LUA_BYTES,
    )
    begin = lua.execute(prelude)
    texts = (job[name].encode("utf-8", "surrogatepass") for name in ("source", "name", "what", "given"))
    running = begin.coroutine(*texts)
    message: tuple[bytes, bytes] = running.send(None)
    while message[0] not in ENDS:
        say(replies, *message)
        message = running.send(answer(answers) if message[0] == b"call" else (None,))
    return message


def answer(answers: Any) -> tuple[bool, bytes]:
    """(whether the call failed, JSON result) from the host."""
    failed, text = json.loads(answers.readline())
    return bool(failed), text.encode("utf-8", "surrogatepass")


def say(replies: int, kind: bytes, text: bytes) -> None:
    if len(text) > LARGEST_MESSAGE:
        kind, text = b"error", b'{"stage":"shape","message":"its result is longer than 1 MiB"}'
    if replies < 0:
        return
    line = memoryview(json.dumps([kind.decode(), text.decode("utf-8", "replace")]).encode() + b"\n")
    while line:
        line = line[os.write(replies, line) :]


if __name__ == "__main__":
    main()
