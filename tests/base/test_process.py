"""Reading the output of programs: to the end, to a limit, and never as long as a leftover process holds the pipe."""

from __future__ import annotations

import subprocess
import sys

from llmc.base.process import end_group, read_output


def started(script: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-c", script]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)


def fds(process: subprocess.Popen[bytes]) -> tuple[int, int]:
    assert process.stdout is not None
    assert process.stderr is not None
    return process.stdout.fileno(), process.stderr.fileno()


def test_both_outputs_are_read_to_their_ends_although_there_are_pauses() -> None:
    script = "import sys, time\nfor n in range(4):\n print(n, flush=True); time.sleep(.2)\nprint('x', file=sys.stderr)"
    with started(script) as process:
        out, err = fds(process)
        parts: dict[int, list[bytes]] = {out: [], err: []}
        assert read_output(process, {fd: parts[fd].append for fd in parts}, quiet=0.05)
    assert b"".join(parts[out]) == b"0\n1\n2\n3\n"
    assert b"".join(parts[err]) == b"x\n"


def test_a_process_that_left_the_group_does_not_hold_the_reader() -> None:
    script = (
        "import os, time\nprint('done', flush=True)\n"
        "if os.fork() == 0:\n os.setsid()\n while True: print('still here', flush=True); time.sleep(.01)\n"
    )
    with started(script) as process:
        out, _ = fds(process)
        parts: list[bytes] = []
        assert not read_output(process, {out: parts.append}, linger=0.3)
        assert process.stdout is not None
        process.stdout.close()  # the process that left gets a broken pipe
    assert b"".join(parts).startswith(b"done\n")


def test_reading_stops_on_request_and_a_program_that_ignores_signals_is_killed() -> None:
    script = "import signal, time\nsignal.signal(15, signal.SIG_IGN)\nprint('ready', flush=True)\ntime.sleep(600)"
    with started(script) as process:
        out, _ = fds(process)
        parts: list[bytes] = []
        assert not read_output(process, {out: parts.append}, proceed=lambda: not parts)
        end_group(process, 0.1)
    assert process.returncode == -9
