"""Routes of the page, and the login.

The guard has checked Host, Origin and cookie; a request without an owner gets the login page. Every response has a
content security policy that allows only our own scripts, styles and frames, even if injected markup should slip
through.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qs

from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from llmc.base import logs
from llmc.base.errors import LlmcError
from llmc.envelope import failure, render
from llmc.envelope.clean import clean
from llmc.envelope.request import RunningRequest
from llmc.extend.personas.registry import AgentRegistry
from llmc.server.http.guard import OWNER
from llmc.server.http.logins import ASSETS, PAGE, VISIT_SECONDS
from llmc.server.http.page.layout import document, login_page, welcome_page
from llmc.server.http.page.ledger import SPANS, ledger_view, since_of
from llmc.server.http.page.markup import Safe, fill
from llmc.server.http.page.views import (
    TOOLS,
    health_view,
    index_view,
    live_view,
    personas_view,
    search_view,
    sessions_view,
)
from llmc.server.http.refusals import status_of
from llmc.server.report import root_status, store_status
from llmc.server.surface import ToolSurface
from llmc.state.ledger import LedgerFilter, figures

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.requests import Request

    from llmc.envelope.reply import Reply
    from llmc.server.call_threads import CallThreads
    from llmc.server.http.address import Address
    from llmc.server.http.logins import Logins
    from llmc.server.http.request_context import RequestContexts
    from llmc.server.status import RootStatus, StatusReport
    from llmc.workspace import Workspace

    View = Callable[[Request], tuple[str, Safe]]

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
# A person reads more than fits into the budget of a model.
BUDGET: Final = 4_000
SESSION: Final = "page"
UNAUTHORISED: Final = 401
FAILED: Final = 500


class Page:
    def __init__(self, contexts: RequestContexts, pool: CallThreads, address: Address, logins: Logins) -> None:
        self._contexts = contexts
        self._service = contexts.service
        self._pool = pool
        self._secure = address.scheme == "https"
        self._logins = logins

    def routes(self) -> list[Route]:
        views = {
            "/": self.search,
            f"{PAGE}index": self.index,
            f"{PAGE}ledger": self.ledger,
            f"{PAGE}sessions": self.sessions,
            f"{PAGE}personas": self.personas,
            f"{PAGE}health": self.health,
        }
        return [
            *(Route(path, self.shown(view, path)) for path, view in views.items()),
            *(Route(PAGE + name, partial(asset, name)) for name in ASSETS),
            Route(f"{PAGE}live", self.live),
            Route("/login", self.login, methods=["GET", "POST"]),
        ]

    def shown(self, view: View, path: str) -> Callable[[Request], Any]:
        async def endpoint(request: Request) -> Response:
            if not request.scope[OWNER]:
                return page(login_page(), UNAUTHORISED, {"WWW-Authenticate": 'Bearer realm="llmc"'})
            try:
                title, body = await self._in_thread(partial(view, request))
            except LlmcError as error:
                return page(document("Trouble", path, trouble(error)), status_of(error.code))
            except Exception as error:
                log.exception("page failed", path=path)
                body = trouble(
                    LlmcError("internal error", reason=type(error).__name__, hint="See the log for details.")
                )
                return page(document("Trouble", path, body), FAILED)
            return page(document(title, path, body))

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
            return page(login_page())
        if cookie is None:
            log.info("login refused", peer=str(request.client))
            return page(login_page(trouble), UNAUTHORISED)
        response = page(welcome_page())
        response.set_cookie(
            self._logins.cookie, cookie, max_age=VISIT_SECONDS, httponly=True, samesite="strict", secure=self._secure
        )
        return response

    async def live(self, request: Request) -> Response:
        if not request.scope[OWNER]:
            return page("", UNAUTHORISED)
        return page(await self._in_thread(lambda: live_view(self._roots()[1])))

    # ---- the pages, in a thread each ----

    def search(self, request: Request) -> tuple[str, Safe]:
        given = request.query_params
        tool = given.get("tool", "search")
        tool = tool if tool in TOOLS else "search"
        query, path = given.get("q", ""), given.get("path", "").strip()
        if not query.strip():
            return "Search", search_view(tool, "", path, None, live=live_view(self._roots()[1]))
        args: dict[str, Any] = {TOOLS[tool][1]: query, "budget": BUDGET}
        if tool == "read":
            args["fresh"] = True
        elif path and tool != "outline":
            args["path"] = [path]
        reply = self._asked(request, tool, args)
        return query, search_view(tool, query, path, reply, roots=self._names())

    def index(self, _request: Request) -> tuple[str, Safe]:
        workspace, roots = self._roots()
        stores = [store_status(writer_thread) for writer_thread in workspace.writer_threads] if workspace else []
        return "Index", index_view(live_view(roots), stores, roots)

    def ledger(self, request: Request) -> tuple[str, Safe]:
        given = request.query_params
        span = given.get("since", "")
        span = span if span in SPANS else "24h"
        session, tool = given.get("session", ""), given.get("tool", "")
        self._service.ledger.flush()
        found = figures(self._service.ledger.database, LedgerFilter(since_of(span), session, tool))
        return "Ledger", ledger_view(found, span, session, tool)

    def sessions(self, _request: Request) -> tuple[str, Safe]:
        known = [one for one in self._service.sessions.all() if one.client != SESSION]
        return "Sessions", sessions_view(known)

    def personas(self, _request: Request) -> tuple[str, Safe]:
        settings = self._service.settings_of(self._contexts.client)
        return "Personas", personas_view(AgentRegistry.from_settings(settings).list())

    def health(self, _request: Request) -> tuple[str, Safe]:
        status: StatusReport = self._service.call("status", {}, RunningRequest(self._contexts.client))  # type: ignore[assignment]
        roots = self._roots()[1]
        return "Health", health_view(status.problems, status.embedder, status.processes, roots)

    def _asked(self, request: Request, tool: str, args: dict[str, Any]) -> Reply:
        """The reply that a model would get; it is not recorded in the ledger, since no model reads it."""
        context = self._contexts.enter(request.scope[OWNER], SESSION, {})
        context.session.client = SESSION
        surface = ToolSurface(self._service, recorded=False)
        return surface.call(context, tool, args, RunningRequest(context.client))

    def _roots(self) -> tuple[Workspace | None, list[RootStatus]]:
        """The roots of this workspace."""
        try:
            workspace = self._service.workspace(RunningRequest(self._contexts.client))
        except LlmcError as error:
            log.warning("no workspace", reason=str(error))
            return None, []
        return workspace, [
            root_status(root_index, workspace.registry.writer_thread(root_index))
            for root_index in workspace.root_indexes
        ]

    def _names(self) -> dict[str, str]:
        """name → folder if there are several roots; a single root is not named in replies."""
        workspace, _ = self._roots()
        root_indexes = workspace.root_indexes if workspace else ()
        return {one.root.name: one.root.path for one in root_indexes} if len(root_indexes) > 1 else {}

    async def _in_thread(self, act: Callable[[], Any]) -> Any:
        return await self._pool.run(act)


def trouble(error: LlmcError) -> Safe:
    """The error as a model would see it."""
    return fill('<p class="error" role="alert">{words}</p>', words=render(clean(failure("page", error))))


async def asset(name: str, _request: Request) -> Response:
    return Response((FILES / name).read_bytes(), media_type=KINDS[name.rpartition(".")[2]], headers=POLICY)


def page(text: str, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    return HTMLResponse(text, status, headers={**POLICY, **(headers or {})})
