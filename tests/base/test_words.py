"""The word analysis shared by index and queries."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmc.base import words


@pytest.mark.parametrize(
    ("identifier", "terms"),
    [
        ("HTTPServer", "httpserver http serv"),
        ("http_server", "httpserver http serv"),
        ("getElementByID", "getelementbyid get element by id"),
        ("utf8", "utf8 utf"),
        ("__init__", "init"),
        ("größeMax", "größemax größe max"),
        ("日本語処理", "日本語処理 日本 本語 語処 処理"),
        ("x", "x"),
    ],
)
def test_compound_identifier_gives_its_whole_and_the_stems_of_its_parts(identifier: str, terms: str) -> None:
    assert words.body(identifier) == terms


@pytest.mark.parametrize(
    "forms",
    [
        "render renders renderer rendering rendered",
        "serialize serializer serializing serialization",
        "validate validator validation validated",
        "query queries",
        "map maps mapping mapped",
        "parse parser parsing parsed parses",
        "cache caches caching cached",
        "log logger logging logs",
    ],
)
def test_forms_of_one_word_share_a_stem(forms: str) -> None:
    assert len({words.stem(form) for form in forms.split()}) == 1


@pytest.mark.parametrize(("one", "other"), [("user", "use"), ("status", "state"), ("string", "str"), ("class", "clap")])
def test_different_words_keep_different_stems(one: str, other: str) -> None:
    assert words.stem(one) != words.stem(other)


def test_spelling_of_a_compound_does_not_matter_to_its_terms() -> None:
    assert words.body("parseHTTPDate") == words.body("parse_http_date") == words.body("ParseHttpDate")


def test_path_gives_its_folders_and_its_file_name() -> None:
    assert words.path("src/http/client_request.py").split() == [
        "src",
        "http",
        "clientrequest",
        "client",
        "request",
        "py",
    ]


def test_a_run_too_long_to_be_a_word_is_left_out() -> None:
    assert words.body(f"left {'QUJD' * 40} right").split() == ["left", "right"]


def test_composed_and_decomposed_letters_are_the_same_word() -> None:
    assert words.body("cafe\u0301") == words.body("caf\u00e9")


def test_stop_words_are_marked_in_a_query_and_kept_in_the_index() -> None:
    asked = words.query_words("how does the LRUCache work")
    assert [(word.text, word.stop) for word in asked] == [
        ("how", True),
        ("does", True),
        ("the", True),
        ("LRUCache", False),
        ("work", True),
    ]
    assert "the" in words.body("the LRUCache").split()


@given(st.text(max_size=200))
def test_any_text_becomes_terms_that_an_index_can_hold(text: str) -> None:
    terms = words.body(text).split()
    assert all(term == term.strip() and term.encode() for term in terms)
    assert [term for word in words.query_words(text) for term in (word.term, *word.parts)] == terms


@given(st.text(max_size=80) | st.from_regex(r"[A-Za-z_][A-Za-z0-9_.é]{0,80}", fullmatch=True))
def test_a_compound_is_a_name_of_several_terms_and_gives_the_first(name: str) -> None:
    terms = words.name(name).split()
    assert words.compound(name) == (terms[0] if len(terms) > 1 else "")


@given(st.text(st.characters(codec="ascii", categories=["Ll"]), min_size=1, max_size=30))
def test_a_stem_is_a_beginning_or_ends_in_y(word: str) -> None:
    stem = words.stem(word)
    assert stem
    assert word.startswith(stem) or stem.endswith("y")


def test_a_full_table_starts_over_and_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    text = " ".join(f"name_{number}" for number in range(50))
    expected = words.body(text)
    monkeypatch.setattr(words, "MAX_CACHED", 10)
    monkeypatch.setattr(words, "_TABLE", words._Table())
    assert words.body(text) == expected
    assert len(words._TABLE) <= 10
