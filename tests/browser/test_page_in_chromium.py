"""The page in Chromium: its looks, keys, live index, pictures, and hostile files that stay text."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from chromium import Browser, chromium
from http_world import Served, served
from page_world import HOSTILE, PAGES
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

if TYPE_CHECKING:
    from collections.abc import Iterator

WIDTHS = (390, 820, 1280, 1920)
VIEWS = {
    **{path.rpartition("/")[2] or "home": path for path in PAGES},
    "search": "/?q=retry+policy",
    "grep": "/?tool=grep&q=needle_",
    "code": "/page/code?target=src/depot/retry.py",
    "symbol": "/page/symbol?name=chain.py:middle_of_chain",
    "preview": "/page/personas?name=architect&preview=1",
    "error": "/?tool=read&q=/etc/passwd",
}
CHAIN = (
    "def lowest() -> int:\n    return 1\n\n\ndef middle_of_chain() -> int:\n    return lowest()\n\n\n"
    "def highest() -> int:\n    return middle_of_chain()\n"
)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(tmp_path_factory.mktemp("browser")) as made:
        (made.folder / "hostile.py").write_text(HOSTILE)
        (made.folder / "chain.py").write_text(CHAIN)
        lines = (f"needle_{number} = 'long enough to fill a page of a reply'\n" for number in range(900))
        (made.folder / "many.py").write_text("".join(lines))
        for number in range(6):
            made.call("grep", None, f"agent-{number % 3}", pattern="needle", budget=200 + number)
        made.call("search", None, "agent-0", query="how does the retry policy decide when to stop")
        yield made


@pytest.fixture
def browser(server: Served) -> Iterator[Browser]:
    """A fresh one for each test, logged in."""
    with chromium(server) as made:
        yield made


def press(browser: Browser, *keys: str) -> None:
    browser.driver.switch_to.active_element.send_keys(*keys)


def press_on_page(browser: Browser, *keys: str) -> None:
    browser.driver.find_element(By.TAG_NAME, "body").send_keys(*keys)


def test_logging_in_leaves_no_code_in_the_address_and_no_cookie_for_scripts(browser: Browser) -> None:
    assert "code" not in browser.driver.current_url
    assert browser.run("document.cookie") == ""
    (cookie,) = browser.driver.get_cookies()
    assert cookie["httpOnly"]
    assert cookie["sameSite"] == "Strict"
    assert browser.complaints() == []


def test_a_search_needs_only_the_keyboard(browser: Browser) -> None:
    browser.until("document.activeElement.id === 'q'")
    press(browser, "retry policy", Keys.ENTER)
    browser.until("document.querySelectorAll('#results .file').length > 0")
    press_on_page(browser, "j")
    browser.until("document.activeElement.classList.contains('go')")
    press(browser, "w")
    browser.until("document.activeElement.closest('.file').querySelector('.why').open")
    press(browser, "j")
    press(browser, "k")
    press(browser, Keys.ENTER)
    browser.until("location.pathname === '/page/code'")
    browser.until("document.querySelector('.number') !== null")
    press_on_page(browser, "/")
    browser.until("document.activeElement.id === 'q'")
    press(browser, Keys.ESCAPE)
    press_on_page(browser, "g", "a")
    browser.until("location.pathname === '/page/activity'")
    press_on_page(browser, "?")
    browser.until("document.getElementById('keys').open")
    assert browser.complaints() == []


def test_another_way_of_searching_is_chosen_with_one_click(browser: Browser) -> None:
    browser.go("/?q=RetryPolicy")
    browser.driver.find_element(By.CSS_SELECTOR, ".segments input[value=grep] + span").click()
    browser.until("location.search.includes('tool=grep')")
    browser.until("document.getElementById('found').textContent.includes('match')")


def test_the_rest_of_a_reply_is_the_next_page(browser: Browser) -> None:
    browser.go("/?tool=grep&q=needle_")
    press_on_page(browser, "n")
    browser.until("document.getElementById('found').textContent.startsWith('more of')")
    assert "needle_" in browser.driver.find_element(By.ID, "results").text


def test_callers_are_one_click_away_in_the_picture(browser: Browser) -> None:
    browser.go("/page/symbol?name=chain.py:middle_of_chain")
    browser.until("document.querySelectorAll('.picture .node').length === 3")
    nodes = browser.driver.find_elements(By.CSS_SELECTOR, ".picture a .node")
    nodes[0].click()
    browser.until("location.search.includes('highest')")
    browser.driver.find_element(By.LINK_TEXT, "middle_of_chain").click()
    browser.until("location.search.includes('middle_of_chain')")
    assert browser.complaints() == []


def test_a_hostile_file_runs_nothing(browser: Browser) -> None:
    for path in (
        "/?q=zebrafish",
        "/?tool=grep&q=zebrafish",
        "/page/code?target=hostile.py",
        "/?q=<script>alert(1)</script>",
    ):
        browser.go(path)
        browser.until("document.getElementById('found') !== null")
        assert browser.run("document.querySelectorAll('main script, main img').length") == 0
        assert "stolen" not in browser.driver.title
    assert browser.complaints() == []


def test_a_saved_file_appears_in_the_index_while_one_looks(browser: Browser) -> None:
    browser.go("/page/index")
    browser.until("document.querySelector('[data-live]').textContent.includes('indexed')")
    before = browser.run("document.querySelector('[data-live] dd').textContent")
    (browser.server.folder / "another_file.py").write_text("def another() -> None: ...\n")
    browser.until(f"document.querySelector('[data-live] dd').textContent !== '{before}'")


def test_a_prompt_is_copied(browser: Browser) -> None:
    browser.go("/page/personas?name=architect&preview=1")
    grant = {"permissions": ["clipboardReadWrite", "clipboardSanitizedWrite"], "origin": browser.server.url}
    browser.driver.execute_cdp_cmd("Browser.grantPermissions", grant)
    browser.driver.find_element(By.CSS_SELECTOR, ".copy").click()
    browser.until("document.querySelector('.copy').textContent === 'Copied'")
    script = "const done = arguments[0]; navigator.clipboard.readText().then(done, done)"
    assert "You are a software architect" in str(browser.driver.execute_async_script(script))


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", WIDTHS)
def test_no_view_is_wider_than_the_screen_or_hides_a_value(browser: Browser, width: int, scheme: str) -> None:
    for name, path in VIEWS.items():
        browser.look(scheme, width=width)
        browser.go(path)
        browser.shot(f"{name}-{scheme}-{width}")
        assert browser.run("document.documentElement.scrollWidth - innerWidth") in range(-20, 1), (name, width)
        hidden = browser.run(
            "[...document.querySelectorAll('table.stack tbody td')].filter((cell) => {"
            " const box = cell.getBoundingClientRect(), panel = cell.closest('.panel').getBoundingClientRect();"
            " return !box.width || box.right > panel.right + 1 || box.left < panel.left - 1 })"
            ".map((cell) => cell.textContent)"
        )
        assert hidden == [], (name, width)
    assert [one for one in browser.complaints() if "status of 4" not in one] == []


def test_light_and_dark_follow_the_system_and_the_button(browser: Browser) -> None:
    colour = "getComputedStyle(document.body).backgroundColor"
    light = browser.run(colour)
    browser.look("dark")
    assert browser.run(colour) != light
    browser.driver.find_element(By.ID, "theme").click()
    assert browser.run(colour) == light
    browser.go("/page/index")
    assert browser.run(colour) == light


def test_text_has_enough_contrast_in_both_schemes(browser: Browser) -> None:
    """The ratio of WCAG AA for text, 4.5, for every colour that text has on its background."""
    luminance = (
        "const lum = (hex) => { const rgb = hex.trim().match(/[0-9a-f]{2}/gi).map((v) => parseInt(v, 16) / 255)"
        ".map((v) => v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4); "
        "return .2126 * rgb[0] + .7152 * rgb[1] + .0722 * rgb[2]; }; "
        "const style = getComputedStyle(document.documentElement); "
        "const of = (name) => lum(style.getPropertyValue(name)); "
        "const ratio = (a, b) => (Math.max(of(a), of(b)) + .05) / (Math.min(of(a), of(b)) + .05); "
        "return ['--ink', '--quiet', '--accent', '--good', '--warn', '--bad', '--syn-comment', '--syn-string', "
        "'--syn-number', '--syn-keyword', '--syn-name'].map((name) => [name, ratio(name, '--raised')])"
        ".concat([['--accent-ink', ratio('--accent-ink', '--accent')], ['paper', ratio('--quiet', '--paper')]])"
        ".filter(([, value]) => value < 4.5)"
    )
    for scheme in ("light", "dark"):
        browser.look(scheme)
        assert browser.driver.execute_script(luminance) == [], scheme


def test_the_activity_is_drawn(browser: Browser) -> None:
    browser.go("/page/activity")
    shown = "[...document.querySelectorAll('svg.plot')].filter((one) => one.getBoundingClientRect().height > 50).length"
    assert browser.run(shown) == 1
    assert browser.run("getComputedStyle(document.querySelector('rect.saved')).fill") != "rgb(0, 0, 0)"
    assert browser.complaints() == []
