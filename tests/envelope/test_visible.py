"""Invisible characters are shown, and no line of a reply can be forged."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmc.envelope.visible import visible, visible_name, visible_text


@pytest.mark.parametrize(
    ("hidden", "shown"),
    [
        ("a\x00b", "a\\0b"),
        ("\x1b[31mred", "\\e[31mred"),
        ("a\u202eb", "a\\u202eb"),
        ("a\u200bb", "a\\u200bb"),
        ("\U000e0041", "\\U000e0041"),
        ("a\u2028b", "a\\u2028b"),
        ("a\x85b", "a\\x85b"),
        ("\udc80", "\\udc80"),
        ("a\nb\rc", "a\\nb\\rc"),
        ("\ufe0f\ufe01", "\\ufe0f\\ufe01"),
    ],
)
def test_hidden_characters_are_shown(hidden: str, shown: str) -> None:
    assert visible(hidden) == shown


@pytest.mark.parametrize("text", ["plain\ttext", "naïve Größe 日本語 → ·", "⚠\ufe0f careful", ""])
def test_what_can_be_seen_stays(text: str) -> None:
    assert visible(text) == text
    assert visible_text(text) == text


def test_lines_and_their_endings_stay_in_a_text() -> None:
    assert visible_text("a\r\nb\rc\r\n") == "a\r\nb\\rc\r\n"


@pytest.mark.parametrize("name", ["+3 more → h4k2", "10 forged", "a\n+3 more", "a · 12", "\ttab"])
def test_a_name_cannot_be_another_line(name: str) -> None:
    shown = visible_name(name)
    assert "\n" not in shown
    assert "→" not in shown
    assert " · " not in shown
    assert not shown.startswith((" ", "\t"))


def test_an_ordinary_name_stays() -> None:
    assert visible_name("src/routes/+page.svelte") == "src/routes/+page.svelte"


@given(st.text())
def test_one_line_stays_one_line_and_twice_is_once(text: str) -> None:
    shown = visible(text)
    assert len(shown.splitlines()) <= 1
    assert visible(shown) == shown
    shown.encode("utf-8")
