"""The page at `/` as HTML: what it shows, that content stays data, and that it does not appear in the ledger.

`tests/browser` looks at it in Chromium.
"""

from __future__ import annotations

import json
import re
from html import unescape
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit

import pytest
from daemons import until
from http_world import Served, served
from page_world import HOSTILE, PAGES, Seen, visitor

from llmc.envelope.reply import Reply
from llmc.server.http.page.charts import SMALL, nice_step, savings_chart
from llmc.server.http.page.code import highlighted, terms_of
from llmc.server.http.page.reply import parsed
from llmc.server.http.page.results import result_files
from llmc.server.http.page.routes import drawn, link, took
from llmc.server.http.page.symbols import Neighbour, picture
from llmc.state.ledger.figures import TimeSlot

if TYPE_CHECKING:
    from collections.abc import Iterator

    import httpx


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(tmp_path_factory.mktemp("page")) as made:
        (made.folder / "hostile.py").write_text(HOSTILE)
        (made.folder / "a\"><img src=x onerror=alert(1)>'.py").write_text("zebrafish = 1\n")
        yield made


@pytest.fixture(scope="module")
def browser(server: Served) -> Iterator[httpx.Client]:
    with visitor(server) as made:
        until(lambda: "hostile.py" in made.get("/", params={"tool": "find", "q": "hostile"}).text)
        yield made


# ---- home ----


def test_home_shows_index_recent_queries_and_tokens(server: Served, browser: httpx.Client) -> None:
    server.call("search", None, "claude-1", query="how is a parcel retried")
    server.call("grep", None, "codex-2", pattern="(unclosed")
    seen = Seen(browser.get("/").text)
    assert "depot ready" in " ".join(seen.text.split())
    assert "how is a parcel retried" in seen.text
    assert "codex-2" in seen.text
    assert "pattern cannot be read" in seen.text
    assert "svg" in seen.tags
    again = next(url for url in seen.links() if "parcel+retried" in url)
    assert parse_qs(urlsplit(again).query)["tool"] == ["search"]


def test_home_without_calls_says_how_to_connect_an_agent() -> None:
    empty = {"tool": "search", "roots": [], "recent": [], "figures": FIGURES, "chart": None}
    text = drawn("home.html", here="/", **empty)
    assert "llmc install claude-code" in text
    assert "No folder is indexed" in text


class _Tokens:
    calls = 0


class _Figures:
    tokens = _Tokens()


FIGURES = _Figures()


# ---- results ----


def test_search_shows_files_lines_and_why_each_is_there(browser: httpx.Client) -> None:
    seen = Seen(browser.get("/", params={"q": "retry policy"}).text)
    assert "src/depot/retry.py" in seen.text
    assert "Why it is here" in seen.text
    assert "mark" in seen.tags
    assert any("/page/code" in url and "retry.py" in url for url in seen.links())
    assert any("/page/symbol" in url and "RetryPolicy" in url for url in seen.links())


@pytest.mark.parametrize(
    ("tool", "query", "shown"),
    [
        ("grep", "class RetryPolicy", "class RetryPolicy"),
        ("find", "courier", "courier.py"),
        ("refs", "RetryPolicy", "RetryPolicy"),
        ("outline", "src/depot/retry.py", "RetryPolicy"),
        ("read", "src/depot/retry.py:1-40", "class RetryPolicy"),
    ],
)
def test_every_way_of_searching_opens_code(browser: httpx.Client, tool: str, query: str, shown: str) -> None:
    seen = Seen(browser.get("/", params={"tool": tool, "q": query}).text)
    assert shown in seen.text
    opened = next(url for url in seen.links() if url.startswith(("/page/code", "/page/symbol")))
    assert browser.get(opened).status_code == 200


def test_an_outline_indents_members_and_results_drop_shared_indentation() -> None:
    outline = Reply("", {"files": [{"path": "a.py", "symbols": [
        {"name": "Policy", "start_line": 1, "end_line": 9, "signature": "class Policy"},
        {"name": "next", "container": "Policy", "start_line": 2, "end_line": 4, "signature": "def next(self)"},
    ]}]})  # fmt: skip
    (file,) = result_files("outline", outline, frozenset(), {}) or []
    assert [str(place.lines[0].html).startswith("    ") for place in file.places] == [False, True]
    hit = {"start_line": 2, "end_line": 4, "text": "\n    def next(self):\n        return 1\n", "lines": [3]}
    found = Reply("", {"files": [{"path": "a.py", "hits": [hit]}]})
    (file,) = result_files("search", found, frozenset(), {}) or []
    assert [line.number for line in file.places[0].lines] == [3, 4]
    assert not str(file.places[0].lines[0].html).startswith(" ")


def test_what_did_not_fit_is_read_by_its_handle(server: Served, browser: httpx.Client) -> None:
    lines = (f"needle_{number} = 'long enough to fill a page of a reply'\n" for number in range(900))
    (server.folder / "many.py").write_text("".join(lines))
    first = Seen(browser.get("/", params={"tool": "grep", "q": "needle_"}).text)
    rest = next(url for url in first.links() if "tool=read" in url and re.search(r"q=h[a-z2-7]+$", url))
    second = Seen(browser.get(rest).text)
    assert "needle_4" in second.text
    assert "more of grep" in second.text


# ---- code and symbols ----


def test_a_file_is_shown_with_its_outline(browser: httpx.Client) -> None:
    seen = Seen(browser.get("/page/code", params={"target": "src/depot/retry.py"}).text)
    assert "class RetryPolicy" in seen.text
    assert any("/page/symbol" in url and "RetryPolicy" in url for url in seen.links())
    assert ("span", "id", "L1") in seen.attributes
    part = Seen(browser.get("/page/code", params={"target": "src/depot/retry.py:1-3"}).text)
    assert "Lines 1–3 of" in part.text


def test_a_symbol_has_callers_callees_and_a_picture(server: Served, browser: httpx.Client) -> None:
    (server.folder / "chain.py").write_text(
        "def lowest() -> int:\n    return 1\n\n\ndef middle_of_chain() -> int:\n    return lowest()\n\n\n"
        "def highest() -> int:\n    return middle_of_chain()\n"
    )
    params = {"name": "chain.py:middle_of_chain"}
    until(lambda: "1 caller ·" in browser.get("/page/symbol", params=params).text)
    seen = Seen(browser.get("/page/symbol", params=params).text)
    names = [parse_qs(urlsplit(url).query)["name"][0] for url in seen.links() if url.startswith("/page/symbol")]
    assert {"chain.py:lowest", "chain.py:highest"} <= set(names)
    assert seen.tags.count("rect") == 3
    assert "return lowest()" in seen.text
    check(seen)


def test_a_symbol_that_does_not_exist_is_explained(browser: httpx.Client) -> None:
    seen = Seen(browser.get("/page/symbol", params={"name": "nothing_is_named_so"}).text)
    assert "no definition is named" in seen.text


# ---- content stays data ----


@pytest.mark.parametrize("tool", ["search", "grep", "find", "read", "outline", "refs"])
@pytest.mark.parametrize(
    "query", ["zebrafish", "hostile.py", "<script>alert(1)</script>", "\"'><img src=x onerror=a()>"]
)
def test_content_names_and_queries_stay_text(browser: httpx.Client, tool: str, query: str) -> None:
    reply = browser.get("/", params={"tool": tool, "q": query, "path": '"><script>' if tool == "outline" else ""})
    assert reply.status_code == 200
    check(Seen(reply.text))


@pytest.mark.parametrize(
    "path", ["/page/code?target=", "/page/symbol?name=", "/page/activity?session=", "/page/personas?name="]
)
def test_hostile_addresses_stay_text(browser: httpx.Client, path: str) -> None:
    reply = browser.get(path + "%22%3E%3Cscript%3Ealert(1)%3C/script%3E")
    assert reply.status_code == 200
    check(Seen(reply.text))


def test_a_hostile_file_is_shown_as_it_is(browser: httpx.Client) -> None:
    seen = Seen(browser.get("/page/code", params={"target": "hostile.py"}).text)
    assert "<script>document.title = 'stolen'</script>" in seen.text
    assert "&lt;b&gt; {0} {name}" in seen.text
    check(seen)
    assert not [url for url in seen.links() if "habcd" in url]


@pytest.mark.parametrize("path", PAGES)
def test_every_page_is_valid_and_under_a_strict_policy(browser: httpx.Client, path: str) -> None:
    reply = browser.get(path)
    assert reply.status_code == 200
    policy = reply.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert reply.headers["x-frame-options"] == "DENY"
    assert reply.headers["cache-control"] == "no-store"
    check(Seen(reply.text))


def check(seen: Seen) -> None:
    """Only our own script and styles run, and every element is closed."""
    assert seen.open == []
    assert seen.tags.count("script") == 1
    assert "img" not in seen.tags
    assert ("script", "src", "/page/script.js") in seen.attributes
    for tag, name, value in seen.attributes:
        assert not name.startswith("on"), (tag, name)
        assert name != "style"
        if name in {"href", "src", "action"}:
            assert value.startswith(("/", "#"))
            assert not value.startswith("//")


def test_files_outside_the_roots_are_refused(browser: httpx.Client) -> None:
    for reply in (
        browser.get("/", params={"tool": "read", "q": "/etc/passwd"}),
        browser.get("/page/code", params={"target": "/etc/passwd"}),
    ):
        assert reply.status_code == 200
        assert "root:x" not in reply.text
        assert 'class="error' in reply.text


def test_secrets_do_not_leave_by_the_page(server: Served, browser: httpx.Client) -> None:
    secret = "AKIA" + "Z3MHALF2" + "TESTHERE"
    (server.folder / "deploy.sh").write_text(f"export AWS_ACCESS_KEY_ID={secret}\n")
    server.call("grep", None, "curious", pattern=secret)
    for tool, query in (("read", "deploy.sh"), ("grep", "AWS_ACCESS"), ("search", "aws access key")):
        reply = browser.get("/", params={"tool": tool, "q": query})
        assert secret not in reply.text
    assert "[redacted" in browser.get("/", params={"tool": "read", "q": "deploy.sh"}).text
    assert secret not in browser.get("/").text
    assert secret not in browser.get("/page/activity", params={"session": "curious"}).text


# ---- index, activity, sessions, personas ----


def test_the_index_is_live(server: Served, browser: httpx.Client) -> None:
    seen = Seen(browser.get("/page/live").text)
    assert "depot" in seen.text
    assert "files indexed" in seen.text
    assert str(server.folder) not in seen.text


def test_activity_is_drawn_and_the_page_itself_is_not_in_it(server: Served, browser: httpx.Client) -> None:
    browser.get("/", params={"q": "retry"})
    server.call("grep", None, "drawn", pattern=".", budget=100)
    seen = Seen(browser.get("/page/activity").text)
    assert ("rect", "class", "saved") in seen.attributes
    assert re.search(r"\d\d:00", seen.text)  # hours on the time axis
    assert "drawn" in seen.text
    everything = json.loads(server.place.llmc("stats", "--json", cwd=server.folder).stdout)
    assert "page" not in {one["session"] for one in everything["sessions"]}
    narrowed = Seen(browser.get("/page/activity", params={"session": "<b>nobody", "since": "7d"}).text)
    assert "<b>nobody" in narrowed.text
    assert "No calls in this time" in narrowed.text


def test_sessions_and_activity_agree(server: Served, browser: httpx.Client) -> None:
    for _ in range(3):
        server.call("search", None, "an-agent", query="retry")
    rows = {}
    for path in ("/page/sessions", "/page/activity"):
        text = browser.get(path).text
        row = next(row for row in re.findall(r"<tr>.*?</tr>", text, re.DOTALL) if ">an-agent<" in row)
        rows[path] = re.search(r'data-label="calls">([\d,]+)<', row)[1]  # type: ignore[index]
    assert rows == {"/page/sessions": "3", "/page/activity": "3"}


def test_a_persona_is_previewed_with_its_arguments(browser: httpx.Client) -> None:
    listed = Seen(browser.get("/page/personas").text)
    assert "code-reviewer" in listed.text
    assert ("input", "name", "arg.topic") in listed.attributes
    shown = Seen(
        browser.get("/page/personas", params={"name": "architect", "arg.topic": "retries", "preview": "1"}).text
    )
    assert "You are a software architect" in shown.text
    assert "data-copy" in {name for _, name, _ in shown.attributes}
    wrong = Seen(browser.get("/page/personas", params={"name": "nobody", "preview": "1"}).text)
    assert "You are" not in wrong.text


def test_problems_of_the_index_are_shown(browser: httpx.Client) -> None:
    seen = Seen(browser.get("/page/index").text)
    assert "no problems found" in seen.text
    assert "daemon" in seen.text


# ---- parts ----


def test_templates_escape_everything() -> None:
    text = drawn("trouble.html", here="/", text="<b>{{ 7 * 7 }}\udcff")
    assert "&lt;b&gt;{{ 7 * 7 }}\\udcff" in text
    assert link("/", q='"><b>') == "/?q=%22%3E%3Cb%3E"


@pytest.mark.parametrize("path", ["a.py", "a.rs", "a.sql", "README.md", "plain", "a.tsx", "Makefile"])
def test_highlighting_loses_no_character(path: str) -> None:
    lines = [
        *HOSTILE.split("\n"),
        'x = "a \'b\' \\" c" # y',
        "/* a */ b // c",
        "-- sql 'x",
        '"""doc',
        "'" * 999,
        "é = 'ü'",
        "",
        "\tindented",
    ]
    html = highlighted("\n".join(lines), path, {"zebra"})
    plain = [unescape(re.sub(r"</?(?:i|mark)(?: class=\"\w+\")?>", "", line)) for line in html]
    assert plain == lines
    long = highlighted("x" * 5_000 + "\n<b>", path)
    assert [unescape(line) for line in long] == ["x" * 5_000, "<b>"]


def test_small_words_and_filters_are_not_marked() -> None:
    assert terms_of("how are the parcels weighed lang:python -path:tests") == {"parcels", "weighed"}


def test_a_line_of_a_file_is_never_mistaken_for_a_line_of_the_reply() -> None:
    found = parsed("2 matches in 1 file · showing 1\na.py · 2\n1 +8 more → hzzzz\n+1 more → habcd")
    assert (found.left, found.handle) == ("1 more", "habcd")
    assert found.groups == (("a.py · 2", ("1 +8 more → hzzzz",)),)
    assert parsed("1 match\na.py\n1 +8 more → hzzzz").handle == ""


def test_a_chart_has_saved_above_and_wasted_below_the_line() -> None:
    slots = [TimeSlot(1_763_442_000.0 + at * 3_600, 2, 100, 40, 900, 100, 10) for at in range(24)]
    chart = savings_chart(slots, SMALL)
    saved, wasted = chart.bars[0], chart.bars[1]
    assert (saved.kind, wasted.kind) == ("saved", "wasted")
    assert saved.y + saved.height == pytest.approx(chart.zero) == wasted.y
    assert saved.height / wasted.height == pytest.approx(800 / 50)
    assert all(chart.left <= tick.at <= chart.right for tick in chart.times)
    assert 2 <= len(chart.times) <= 8
    assert chart.values[0].text.startswith("−")
    assert chart.each == "1 h"
    assert all(tick.at + 20 <= chart.width for tick in chart.times)
    assert nice_step(10) == 2.5
    assert savings_chart([]).bars == ()


def test_times_are_short() -> None:
    assert (took(0.0234), took(1.634), took(12)) == ("23 ms", "1.6 s", "12.0 s")


def test_a_picture_counts_what_it_does_not_draw() -> None:
    many = [Neighbour(f"f{at}", "a.py", at, "/r", "likely") for at in range(30)]
    drawing = picture("here", "b.py:1", many, [])
    assert drawing is not None
    assert [node.name for node in drawing.nodes][-1] == "22 more"
    assert all(0 <= node.x <= drawing.width - node.width for node in drawing.nodes)
    assert picture("here", "b.py:1", [], []) is None
