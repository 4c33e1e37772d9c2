"""The shell tool through the daemon: its policy, what a command can access, and its reply."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from daemons import until
from mcp_world import client, text_of
from shell_world import World, alive, shell_world

from llmc.extend.shell.capture import Capture

if TYPE_CHECKING:
    from collections.abc import Iterator

ANY = f'shell.allow=["{sys.executable}", "sh", "setsid"]'
SYNTAX = "shell.allow_shell_syntax=true"


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with shell_world(tmp_path_factory.mktemp("shell") / "shop") as made:
        yield made


def script(world: World, name: str, text: str) -> str:
    (world.folder / "build").mkdir(exist_ok=True)
    (world.folder / "build" / name).write_text(text)
    return f"sh build/{name}"


def test_it_is_off_until_the_user_turns_it_on(world: World) -> None:
    reply = world.shell("ls", enabled=False)
    assert reply["error"]
    assert "switched off" in reply["text"]
    assert "enabled = true" in reply["text"]


def test_a_command_reports_its_exit_code_and_its_failing_tests(world: World) -> None:
    reply = world.shell("python3 -m unittest tests_of_shop")
    assert reply["text"].startswith("exit 1 · unittest · Ran 2 tests")
    assert "tests_of_shop.py\n7 PriceTest.test_total: 3 != 4" in reply["text"]
    assert reply["data"]["exit"] == 1
    assert reply["data"]["problems"][0]["name"] == "PriceTest.test_total"


def test_the_whole_output_is_behind_the_handle(world: World) -> None:
    reply = world.shell("yes parcel", SYNTAX, seconds=1)
    assert reply["text"].startswith("stopped after 1 s")
    assert "in the middle omitted" in reply["text"]
    page = world.llmc("read", reply["handle"], "--budget", "200").stdout
    assert page.split("\n")[1] == "1 parcel"
    assert "→ h" in page


@pytest.mark.parametrize(
    ("command", "tool"),
    [("grep -rn total .", "matches in"), ("cat README.md", "README.md · 3 lines"), ("find . -name '*.py'", "3 files")],
)
def test_what_the_index_knows_is_not_run(world: World, command: str, tool: str) -> None:
    assert tool in world.shell(command)["text"]


def test_git_output_is_shown_in_its_short_form(world: World) -> None:
    assert "shop: prices of fruit" in world.shell("git log")["text"].split("\n")[1]
    assert world.shell("git status")["text"].startswith("exit 0 · main")


@pytest.mark.parametrize("command", ["ls | wc -l", "ls && ls", "ls; ls", "ls > build/x", "cat < README.md"])
def test_joining_commands_is_off_by_default(world: World, command: str) -> None:
    reply = world.shell(command)
    assert reply["error"]
    assert "allow_shell_syntax" in reply["text"]


def test_a_pipeline_runs_without_a_shell_when_it_is_allowed(world: World) -> None:
    assert world.shell("ls shop | tr a-z A-Z && echo done || echo never", SYNTAX)["text"].split("\n")[1:] == [
        " PRICE.PY",
        " done",
    ]
    world.shell("echo kept > build_note.txt", SYNTAX)
    assert (world.folder / "build_note.txt").read_text() == "kept\n"
    assert world.shell("ls | sh", SYNTAX)["error"]
    assert world.shell("echo x > ../outside.txt", SYNTAX)["error"]


def test_globs_are_files_of_the_folder_and_never_flags(world: World) -> None:
    (world.folder / "-rf").write_text("")
    try:
        shown = world.shell("echo *")["text"]
    finally:
        (world.folder / "-rf").unlink()
    assert " ./-rf README.md" in shown
    assert world.shell("echo '*'")["text"].endswith("\n *")


def test_no_variable_of_the_daemon_reaches_a_command(world: World) -> None:
    command = script(world, "env.sh", "env; cat /proc/$PPID/environ /proc/1/environ 2>&1 | tr '\\0' '\\n'\n")
    reply = world.shell(command, ANY, all=True)
    assert "sk-not-for-commands" not in reply["text"]
    names = {line.strip().partition("=")[0] for line in reply["text"].split("\n")}
    assert "PATH" in names
    assert not {name for name in names if name.startswith(("LLMC_", "OPENAI", "PYTHONPATH"))}


def test_a_contained_command_reads_and_writes_inside_the_roots_only(world: World) -> None:
    secret = world.folder.parent / "outside.txt"
    secret.write_text("zeppelin\n")
    command = script(
        world,
        "reach.sh",
        f"cat {secret}; cat ~/.bashrc /root/.bashrc; echo x > {secret}; ln -sf {secret} build/l; cat build/l\n"
        "echo inside > build/inside.txt; echo t > $TMPDIR/t && cat $TMPDIR/t; echo h > ~/h && cat ~/h\n",
    )
    reply = world.shell(command, ANY, all=True)
    assert "zeppelin" not in reply["text"]
    assert secret.read_text() == "zeppelin\n"
    assert (world.folder / "build" / "inside.txt").read_text() == "inside\n"
    assert {" t", " h"} <= set(reply["text"].split("\n"))


def test_every_process_that_a_command_started_ends_with_it(world: World) -> None:
    command = script(
        world,
        "tree.sh",
        "trap '' TERM INT HUP\n"
        "setsid sh -c 'trap \"\" TERM; echo $$ >> build/pids; while :; do sleep 60; done' &\n"
        "(setsid setsid sleep 600 & echo $! >> build/pids) &\n"
        "sleep 600 & echo $! >> build/pids\n"
        "kill -9 $PPID\nwhile [ $(wc -l < build/pids) -lt 3 ]; do sleep 0.05; done\necho started\n",
    )
    (world.folder / "build" / "pids").write_text("")
    reply = world.shell(command, ANY)
    pids = [int(line) for line in (world.folder / "build" / "pids").read_text().split()]
    assert len(pids) == 3
    assert not any(alive(pid) for pid in pids)
    assert "started" in reply["text"]
    assert "left running" in reply["text"]


def test_a_command_that_forks_without_end_is_ended_at_its_time(world: World) -> None:
    command = script(
        world, "bomb.sh", "f() { sleep 0.25; echo $$; (f) & (f) & wait; }\nfor i in 1 2 3; do (f) & done\nwait\n"
    )
    reply = world.shell(command, ANY, seconds=1)
    assert reply["data"]["stopped"] == "time"
    assert not [each for each in Path("/proc").iterdir() if each.name.isdigit() and runs(each, "bomb.sh")]


def runs(process: Path, word: str) -> bool:
    try:
        return word.encode() in (process / "cmdline").read_bytes() and alive(int(process.name))
    except OSError:
        return False


def test_a_call_that_is_given_up_ends_its_command(world: World) -> None:
    (world.folder / "build").mkdir(exist_ok=True)
    mark = world.folder / "build" / "waits"
    command = script(world, "wait.sh", "echo $$ > build/waits; sleep 600\n")
    asking = (
        "import os; from llmc.client.daemon_client import Caller; from llmc.base.home import find_home;"
        f"Caller(find_home(os.environ), os.environ, cwd={str(world.folder)!r}, flags=['shell.enabled=true', {ANY!r}])"
        f".ask('tool', {{'name': 'shell', 'args': {{'command': {command!r}}}}})"
    )
    client = subprocess.Popen([sys.executable, "-c", asking], env=world.place.environ)
    until(lambda: mark.exists() and mark.read_text().strip())
    client.kill()
    client.wait()
    until(lambda: not alive(int(mark.read_text())))


HOSTILE = """
[core]
    fsmonitor = "touch {mark}; false"
    pager = "touch {mark}; cat"
    hooksPath = {folder}/build/hooks
    sshCommand = touch {mark}
[diff]
    external = touch {mark}
[diff "evil"]
    command = touch {mark}
    textconv = touch {mark}; cat
[filter "evil"]
    clean = touch {mark}; cat
    smudge = touch {mark}; cat
    process = touch {mark}
    required = true
[alias]
    log = "!touch {mark}"
"""


def test_a_hostile_repository_makes_git_run_nothing(world: World) -> None:
    mark = world.folder / "build" / "owned"
    config = world.folder / ".git" / "config"
    before = config.read_text()
    try:
        config.write_text(before + HOSTILE.format(mark=mark, folder=world.folder))
        (world.folder / ".gitattributes").write_text("* filter=evil diff=evil\n")
        (world.folder / "README.md").write_text("# shop\n\nchanged\n")
        for command in ("status", "diff", "diff HEAD", "log -p", "show", "blame README.md", "grep fruit", "branch -a"):
            reply = world.shell(f"git {command}")
            assert not reply["error"], (command, reply["text"])
            assert not mark.exists(), command
    finally:
        config.write_text(before)
        (world.folder / ".gitattributes").unlink()
        (world.folder / "README.md").write_text("# shop\n\nPrices of fruit.\n")


def test_secrets_and_hidden_characters_do_not_leave(world: World) -> None:
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    text = f"token {token}\nright\u202eleft\nnul\0here\nbell\a\n{'x' * 5_000}\n-----BEGIN RSA PRIVATE KEY-----\nMIIEow"
    (world.folder / "build").mkdir(exist_ok=True)
    (world.folder / "build" / "out.bin").write_bytes(text.encode() + b"\n")
    reply = world.shell("cat ./build/out.bin README.md", "shell.builtin=false", 'shell.allow=["cat ./build/out.bin"]')
    shown = reply["text"]
    assert token not in shown
    assert "\u202e" not in shown
    assert "\0" not in shown
    assert "\a" not in shown
    assert "MIIEow" not in shown


def test_a_program_that_is_not_there_is_reported(world: World) -> None:
    reply = world.shell("phpunit")
    assert reply["error"]
    assert "could not be started" in reply["text"]


@pytest.mark.parametrize("folder", ["..", "/", "/tmp", "nowhere", "README.md"])
def test_the_folder_of_a_command_lies_in_a_root(world: World, folder: str) -> None:
    assert world.shell("pwd", cwd=folder)["error"]


def test_a_command_runs_in_the_requested_folder(world: World) -> None:
    assert world.shell("pwd", cwd="shop")["text"] == f"exit 0\n {world.folder}/shop"


def test_both_ends_of_an_output_are_kept_in_whole_lines() -> None:
    capture = Capture(1_000)
    for at in range(10_000):
        capture.add(f"line {at}\n".encode())
    done = capture.done()
    assert done.head.startswith(b"line 0\n")
    assert done.tail.endswith(b"line 9999\n")
    assert done.head.endswith(b"\n")
    lines = (done.head + done.tail).count(b"\n") + done.dropped_lines
    assert abs(lines - 10_000) <= 1
    assert done.size == sum(len(f"line {at}\n") for at in range(10_000))
    assert len(done.head) + len(done.tail) <= 1_100


def test_an_mcp_client_sees_and_runs_it_only_when_it_is_on(world: World) -> None:
    async def talk(gateway: str, *settings: str) -> tuple[set[str], str]:
        flags = [part for each in ("server.profile=full", *settings) for part in ("--set", each)]
        async with client(world.place, world.folder, *flags) as connected:
            names = {one.name for one in (await connected.list_tools()).tools}
            result = await connected.call_tool(gateway, {"name": "shell", "args": {"command": "git status"}})
            return names, text_of(result)

    names, reply = asyncio.run(talk("run", "shell.enabled=true"))
    assert "shell" in names
    assert reply.startswith("exit 0 · main")
    assert "Call the tool `run`" in asyncio.run(talk("llmc", "shell.enabled=true"))[1]
    for gateway in ("run", "llmc"):
        names, reply = asyncio.run(talk(gateway))
        assert not {"shell", "run"} & names
        assert "switched off" in reply
