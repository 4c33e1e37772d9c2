"""Parsing a query: words, phrases, filters, routes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmc.base.errors import LlmcError, QueryError
from llmc.retrieval.query import EvidenceKind, Filter, QueryRoute, parse


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


@pytest.mark.parametrize(
    ("asked", "reason"),
    [
        ("?!", "the query has no words"),
        ("path:src/", "the query has filters only"),
        ("a" * 100_000, "words of more than 64 characters are not indexed"),
        ("\n".join(["a" * 70] * 100), "words of more than 64 characters are not indexed"),
        (bytes(range(256)).decode("utf-8", "replace") * 40, "this is binary data, not text"),
    ],
)
def test_a_query_without_anything_to_search_for_says_why(asked: str, reason: str) -> None:
    with pytest.raises(QueryError, match=reason):
        parse(asked)


def test_coloured_output_is_text() -> None:
    asked = "\x1b[31mERROR\x1b[0m \x1b[1mconnection refused\x1b[0m\n" * 20
    assert "refused" in {word.text for word in parse(asked).words}


def test_a_diff_quotes_each_file_once() -> None:
    asked = "diff --git a/net/zork.c b/net/zork.c\n--- a/net/zork.c\n+++ b/net/zork.c\n@@ -1 +1 @@\n-int a;\n+int b;\n"
    assert {one.text for one in parse(asked).evidence if one.kind is EvidenceKind.PATH} == {"net/zork.c"}


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


def test_prose_with_quotes_dashes_and_colons_is_plain_text() -> None:
    for asked in (
        'The "Save" button - on the profile page - does nothing, note: only in Firefox.',
        "why does tar -xzf fail when the archive is empty",
        "it's \"not a valid\" name: it doesn't exist",
    ):
        query = parse(asked)
        assert (query.phrases, query.without, query.filters) == ((), (), ())


def test_filters_behind_many_words_are_operators() -> None:
    asked = "product media from an external URL: detect images, retry on errors, thumbnails 503 Retry-After -path:tests"
    query = parse(asked)
    assert [(one.name, one.value, one.exclude) for one in query.filters] == [("path", "tests", True)]
    assert (
        parse("cannot open the socket that was configured in the settings of the server at path:/run/x").filters == ()
    )


def test_operators_are_read_from_prose_on_request() -> None:
    query = parse('Why is the "connection reset" here, in path:src and not in -path:tests?', syntax=True)
    assert query.phrases == ("connection reset",)
    assert [one.name for one in query.filters] == ["path", "path"]


ISSUE = """Login fails with "invalid token" after upgrade to 2.1.3

When I call `session.refresh_token()` in src/auth/session.py I get

Traceback (most recent call last):
  File "/usr/lib/python3/site-packages/shop/auth/session.py", line 42, in refresh_token
    raise TokenError("invalid token")
shop.auth.TokenError: invalid token for user 7
Running with --no-cache gives E1234 as well.
"""


def test_the_first_line_of_an_issue_is_what_it_asks() -> None:
    query = parse(ISSUE)
    assert query.route is QueryRoute.TEXT
    assert query.text.startswith("Login fails with")
    assert {"session", "token"} <= {word.text.lower() for word, _ in query.body}


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (EvidenceKind.FRAME, "/usr/lib/python3/site-packages/shop/auth/session.py"),
        (EvidenceKind.PATH, "src/auth/session.py"),
        (EvidenceKind.IDENTIFIER, "refresh_token"),
        (EvidenceKind.MODULE, "session.refresh_token"),
        (EvidenceKind.EXCEPTION, "TokenError"),
        (EvidenceKind.STRING, "invalid token"),
        (EvidenceKind.FLAG, "--no-cache"),
        (EvidenceKind.CODE, "E1234"),
        (EvidenceKind.VERSION, "2.1.3"),
    ],
)
def test_evidence_is_extracted_from_an_issue(kind: EvidenceKind, text: str) -> None:
    assert (kind, text) in {(one.kind, one.text) for one in parse(ISSUE).evidence}


@pytest.mark.parametrize(
    ("frame", "path", "line"),
    [
        ("    at Object.run (/app/src/jobs/runner.js:17:9)", "/app/src/jobs/runner.js", 17),
        ("    at com.shop.Cart.total(Cart.java:88)", "Cart.java", 88),
        ("\t/go/src/shop/cart/cart.go:31 +0x1f", "/go/src/shop/cart/cart.go", 31),
        ("  --> src/cart/mod.rs:12:5", "src/cart/mod.rs", 12),
        ("   at Shop.Cart.Total(Int32 n) in C:\\src\\Cart.cs:line 9", "C:/src/Cart.cs", 9),
        ("app/models/cart.rb:5:in `total'", "app/models/cart.rb", 5),
        ("#0 /var/www/src/Cart.php(23): Shop\\Cart->total()", "/var/www/src/Cart.php", 23),
    ],
)
def test_stack_frames_of_many_languages_are_read(frame: str, path: str, line: int) -> None:
    found = [one for one in parse(f"It crashes on start\n{frame}\n").evidence if one.kind is EvidenceKind.FRAME]
    assert (found[0].text, found[0].line) == (path, line)


def test_a_bare_stack_trace_asks_for_its_message() -> None:
    trace = ISSUE.partition("I get\n")[2]
    assert parse(trace).text.startswith("shop.auth.TokenError: invalid token")


@pytest.mark.parametrize("text", ["word " * 1_000_000, "lorem ipsum\n" * 400_000, "a/" * 100_000 + " end of it"])
def test_text_of_any_length_is_condensed(text: str) -> None:
    query = parse(text)
    assert query.words
    assert len(query.body) <= 400


@pytest.mark.parametrize("text", ["x" * 100_000, "?!… —", "\x00\x01\x02", "\n\n\n"])
def test_text_without_a_word_is_refused_with_a_hint(text: str) -> None:
    with pytest.raises(QueryError) as caught:
        parse(text)
    assert caught.value.hint


def test_right_to_left_text_is_searched() -> None:
    assert [word.text for word in parse("שגיאה בחיבור server").words] == ["שגיאה", "בחיבור", "server"]


@given(st.text(max_size=300))
def test_any_text_is_parsed_or_refused_with_an_llmc_error(text: str) -> None:
    try:
        query = parse(text)
    except LlmcError:
        return
    assert query.words
