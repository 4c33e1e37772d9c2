"""Handles: kept for a day, named in few tokens, and only opened by their owner."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmc.base.errors import NotFoundError
from llmc.envelope import Envelope, Group, Item, Row, fit, render
from llmc.envelope.handles import HANDLE, LOCAL, Handles
from llmc.envelope.packing import pack, unpack
from llmc.envelope.tokens import count

if TYPE_CHECKING:
    from pathlib import Path

TEXTS = st.text(max_size=30)
ROWS = st.builds(Row, TEXTS, st.none() | st.integers(0, 10**6), st.booleans())
ITEMS = st.builds(
    Item,
    st.lists(ROWS, max_size=4).map(tuple),
    TEXTS,
    TEXTS,
    TEXTS,
    st.integers(0, 10**6),
    st.integers(0, 10**6),
    st.integers(0, 5),
)
GROUPS = st.builds(Group, TEXTS, st.lists(ITEMS, max_size=4).map(tuple), st.none() | st.integers(0, 99))
ENVELOPES = st.builds(
    Envelope,
    TEXTS,
    TEXTS,
    st.lists(GROUPS, max_size=4).map(tuple),
    st.lists(TEXTS, max_size=2).map(tuple),
    unit=st.sampled_from(["", "line"]),
    in_order=st.booleans(),
)


def matches(files: int, each: int, *, path: str = "src/file{}.py") -> Envelope:
    groups = tuple(
        Group(
            path.format(at),
            tuple(
                Item((Row(f"match {at}.{number}", number),), root="/r", path=path.format(at), start=number, end=number)
                for number in range(1, each + 1)
            ),
            each,
        )
        for at in range(files)
    )
    return Envelope("grep", f"{files * each} matches in {files} files", groups)


@given(ENVELOPES)
def test_packed_values_are_equal_after_unpacking(envelope: Envelope) -> None:
    assert unpack(pack(envelope)) == envelope


def test_items_are_numbered_as_the_reply_shows_them_and_on_through_the_next_page(tmp_path: Path) -> None:
    whole = matches(30, 5)
    fitted = fit(whole, 150)
    handle = Handles(str(tmp_path)).put("grep", {"pattern": "x"}, whole, fitted.kept, owner=LOCAL)
    text = render(fitted.envelope, fitted.shown, fitted.total, handle.id, fitted.left)
    shown = [line.split(" ", 1)[1] for line in text.split("\n")[1:] if line[:1].isdigit()]
    assert len(shown) == fitted.shown > 3
    numbered = [item.rows[0].text for item in handle.items()]
    assert numbered[: fitted.shown] == shown
    assert numbered[fitted.shown :] == [item.rows[0].text for item in handle.rest.items()]
    assert sorted(numbered) == sorted(item.rows[0].text for item in whole.items())


@given(st.integers(2, 60), st.integers(2, 40), st.integers(50, 3000))
def test_a_cut_reply_has_at_most_twelve_tokens_of_frame(files: int, each: int, budget: int) -> None:
    whole = matches(files, each)
    fitted = fit(whole, budget)
    name = "habcd" if fitted.rest else ""
    text = render(fitted.envelope, fitted.shown, fitted.total, name, fitted.left)
    bare = render(fitted.envelope)
    assert count(text) <= budget
    assert count(text) - count(bare) <= (12 if fitted.rest else 0)


def test_names_cost_two_tokens_and_are_not_words(tmp_path: Path) -> None:
    handles = Handles(str(tmp_path))
    names = {handles.put("grep", {"pattern": str(at)}, matches(1, 2), {}, owner=LOCAL).id for at in range(60)}
    assert len(names) == 60
    assert all(HANDLE.fullmatch(name) and count(f" {name}") == 2 for name in names)


def test_over_the_network_a_name_has_128_bits_that_another_home_does_not_repeat(tmp_path: Path) -> None:
    first, second = (
        Handles(str(tmp_path / home)).put("grep", {}, matches(1, 2), {}, owner="client-1").id for home in ("a", "b")
    )
    assert first != second
    assert len(first) * 5 >= 128
    again = Handles(str(tmp_path / "a"))
    assert again.put("grep", {}, matches(1, 2), {}, owner="client-1").id == first
    assert again.put("grep", {}, matches(1, 2), {}, owner="client-2").id != first


def test_foreign_unknown_and_expired_look_the_same(tmp_path: Path) -> None:
    handles = Handles(str(tmp_path))
    foreign = handles.put("grep", {}, matches(1, 2), {}, owner="somebody").id
    gone = Handles(str(tmp_path), hours=-1).put("grep", {"old": 1}, matches(1, 2), {}, owner="me").id
    said = set()
    for name in (foreign, gone, "h" + "a" * 26):
        with pytest.raises(NotFoundError) as caught:
            handles.open(name, "me")
        said.add(str(caught.value).replace(name, "NAME") + caught.value.hint)
        assert not handles.has(name, "me")
    assert len(said) == 1


def test_the_folder_stays_below_its_cap_and_the_least_used_goes_first(tmp_path: Path) -> None:
    handles = Handles(str(tmp_path), max_bytes=1 << 20)
    first = handles.put("grep", {"n": -1}, matches(40, 40), {}, owner=LOCAL).id
    names = []
    for at in range(60):
        names.append(handles.put("grep", {"n": at}, matches(40, 40), {}, owner=LOCAL).id)
        handles.open(first, LOCAL)
    stored = {one.id for one in handles.all(LOCAL)}
    assert first in stored
    assert names[-1] in stored
    assert names[0] not in stored
    assert sum(one.size for one in handles.all(LOCAL)) < 3 << 20


@pytest.mark.parametrize("text", ["", "{}", "[]\n{}", "{\n", '{"version":1}\nnot json', "null\nnull", "7"])
def test_a_damaged_entry_gives_no_result(tmp_path: Path, text: str) -> None:
    handles = Handles(str(tmp_path))
    name = handles.put("grep", {}, matches(1, 2), {}, owner=LOCAL).id
    handles.close()
    with sqlite3.connect(tmp_path / "cache.db") as db:
        db.execute("UPDATE Cache SET value = ?", (text,))
    reopened = Handles(str(tmp_path))
    with pytest.raises(NotFoundError):
        reopened.open(name, LOCAL)
    assert not list(reopened.all(LOCAL))


def test_dropping_one_leaves_the_others(tmp_path: Path) -> None:
    handles = Handles(str(tmp_path))
    one, two = (handles.put("grep", {"n": at}, matches(1, 2), {}, owner=LOCAL).id for at in range(2))
    other = handles.put("grep", {}, matches(1, 2), {}, owner="client").id
    handles.drop(one, LOCAL)
    assert [stored.id for stored in handles.all(LOCAL)] == [two]
    assert handles.drop_all(LOCAL) == 1
    assert handles.has(other, "client")


def test_a_damaged_folder_is_recreated(tmp_path: Path) -> None:
    handles = Handles(str(tmp_path))
    name = handles.put("grep", {}, matches(1, 2), {}, owner=LOCAL).id
    handles.close()
    for path in tmp_path.glob("cache.db*"):
        path.write_bytes(b"no database " * 1000)
    reopened = Handles(str(tmp_path))
    with pytest.raises(NotFoundError):
        reopened.open(name, LOCAL)
    assert reopened.open(reopened.put("grep", {}, matches(1, 2), {}, owner=LOCAL).id, LOCAL).whole == matches(1, 2)


def test_rows_of_others_in_the_cache_do_not_break_the_list(tmp_path: Path) -> None:
    handles = Handles(str(tmp_path))
    mine = handles.put("grep", {"pattern": "x"}, matches(3, 2), {}, owner=LOCAL, left="4 more")
    handles.close()
    head = (
        '{"version": %s, "letters": [], "owner": "local", "tool": 1, "args": [], "items": "", "left": 0, "made": "now"}'
    )
    with sqlite3.connect(tmp_path / "cache.db") as rows:
        columns = "key, raw, store_time, expire_time, access_time, access_count, tag, size, mode, filename, value"
        for key, raw, value in (
            (b"\x80\x04K\x01.", 0, "pickled"),
            (7, 1, "number"),
            ("habcd", 1, b"bytes"),
            ("hbcde", 1, "not JSON"),
            ("hcdef", 1, head % 2 + "\n{}"),
            ("hdefg", 1, head % '"x"' + "\n{}"),
        ):
            rows.execute(
                f"INSERT INTO Cache ({columns}) VALUES (?, ?, 0, NULL, 0, 0, NULL, 0, 1, NULL, ?)", (key, raw, value)
            )
    again = Handles(str(tmp_path))
    assert [one.id for one in again.all(LOCAL)] == [mine.id]
    assert again.drop_all(LOCAL) == 1
