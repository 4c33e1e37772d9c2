"""The process in which persona scripts run: Lua, one job after the other, each in a state of its own.

Run as a script with nothing of llmc imported (`python -I -S worker.py FOLDER-OF-LUPA`), so that it is there in 50 ms.
Jobs come as lines of JSON on stdin, what a script says goes out as lines on stdout. Before the first job the process
gives up what it will not need: files, programs, sockets (no descriptor can be opened, and on Linux the kernel refuses
the calls and every path), memory beyond a limit. `prelude.lua` is what a script sees; no Python object is ever handed
to it. Time is the host's business, which ends this process; a limit on CPU stands behind it should the host be gone.
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
EVERY_FILE = (1 << 13) - 1  # all rights of the first Landlock; later ones are refinements
ENDS = (b"done", b"error")
PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 22, 2
LOAD, EQUAL, AT_LEAST, RETURN = 0x20, 0x15, 0x35, 0x06  # of the kernel's packet filter
OTHER_NUMBERS = 0x40000000  # x86_64 has a second set of them
ALLOW, REFUSE = 0x7FFF0000, 0x00050001
# open, openat, openat2, socket, connect, execve, execveat, fork, vfork, clone, clone3, ptrace, process_vm_readv, kill,
# unlink, unlinkat, rename, renameat2: each machine's own numbers, behind its name in the kernel.
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
    run_one(runtime, prelude, {"source": "return {}", "name": "warm", "what": "describe", "given": ""}, jobs, -1)
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
    """Landlock (5.13) without a rule: no file can be read, written or executed."""
    handled = (ctypes.c_uint64 * 1)(EVERY_FILE)
    ruleset = libc.syscall(CREATE_RULESET, ctypes.byref(handled), 8, 0)
    if ruleset >= 0:
        libc.syscall(RESTRICT_SELF, ruleset, 0)


def refuse_calls(libc: Any) -> None:
    """A seccomp filter: what would open, connect, start or look into something fails with EPERM."""
    machine = FORBIDDEN.get(os.uname().machine)
    if machine is None:
        return
    architecture, calls = machine
    last = len(calls) + 1  # how far the last step, which refuses, is from the first comparison
    steps = [(LOAD, 0, 0, 4), (EQUAL, 1, 0, architecture), (RETURN, 0, 0, REFUSE), (LOAD, 0, 0, 0)]
    steps += [(AT_LEAST, last, 0, OTHER_NUMBERS)]
    steps += [(EQUAL, last - 1 - at, 0, number) for at, number in enumerate(calls)]
    steps += [(RETURN, 0, 0, ALLOW), (RETURN, 0, 0, REFUSE)]
    code = b"".join(struct.pack("HBBI", *step) for step in steps)
    kept = ctypes.create_string_buffer(code, len(code))
    program = struct.pack("HxxxxxxP", len(steps), ctypes.addressof(kept))
    libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, program, 0, 0)


def allow_seconds(seconds: float) -> None:
    """So much CPU from now on; the kernel ends the process then."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    soft = int(used.ru_utime + used.ru_stime + seconds) + 2
    resource.setrlimit(resource.RLIMIT_CPU, (soft, resource.RLIM_INFINITY))


def run_one(runtime: Any, prelude: bytes, job: dict[str, Any], answers: Any, replies: int) -> None:
    """The state is gone, with all its memory, before the last word is said: the next job finds nothing of it."""
    try:
        said = played(runtime, prelude, job, answers, replies)
    except Exception as error:  # noqa: BLE001 - whatever it is, the host is told
        said = (b"error", json.dumps({"stage": "run", "message": f"{type(error).__name__}: {error}"}).encode())
    say(replies, *said)


def played(runtime: Any, prelude: bytes, job: dict[str, Any], answers: Any, replies: int) -> tuple[bytes, bytes]:
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
    said: tuple[bytes, bytes] = running.send(None)
    while said[0] not in ENDS:
        say(replies, *said)
        said = running.send(answer(answers) if said[0] == b"call" else (None,))
    return said


def answer(answers: Any) -> tuple[bool, bytes]:
    """(whether it failed, JSON), as the host found it."""
    failed, text = json.loads(answers.readline())
    return bool(failed), text.encode("utf-8", "surrogatepass")


def say(replies: int, kind: bytes, text: bytes) -> None:
    if len(text) > LARGEST_MESSAGE:
        kind, text = b"error", b'{"stage":"shape","message":"what it said is longer than 1 MiB"}'
    if replies < 0:
        return
    line = memoryview(json.dumps([kind.decode(), text.decode("utf-8", "replace")]).encode() + b"\n")
    while line:
        line = line[os.write(replies, line) :]


if __name__ == "__main__":
    main()
