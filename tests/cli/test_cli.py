"""The command line itself: help, options, errors, interruptions."""

from __future__ import annotations

import importlib
import json
import os
import re
import signal
import subprocess
import sys
from typing import TYPE_CHECKING
from unittest.mock import ANY

import click
import pytest
from daemons import PATIENCE, Place

import llmc
from llmc import __version__
from llmc.base.daemon_lock import read_owner
from llmc.cli import COMMANDS, run
from llmc.cli._grep_all import FLAGS, GLOBAL, VALUES
from llmc.cli._options import global_options

if TYPE_CHECKING:
    from pathlib import Path

# Libraries that a command must not import if it only queries the daemon.
HEAVY = {
    "asyncio", "dataclasses", "logging", "lancedb", "llmc.server.daemon", "llmc.server.rpc", "llmc.settings", "mcp",
    "numpy", "orjson", "pathlib", "psutil", "pyarrow", "pydantic", "rich", "subprocess", "tantivy",
}  # fmt: skip


def imported_by(place: Place, *arguments: str) -> set[str]:
    script = "import sys; from llmc.cli import run; run(sys.argv[1:]); print('\\n'.join(['---', *sys.modules]))"
    command = [sys.executable, "-c", script, *arguments]
    done = subprocess.run(command, env=place.environ, capture_output=True, text=True, check=True)
    return set(done.stdout.partition("---\n")[2].split())


def test_help_lists_every_command_and_imports_none(place: Place) -> None:
    text = place.llmc("--help", "--all").stdout
    assert [line for line in COMMANDS.values() if line not in text] == []
    modules = imported_by(place, "--help")
    assert not modules & HEAVY
    assert not {f"llmc.cli.{name}" for name in COMMANDS} & modules


def test_short_help_names_what_the_whole_help_describes(place: Place) -> None:
    short, whole = place.llmc("--help").stdout, place.llmc("--help", "--all").stdout
    assert all(name in short for name in COMMANDS)
    assert COMMANDS["doctor"] in whole
    assert COMMANDS["doctor"] not in short
    short, whole = place.llmc("grep", "--help").stdout, place.llmc("grep", "--help", "--all").stdout
    assert "--budget" in short
    assert "Token budget of the reply." not in short
    assert "Token budget of the reply." in whole


def test_a_command_that_asks_the_daemon_imports_nothing_heavy(place: Place) -> None:
    place.connect().close()
    assert not imported_by(place, "status", "--json") & HEAVY


def test_all_matches_of_a_pattern_are_asked_for_without_click(place: Place, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("needle\n")
    root = ("--root", str(tmp_path))
    assert place.llmc(*root, "grep", "--all", "needle").stdout == "a.txt:1:needle\n"
    assert "click" not in imported_by(place, *root, "grep", "--all", "-n", "needle", "-g", "*.txt")
    assert "click" in imported_by(place, *root, "grep", "-n", "needle")


def test_every_match_in_sql_is_printed_without_passwords(place: Place, tmp_path: Path) -> None:
    (tmp_path / "users.sql").write_text("INSERT INTO users (name, password) VALUES ('ann', 'tr0ub4dor&3x');\n")
    printed = place.llmc("--root", str(tmp_path), "grep", "--all", "INSERT").stdout
    assert printed == "users.sql:1:INSERT INTO users (name, password) VALUES ('ann', '[redacted:password]');\n"


def test_the_options_of_a_quick_grep_are_those_of_the_command() -> None:
    known = {option: one for one in importlib.import_module("llmc.cli.grep").command.params for option in one.opts}
    for table, is_flag in ((FLAGS, True), (VALUES, False)):
        for option, name in table.items():
            assert (known[option].name or "").rstrip("_") == (name or "ignored")
            assert (known[option].is_flag, known[option].multiple) == (is_flag, not is_flag)
    known = {option: one for one in global_options() for option in one.opts}
    assert all(known[option].name == name and known[option].multiple for option, name in GLOBAL.items())


def test_the_package_offers_a_workspace_and_costs_nothing_until_it_is_wanted(place: Place) -> None:
    script = "import llmc, sys; before = set(sys.modules); llmc.Workspace; print(*sorted(before))"
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, env=place.environ, capture_output=True, text=True, check=True)
    assert not set(done.stdout.split()) & (HEAVY | {"llmc.workspace", "click"})
    assert llmc.__all__ == ["LlmcError", "Workspace", "__version__"]
    with pytest.raises(AttributeError, match="no attribute 'Nonsense'"):
        _ = llmc.Nonsense


def test_every_row_of_the_table_is_a_command() -> None:
    for name in COMMANDS:
        assert isinstance(importlib.import_module(f"llmc.cli.{name}").command, click.Command)


def test_the_version_is_the_packages(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--version"]) == 0
    assert capsys.readouterr().out == f"llmc {__version__}\n"


@pytest.mark.parametrize(("typed", "meant"), [("statu", "status"), ("indx", "index"), ("dcotor", "doctor")])
def test_a_mistyped_command_names_the_nearest(capsys: pytest.CaptureFixture[str], typed: str, meant: str) -> None:
    assert run([typed]) == 2
    assert f"Did you mean {meant}?" in capsys.readouterr().err


def test_a_wrong_option_is_a_json_error_when_json_is_wanted(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["stop", "--json", "--nonsense"]) == 2
    assert json.loads(capsys.readouterr().out)["error"]["code"] == "usage"


def test_an_error_is_reported_once_with_its_hint_and_exit_code(place: Place, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    place.environ["LLMC_HOME"] = str(tmp_path / "file" / "home")
    done = place.llmc("status")
    assert (done.returncode, done.stdout) == (4, "")
    assert done.stderr.count("Not a directory") == 1
    assert "--no-daemon" in done.stderr
    assert "Traceback" not in done.stderr
    error = json.loads(place.llmc("status", "--json").stdout)["error"]
    assert (error["code"], error["reason"]) == ("daemon", "Not a directory")


def test_global_options_may_stand_on_either_side(place: Place) -> None:
    place.connect().close()
    before, behind = place.llmc("--json", "status"), place.llmc("status", "--json")
    assert json.loads(before.stdout)["roots"] == json.loads(behind.stdout)["roots"]


def test_verbose_prints_call_times_and_log_lines_on_stderr(place: Place) -> None:
    place.connect().close()
    silent, times, logged = (place.llmc("status", "--json", *flags) for flags in ((), ("-v",), ("-vv",)))
    assert silent.stderr == ""
    assert re.fullmatch(r"llmc: call status: [\d.]+ ms in the daemon\n", times.stderr)
    assert json.loads(times.stdout)["daemon"] == json.loads(silent.stdout)["daemon"] | {"uptime": ANY}
    assert logged.stderr.startswith("llmc: call status: ")
    place.llmc("stop")
    started = place.llmc("-vv", "status")
    assert re.search(r"^\d\d:\d\d:\d\d info \w+", started.stderr, re.MULTILINE), "what the daemon logs as it starts"


def test_status_shows_daemon_and_roots(place: Place) -> None:
    place.connect().close()
    text = place.llmc("status").stdout
    assert f"pid {place.pid}" in text
    assert place.home.log in text
    assert "/src · ready" in text
    assert "3 files indexed · 0 skipped · 0 failed" in text
    daemon = json.loads(place.llmc("status", "--json").stdout)["daemon"]
    assert (daemon["pid"], daemon["clients"], daemon["version"]) == (place.pid, 1, __version__)


def test_status_of_a_daemon_that_has_just_started_reports_no_failure(place: Place) -> None:
    """The embedder is opened in the background, which is no failure."""
    line = next(line for line in place.llmc("status").stdout.split("\n") if line.startswith("embedder"))
    assert re.fullmatch(r"embedder (?:builtin · loading|\S+ · 256 dimensions)", line)


def test_status_watch_ends_cleanly_on_ctrl_c(place: Place) -> None:
    place.connect().close()
    command = [sys.executable, "-m", "llmc", "status", "--watch", "--json"]
    with subprocess.Popen(command, env=place.environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as watching:
        assert watching.stdout is not None
        assert watching.stderr is not None
        assert json.loads(watching.stdout.readline())["roots"]
        watching.send_signal(signal.SIGINT)
        assert (watching.wait(PATIENCE), watching.stderr.read()) == (130, b"")


def test_a_reader_that_closes_its_end_is_not_an_error(place: Place) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [sys.executable, "-m", "llmc", "--help"], env=place.environ, stdout=writing, stderr=subprocess.PIPE, check=False
    )
    os.close(writing)
    assert (done.returncode, done.stderr) == (141, b"")


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_reader_that_closes_its_end_during_a_grep_is_not_an_error(
    place: Place, tmp_path: Path, unbuffered: str
) -> None:
    """Its output arrives from the daemon in pieces, so the pipe breaks while the connection is in use."""
    (tmp_path / "long.txt").write_text("needle\n" * 400_000)
    assert place.llmc("index", "--once", cwd=tmp_path).returncode == 0
    environ = {**place.environ, "PYTHONUNBUFFERED": unbuffered}
    command = [sys.executable, "-m", "llmc", "grep", "--all", "needle"]
    with subprocess.Popen(
        command, env=environ, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as searching:
        assert searching.stdout is not None
        assert searching.stderr is not None
        assert searching.stdout.readline() == b"long.txt:1:needle\n"
        searching.stdout.close()
        assert (searching.wait(PATIENCE), searching.stderr.read()) == (141, b"")
    assert place.llmc("grep", "needle", "-c", cwd=tmp_path).returncode == 0


def test_stop_ends_the_daemon_and_waits_for_it(place: Place) -> None:
    place.connect().close()
    pid = place.pid
    done = place.llmc("stop")
    assert (done.returncode, done.stdout) == (0, f"stopped the index daemon (pid {pid})\n")
    assert read_owner(place.home) is None
    again = place.llmc("stop", "--json")
    assert (again.returncode, json.loads(again.stdout)) == (0, {"stopped": False, "pid": None})


def test_stop_force_kills_a_daemon_that_hangs(place: Place) -> None:
    place.connect().close()
    os.kill(place.pid, signal.SIGSTOP)
    assert place.llmc("stop", "--force").returncode == 0
    assert read_owner(place.home) is None


def test_commands_at_once_start_one_real_daemon_and_all_are_answered(place: Place, tmp_path: Path) -> None:
    (tmp_path / "hello.py").write_text("def hello(): ...\n")
    command = [sys.executable, "-m", "llmc", "status", "--json", "--root", str(tmp_path)]
    started = [
        subprocess.Popen(command, env=place.environ, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for _ in range(4)
    ]
    ended = [(process.communicate(timeout=PATIENCE), process.returncode) for process in started]
    assert [code for _, code in ended] == [0] * 4
    assert {json.loads(out)["daemon"]["pid"] for (out, _), _ in ended} == {place.pid}
    said = [err for (_, err), _ in ended if err]
    assert said == [f"llmc: started the index daemon (pid {place.pid})\n"]


def test_a_folder_that_is_gone_is_named(place: Place, tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    script = f"cd {gone} && rmdir {gone} && exec {sys.executable} -m llmc status"
    done = subprocess.run(["sh", "-c", script], env=place.environ, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "no longer exists" in done.stderr
