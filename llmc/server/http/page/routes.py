"""Routes of the page, and the login.

The guard has checked Host, Origin and cookie; a request without an owner gets the login page. Every response has a
content security policy that allows only our own scripts and styles, even if injected markup should slip through.
"""

from __future__ import annotations

import time
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qs, urlencode

from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from llmc import __version__
from llmc.base import logs
from llmc.base.errors import LlmcError
from llmc.envelope import failure, render
from llmc.envelope.clean import clean
from llmc.server.http.callers import CALLER
from llmc.server.http.logins import ASSETS, PAGE, VISIT_SECONDS
from llmc.server.http.page.charts import short_number
from llmc.server.http.page.pages import TOOLS, Pages
from llmc.server.http.refusals import status_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from jinja2 import Environment
    from starlette.requests import Request

    from llmc.server.call_threads import CallThreads
    from llmc.server.http.address import Address
    from llmc.server.http.logins import Logins
    from llmc.server.http.page.pages import Shown
    from llmc.server.http.request_context import RequestContexts

__all__ = ["Page"]

log = logs.get("page")

FILES: Final = Path(__file__).parent
KINDS: Final = {"css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}
POLICY: Final = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
NAVIGATION: Final = {
    "/": "Home",
    f"{PAGE}activity": "Activity",
    f"{PAGE}sessions": "Sessions",
    f"{PAGE}personas": "Personas",
    f"{PAGE}index": "Index",
}
UNAUTHORISED, FAILED = 401, 500


class Page:
    def __init__(self, contexts: RequestContexts, pool: CallThreads, address: Address, logins: Logins) -> None:
        self._pages = Pages(contexts)
        self._pool = pool
        self._secure = address.scheme == "https"
        self._logins = logins

    def routes(self) -> list[Route]:
        pages = self._pages
        views = {
            "/": pages.home,
            f"{PAGE}code": pages.code,
            f"{PAGE}symbol": pages.symbol,
            f"{PAGE}activity": pages.activity,
            f"{PAGE}sessions": pages.sessions,
            f"{PAGE}personas": pages.personas,
            f"{PAGE}index": pages.index,
            f"{PAGE}live": pages.live,
        }
        return [
            *(Route(path, self._endpoint(view, path)) for path, view in views.items()),
            *(Route(PAGE + name, partial(asset, name)) for name in ASSETS),
            Route("/login", self.login, methods=["GET", "POST"]),
        ]

    def _endpoint(self, view: Callable[[Request], Shown], path: str) -> Callable[[Request], Any]:
        def rendered(request: Request) -> str:
            template, values = view(request)
            return drawn(template, here=path, **values)

        async def endpoint(request: Request) -> Response:
            if not request.scope[CALLER].owner:
                return page(drawn("login.html", trouble=""), UNAUTHORISED, {"WWW-Authenticate": 'Bearer realm="llmc"'})
            try:
                return page(await self._pool.run(partial(rendered, request)))
            except LlmcError as error:
                return page(drawn("trouble.html", here=path, text=words_of(error)), status_of(error.code))
            except Exception as error:
                log.exception("page failed", path=path)
                internal = LlmcError("internal error", reason=type(error).__name__, hint="See the log for details.")
                return page(drawn("trouble.html", here=path, text=words_of(internal)), FAILED)

        return endpoint

    async def login(self, request: Request) -> Response:
        """Log in with a one-time code in the URL, or with the token in a form."""
        if request.method == "POST":
            given = parse_qs((await request.body()).decode("utf-8", "replace")).get("token", [""])[0].strip()
            cookie, trouble = self._logins.enter(given), "Wrong token."
        elif "code" in request.query_params:
            cookie = self._logins.exchange(request.query_params["code"], request.scope)
            trouble = "This login link was already used or has expired."
        else:
            return page(drawn("login.html", trouble=""))
        if cookie is None:
            log.info("login refused", peer=str(request.client))
            return page(drawn("login.html", trouble=trouble), UNAUTHORISED)
        # A page instead of a redirect: browsers do not send a strict cookie with a cross-site redirect.
        response = page(drawn("welcome.html"))
        response.set_cookie(
            self._logins.cookie, cookie, max_age=VISIT_SECONDS, httponly=True, samesite="strict", secure=self._secure
        )
        return response


def words_of(error: LlmcError) -> str:
    """The error as a model would see it."""
    return render(clean(failure("page", error)))


async def asset(name: str, _request: Request) -> Response:
    return Response((FILES / name).read_bytes(), media_type=KINDS[name.rpartition(".")[2]], headers=POLICY)


def page(text: str, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    return HTMLResponse(text, status, headers={**POLICY, **(headers or {})})


# ---- templates ----


def drawn(template: str, **values: Any) -> str:
    return templates().get_template(template).render(here=values.pop("here", ""), **values)


@lru_cache(maxsize=1)
def templates() -> Environment:
    """jinja2 is imported with the first page: most daemons never show one."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined  # noqa: PLC0415 - see above

    made = Environment(
        loader=FileSystemLoader(FILES / "templates"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
        finalize=encodable,
    )
    made.filters |= {
        "ago": ago,
        "short": short_number,
        "size": size,
        "took": took,
        "number": lambda value: f"{value:,}",
    }
    made.globals |= {"link": link, "navigation": NAVIGATION, "tools": TOOLS, "version": __version__}
    return made


def encodable(value: object) -> object:
    """Names that are not UTF-8 are escaped, since a page cannot represent them."""
    if type(value) is str and not value.isascii():
        return value.encode("utf-8", "backslashreplace").decode()
    return value


def link(path: str, /, **query: object) -> str:
    """A local address; empty values are left out."""
    given = {
        name: str(value).encode("utf-8", "backslashreplace")
        for name, value in query.items()
        if value not in ("", None, False)
    }
    return f"{path}?{urlencode(given)}" if given else path


SPANS: Final = ((86_400.0, "d"), (3_600.0, "h"), (60.0, "min"))


def ago(when: float | None) -> str:
    if not when:
        return "never"
    seconds = max(0.0, time.time() - when)
    for length, unit in SPANS:
        if seconds >= length:
            return f"{seconds / length:.0f} {unit} ago"
    return f"{seconds:.0f} s ago"


def took(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds >= 1 else f"{seconds * 1_000:.0f} ms"


KILO, MEGA = 1e3, 1e6


def size(number: float) -> str:
    return f"{number / MEGA:.1f} MB" if number >= MEGA else f"{number / KILO:.0f} KB"
