"""The frame of every page: head, navigation, footer."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from llmc import __version__
from llmc.server.http.page.markup import Safe, fill, join

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["ago", "document", "login_page", "table", "welcome_page"]

PAGES: Final = {
    "/": "Search",
    "/page/index": "Index",
    "/page/ledger": "Ledger",
    "/page/sessions": "Sessions",
    "/page/personas": "Personas",
    "/page/health": "Health",
}
HEAD: Final = (
    '<!doctype html><html lang="en"><head><meta charset="utf-8">'
    '<meta name="viewport" content="width=device-width, initial-scale=1">'
    '<meta name="color-scheme" content="light dark">'
    '{refresh}<title>{title} · llmc</title><link rel="icon" href="/page/icon.svg">'
    '<link rel="stylesheet" href="/page/style.css"><script src="/page/script.js" defer></script></head>'
)
BODY: Final = (
    '<body><a class="skip" href="#main">to the content</a><header><a class="name" href="/">llmc</a>'
    "<nav>{links}</nav>"
    '<button id="theme" type="button" title="light or dark" hidden>◐</button></header>'
    '<main id="main">{body}</main>'
    "<footer>llmc {version} · <kbd>/</kbd> search · <kbd>j</kbd> <kbd>k</kbd> move · <kbd>Enter</kbd> open · "
    "<kbd>n</kbd> next page</footer></body></html>"
)
REFRESH: Final = '<meta http-equiv="refresh" content="0;url=/">'
LOGIN: Final = (
    '<body><main id="main" class="login"><h1>llmc</h1>{trouble}'
    "<p>In a terminal of this machine, <code>llmc ui</code> opens this page and logs you in.</p>"
    '<form method="post" action="/login"><label for="token">Or paste the token (<code>llmc token show</code>)</label>'
    '<input id="token" name="token" type="password" autocomplete="off" required>'
    "<button>Log in</button></form></main></body></html>"
)
WELCOME: Final = (
    '<body><main id="main" class="login"><p>You are logged in. <a href="/">Go on</a></p></main></body></html>'
)


def document(title: str, here: str, body: Safe) -> str:
    links = join(
        fill('<a href="{path}"{current}>{name}</a>', path=path, name=name, current=CURRENT if path == here else Safe())
        for path, name in PAGES.items()
    )
    return head(title) + fill(BODY, links=links, body=body, version=__version__)


CURRENT: Final = Safe(' aria-current="page"')


def head(title: str, refresh: str = "") -> Safe:
    return fill(HEAD, title=title, refresh=Safe(refresh))


def login_page(trouble: str = "") -> str:
    said = fill('<p class="error" role="alert">{trouble}</p>', trouble=trouble) if trouble else Safe()
    return head("Log in") + fill(LOGIN, trouble=said)


def welcome_page() -> str:
    """A page instead of a redirect: browsers do not send a strict cookie with a cross-site redirect."""
    return head("Welcome", REFRESH) + WELCOME


def table(
    head: Sequence[str], rows: Iterable[Sequence[object]], texts: int = 1, *, empty: str = "Nothing yet."
) -> Safe:
    """A table with text left-aligned and numbers right-aligned; it scrolls on narrow screens."""
    cells = [join(cell(value, "td", at >= texts) for at, value in enumerate(row)) for row in rows]
    if not cells:
        return fill('<p class="empty">{empty}</p>', empty=empty)
    return fill(
        '<div class="scroll" tabindex="0"><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>',
        head=join(cell(name, "th", at >= texts) for at, name in enumerate(head)),
        rows=join(fill("<tr>{row}</tr>", row=row) for row in cells),
    )


def cell(value: object, kind: str, figure: bool) -> Safe:
    return fill(f"<{kind}{{figure}}>{{value}}</{kind}>", value=value, figure=FIGURE if figure else Safe())


FIGURE: Final = Safe(' class="figure"')
SPANS: Final = ((86_400.0, "d"), (3_600.0, "h"), (60.0, "min"))


def ago(when: float | None) -> str:
    if not when:
        return "never"
    seconds = max(0.0, time.time() - when)
    for length, unit in SPANS:
        if seconds >= length:
            return f"{seconds / length:.0f} {unit} ago"
    return f"{seconds:.0f} s ago"
