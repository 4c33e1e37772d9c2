"""The pruner profile holds its contract, row by row, through `llmc serve --profile pruner`.

`FREE` and `CONTAINED` are the rows of the contract as data: what is asked, and the text that must come back. `{cwd}` is
the folder that `MCP_PRUNER_CWD` names.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from copy import copy
from importlib.metadata import entry_points
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from daemons import PATIENCE, Place, private_place, until
from mcp_world import HANDSHAKE, Raw, client, raw, text_of
from pruner_world import Pruner, running_pruner

from llmc.extend.pruner.uncontained import run_free

if TYPE_CHECKING:
    from collections.abc import Iterator

KEY = "AKIA" + "IOSFODNN7Q2XYZAB"
FREELY = ("--profile", "pruner", "--set", "server.pruner.contained=false")
QUESTION = "context_focus_question"
NO_FILE = "ENOENT: no such file or directory, open"

# (tool, arguments, text of the reply)
BOTH: list[tuple[str, dict[str, str], str]] = [
    ("read", {"file_path": "a.txt"}, "hello\nwanted world\n"),
    ("read", {"file_path": "{cwd}/a.txt"}, "hello\nwanted world\n"),
    ("read", {"file_path": "d/../a.txt"}, "hello\nwanted world\n"),
    ("read", {"file_path": "empty.txt"}, ""),
    ("read", {"file_path": "crlf.txt"}, "one\r\ntwo\r\n"),
    ("read", {"file_path": "d"}, "Error reading file: EISDIR: illegal operation on a directory, read"),
    ("read", {"file_path": "a.txt", "unknown": "is passed by"}, "hello\nwanted world\n"),
    ("read", {"file_path": "a.txt", QUESTION: ""}, "hello\nwanted world\n"),
    ("bash", {"command": "cat a.txt"}, "hello\nwanted world\n"),
    ("bash", {"command": "true"}, "(no output)"),
    ("bash", {"command": "cat empty.txt"}, "(no output)"),
    ("bash", {"command": "false"}, "\n[exit code: 1]"),
    (
        "bash",
        {"command": "cat nope.txt"},
        "\n[stderr]\ncat: nope.txt: No such file or directory\n\n[exit code: 1]",
    ),
    (
        "bash",
        {"command": "cat a.txt nope.txt"},
        "hello\nwanted world\n\n[stderr]\ncat: nope.txt: No such file or directory\n\n[exit code: 1]",
    ),
    ("grep", {"pattern": "wanted", "path": "a.txt"}, "2:wanted world\n"),
    ("grep", {"pattern": "w[a-o]nted", "path": "d"}, "d/b.txt:1:wanted too\n"),
    ("grep", {"pattern": "never there"}, "(no matches found)"),
    ("grep", {"pattern": "never there", QUESTION: "why"}, "(no matches found)"),
    ("grep", {"pattern": "x", "path": "nope"}, "Error: grep: nope: No such file or directory\n"),
]
FREE: list[tuple[str, dict[str, str], str]] = [
    *BOTH,
    ("read", {"file_path": "nope.txt"}, f"Error reading file: {NO_FILE} '{{cwd}}/nope.txt'"),
    ("read", {"file_path": "nope.txt", QUESTION: "why"}, f"Error reading file: {NO_FILE} '{{cwd}}/nope.txt'"),
    ("read", {"file_path": "../outside.txt"}, "outside\n"),
    ("bash", {"command": "pwd"}, "{cwd}\n"),
    ("bash", {"command": "echo out; echo err >&2; exit 3"}, "out\n\n[stderr]\nerr\n\n[exit code: 3]"),
    ("bash", {"command": "echo err >&2"}, "\n[stderr]\nerr\n"),
    ("bash", {"command": "kill -9 $$"}, "\n[exit code: null]"),
    ("bash", {"command": "printf 'a\\nb' | tail -1"}, "b"),
    ("bash", {"command": "cat ../outside.txt"}, "outside\n"),
    ("grep", {"pattern": "side", "path": "../outside.txt"}, "1:outside\n"),
    ("grep", {"pattern": "["}, "Error: grep: Invalid regular expression\n"),
]
CONTAINED: list[tuple[str, dict[str, str], str]] = [
    *BOTH,
    ("read", {"file_path": "nope.txt"}, f"Error reading file: {NO_FILE} 'nope.txt'"),
    ("read", {"file_path": "../outside.txt"}, "Error reading file: EACCES: permission denied, open '../outside.txt'"),
    ("read", {"file_path": "/etc/passwd"}, "Error reading file: EACCES: permission denied, open '/etc/passwd'"),
    ("read", {"file_path": "link.txt"}, "Error reading file: EACCES: permission denied, open 'link.txt'"),
]
# (tool, arguments) that are refused by the protocol
INVALID: list[tuple[Any, Any]] = [
    ("read", {}),
    ("read", None),
    ("read", {"file_path": 7}),
    ("read", {"file_path": None}),
    ("read", {"file_path": ["a.txt"]}),
    ("read", {"file_path": "a.txt", QUESTION: 7}),
    ("read", {"file_path": "a.txt", QUESTION: None}),
    ("read", {"path": "a.txt"}),
    ("bash", {}),
    ("bash", {"command": False}),
    ("bash", {"command": "true", QUESTION: {}}),
    ("grep", {}),
    ("grep", {"path": "."}),
    ("grep", {"pattern": 1}),
    ("grep", {"pattern": "x", "path": 1}),
    ("grep", {"pattern": "x", "path": None}),
    ("grep", {"pattern": "x", QUESTION: []}),
    ("write", {"file_path": "a.txt"}),
    ("", {}),
    ("read", "a.txt"),
    (7, {}),
]
# Calls that may be pruned: (tool, arguments, the code sent to a pruner; None if it must not be called)
ELIGIBLE: list[tuple[str, dict[str, str], str | None]] = [
    ("read", {"file_path": "a.txt"}, "hello\nwanted world\n"),
    ("read", {"file_path": "empty.txt"}, ""),
    ("read", {"file_path": "nope.txt"}, None),
    ("bash", {"command": "cat a.txt"}, "hello\nwanted world\n"),
    ("bash", {"command": "true"}, ""),
    ("bash", {"command": "echo err >&2; exit 3"}, "\n[stderr]\nerr\n\n[exit code: 3]"),
    ("grep", {"pattern": "wanted", "path": "a.txt"}, "2:wanted world\n"),
    ("grep", {"pattern": "never there"}, None),
    ("grep", {"pattern": "x", "path": "nope"}, None),
]


class World:
    def __init__(self, place: Place, folder: Path) -> None:
        self.place = place
        self.folder = folder

    def filled(self, text: str) -> str:
        return text.replace("{cwd}", str(self.folder))

    def said(self, served: Raw, tool: Any, args: dict[str, str]) -> str:
        reply = served.call(tool, **{name: self.filled(value) for name, value in args.items()})
        assert "error" not in reply, reply
        (content,) = reply["result"]["content"]
        assert reply["result"].keys() == {"content"}, "isError is never there"
        assert content.keys() == {"type", "text"}
        return str(content["text"])


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    above = tmp_path_factory.mktemp("above")
    folder = above / "work"
    (folder / "d").mkdir(parents=True)
    (above / "outside.txt").write_text("outside\n")
    (folder / "a.txt").write_text("hello\nwanted world\n")
    (folder / "d/b.txt").write_text("wanted too\n")
    (folder / "crlf.txt").write_bytes(b"one\r\ntwo\r\n")
    (folder / "empty.txt").write_text("")
    (folder / "secret.py").write_text(f"KEY = '{KEY}'  # wanted\n")
    (folder / "link.txt").symlink_to(above / "outside.txt")
    with private_place() as place:
        place.environ |= {"MCP_PRUNER_CWD": str(folder), "PRUNER_URL": "", "PRUNER_TIMEOUT_MS": "30000"}
        yield World(place, folder)


@pytest.fixture(scope="module")
def pruner(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pruner]:
    with running_pruner(tmp_path_factory.mktemp("pruner")) as running:
        yield running


@pytest.fixture(scope="module")
def free(world: World, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Raw]:
    """Started from another folder: the variable sets the working folder."""
    with raw(world.place, tmp_path_factory.mktemp("elsewhere"), *FREELY) as served:
        served.handshake()
        yield served


@pytest.fixture(scope="module")
def contained(world: World) -> Iterator[Raw]:
    with raw(world.place, world.folder, "--profile", "pruner") as served:
        served.handshake()
        yield served


def test_it_introduces_itself_as_the_contract_says(world: World) -> None:
    with raw(world.place, world.folder, "--profile", "pruner") as served:
        result = served.handshake()["result"]
        assert result["serverInfo"] == {"name": "mcp-pruner", "version": "1.0.0"}
        assert result["protocolVersion"] == HANDSHAKE["protocolVersion"]
        assert result["capabilities"] == {"tools": {"listChanged": False}}


def test_exactly_three_tools_are_listed_with_exactly_their_arguments(contained: Raw) -> None:
    tools = contained.ask("tools/list")["result"]["tools"]
    assert [tool["name"] for tool in tools] == ["read", "bash", "grep"]
    own = {"read": ["file_path"], "bash": ["command"], "grep": ["pattern", "path"]}
    for tool in tools:
        schema = tool["inputSchema"]
        assert tool["description"]
        assert list(schema["properties"]) == [*own[tool["name"]], QUESTION]
        assert schema["required"] == own[tool["name"]][:1]
        assert {each["type"] for each in schema["properties"].values()} == {"string"}


@pytest.mark.parametrize(("tool", "args", "text"), FREE)
def test_a_reply_without_containment(world: World, free: Raw, tool: str, args: dict[str, str], text: str) -> None:
    assert world.said(free, tool, args) == world.filled(text)


@pytest.mark.parametrize(("tool", "args", "text"), CONTAINED)
def test_a_reply_inside_the_roots(world: World, contained: Raw, tool: str, args: dict[str, str], text: str) -> None:
    assert world.said(contained, tool, args) == world.filled(text)


@pytest.mark.parametrize(
    ("tool", "args", "prefix"),
    [
        ("bash", {"command": "cat /etc/passwd"}, "Error executing command: "),
        ("bash", {"command": "cat ../outside.txt"}, "Error executing command: "),
        ("bash", {"command": "curl http://127.0.0.1:1"}, "Error executing command: "),
        ("bash", {"command": "echo a; echo b"}, "Error executing command: "),
        ("grep", {"pattern": "x", "path": "../outside.txt"}, "Error executing grep: "),
        ("grep", {"pattern": "root", "path": "/etc/passwd"}, "Error executing grep: "),
        ("grep", {"pattern": "-f/etc/passwd", "path": "a.txt"}, "(no matches found)"),
    ],
)
def test_what_leads_out_is_refused_in_a_reply(
    world: World, contained: Raw, tool: str, args: dict[str, str], prefix: str
) -> None:
    text = world.said(contained, tool, args)
    assert text.startswith(prefix)
    assert "outside\n" not in text
    assert "root:" not in text


@pytest.mark.parametrize(("tool", "args"), INVALID)
def test_wrong_arguments_are_invalid_params(contained: Raw, tool: Any, args: Any) -> None:
    params = {"name": tool} if args is None else {"name": tool, "arguments": args}
    error = contained.ask("tools/call", **params)["error"]
    assert (error["code"], error["message"]) == (-32602, "Invalid params")


def test_other_methods_are_unknown_and_a_wrong_handshake_is_invalid(world: World, contained: Raw) -> None:
    assert contained.ask("tools/forget")["error"]["code"] == -32601
    with raw(world.place, world.folder, "--profile", "pruner") as served:
        error = served.ask("initialize", protocolVersion=7)["error"]
        assert (error["code"], error["message"]) == (-32602, "Invalid params")


def test_a_command_that_cannot_be_started_says_so(world: World) -> None:
    place = world.place
    before = dict(place.environ)
    place.environ |= {"MCP_PRUNER_CWD": str(world.folder / "gone")}
    try:
        with raw(place, world.folder, *FREELY) as served:
            served.handshake()
            assert world.said(served, "bash", {"command": "true"}) == "Error executing command: spawn bash ENOENT"
            assert world.said(served, "grep", {"pattern": "x"}) == "Error executing grep: spawn grep ENOENT"
    finally:
        place.environ = before


@pytest.mark.parametrize("way", ["free", "contained"])
def test_a_denied_file_is_not_read(world: World, way: str, request: pytest.FixtureRequest) -> None:
    served = request.getfixturevalue(way)
    (world.folder / ".env").write_text("harbour = under the pier\n")
    try:
        assert "denylist" in world.said(served, "read", {"file_path": ".env"})
        if way == "contained":
            for tool, args in (
                ("bash", {"command": "cat .env"}),
                ("grep", {"pattern": "harbour", "path": ".env"}),
                ("grep", {"pattern": "harbour", "path": "."}),
            ):
                assert "pier" not in world.said(served, tool, args)
    finally:
        (world.folder / ".env").unlink()


@pytest.mark.parametrize("way", ["free", "contained"])
def test_secrets_stay_inside(world: World, way: str, request: pytest.FixtureRequest) -> None:
    served = request.getfixturevalue(way)
    for tool, args in (
        ("read", {"file_path": "secret.py"}),
        ("bash", {"command": "cat secret.py"}),
        ("grep", {"pattern": "KEY", "path": "secret.py"}),
    ):
        text = world.said(served, tool, args)
        assert KEY not in text
        assert "redacted" in text


def test_pruning_is_tried_where_the_contract_says_and_nowhere_else(world: World, pruner: Pruner) -> None:
    before = dict(world.place.environ)
    world.place.environ |= {"PRUNER_URL": pruner.url("first")}
    try:
        with raw(world.place, world.folder, *FREELY) as served:
            served.handshake()
            for tool, args, code in ELIGIBLE:
                known = len(pruner.asked())
                text = world.said(served, tool, {**args, QUESTION: "  which? "})
                asked = [one["body"] for one in pruner.asked()[known:]]
                assert asked == ([] if code is None else [{"code": code, "query": "  which? "}])
                assert (text == "from pruned_code") == (code is not None)
                world.said(served, tool, args)
                assert len(pruner.asked()) == known + len(asked), "without a question nobody is asked"
    finally:
        world.place.environ = before


@pytest.mark.parametrize(
    ("kind", "row"),
    [
        ("content", ("read", {"file_path": "a.txt"}, "from content")),
        ("text", ("read", {"file_path": "a.txt"}, "from text")),
        ("good", ("read", {"file_path": "a.txt"}, "wanted world")),
        ("empty", ("read", {"file_path": "a.txt"}, "")),
        ("empty", ("bash", {"command": "cat a.txt"}, "(no output)")),
        ("hanging", ("read", {"file_path": "a.txt"}, "hello\nwanted world\n")),
        ("garbage", ("read", {"file_path": "a.txt"}, "hello\nwanted world\n")),
        ("redirecting", ("bash", {"command": "cat a.txt"}, "hello\nwanted world\n")),
        ("refusing", ("grep", {"pattern": "wanted", "path": "a.txt"}, "2:wanted world\n")),
    ],
)
def test_the_first_text_of_the_pruner_or_the_raw_output(
    world: World, pruner: Pruner, kind: str, row: tuple[str, dict[str, str], str]
) -> None:
    tool, args, text = row
    before = dict(world.place.environ)
    world.place.environ |= {"PRUNER_URL": pruner.url(kind), "PRUNER_TIMEOUT_MS": "1"}
    if kind != "hanging":
        world.place.environ["PRUNER_TIMEOUT_MS"] = "60000"
    try:
        with raw(world.place, world.folder, *FREELY) as served:
            served.handshake()
            assert world.said(served, tool, {**args, QUESTION: "what is wanted"}) == text
    finally:
        world.place.environ = before
    assert not any(one["path"] == "followed" for one in pruner.asked())


def test_a_pruner_is_given_no_secret(world: World, pruner: Pruner) -> None:
    before = dict(world.place.environ)
    world.place.environ |= {"PRUNER_URL": pruner.url("good")}
    try:
        with raw(world.place, world.folder, "--profile", "pruner") as served:
            served.handshake()
            text = world.said(served, "read", {"file_path": "secret.py", QUESTION: "the key"})
    finally:
        world.place.environ = before
    assert "redacted" in text
    assert KEY not in json.dumps(pruner.asked())


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (None, "PRUNER_TIMEOUT_MS is not set; 30000 is used"),
        ("soon", "PRUNER_TIMEOUT_MS is not a whole number; 30000 is used"),
        ("", "PRUNER_TIMEOUT_MS is not a whole number; 30000 is used"),
        ("99", "PRUNER_TIMEOUT_MS 99 is not within 100 to 300000; 100 is used"),
        ("300001", "PRUNER_TIMEOUT_MS 300001 is not within 100 to 300000; 300000 is used"),
        ("100", ""),
        ("300000", ""),
    ],
)
def test_an_unusable_timeout_is_reported_on_stderr_and_stdout_is_the_protocols(
    world: World, value: str | None, words: str
) -> None:
    environ = {**world.place.environ, **({} if value is None else {"PRUNER_TIMEOUT_MS": value})}
    if value is None:
        environ.pop("PRUNER_TIMEOUT_MS")
    command = [sys.executable, "-m", "llmc", "serve", "--profile", "pruner"]
    done = subprocess.run(
        command, env=environ, cwd=world.folder, input="", text=True, capture_output=True, timeout=PATIENCE, check=False
    )
    assert (words in done.stderr) if words else ("PRUNER_TIMEOUT_MS" not in done.stderr)
    assert done.stdout == ""


def test_a_command_that_no_one_waits_for_ends_with_everything_it_started(tmp_path: Path) -> None:
    started = tmp_path / "started"
    command = f"sleep 1000 & echo $! > {started}.new; mv {started}.new {started}; sleep 1000"
    code, _, _ = run_free(["bash", "-c", command], str(tmp_path), started.exists)
    assert code is None
    until(lambda: not is_running(int(started.read_text())))


def is_running(pid: int) -> bool:
    """A process that has ended may still wait for its parent."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except FileNotFoundError:
        return False


def test_a_real_client_sees_plain_results(world: World) -> None:
    async def talk() -> None:
        async with client(world.place, world.folder, "--profile", "pruner") as connected:
            listed = await connected.list_tools()
            assert [tool.name for tool in listed.tools] == ["read", "bash", "grep"]
            result = await connected.call_tool("read", {"file_path": "nope.txt"})
            assert text_of(result).startswith("Error reading file: ")
            assert not result.is_error

    asyncio.run(talk())


def with_variables(world: World, **more: str) -> Place:
    place = copy(world.place)
    place.environ = {**world.place.environ, **more}
    return place


def test_commands_get_the_environment_of_the_mcp_entry(world: World, tmp_path: Path) -> None:
    program = tmp_path / "zebra"
    program.write_text("#!/bin/sh\necho stripes of $OWNER_NAME\n")
    program.chmod(0o755)
    served = with_variables(world, PATH=f"{tmp_path}:{os.environ['PATH']}", OWNER_NAME="the entry")
    with raw(served, world.folder, *FREELY) as free:
        free.handshake()
        assert world.said(free, "bash", {"command": "zebra"}) == "stripes of the entry\n"


@pytest.mark.parametrize("command", ["echo $HOME", "cat a.txt | tail -1", "never-allowed"])
def test_a_refused_command_names_the_setting_and_the_description_says_so(
    world: World, contained: Raw, free: Raw, command: str
) -> None:
    assert "server.pruner.contained = false" in world.said(contained, "bash", {"command": command})
    described = {one["name"]: one["description"] for one in contained.ask("tools/list")["result"]["tools"]}
    assert described["bash"].startswith("Run permitted programs inside the roots, without pipes")
    described = {one["name"]: one["description"] for one in free.ask("tools/list")["result"]["tools"]}
    assert described["bash"].startswith("Run a shell command.")


def test_why_a_text_was_not_pruned_is_on_stderr(world: World) -> None:
    served = with_variables(world, PRUNER_URL="http://127.0.0.1:1/prune")
    with raw(served, world.folder, *FREELY, stderr=subprocess.PIPE) as free:
        free.handshake()
        world.said(free, "read", {"file_path": "a.txt", QUESTION: "what is wanted"})
        assert free.process.stderr is not None
        assert any(b"not pruned" in line and b"cannot be reached" in line for line in free.process.stderr)


def test_the_end_of_stdin_ends_the_process_while_a_command_runs(world: World, tmp_path: Path) -> None:
    started = tmp_path / "started"
    command = f"echo $$ > {started}.new; mv {started}.new {started}; exec sleep 1000"
    with raw(world.place, world.folder, *FREELY) as free:
        free.handshake()
        free.send("tools/call", name="bash", arguments={"command": command})
        until(started.exists)
        assert free.close() == (0, b"")
    until(lambda: not is_running(int(started.read_text())))


def test_mcp_pruner_is_a_command(world: World) -> None:
    (point,) = entry_points(group="console_scripts", name="mcp-pruner")
    code = f"import sys; sys.argv[1:] = []; from {point.module} import {point.attr}; {point.attr}()"
    with raw(world.place, world.folder, command=("-c", code)) as served:
        assert served.handshake()["result"]["serverInfo"]["name"] == "mcp-pruner"


def test_the_record_is_printed_and_so_is_the_reason_why_there_is_none(world: World) -> None:
    def printed(**more: str) -> subprocess.CompletedProcess[str]:
        return with_variables(world, **more).llmc("serve", "--profile", "pruner", "--print-record", cwd=world.folder)

    record = json.loads(printed(JEEVES_PRUNER_ENABLED="1").stdout)["pruner"]
    assert record["args"][-2:] == ["--profile", "pruner"]
    assert record["env"]["MCP_PRUNER_CWD"] == str(world.folder)
    off = printed()
    assert off.returncode == 1
    assert "JEEVES_PRUNER_ENABLED is not set" in off.stderr
