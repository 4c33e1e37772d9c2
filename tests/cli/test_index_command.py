"""`llmc index`: in the foreground, following a daemon, once, and without a daemon."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from daemons import PATIENCE, Place
from locations import SUPPORT

from llmc.base.daemon_lock import read_owner

if TYPE_CHECKING:
    from collections.abc import Iterator

FAKE_LLMC = str(SUPPORT / "fake_llmc.py")


def llmc(place: Place, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, FAKE_LLMC, *arguments]
    return subprocess.run(command, env=place.environ, text=True, capture_output=True, timeout=PATIENCE, check=False)


@contextlib.contextmanager
def foreground(place: Place, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """`llmc index` once it watches."""
    command = [sys.executable, FAKE_LLMC, "index", *arguments]
    with subprocess.Popen(
        command, env=place.environ, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        alarm = threading.Timer(PATIENCE, process.kill)  # a foreground that never watches fails instead of hanging
        alarm.start()
        assert process.stderr is not None
        for line in process.stderr:
            if "re-indexed" in line:
                break
        yield process
        process.kill()
        alarm.cancel()


def test_once_says_what_was_done(place: Place) -> None:
    place.connect().close()
    done = llmc(place, "index", "--once", ".")
    assert (done.returncode, done.stdout) == (0, "/src: 3 files indexed, 1 skipped, 0 failed in 1.2 s\n")
    assert done.stderr.splitlines() == ["scan 0 of 2 · 10/s · 500 ms left", "scan 2 of 2 · 10/s · 500 ms left"]


def test_once_as_json_is_one_object_and_nothing_else(place: Place) -> None:
    place.connect().close()
    done = llmc(place, "index", "--once", "--json")
    assert json.loads(done.stdout)["roots"][0]["indexed"] == 3
    assert done.stderr == ""


def test_verify_prints_the_differences_and_exits_1(place: Place) -> None:
    place.connect().close()
    done = llmc(place, "index", "--verify", "-q")
    assert (done.returncode, done.stdout) == (1, "")
    assert "stale a\\n.py: its hash differs\n" in llmc(place, "index", "--verify").stdout


def test_detach_leaves_the_work_to_the_daemon(place: Place) -> None:
    place.connect().close()
    assert "`llmc status` shows the progress" in llmc(place, "index", "--detach").stderr
    assert llmc(place, "index", "--detach", "--no-daemon").returncode == 2


def test_in_the_foreground_it_is_the_daemon_until_ctrl_c(place: Place) -> None:
    with foreground(place) as process:
        owner = read_owner(place.home)
        assert owner is not None
        assert (owner.pid, owner.foreground) == (process.pid, True)
        with place.connect() as connection:
            assert connection.call("echo", {"a": 1}) == {"a": 1}
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE) == 130
        assert process.stderr is not None
        assert process.stderr.read() == ""
    assert read_owner(place.home) is None
    assert Path(place.home.path, "closed").exists()


@pytest.mark.parametrize("how", ["SIGTERM", "llmc stop"])
def test_a_stop_ends_the_foreground_well(place: Place, how: str) -> None:
    with foreground(place) as process:
        if how == "SIGTERM":
            process.terminate()
        else:
            assert llmc(place, "stop").returncode == 0
        assert process.wait(PATIENCE) == 0


def test_what_the_watcher_does_is_a_log(place: Place) -> None:
    place.connect().close()
    with subprocess.Popen(
        [sys.executable, FAKE_LLMC, "index"], env=place.environ, text=True, stderr=subprocess.PIPE
    ) as process:
        assert process.stderr is not None
        lines = [process.stderr.readline() for _ in range(5)]
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE) == 130
    assert f"following the running daemon (pid {place.pid}" in lines[0]
    assert lines[3].endswith("up to date; watching for changes until Ctrl-C (the index stays)\n")
    assert lines[4].endswith("2 files re-indexed, 1 removed in 250 ms · a\\n.py\n")


def test_looking_on_ends_without_ending_the_daemon(place: Place) -> None:
    place.connect().close()
    pid = place.pid
    with foreground(place) as process:
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE) == 130
    assert place.pid == pid


def test_events_are_json_lines_when_json_is_wanted(place: Place) -> None:
    place.connect().close()
    command = [sys.executable, FAKE_LLMC, "index", "--json"]
    with subprocess.Popen(
        command, env=place.environ, text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as process:
        assert process.stdout is not None
        stages = [json.loads(process.stdout.readline())["stage"] for _ in range(5)]
        process.terminate()
    assert stages == ["scan", "scan", "scan", "watch", "watch"]


def test_on_a_terminal_there_are_bars_and_the_cursor_comes_back(place: Place) -> None:
    place.connect().close()
    ours, theirs = pty.openpty()
    command = [sys.executable, FAKE_LLMC, "index", "--once"]
    environ = {**place.environ, "TERM": "xterm", "COLUMNS": "100"}
    done = subprocess.run(command, env=environ, stdout=subprocess.PIPE, stderr=theirs, text=True, check=True)
    os.close(theirs)
    drawn = os.read(ours, 65_536).decode()
    os.close(ours)
    assert "━" in drawn
    assert "10/s · 500 ms left" in drawn
    assert drawn.rindex("\x1b[?25h") > drawn.rindex("\x1b[?25l")
    assert done.stdout.startswith("/src: 3 files indexed")


def test_a_bad_root_ends_the_foreground_with_its_error(place: Place) -> None:
    done = llmc(place, "index", "/bad")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "llmc: /bad cannot be a root: it does not exist\n  Name another.\n"
    assert read_owner(place.home) is None


def test_a_newer_client_leaves_a_foreground_daemon_alone(place: Place) -> None:
    with foreground(place) as process:
        newer = place.caller()
        newer.about["version"] = "99.0"
        with newer.connect() as connection:
            assert connection.hello["pid"] == process.pid
            assert connection.call("echo", {"a": 1}) == {"a": 1}


def test_without_a_daemon_everything_happens_here(place: Place) -> None:
    done = llmc(place, "index", "--once", "--no-daemon")
    assert (done.returncode, done.stdout) == (0, "/src: 3 files indexed, 1 skipped, 0 failed in 1.2 s\n")
    assert read_owner(place.home) is None
    assert not Path(place.home.socket).exists()
    status = json.loads(llmc(place, "status", "--no-daemon", "--json").stdout)
    assert (status["daemon"], status["roots"][0]["path"]) == (None, "/src")


def test_without_a_daemon_there_is_still_one_writer(place: Place) -> None:
    place.connect().close()
    done = llmc(place, "index", "--once", "--no-daemon")
    assert done.returncode == 4
    assert f"pid {place.pid}" in done.stderr
    assert "Omit --no-daemon" in done.stderr


def test_a_home_that_cannot_be_written_is_replaced_for_the_command(place: Place, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    place.environ["LLMC_HOME"] = str(tmp_path / "file" / "home")
    done = llmc(place, "index", "--once", "--no-daemon", "-q")
    assert done.returncode == 0
    assert "temporary folder" in llmc(place, "index", "--once", "--no-daemon").stderr


def test_ctrl_c_without_a_daemon_cancels_and_closes(place: Place) -> None:
    with foreground(place, "--no-daemon") as process:
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE) == 130
        assert process.stderr is not None
        assert process.stderr.read() == ""
    assert Path(place.home.path, "closed").exists()
