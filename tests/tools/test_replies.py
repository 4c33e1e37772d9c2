"""What every reply promises: counted tokens, whole lines, nothing secret, nothing lost behind a handle."""

from __future__ import annotations

import pickle
import sqlite3
from pathlib import Path
from typing import TYPE_CHECKING

import bpe_openai
import pytest
from hypothesis import given
from hypothesis import strategies as st
from locations import TESTS
from tool_calls import answer

from llmc.base.errors import NotFoundError
from llmc.envelope import Envelope, Group, Item, Row, fit, render
from llmc.envelope.handles import Handles
from llmc.envelope.tokens import count
from llmc.settings import EmbedderSettings, Settings, Shell
from llmc.tools.registry import TOOLS, tool
from llmc.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Iterator

LINES = st.lists(st.text(st.characters(blacklist_characters="\n\r"), max_size=80), min_size=1, max_size=12)


def envelope_of(files: list[list[str]]) -> Envelope:
    groups = tuple(
        Group(f"file{at}.py", tuple(Item((Row(line, number),)) for number, line in enumerate(lines, 1)), len(lines))
        for at, lines in enumerate(files)
    )
    return Envelope("grep", f"{len(files)} files", groups)


# A line that is longer than the budget is cut, and goes on on the next page (test_envelope_cuts); 80 characters are at
# most 320 tokens.
@given(st.lists(LINES, min_size=1, max_size=8), st.integers(400, 900))
def test_a_reply_fits_its_budget_and_the_rest_completes_it(files: list[list[str]], budget: int) -> None:
    envelope = envelope_of(files)
    fitted = fit(envelope, budget)
    text = render(fitted.envelope, fitted.shown, fitted.total, "h2345" if fitted.rest else "", fitted.left)
    assert count(text) <= budget
    rest = list(fitted.rest.items()) if fitted.rest else []
    assert sorted(map(repr, [*fitted.envelope.items(), *rest])) == sorted(map(repr, envelope.items()))


@given(st.lists(LINES, min_size=1, max_size=4))
def test_a_reply_that_fits_whole_has_no_frame(files: list[list[str]]) -> None:
    envelope = envelope_of(files)
    fitted = fit(envelope, 100_000)
    assert fitted.rest is None
    assert "showing" not in render(fitted.envelope, fitted.shown, fitted.total)


# Whether a code point that Unicode assigned lately is a letter depends on the Unicode version of each library.
@given(st.text(st.characters(exclude_categories=["Cn"]), max_size=400))
def test_tokens_are_counted_as_the_original_counts_them(text: str) -> None:
    original = bpe_openai.get_encoding("o200k_base")
    expected = len(original.encode_ordinary(text.encode("utf-8", "replace").decode()))
    assert expected <= count(text) <= expected + 2 * len(text) // 512


def test_tokens_of_source_code_are_counted_exactly() -> None:
    original = bpe_openai.get_encoding("o200k_base")
    paths = sorted(TESTS.glob("store/test_*.py"))[:20]
    assert len(paths) > 10
    for path in paths:
        text = path.read_text()
        assert count(text) == len(original.encode_ordinary(text))


def test_the_same_question_has_the_same_handle_and_a_changed_one_another(tmp_path: Path) -> None:
    handles = Handles(str(tmp_path))

    def put(lines: list[str], owner: str = "local") -> str:
        return handles.put("grep", {"pattern": "a"}, envelope_of([lines]), {}, owner=owner).id

    lines = ["a", "b"]
    assert put(lines) == put(lines) != put(["a", "c"])
    assert put(lines, "you") != put(lines)
    with pytest.raises(NotFoundError):
        handles.open(put(lines), "you")
    handles.close()
    reopened = Handles(str(tmp_path))
    assert reopened.open(put(lines), "local").whole == envelope_of([lines])


@pytest.mark.parametrize("name", ["h", "hzzzz", "../../etc", "h4k2'; drop", "x" * 300, ""])
def test_an_unknown_handle_is_reported_as_unknown(tmp_path: Path, name: str) -> None:
    with pytest.raises(NotFoundError, match="no result"):
        Handles(str(tmp_path)).open(name, "me")


class Planted:
    def __reduce__(self) -> tuple[object, tuple[str]]:
        return (exec, ("import pathlib; pathlib.Path('PLANTED').touch()",))


def test_a_planted_pickle_is_never_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    handles = Handles(str(tmp_path / "handles"))
    envelope = envelope_of([["a"]])
    name = handles.put("grep", {}, envelope, {}, owner="me").id
    handles.close()
    with sqlite3.connect(tmp_path / "handles" / "cache.db") as db:
        db.execute("UPDATE Cache SET mode = 4, value = ?", (pickle.dumps(Planted()),))
    with pytest.raises(NotFoundError):
        Handles(str(tmp_path / "handles")).open(name, "me")
    assert not Path("PLANTED").exists()


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Workspace, Handles]]:
    folder = tmp_path_factory.mktemp("tree")
    key = "AKIA" + "IOSFODNN7Q2XYZAB"
    (folder / "settings.py").write_text(
        f"import os\n\nAWS_KEY = '{key}'\n\n\ndef connect(region):\n    return region\n"
    )
    (folder / "odd\u202ename.txt").write_text("connect \u202e hidden \x1b[31m red\n")
    plain = Settings(embedder=EmbedderSettings(kind="hash"), shell=Shell(enabled=True))
    home = tmp_path_factory.mktemp("home")
    with Workspace.open(str(folder), home=str(home), settings=plain, watch=True) as workspace:
        workspace.index()
        yield workspace, Handles(str(home / "handles"))


CALLS = {
    "search": {"query": "AWS_KEY connect"},
    "grep": {"pattern": "AKIA|connect"},
    "read": {"target": "settings.py"},
    "find": {"name": "settings"},
    "outline": {},
    "refs": {"name": "connect"},
    "context": {"query": "AWS_KEY"},
    "tree": {},
    "handle": {},
    "research_codebase": {"question": "how does connect use AWS_KEY"},
    "locate_in_codebase": {"query": "connect"},
    "find_patterns": {"pattern": "AWS_KEY"},
    "analyze_component": {"component": "connect"},
    "list_roots": {},
    "shell": {"command": "head -n 40 settings.py settings.py"},
}


@pytest.mark.parametrize("name", CALLS)
def test_every_tool_answers_in_one_shape_without_secrets_or_hidden_characters(
    world: tuple[Workspace, Handles], name: str
) -> None:
    answer(*world, "grep", {"pattern": ".", "budget": 50})  # something is kept behind a handle
    reply = answer(*world, name, dict(CALLS[name]))
    assert not reply.error, reply.text
    assert reply.total
    everything = reply.text + str(reply.data)
    assert "IOSFODNN7" not in everything
    assert "\u202e" not in reply.text
    assert "\x1b" not in reply.text


@pytest.mark.parametrize("name", TOOLS)
def test_every_tool_refuses_what_it_does_not_know_and_says_what_it_takes(
    world: tuple[Workspace, Handles], name: str
) -> None:
    text = answer(*world, name, {"nosuch": 1}).text
    if tool(name).requires_setting and "is switched off" in text:
        return
    assert "has no argument" in text
    required = next((one for one in tool(name).arguments if one.required), None)
    if required is not None:
        assert answer(*world, name, {}).error == "query"
    assert answer(*world, name, {**CALLS.get(name, {}), "budget": "many"}).error == "query"


def test_the_nearest_tool_is_named(world: tuple[Workspace, Handles]) -> None:
    assert "search" in answer(*world, "serch", {}).text
