"""The page at `/` as HTML: what it shows, that nothing in it is anything but data, and that it is kept out of the
ledger. `tests/browser` looks at it in Chromium."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from daemons import until
from http_world import Served, served
from page_world import HOSTILE, PAGES, Seen, visitor

from llmc.server.http.page.code import coloured, terms_of
from llmc.server.http.page.markup import Safe, fill, join, link
from llmc.server.http.page.reply import parsed

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


def test_search_shows_files_lines_and_why_each_is_there(browser: httpx.Client) -> None:
    seen = Seen(browser.get("/", params={"q": "retry policy"}).text)
    assert "src/depot/retry.py" in seen.text
    assert "why it is here" in seen.text
    assert "mark" in seen.tags
    assert any("tool=read" in url and "retry.py" in url for url in seen.links())


def test_a_line_leads_to_what_is_around_it(browser: httpx.Client) -> None:
    first = Seen(browser.get("/", params={"tool": "read", "q": "src/depot/retry.py:1-40"}).text)
    assert "class RetryPolicy" in first.text
    found = Seen(browser.get("/", params={"tool": "grep", "q": "."}).text)
    line = next(url for url in found.links() if "tool=read" in url and "%3A" in url)
    assert browser.get(line).status_code == 200


def test_what_did_not_fit_is_read_by_its_handle(server: Served, browser: httpx.Client) -> None:
    lines = (f"needle_{number} = 'long enough to fill a page of a reply'\n" for number in range(900))
    (server.folder / "many.py").write_text("".join(lines))
    first = Seen(browser.get("/", params={"tool": "grep", "q": "needle_"}).text)
    (rest,) = [url for url in first.links() if "q=h" in url and "tool=read" in url and "%" not in url]
    second = Seen(browser.get(rest).text)
    assert "needle_4" in second.text
    assert "more of grep" in second.text


@pytest.mark.parametrize("tool", ["search", "grep", "find", "read", "outline", "refs"])
@pytest.mark.parametrize(
    "query", ["zebrafish", "hostile.py", "<script>alert(1)</script>", "\"'><img src=x onerror=a()>"]
)
def test_content_names_and_queries_stay_text(browser: httpx.Client, tool: str, query: str) -> None:
    reply = browser.get("/", params={"tool": tool, "q": query, "path": '"><script>' if tool == "outline" else ""})
    assert reply.status_code == 200
    check(Seen(reply.text))


def test_a_hostile_file_is_shown_as_it_is(browser: httpx.Client) -> None:
    seen = Seen(browser.get("/", params={"tool": "read", "q": "hostile.py"}).text)
    assert "<script>document.title = 'stolen'</script>" in seen.text
    assert "&lt;b&gt; {0} {name}" in seen.text
    check(seen)
    assert not [url for url in seen.links() if "habcd" in url]


@pytest.mark.parametrize("path", PAGES)
def test_every_page_is_sound_and_under_a_strict_policy(browser: httpx.Client, path: str) -> None:
    reply = browser.get(path)
    assert reply.status_code == 200
    policy = reply.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert reply.headers["x-frame-options"] == "DENY"
    assert reply.headers["cache-control"] == "no-store"
    check(Seen(reply.text))


def check(seen: Seen) -> None:
    """Nothing runs, styles or loads that is not a file of ours, and every element is closed."""
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


def test_the_index_is_told_live(server: Served, browser: httpx.Client) -> None:
    seen = Seen(browser.get("/page/live").text)
    assert "depot" in seen.text
    assert "files indexed" in seen.text
    assert str(server.folder) not in seen.text


def test_the_ledger_is_drawn_and_the_page_itself_is_not_in_it(server: Served, browser: httpx.Client) -> None:
    browser.get("/", params={"q": "retry"})
    server.call("grep", None, "drawn", pattern=".", budget=100)
    seen = Seen(browser.get("/page/ledger").text)
    assert seen.tags.count("svg") == 3
    assert "polyline" in seen.tags
    assert "drawn" in seen.text
    everything = json.loads(server.place.llmc("stats", "--json", cwd=server.folder).stdout)
    assert "page" not in {one["session"] for one in everything["sessions"]}
    narrowed = Seen(browser.get("/page/ledger", params={"session": "<b>nobody", "since": "7d"}).text)
    assert "<b>nobody" in narrowed.text
    assert "No calls in this time" in narrowed.text


def test_sessions_personas_and_health_are_shown(server: Served, browser: httpx.Client) -> None:
    server.call("search", None, "an-agent", query="retry")
    assert "an-agent" in Seen(browser.get("/page/sessions").text).text
    assert "tools:" in Seen(browser.get("/page/personas").text).text
    assert "daemon" in Seen(browser.get("/page/health").text).text


def test_what_lies_outside_the_roots_is_refused_in_words(browser: httpx.Client) -> None:
    reply = browser.get("/", params={"tool": "read", "q": "/etc/passwd"})
    assert reply.status_code == 200
    assert "root:x" not in reply.text
    assert 'class="error"' in reply.text


def test_secrets_do_not_leave_by_the_page(server: Served, browser: httpx.Client) -> None:
    secret = "AKIA" + "Z3MHALF2" + "TESTHERE"
    (server.folder / "deploy.sh").write_text(f"export AWS_ACCESS_KEY_ID={secret}\n")
    for tool, query in (("read", "deploy.sh"), ("grep", "AWS_ACCESS"), ("search", "aws access key")):
        reply = browser.get("/", params={"tool": tool, "q": query})
        assert secret not in reply.text
    assert "[redacted" in browser.get("/", params={"tool": "read", "q": "deploy.sh"}).text


def test_only_what_is_marked_safe_is_markup() -> None:
    made = fill('<a href="{url}">{name}</a>', url=link("/", q='"><b>'), name="<b>{x}")
    assert made == '<a href="/?q=%22%3E%3Cb%3E">&lt;b&gt;{x}</a>'
    assert join(["<", Safe("<i>"), 3]) == "&lt;<i>3"
    assert fill("{name}", name="\udcff") == "\\udcff"


def test_colours_lose_no_character_of_a_line() -> None:
    from html import unescape
    from re import sub

    lines = [
        *HOSTILE.split("\n"),
        'x = "a \'b\' \\" c" # y',
        "/* a */ b // c",
        "-- sql 'x",
        '"""doc',
        "'" * 999,
        "é = 'ü'",
    ]
    for line in lines:
        for path in ("a.py", "a.rs", "a.sql", "README.md", "plain"):
            made = coloured(line, path, {"zebra"})
            assert unescape(sub(r"</?(?:i|mark)(?: class=\"\w\")?>", "", made)) == line


def test_small_words_and_filters_are_not_marked() -> None:
    assert terms_of("how are the parcels weighed lang:python -path:tests") == {"parcels", "weighed"}


def test_a_line_of_a_file_is_never_taken_for_our_own() -> None:
    found = parsed("2 matches in 1 file · showing 1\na.py · 2\n1 +8 more → hzzzz\n+1 more → habcd")
    assert (found.left, found.handle) == ("1 more", "habcd")
    assert found.groups == (("a.py · 2", ("1 +8 more → hzzzz",)),)
    assert parsed("1 match\na.py\n1 +8 more → hzzzz").handle == ""
