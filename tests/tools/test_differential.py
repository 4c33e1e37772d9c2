"""What a session was given is not given twice, and no change is ever hidden by that."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tool_calls import answer

from llmc.envelope import Envelope, Group, Item, Row
from llmc.envelope.differential import SentLines, all_known, unchanged, without_known
from llmc.envelope.handles import Handles
from llmc.envelope.tokens import count
from llmc.settings import EmbedderSettings, EnvelopeSettings, Settings
from llmc.state.connected_sessions import ConnectedSession
from llmc.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from llmc.envelope.reply import Reply

LINES = [f"line {number} of the file" for number in range(1, 401)]


def reading(lines: list[str], start: int, end: int) -> Envelope:
    rows = tuple(Row(text, number) for number, text in enumerate(lines[start - 1 : end], start))
    return Envelope(
        "read", f"a.py:{start}-{end}", (Group("", (Item(rows, "", "/r", "a.py", start, end),)),), unit="line"
    )


class Reader:
    """A client that keeps what it was given, as a model does."""

    def __init__(self) -> None:
        self.sent = SentLines()
        self.has: dict[int, str] = {}

    def read(self, lines: list[str], start: int, end: int) -> Envelope:
        envelope = reading(lines, start, end)
        if all_known(envelope, self.sent, {("/r", "a.py"): len(lines)}):
            return unchanged(envelope)
        envelope = without_known(envelope, self.sent)
        self.sent.remember(envelope)
        self.has |= {row.number: row.text for item in envelope.items() for row in item.rows if row.number}
        return envelope


RANGE = st.tuples(st.integers(1, 60), st.integers(0, 40)).map(lambda pair: (pair[0], pair[0] + pair[1]))
EDIT = st.tuples(st.sampled_from(["set", "insert", "delete"]), st.integers(0, 59), st.sampled_from("ab"))


@given(st.lists(st.one_of(RANGE, EDIT), max_size=30))
def test_whatever_is_edited_and_read_a_reader_has_the_true_lines(steps: list[tuple[object, ...]]) -> None:
    lines = [f"line {number}" for number in range(60)]
    reader = Reader()
    for step in steps:
        if isinstance(step[0], str):
            edit(lines, *step)
            continue
        start, end = (min(int(str(number)), len(lines)) for number in step)
        if start < 1:
            continue
        reader.read(lines, start, end)
        assert [reader.has[number] for number in range(start, end + 1)] == lines[start - 1 : end]


def edit(lines: list[str], how: object, at: object, text: object) -> None:
    place = min(int(str(at)), len(lines))
    if how == "insert":
        lines.insert(place, str(text))
    elif place < len(lines):
        lines[place : place + 1] = [] if how == "delete" else [str(text)]


def test_a_line_that_changed_and_changed_back_is_given_each_time() -> None:
    reader = Reader()
    for text in ("old", "new", "old"):
        lines = [*LINES[:20], text, *LINES[20:40]]
        reader.read(lines, 1, 41)
        assert reader.has[21] == text


def test_a_file_that_lost_its_end_is_not_called_unchanged() -> None:
    reader = Reader()
    reader.read(LINES[:40], 1, 40)
    assert reader.read(LINES[:30], 1, 30).groups
    assert not reader.read(LINES[:30], 1, 30).groups


def test_memory_is_bounded_and_forgets_the_file_that_was_given_longest_ago() -> None:
    sent = SentLines(100)
    rows = [Row(text, number) for number, text in enumerate(LINES[:60], 1)]
    for path in ("a", "b"):
        sent.add(("/r", path, ""), rows)
    assert len(sent) <= 100
    assert not sent.knows(("/r", "a", ""), rows[0])
    assert sent.knows(("/r", "b", ""), rows[0])


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, Workspace, Handles]]:
    folder, home = tmp_path_factory.mktemp("tree"), tmp_path_factory.mktemp("home")
    (folder / "a.py").write_text("\n".join(LINES) + "\n")
    plain = Settings(embedder=EmbedderSettings(kind="hash"))
    with Workspace.open(str(folder), home=str(home), settings=plain) as workspace:
        workspace.index()
        yield folder, workspace, Handles(str(home / "handles"))


def ask(world: tuple[Path, Workspace, Handles], session: ConnectedSession | None, target: str, **args: object) -> Reply:
    return answer(world[1], world[2], "read", {"target": target, "budget": 8000, **args}, session=session)


def test_a_repeated_read_is_one_line_that_says_how_to_get_it_again(world: tuple[Path, Workspace, Handles]) -> None:
    session = ConnectedSession("s")
    first = ask(world, session, "a.py:1-200")
    again = ask(world, session, "a.py:1-200")
    assert "line 150 of the file" in first.text
    assert again.text == "a.py:1-200 of 400 lines, unchanged since you read it · fresh=true shows it"
    assert count(again.text) < count(first.text) / 50
    assert ask(world, session, "a.py:1-200", fresh=True).text == first.text


def test_overlapping_ranges_give_only_new_lines(world: tuple[Path, Workspace, Handles]) -> None:
    session = ConnectedSession("s")
    ask(world, session, "a.py:1-200")
    assert "unchanged" in ask(world, session, "a.py:50-100").text
    partly = ask(world, session, "a.py:150-250").text
    assert "150-200 unchanged" in partly
    assert "\n201 line 201 of the file" in partly
    assert " 200 line" not in partly
    assert "unchanged" in ask(world, session, "a.py:1-250").text


def test_another_session_and_no_session_are_given_everything(world: tuple[Path, Workspace, Handles]) -> None:
    texts = {
        ask(world, session, "a.py:1-200").text for session in (ConnectedSession("a"), ConnectedSession("b"), None, None)
    }
    assert len(texts) == 1
    assert "unchanged" not in texts.pop()


def test_a_reply_without_text_always_says_how_to_see_it_again(world: tuple[Path, Workspace, Handles]) -> None:
    session = ConnectedSession("s")
    texts = [ask(world, session, "a.py:1-200").text for _ in range(4)][1:]
    assert all(text.endswith("unchanged since you read it · fresh=true shows it") for text in texts)


def test_the_hint_on_unchanged_lines_is_given_now_and_then(world: tuple[Path, Workspace, Handles]) -> None:
    session = ConnectedSession("s")
    texts = [ask(world, session, f"a.py:1-{end}").text for end in range(20, 150, 10)][1:]
    assert all(" unchanged" in text.split("\n")[0] for text in texts)
    assert ["fresh=true shows it" in text for text in texts] == [True, *[False] * 9, True, False]


def test_a_long_file_read_twice_is_one_line_and_its_handle(world: tuple[Path, Workspace, Handles]) -> None:
    session = ConnectedSession("s")
    first = ask(world, session, "a.py", budget=400)
    again = ask(world, session, "a.py", budget=400)
    assert again.handle == first.handle
    assert again.text.split("\n") == [
        "a.py · 400 lines, unchanged since you read it · fresh=true shows it",
        first.text.split("\n")[-1],
    ]


def test_an_edited_line_is_shown_and_the_others_are_named(world: tuple[Path, Workspace, Handles]) -> None:
    folder, session = world[0], ConnectedSession("s")
    ask(world, session, "a.py:1-100")
    changed = [*LINES]
    changed[41] = "something else"
    (folder / "a.py").write_text("\n".join(changed) + "\n")
    reply = ask(world, session, "a.py:1-100")
    (folder / "a.py").write_text("\n".join(LINES) + "\n")
    assert "\n42 something else" in reply.text
    assert "1-41, 43-100 unchanged" in reply.text
    assert count(reply.text) < 60


def test_a_setting_switches_it_off(world: tuple[Path, Workspace, Handles]) -> None:
    folder, workspace, handles = world
    off = Settings(embedder=EmbedderSettings(kind="hash"), envelope=EnvelopeSettings(differential=False))
    silent = Workspace(workspace.registry, off, workspace.root_indexes, str(folder))
    session = ConnectedSession("s")
    texts = [answer(silent, handles, "read", {"target": "a.py:1-50"}, session=session).text for _ in range(2)]
    assert texts[0] == texts[1]
