"""Folding and cutting text into trigrams. A character that is folded wrongly is a match that grep never finds."""

from __future__ import annotations

import sys

import re2
from hypothesis import given
from hypothesis import strategies as st

from llmc.store.keywords.trigrams import PART_CHARACTERS, fold, parts, trigrams

EVERY = [chr(code) for code in range(sys.maxunicode + 1) if not 0xD800 <= code <= 0xDFFF]


def test_every_character_folds_to_one_and_folding_twice_changes_nothing() -> None:
    assert [c for c in EVERY if len(fold(c)) != 1] == []
    assert [c for c in EVERY if fold(fold(c)) != fold(c)] == []


def test_a_long_text_folds_as_its_characters_do() -> None:
    odd = [c for c in EVERY if len(c.casefold()) > 1]
    text = "Aé".join(odd) + "ΣσςKſİ"

    assert fold(text) == "".join(map(fold, text))


def test_whatever_a_regex_takes_for_the_same_letter_folds_alike() -> None:
    """google-re2 decides about a match in the end."""
    variants = ((c, {c.lower(), c.upper(), c.title(), c.swapcase(), c.casefold()}) for c in EVERY)
    pairs = [(c, other) for c, others in variants for other in others if len(other) == 1 and other != c]

    apart = [(c, o) for c, o in pairs if fold(c) != fold(o) and re2.fullmatch(f"(?i){re2.escape(c)}", o)]

    assert len(pairs) > 2_000
    assert apart == []


@given(st.text())
def test_folding_keeps_the_length(text: str) -> None:
    assert len(fold(text)) == len(text)


def test_trigrams_are_windows_over_the_folded_text() -> None:
    assert trigrams("AbCd") == {"abc", "bcd"}
    assert trigrams("ab") == frozenset()


@given(st.lists(st.integers(0, PART_CHARACTERS // 2), max_size=12), st.booleans())
def test_parts_are_runs_of_whole_lines_that_make_up_the_text(lengths: list[int], ends: bool) -> None:
    text = "\n".join("x" * length for length in lengths) + ("\n" if ends else "")
    found = list(parts(text))

    rebuilt = found[0] + "".join(part[2:] for part in found[1:])
    assert rebuilt == text
    assert all(part.endswith("\n") for part in found[:-1])
    assert all(len(part) <= PART_CHARACTERS + 2 for part in found)


def test_a_line_longer_than_a_part_is_not_cut() -> None:
    long = "y" * (3 * PART_CHARACTERS)
    found = list(parts(f"short\n{long}\nshort\n"))

    assert any(long in part for part in found)
