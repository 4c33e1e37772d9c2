"""Where a reply is cut: the most important items stay, lines stay whole, and no secret is cut in half."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmc.base.errors import QueryError
from llmc.envelope import Envelope, Group, Item, Row, fit, render, shorten
from llmc.envelope.clean import clean
from llmc.envelope.fields import columns, records_of, select
from llmc.envelope.tokens import count
from llmc.retrieval.grep.match_lines import MatchedLine
from llmc.retrieval.grep_groups import SymbolMatches
from llmc.tools.grep_rows import LONGEST_LINE, row_of

SECRETS = {
    "aws": "AKIAQ3EGR7KZ2MPLT5WX",
    "github": "ghp_R7tYq2WmZx9LpKv4NsBd8HgJc3FuTaEo1iXw",
    "jwt": "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiI0MjQyNDIiLCJuYW1lIjoiUSJ9.Zk1mYdNf6JhGc3uXsLo9Tq5wRvBeaIyVgHnDiO0pKs2",
    "url": "postgres://admin:q7Zk1mYdNf6JhGc3@db.example.org/main",
    "field": 'password = "q7Zk1mYdNf6JhGc3uXsLo9"',
}


@given(st.sampled_from(sorted(SECRETS)), st.integers(LONGEST_LINE - 110, LONGEST_LINE + 5), st.booleans())
def test_a_secret_where_a_long_line_is_cut_never_shows_a_part(name: str, at: int, more: bool) -> None:
    secret = SECRETS[name]
    filler = ("var x = 1; " * 60)[: at - 1] + " "
    line = MatchedLine(3, filler + secret + ("; var y = 2" * 900 if more else ""))
    row = row_of(line, SymbolMatches(None, (line,), {3: "use"}, {}), context=False, brief=False)
    envelope = Envelope("grep", "1 match", (Group("app.min.js", (Item((row,), "", "/r", "app.min.js", 3, 3),)),))
    text = render(shorten(clean(envelope)))
    hidden = secret.split("://admin:")[-1].split("@")[0].removeprefix('password = "').rstrip('"')
    parts = [hidden[start : start + 8] for start in range(4, len(hidden) - 8)]
    assert not any(part in text for part in parts)
    assert "[redact" not in text.replace("[redacted:", "")


def test_deeper_lines_are_dropped_before_those_above() -> None:
    items = tuple(
        Item((Row(f"{'class' if level == 0 else 'def'} number{at} of the outline", at),), level=level)
        for at, level in enumerate([0, 1, 1, 1, 1, 1, 0, 1, 1, 1, 0], 1)
    )
    fitted = fit(Envelope("outline", "11 symbols", (Group("a.py", items),)), 60)
    shown = [row.number or 0 for item in fitted.envelope.items() for row in item.rows]
    assert {1, 7, 11} <= set(shown)
    assert shown == sorted(shown)


@given(st.lists(st.integers(1, 120), min_size=2, max_size=6), st.integers(80, 900))
def test_texts_that_are_read_together_share_the_budget(sizes: list[int], budget: int) -> None:
    groups = tuple(
        Group(f"file{at}.py", (Item(tuple(Row("value = 1", number) for number in range(1, size + 1)), path=f"{at}"),))
        for at, size in enumerate(sizes)
    )
    fitted = fit(Envelope("read", f"{len(sizes)} targets", groups, unit="line"), budget)
    text = render(fitted.envelope, fitted.shown, fitted.total, "habcd" if fitted.rest else "", fitted.left)
    assert count(text) <= budget
    got = {group.title: sum(len(item.rows) for item in group.items) for group in fitted.envelope.groups}
    cut = [got.get(f"file{at}.py", 0) for at, size in enumerate(sizes) if got.get(f"file{at}.py", 0) < size]
    assert not cut or max(cut) - min(cut) <= 3, "the long ones get the same"
    assert all(got.get(f"file{at}.py", 0) >= min(size, max(cut, default=size) - 3) for at, size in enumerate(sizes))


@given(st.text(min_size=1, max_size=3000), st.integers(60, 300))
def test_a_line_longer_than_the_budget_is_cut_between_characters_and_continues(text: str, budget: int) -> None:
    line = text.replace("\n", " ").replace("\r", " ")
    rest: Envelope | None = Envelope("read", "a · 1 line", (Group("", (Item((Row(line, 1),)),)),), unit="line")
    got = ""
    for _ in range(3000):
        assert rest is not None
        fitted = fit(rest, budget)
        shown = render(fitted.envelope, fitted.shown, fitted.total, "habcd" if fitted.rest else "", fitted.left)
        assert count(shown) <= budget
        got += "".join(row.text for item in fitted.envelope.items() for row in item.rows).replace("…", "")
        rest = fitted.rest
        if rest is None:
            break
    assert got == line.replace("…", "")


def test_rows_of_an_answer_have_the_lines_around_them() -> None:
    data = {
        "matches": 3,
        "files": [{"path": "a", "lines": [[1, "x", True], [2, "y", True]]}, {"path": "b", "lines": []}],
    }
    assert records_of(data)[:2] == [
        {"path": "a", "line": 1, "text": "x", "matched": True},
        {"path": "a", "line": 2, "text": "y", "matched": True},
    ]
    alike = {"definitions": [{"path": "a", "line": 1}], "references": [{"path": "b", "line": 2}], "callees": ["x"]}
    assert [record["path"] for record in records_of(alike)] == ["a", "b"]
    for nothing in ({}, [], {"text": "x"}, [1, 2], "x", None, [[1]]):
        assert records_of(nothing) == []


def test_columns_are_aligned_and_long_lists_are_counts() -> None:
    records: list[dict[str, Any]] = [
        {"name": "a", "n": 1, "of": list(range(9))},
        {"name": "longer", "n": None, "of": []},
    ]
    head, lines = columns(select(records, ["name", "n", "of"]))
    assert head == "name     n  of"
    assert lines == ["a       1  9: 0, 1, 2 …", "longer  -  -"]
    assert columns([]) == ("", [])
    with pytest.raises(QueryError, match="unknown field"):
        select(records, ["nam"])
