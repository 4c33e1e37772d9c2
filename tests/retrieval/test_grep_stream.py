"""Streamed matches equal those of `grep`, whether or not ripgrep's output is passed through."""

from __future__ import annotations

import time
from itertools import islice
from typing import TYPE_CHECKING, Any

import grep_world
import pytest
from tool_calls import answer

from llmc.base.errors import QueryError
from llmc.envelope.handles import Handles
from llmc.envelope.request import ClientInfo, RunningRequest
from llmc.retrieval.grep import ripgrep, stream
from llmc.retrieval.grep.grep import GrepRequest, grep
from llmc.retrieval.grep.stream import stream_matches, whole_files
from llmc.retrieval.grep_groups import KindFilter
from llmc.settings import EmbedderSettings, Settings
from llmc.workspace import Workspace

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Iterator
    from pathlib import Path

PLAIN = Settings(embedder=EmbedderSettings(kind="hash"))
MODULE = "import os\n\n\ndef call_{at}(alpha):\n    # alpha goes first\n    return os.path.join(alpha, 'beta {at}')\n"


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workspace]:
    folder = tmp_path_factory.mktemp("tree")
    grep_world.write(folder)
    for at in range(150):
        (folder / f"p{at % 7}").mkdir(exist_ok=True)
        (folder / f"p{at % 7}" / f"m{at}.py").write_text(MODULE.format(at=at))
    (folder / "-").write_text("alpha in a file called as standard input is\n")
    (folder / "colon:12:x.py").write_text("alpha behind a colon\n")
    (folder / "nul.bin").write_bytes(b"alpha\n" + b"x" * 70_000 + b"\n\0 alpha\n")
    home = tmp_path_factory.mktemp("home")
    with Workspace.open(str(folder), home=str(home), settings=PLAIN, watch=True) as workspace:
        workspace.index()
        yield workspace


def streamed(workspace: Workspace, request: GrepRequest) -> dict[str, bytes]:
    """path → rows, of all pieces."""
    blocks = [block for piece in stream_matches(workspace.views(), request) for block in piece.lines.split(b"\n\n")]
    found: dict[str, bytes] = {}
    for block in blocks:
        path, _, rows = block.partition(b"\0")
        assert path.decode() not in found
        found[path.decode()] = rows.removesuffix(b"\n")
    return found


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"ignore_case": True},
        {"before": 1, "after": 1},
        {"invert": True},
        {"word": True},
        {"multiline": True},
        {"lines": KindFilter(frozenset({"def"}))},
    ],
)
@pytest.mark.parametrize("pattern", ["alpha", r"\bcall_1\d+\b", "beta", "日本", "nowhere at all"])
def test_streamed_matches_equal_those_of_grep(world: Workspace, pattern: str, given: dict[str, Any]) -> None:
    request = GrepRequest((pattern,), **given)
    expected = {file.path: file.rows for file in grep(world.views(), request).files}
    assert streamed(world, request) == expected


@pytest.mark.parametrize("pattern", ["alpha", "beta", "日本", r"alpha.*\b7\b"])
def test_several_processes_print_what_one_does(world: Workspace, pattern: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """ripgrep is started once for each megabyte of names."""
    request = GrepRequest((pattern,))
    expected = streamed(world, request)
    monkeypatch.setattr(ripgrep, "ARGUMENT_BYTES", 100)
    monkeypatch.setattr(stream, "IN_PROCESS", 0)
    assert streamed(world, request) == expected


def test_without_landlock_the_same_is_found(world: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    request = GrepRequest(("alpha",))
    with_it = streamed(world, request)
    monkeypatch.setattr(stream, "is_available", lambda: False)
    assert streamed(world, request) == with_it


def test_names_and_counts_are_printed_a_line_each(world: Workspace) -> None:
    names = b"".join(one.lines for one in stream_matches(world.views(), GrepRequest(("beta",), files_only=True)))
    counts = b"".join(one.lines for one in stream_matches(world.views(), GrepRequest(("beta",), count_only=True)))
    assert sorted(names.split()) == sorted(line.rpartition(b":")[0] for line in counts.splitlines())
    assert b"p0/m0.py:1\n" in counts


def test_a_file_with_very_many_matches_is_cut_between_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream, "MOST_OF_FILE", 50)
    rows = [f"{number}:{'x' * 20}" for number in range(1, 40)]
    output = f"a.py\0{chr(10).join(rows)}\n\nb.py\x001:y\n".encode()
    pieces = list(whole_files(iter([output[at : at + 33] for at in range(0, len(output), 33)])))
    blocks = [block.split(b"\0") for piece in pieces for block in piece.split(b"\n\n")]
    assert b"\n".join(lines for path, lines in blocks if path == b"a.py").decode().split("\n") == rows
    assert blocks[-1] == [b"b.py", b"1:y\n"]
    assert max(map(len, pieces)) < 120


@pytest.mark.parametrize("size", range(1, 60))
def test_files_stay_apart_wherever_the_output_is_cut(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream, "MOST_OF_FILE", 20)
    output = b"a.py\x001:xxxxxxxxxxxxxxxxxxxx\n2:x\n\nb.py\x001:y\n\nc.py\x001:zzzzzzzzzzzzzzzzzzzzzzzzzz\n"
    pieces = list(whole_files(iter([output[at : at + size] for at in range(0, len(output), size)])))
    blocks = [block.partition(b"\0") for piece in pieces for block in piece.split(b"\n\n")]
    rows = [(path, row) for path, _, lines in blocks for row in lines.split(b"\n") if row]
    assert rows == [
        *((b"a.py", b"1:xxxxxxxxxxxxxxxxxxxx"), (b"a.py", b"2:x"), (b"b.py", b"1:y")),
        (b"c.py", b"1:zzzzzzzzzzzzzzzzzzzzzzzzzz"),
    ]


def test_a_slow_reader_does_not_use_up_the_time_limit(world: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ripgrep, "PIECE", 8)
    view = world.views()[0]
    limit = 2.0
    began = time.monotonic()
    pieces = ripgrep.stream(view.root_fs, ("--line-number", "-e", "."), ["p0/m0.py"], began + limit, limit)
    for _ in pieces:
        time.sleep(0.2)
    assert time.monotonic() - began > limit  # and it did not raise


def test_a_reader_that_leaves_ends_ripgrep(world: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[subprocess.Popen[bytes]] = []
    started = ripgrep.started

    def noted(*given: Any) -> subprocess.Popen[bytes]:
        begun.append(started(*given))
        return begun[-1]

    monkeypatch.setattr(ripgrep, "started", noted)
    pieces = stream_matches(world.views(), GrepRequest(("alpha",)))
    assert list(islice(pieces, 2))
    pieces.close()  # type: ignore[attr-defined]
    assert begun
    assert all(one.poll() is not None for one in begun)


def test_the_time_limit_is_named(world: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ripgrep, "LEAST_SECONDS", 0.0)
    with pytest.raises(QueryError, match="stopped at its time limit of 0 s"):
        list(stream_matches(world.views(), GrepRequest(("(alpha|beta)+.*x",), multiline=True, seconds=0.0)))


def test_a_call_that_is_streamed_sends_its_lines_and_returns_their_count(world: Workspace, tmp_path: Path) -> None:
    sent: list[dict[str, Any]] = []
    call = RunningRequest(ClientInfo(1, "c1"), sent.append)
    handles = Handles(str(tmp_path))
    reply = answer(world, handles, "grep", {"pattern": "beta", "all": True}, call=call, stream=True)
    lines = b"".join(event["bytes"] for event in sent).splitlines()
    assert reply.text == "151 lines"
    assert len(lines) == 151
    assert b"p3/m3.py:6:    return os.path.join(alpha, 'beta 3')" in lines
    refused = answer(world, handles, "grep", {"pattern": "b", "all": True, "glob": ["*.kt"]}, call=call, stream=True)
    assert "no indexed file matches -g *.kt" in refused.text
