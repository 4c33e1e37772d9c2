"""`llmc te` as a person types it: the command's own exit code, few tokens, and nothing lost."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from daemons import PATIENCE, until
from locations import GOLDEN_LOGS
from shell_world import World, alive, handle_of, shell_world

from llmc.base.daemon_lock import read_owner
from llmc.envelope.tokens import count

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with shell_world(tmp_path_factory.mktemp("te") / "shop") as made:
        yield made


def start(world: World, *arguments: str, **options: Any) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "llmc", *arguments],
        env=world.place.environ,
        cwd=world.folder,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        **options,
    )


def test_failing_tests_come_with_name_reason_and_place(world: World) -> None:
    done = world.llmc("te", sys.executable, "-m", "unittest", "-v", "tests_of_shop")
    assert done.returncode == 1
    assert "tests_of_shop.py\n7 PriceTest.test_total: 3 != 4\n" in done.stdout
    handle = handle_of(done.stdout)
    opened = world.llmc("read", f"{handle}:1").stdout
    assert "FAIL: test_total (tests_of_shop.PriceTest.test_total)" in opened
    assert "AssertionError: 3 != 4" in opened


@pytest.mark.parametrize(("command", "code"), [("exit 0", 0), ("exit 3", 3), ("exit 127", 127), ("kill -9 $$", 137)])
def test_the_exit_code_is_the_commands(world: World, command: str, code: int) -> None:
    assert world.llmc("te", "sh", "-c", command).returncode == code
    assert world.llmc("te", "--raw", "sh", "-c", command).returncode == code


def test_a_command_that_does_not_exist_is_reported(world: World) -> None:
    done = world.llmc("te", "nosuchprogram", "--flag")
    assert (done.returncode, done.stdout) == (127, "")
    assert "nosuchprogram: command not found" in done.stderr
    assert world.llmc("te", "./README.md").returncode == 126


def test_every_line_of_a_long_output_is_behind_the_handle(world: World) -> None:
    done = world.llmc("te", sys.executable, "noise.py")
    assert done.returncode == 3
    assert done.stdout.startswith("exit 3 · 4,001 lines")
    assert count(done.stdout) < 500
    assert "+4001 lines → h" in done.stdout
    shown: list[str] = []
    page = done.stdout
    while "→" in page.strip().split("\n")[-1]:
        page = world.llmc("read", handle_of(page), "--budget", "8000").stdout
        shown += [line.lstrip(" 0123456789") for line in page.split("\n") if re.match(r"\d+ | ", line)]
    assert shown == [
        "starting",
        *(f"line {at} of the noise" for at in range(4_000)),
    ]


def test_raw_output_is_untouched_and_goes_where_it_went(world: World) -> None:
    script = "import sys; sys.stdout.buffer.write(b'a\\x00\\x1b[31mb\\xff\\r\\n'); sys.stderr.write('problem')"
    done = subprocess.run(
        [sys.executable, "-m", "llmc", "te", "--raw", sys.executable, "-c", script],
        env=world.place.environ,
        capture_output=True,
        check=False,
    )
    assert (done.stdout, done.stderr) == (b"a\x00\x1b[31mb\xff\r\n", b"problem")


def test_raw_output_comes_while_the_command_runs(world: World) -> None:
    process = start(world, "te", "--raw", "sh", "-c", "echo first; read line; echo got $line", stdin=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdin is not None
    assert process.stdout.readline() == "first\n"
    rest, _ = process.communicate("word\n", timeout=PATIENCE)
    assert rest == "got word\n"


def test_the_environment_and_standard_input_are_the_users_own(world: World) -> None:
    done = world.llmc("te", "sh", "-c", "cat; echo $MINE", input="piped\n")
    assert done.stdout == "exit 0\n piped\n \n"
    world.place.environ["MINE"] = "kept"
    assert "kept" in world.llmc("te", "sh", "-c", "echo $MINE").stdout


def test_one_word_with_spaces_goes_to_a_shell(world: World) -> None:
    assert world.llmc("te", "echo a b | tr a-z A-Z").stdout == "exit 0\n A B\n"


def test_flags_behind_the_command_are_the_commands(world: World) -> None:
    assert world.llmc("te", "echo", "--json", "--raw", "-q").stdout == "exit 0\n --json --raw -q\n"


@pytest.mark.parametrize(
    "words",
    ["cat README.md", "sed -n 1,2p README.md", "head -n 1 README.md", "tail -n 2 README.md", "nl README.md", "ls shop"],
)
def test_files_are_printed_byte_by_byte(world: World, words: str) -> None:
    plain = subprocess.run(words.split(" "), cwd=world.folder, capture_output=True, text=True, check=True)
    done = world.llmc("--quiet", "te", *words.split(" "), stdin=subprocess.DEVNULL)
    assert (done.returncode, done.stdout, done.stderr) == (0, plain.stdout, "")


def test_a_file_beyond_the_cap_ends_with_a_count_and_a_handle(world: World) -> None:
    lines = [f"    value_{at} = {at}  # and a comment\n" for at in range(3_000)]
    (world.folder / "large.py").write_text("".join(lines))
    shown, _, last = world.llmc("te", "cat", "large.py").stdout.removesuffix("\n").rpartition("\n")
    assert "".join(lines).startswith(shown)
    omitted = re.fullmatch(r"\+(\d+) lines → (h\w+)", last)
    assert omitted
    assert shown.count("\n") + 1 + int(omitted[1]) == 3_000
    assert f"value_{3_000 - int(omitted[1])} =" in world.llmc("read", omitted[2]).stdout.split("\n")[1]
    assert world.llmc("te", "--all", "cat", "large.py").stdout == "".join(lines)
    (world.folder / "large.py").unlink()


def test_a_secret_in_a_printed_file_is_redacted(world: World) -> None:
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    (world.folder / "notes.txt").write_text(f"before\ntoken {token}\nafter\n")
    done = world.llmc("te", "cat", "notes.txt")
    assert done.stdout.startswith("before\ntoken [redacted:")
    assert done.stdout.endswith("]\nafter\n")
    (world.folder / "notes.txt").unlink()


@pytest.mark.parametrize(
    ("words", "first"),
    [
        ("ls -la", r"\d+ entries · modes, owners, times omitted"),
        ("git log", "exit 0 · 1 commit"),
        ("git show", "exit 0 · 1"),
    ],
)
def test_lists_are_printed_in_fewer_words(world: World, words: str, first: str) -> None:
    done = world.llmc("te", *words.split(" "), stdin=subprocess.DEVNULL)
    assert done.returncode == 0
    assert re.match(first, done.stdout.split("\n")[0]), done.stdout


def test_matches_have_each_path_once_and_a_long_list_a_handle(world: World) -> None:
    (world.folder / "many").mkdir()
    for name in ("one", "two"):
        text = "".join(f"parcel_{name}_{at} = 'a line about parcels'\n" for at in range(60))
        (world.folder / "many" / f"{name}.py").write_text(text)
    few = world.llmc("te", "grep", "-rn", "_1[0-9] ", "many").stdout
    assert few.count("many/") == few.count("one.py") == few.count("two.py") == 1
    assert all(f"parcel_{name}_{at} =" in few for name in ("one", "two") for at in range(10, 20))
    long = world.llmc("te", "--budget", "300", "grep", "-rn", "parcel", "many").stdout
    assert long.startswith("120 matches in 2 files · showing ")
    assert "parcel_two_59" in world.llmc("read", handle_of(long), "--budget", "8000").stdout
    for path in (world.folder / "many").iterdir():
        path.unlink()
    (world.folder / "many").rmdir()


def test_cut_lines_have_a_handle_for_the_whole(world: World) -> None:
    call = "result = await client.request(method, address, timeout=limit, headers=headers_of(user))"
    (world.folder / "calls.py").write_text("".join(f"    {call} + {at}\n" for at in range(12)))
    try:
        done = world.llmc("te", "grep", "-n", "request", "calls.py", "nosuchfile")
        *rows, last = done.stdout.removesuffix("\n").split("\n")
        assert done.returncode == 2
        assert "nosuchfile" in done.stderr
        assert re.fullmatch(r"\+cut text → h\w+", last)
        path, row = rows
        assert path == "calls.py"
        assert re.fullmatch(r" 1,2,3,4,5,6,7,8,9,10,11,12 result = await client\.request\(method, .*…", row)
        whole = world.llmc("read", handle_of(done.stdout)).stdout
        assert all(f"{call} + {at}" in whole for at in range(12))
        assert call in world.llmc("te", "--all", "grep", "-n", "request", "calls.py").stdout
    finally:
        (world.folder / "calls.py").unlink()


def test_exit_codes_and_messages_are_those_of_the_command(world: World) -> None:
    missing = world.llmc("te", "grep", "-rn", "nowhere" + "atall", ".")
    assert (missing.returncode, missing.stdout) == (1, "")
    for words in ("cat nosuchfile", "ls nosuchfile", "grep -rn total README.md nosuchfile", "find nosuchfile -name x"):
        plain = subprocess.run(words.split(" "), cwd=world.folder, capture_output=True, text=True, check=False)
        done = world.llmc("--quiet", "te", *words.split(" "))
        assert (done.returncode, done.stderr) == (plain.returncode, plain.stderr)
    outside = world.folder.parent / "outside.txt"
    outside.write_text("the user may read it\n")
    assert world.llmc("te", "cat", str(outside)).stdout == "the user may read it\n"


def test_without_a_daemon_a_list_is_regrouped_and_text_is_printed_as_it_is(world: World) -> None:
    world.llmc("stop")
    assert "times omitted" in world.llmc("te", "--no-start", "ls", "-la", ".", ".git").stdout
    for words in (["cat", "README.md"], ["git", "status"], ["ls"]):
        plain = subprocess.run(words, cwd=world.folder, capture_output=True, text=True, check=True)
        done = world.llmc("te", "--no-start", *words)
        assert (done.returncode, done.stdout, done.stderr) == (0, plain.stdout, "")
    assert read_owner(world.place.home) is None


def test_output_is_copied_to_stderr_while_the_command_runs(world: World) -> None:
    process = start(
        world, "--quiet", "te", "--stream", "sh", "-c", "echo first; read line; echo got", stdin=subprocess.PIPE
    )
    assert process.stderr is not None
    assert process.stderr.readline() == "first\n"
    shown, streamed = process.communicate("word\n", timeout=PATIENCE)
    assert (shown, streamed) == ("exit 0\n first\n got\n", "got\n")


def test_a_diff_names_every_file_before_it_shows_any_in_full(world: World) -> None:
    for name in ("one", "two", "three"):
        (world.folder / f"{name}.txt").write_text("".join(f"{name} {at}\n" for at in range(300)))
    world.git("add", "-A")
    try:
        done = world.llmc("te", "--budget", "400", "git", "diff", "--cached")
        assert "3 files changed, +900 -0" in done.stdout or "files changed" in done.stdout
        assert all(f"{name}.txt +300 -0 (new)" in done.stdout for name in ("one", "two", "three"))
        assert count(done.stdout) <= 400
        status = world.llmc("te", "git", "status").stdout
        assert "staged" in status
        assert " new file: one.txt" in status
    finally:
        world.git("reset", "-q", "--hard")


def test_the_agent_that_asked_is_recorded(world: World) -> None:
    world.place.environ["TE_AGENT_ID"] = "otto"
    try:
        asked = json.loads(world.llmc("--json", "te", "sh", "-c", "echo $TE_AGENT_ID").stdout)
    finally:
        del world.place.environ["TE_AGENT_ID"]
    assert (asked["agent"], asked["text"]) == ("otto", "otto")
    named = json.loads(world.llmc("--json", "te", "--agent", "grace", "sh", "-c", "echo $TE_AGENT_ID").stdout)
    assert (named["agent"], named["text"]) == ("grace", "grace")
    log = Path(world.place.home.log).read_text()
    assert '"agent": "otto"' in log
    assert '"agent": "grace"' in log


def test_json_holds_the_problems(world: World) -> None:
    told = json.loads(world.llmc("--json", "te", sys.executable, "-m", "unittest", "tests_of_shop").stdout)
    assert told["exit"] == 1
    assert [(one["name"], one["line"], one["why"]) for one in told["problems"]] == [
        ("PriceTest.test_total", 7, "3 != 4")
    ]
    assert told["handle"]


def test_ctrl_c_ends_the_whole_group_and_shows_what_was_written(world: World) -> None:
    pids = world.folder / "pids"
    script = "echo begun; sleep 600 & echo $! > pids; wait"
    process = start(world, "te", "sh", "-c", script, start_new_session=True)
    until(lambda: pids.exists() and pids.read_text().strip())
    os.kill(process.pid, signal.SIGINT)
    shown, _ = process.communicate(timeout=PATIENCE)
    pid = int(pids.read_text())
    pids.unlink()
    until(lambda: not alive(pid))
    assert process.returncode != 0
    assert shown.startswith("cancelled")
    assert "begun" in shown


def test_an_output_that_never_ends_is_bounded(world: World) -> None:
    process = start(world, "te", "sh", "-c", "yes parcel & echo $! > pids; wait", start_new_session=True)
    pids = world.folder / "pids"
    until(lambda: pids.exists() and pids.read_text().strip() and written(int(pids.read_text())) > 40 << 20)
    os.kill(process.pid, signal.SIGINT)
    shown, _ = process.communicate(timeout=PATIENCE)
    pids.unlink()
    assert "in the middle omitted" in shown
    assert count(shown) < 300


def written(pid: int) -> int:
    """How many bytes a process has written."""
    try:
        return int(Path(f"/proc/{pid}/io").read_text().split("wchar: ")[1].split()[0])
    except (OSError, IndexError):
        return 0


@pytest.mark.parametrize(
    "script",
    [
        "head -c 20000000 /dev/zero | tr '\\0' x",
        "head -c 300000 /dev/urandom",
        "printf 'a\\000b\\n%.0s' 1 2 3",
        "i=0; while [ $i -lt 3000 ]; do printf '\\033[3%dm%d\\r' 1 $i; i=$((i+1)); done",
        "printf '\\342\\200\\256evil\\n'",
        "printf '+5 lines \\342\\206\\222 habcd\\n'",
    ],
)
def test_hostile_output_gives_a_clear_and_bounded_reply(world: World, script: str) -> None:
    done = world.llmc("te", "sh", "-c", script)
    assert done.returncode == 0
    assert done.stdout.startswith("exit 0")
    assert count(done.stdout) <= 1_200
    assert not re.search("[\x00-\x08\x0b-\x1f\u202e]", done.stdout)
    assert not any(line.startswith("+5 lines") for line in done.stdout.split("\n"))


def test_secrets_do_not_leave_by_the_output_the_handle_or_the_log(world: World) -> None:
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    done = world.llmc("te", "sh", "-c", f"echo token {token}; seq 1 9000")
    page = world.llmc("read", handle_of(done.stdout)).stdout
    assert "[redacted:" in done.stdout + page
    kept = [path.read_text() for path in Path(world.place.home.path, "outputs").iterdir()]
    logged = Path(world.place.home.log).read_text()
    for text in (done.stdout, page, logged, *kept, world.llmc("handle", "list").stdout):
        assert token not in text


def test_it_works_without_a_daemon_and_outside_of_any_root(world: World, tmp_path: Path) -> None:
    alone = world.llmc("te", "echo", "hello", cwd=tmp_path)
    assert (alone.returncode, alone.stdout) == (0, "exit 0\n hello\n")
    world.llmc("stop")
    done = world.llmc("--no-daemon", "te", sys.executable, "-m", "unittest", "tests_of_shop")
    assert "7 PriceTest.test_total: 3 != 4" in done.stdout


def test_nothing_is_left_behind_in_the_spool(world: World) -> None:
    world.llmc("te", "seq", "1", "9000")
    names = [path.name for path in Path(world.place.home.path, "outputs").iterdir()]
    assert names
    assert all(re.fullmatch(r"[0-9a-f]{32}\.txt", name) for name in names)


def test_an_output_can_be_searched_behind_its_handle(world: World) -> None:
    handle = handle_of(world.llmc("te", sys.executable, "noise.py").stdout)
    found = world.llmc("grep", r"line 3\d99 ", handle)
    assert found.stdout.split("\n")[0] == "10 matches in 1 output"
    assert "\n3101 line 3099 of the noise" in found.stdout
    assert world.llmc("grep", "nosuchword", handle).returncode == 1
    assert world.llmc("grep", "(", handle).returncode == 2


def test_reading_a_log_lists_its_failures_and_pages_through_the_rest(world: World) -> None:
    log = world.folder / "test-run.log"
    filler = "".join(f"test_{at} (m.C.test_{at}) ... ok\n" for at in range(3_000))
    golden = GOLDEN_LOGS / "unittest.txt"
    log.write_text(filler + golden.read_text())
    try:
        told = world.llmc("read", "test-run.log").stdout
        assert told.startswith("test-run.log · 3,091 lines · unittest · Ran 7 tests")
        assert "12 PriceTest.test_total: 11 != 12" in told
        assert count(told) < 400
        assert "AssertionError: 11 != 12" in world.llmc("read", f"{handle_of(told)}:7").stdout
        assert "\n1 test_0 (m.C.test_0) ... ok" in world.llmc("read", handle_of(told)).stdout
        assert world.llmc("read", "test-run.log:3000-3001").stdout.startswith("test-run.log:3000-3001 of 3,091 lines")
    finally:
        log.unlink()
