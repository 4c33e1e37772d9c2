"""What a query asks for: words, phrases, filters, routes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmc.base.errors import LlmcError, QueryError
from llmc.retrieval.query import Filter, QueryRoute, parse


@pytest.mark.parametrize(
    ("asked", "route"),
    [
        ("HttpClient", QueryRoute.SYMBOL),
        ("Rails::Engine", QueryRoute.SYMBOL),
        ("session.get", QueryRoute.SYMBOL),
        ("class Parser", QueryRoute.SYMBOL),
        ("parse_url()", QueryRoute.SYMBOL),
        ("src/http/client.py", QueryRoute.PATH),
        ("client.py", QueryRoute.PATH),
        ("src/http/", QueryRoute.PATH),
        ("how are retries delayed", QueryRoute.WORDS),
        ("connection pool", QueryRoute.WORDS),
        ('"connection"', QueryRoute.WORDS),
    ],
)
def test_a_query_is_routed_by_its_form(asked: str, route: QueryRoute) -> None:
    assert parse(asked).route is route


def test_filters_are_taken_out_of_the_words() -> None:
    query = parse('retry path:src/ -path:"old code" lang:python -kind:class root:api backoff')
    assert [word.text for word in query.words] == ["retry", "backoff"]
    assert query.filters == (
        Filter("path", "src/"),
        Filter("path", "old code", exclude=True),
        Filter("lang", "python"),
        Filter("kind", "class", exclude=True),
        Filter("root", "api"),
    )


def test_a_colon_alone_makes_no_filter() -> None:
    for asked in ("std::sort order", "see http://example.org/x", "note: this", "a:b c"):
        assert parse(asked).filters == ()


def test_phrases_and_what_to_leave_out_are_kept_apart() -> None:
    query = parse('"connection reset" -test -"by peer" socket')
    assert query.phrases == ("connection reset",)
    assert query.without == ("test", "by peer")
    assert [word.text for word in query.words] == ["connection", "reset", "socket"]


def test_a_minus_inside_a_word_leaves_nothing_out() -> None:
    assert parse("non-blocking read-write").without == ()


@pytest.mark.parametrize("asked", ["", "   ", "lang:python", '""', "!!! ???", "-word"])
def test_a_query_without_words_says_what_to_do(asked: str) -> None:
    with pytest.raises(QueryError) as caught:
        parse(asked)
    assert caught.value.hint


def test_a_slip_in_a_filter_is_answered_with_the_right_name() -> None:
    with pytest.raises(QueryError, match="langauge") as caught:
        parse("langauge:go channels")
    assert "language" in caught.value.hint


def test_a_pasted_file_is_refused() -> None:
    with pytest.raises(QueryError, match="characters"):
        parse("word " * 2_000)


@given(st.text(max_size=300))
def test_any_text_is_parsed_or_refused_with_an_error_of_ours(text: str) -> None:
    try:
        query = parse(text)
    except LlmcError:
        return
    assert query.words
