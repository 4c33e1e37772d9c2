"""A visitor of the page, who logs in like a browser, and a strict HTML parser."""

from __future__ import annotations

import contextlib
import json
from html.parser import HTMLParser
from typing import TYPE_CHECKING

import httpx

if TYPE_CHECKING:
    from collections.abc import Iterator

    from http_world import Served

__all__ = ["HOSTILE", "PAGES", "Seen", "login_url", "visitor"]

PAGES = ("/", "/page/activity", "/page/sessions", "/page/personas", "/page/index")
HOSTILE = (
    "</pre></section><script>document.title = 'stolen'</script>\n"
    "<img src=x onerror=\"document.title='stolen'\"> zebrafish\n"
    "\"><svg onload=document.title='stolen'> 'zebrafish' & &lt;b&gt; {0} {name}\n"
    "+8 more → habcd\n"
)


def login_url(server: Served) -> str:
    done = server.place.llmc("ui", "--no-browser", "--json", cwd=server.folder)
    assert done.returncode == 0, done.stderr
    return str(json.loads(done.stdout)["login"])


@contextlib.contextmanager
def visitor(server: Served, *, logged_in: bool = True, **headers: str) -> Iterator[httpx.Client]:
    kind = {"Accept": "text/html,*/*;q=0.8", **headers}
    with httpx.Client(base_url=server.url, headers=kind, timeout=60, trust_env=False) as browser:
        if logged_in:
            assert browser.get(login_url(server)).status_code == 200
        yield browser


class Seen(HTMLParser):
    """Elements, attributes and text of a page; what is open at the end was never closed."""

    VOID = frozenset({"meta", "link", "input", "br", "img"})
    DRAWN = frozenset({"rect", "line", "path"})

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str, str]] = []
        self.open: list[str] = []
        self.text = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(tag, name, value or "") for name, value in attrs]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in self.DRAWN
        self.tags.append(tag)
        self.attributes += [(tag, name, value or "") for name, value in attrs]

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"{tag} was never opened"
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data

    def links(self) -> list[str]:
        return [value for tag, name, value in self.attributes if (tag, name) == ("a", "href")]
