"""The page as a person has it: looks, keys, live status, and hostile files that stay text."""

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

NARROW = 390


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(tmp_path_factory.mktemp("browser")) as made:
        (made.folder / "hostile.py").write_text(HOSTILE)
        lines = (f"needle_{number} = 'long enough to fill a page of a reply'\n" for number in range(900))
        (made.folder / "many.py").write_text("".join(lines))
        for number in range(6):
            made.call("grep", None, f"agent-{number % 3}", pattern="needle", budget=200 + number)
        yield made


@pytest.fixture
def browser(server: Served) -> Iterator[Browser]:
    """A fresh one for each test, logged in."""
    with chromium(server) as made:
        yield made


def press(browser: Browser, *keys: str) -> None:
    browser.driver.switch_to.active_element.send_keys(*keys)


def test_a_way_in_leaves_no_code_in_the_address_and_no_cookie_for_scripts(browser: Browser) -> None:
    assert "code" not in browser.driver.current_url
    assert browser.run("document.cookie") == ""
    (cookie,) = browser.driver.get_cookies()
    assert cookie["httpOnly"]
    assert cookie["sameSite"] == "Strict"
    assert browser.complaints() == []


def test_a_search_is_typed_and_gone_through_by_keys(browser: Browser) -> None:
    browser.until("document.activeElement.id === 'q'")
    press(browser, "retry policy", Keys.ENTER)
    browser.until("document.querySelectorAll('#results .file').length > 0")
    browser.shot("search-light")
    browser.driver.find_element(By.TAG_NAME, "body").send_keys("j")
    browser.until("document.activeElement.classList.contains('go')")
    press(browser, "j")
    press(browser, "k")
    press(browser, Keys.ENTER)
    browser.until("location.search.includes('tool=read')")
    browser.until("document.querySelector('.number') !== null")
    browser.driver.find_element(By.TAG_NAME, "body").send_keys("/")
    browser.until("document.activeElement.id === 'q'")
    assert browser.complaints() == []


def test_the_rest_of_a_reply_is_the_next_page(browser: Browser) -> None:
    browser.go("/?tool=grep&q=needle_")
    browser.driver.find_element(By.TAG_NAME, "body").send_keys("n")
    browser.until("document.getElementById('found').textContent.startsWith('more of')")
    assert "needle_" in browser.driver.find_element(By.ID, "results").text


def test_why_a_file_is_there_can_be_opened(browser: Browser) -> None:
    browser.go("/?q=retry+policy")
    browser.driver.find_element(By.CSS_SELECTOR, ".why summary").click()
    browser.until("document.querySelector('.why').open")
    browser.shot("why")
    assert browser.driver.find_element(By.CSS_SELECTOR, ".why td").text


def test_a_hostile_file_runs_nothing(browser: Browser) -> None:
    for path in (
        "/?q=zebrafish",
        "/?tool=grep&q=zebrafish",
        "/?tool=read&q=hostile.py",
        "/?q=<script>alert(1)</script>",
    ):
        browser.go(path)
        browser.until("document.getElementById('found') !== null")
        assert browser.run("document.querySelectorAll('main script, main img').length") == 0
        assert "stolen" not in browser.driver.title
    assert browser.complaints() == []


def test_the_index_changes_before_ones_eyes(browser: Browser) -> None:
    browser.go("/page/index")
    browser.until("document.querySelector('[data-live]').textContent.includes('indexed')")
    before = browser.run("document.querySelector('[data-live]').textContent.match(/[0-9,]+ files/)[0]")
    (browser.server.folder / "another_file.py").write_text("def another() -> None: ...\n")
    browser.until(f"!document.querySelector('[data-live]').textContent.includes('{before}')")


def test_no_page_is_wider_than_a_narrow_screen(browser: Browser) -> None:
    browser.look(width=NARROW)
    for path in (*PAGES, "/?q=retry+policy", "/?tool=grep&q=needle_"):
        browser.go(path)
        browser.shot(f"narrow-{PAGES.index(path) if path in PAGES else 'search'}")
        assert browser.run("document.documentElement.scrollWidth - innerWidth") in range(-20, 1), path


def test_light_and_dark_follow_the_system_and_the_button(browser: Browser) -> None:
    colour = "getComputedStyle(document.body).backgroundColor"
    light = browser.run(colour)
    browser.look("dark")
    dark = browser.run(colour)
    assert light != dark
    browser.go("/page/ledger")
    browser.shot("ledger-dark")
    browser.driver.find_element(By.ID, "theme").click()
    assert browser.run(colour) == light
    browser.go("/page/index")
    assert browser.run(colour) == light


def test_the_ledger_is_drawn(browser: Browser) -> None:
    browser.go("/page/ledger")
    browser.shot("ledger-light")
    drawn = browser.run(
        "[...document.querySelectorAll('svg.plot')].map((one) => one.getBoundingClientRect().height > 20)"
    )
    assert drawn == [True, True, True]
    assert browser.run("getComputedStyle(document.querySelector('rect.served')).fill") != "rgb(0, 0, 0)"
    assert browser.complaints() == []
