"""The template and values of each page, from replies of tools and values of the service.

The page calls the same tools as an agent, so it shows what a model would receive; these calls are not recorded in the
ledger. Values contain no HTML except lines of code that `code` has escaped.
"""

from __future__ import annotations

import re
import time
from functools import cached_property
from textwrap import dedent
from typing import TYPE_CHECKING, Any, Final

from llmc.base.errors import LlmcError
from llmc.envelope.request import RunningRequest
from llmc.extend.personas.registry import AgentRegistry
from llmc.server.http.callers import CALLER
from llmc.server.http.page.charts import SMALL, savings_chart, tool_chart
from llmc.server.http.page.code import highlighted, terms_of
from llmc.server.http.page.reply import page_groups, parsed
from llmc.server.http.page.results import result_files
from llmc.server.http.page.symbols import Neighbour, neighbours, picture
from llmc.server.personas import Personas
from llmc.server.report import root_status, store_status
from llmc.server.surface import ToolSurface
from llmc.state.ledger import LedgerFilter, figures
from llmc.state.metrics import RECENT

if TYPE_CHECKING:
    from starlette.requests import Request

    from llmc.envelope.reply import Reply
    from llmc.server.http.request_context import RequestContexts
    from llmc.server.status import RootStatus, StatusReport
    from llmc.state.ledger.figures import Figures, SessionStats
    from llmc.workspace import Workspace

    Shown = tuple[str, dict[str, Any]]

__all__ = ["SPANS", "TOOLS", "Pages"]

# tool → (title, argument for the input box, placeholder)
TOOLS: Final = {
    "search": ("Search", "query", "name, question or error"),
    "grep": ("Grep", "pattern", "a regular expression, as in ripgrep"),
    "find": ("Files", "name", "part of a file's name, or a glob"),
    "refs": ("Uses", "name", "a function, a class, a method"),
    "outline": ("Outline", "path", "a file or folder"),
    "read": ("Read", "target", "path, path:10-40, path::symbol, a handle"),
}
SPANS: Final = {"2h": 7_200, "24h": 86_400, "7d": 604_800, "90d": 7_776_000}
# A person reads more than fits into the budget of a model.
BUDGET: Final = 4_000
HANDLE: Final = re.compile(r"h[a-z2-7]{3,32}(?::|$)")
LINES_PER_PAGE: Final = 800
RECENT_ON_HOME: Final = 12


class Pages:
    """One instance for the server; each method runs in a thread of its pool."""

    def __init__(self, contexts: RequestContexts) -> None:
        self._contexts = contexts
        self._service = contexts.service

    # ---- home and search ----

    def home(self, request: Request) -> Shown:
        given = request.query_params
        if given.get("q", "").strip():
            return self.search(request)
        today = self._figures("24h")
        values = {
            "tool": self._tool(given.get("tool", "")),
            "roots": self.roots()[1],
            "recent": RECENT.newest(RECENT_ON_HOME),
            "figures": today,
            "chart": savings_chart(today.slots, SMALL) if today.tokens.calls else None,
        }
        return "home.html", values

    def search(self, request: Request) -> Shown:
        given = request.query_params
        tool, query, path = self._tool(given.get("tool", "")), given["q"], given.get("path", "").strip()
        if tool == "read" and not HANDLE.match(query):
            return self._code(request, query)
        args: dict[str, Any] = {TOOLS[tool][1]: query, "budget": BUDGET}
        if path and tool != "outline":
            args["path"] = [path]
        reply = self._ask(request, tool, args)
        terms = terms_of(query) if tool not in ("read", "outline") else frozenset()
        found = parsed(reply.text)
        files = result_files(tool, reply, terms, self._root_names)
        groups = [] if files is not None or reply.error else list(page_groups(found, self._named_roots, terms))
        values = {
            "tool": tool,
            "query": query,
            "path": path,
            "reply": reply,
            "head": found.head,
            "left": found.left,
            "handle": found.handle,
            "files": files or [],
            "groups": groups,
            "error": reply.text if reply.error else "",
        }
        return "search.html", values

    # ---- code and symbols ----

    def code(self, request: Request) -> Shown:
        return self._code(request, request.query_params.get("target", ""))

    def _code(self, request: Request, target: str) -> Shown:
        """A file, or a range of it, beside its outline."""
        path, _, lines = target.partition(":")
        reply = self._ask(request, "read", {"target": target, "all": True})
        data = reply.data
        if reply.error or "text" not in data:
            return "search.html", {**EMPTY_RESULT, "tool": "read", "query": target, "reply": reply, "error": reply.text}
        text, first = str(data["text"]).removesuffix("\n"), int(data["start_line"])
        shown = highlighted(text, str(data["path"]))[:LINES_PER_PAGE]
        outline = self._ask(request, "outline", {"path": [path], "budget": BUDGET})
        files = outline.data.get("files") or [{}]
        symbols = [one for one in files[0].get("symbols", ()) if isinstance(one, dict)]
        last = first + len(shown) - 1
        values = {
            "path": str(data["path"]),
            "root": self._root_names.get(str(data.get("root")), ""),
            "target": path,
            "lines": list(enumerate(shown, first)),
            "first": first,
            "last": last,
            "total": int(data["lines"]),
            "next": f"{path}:{last + 1}-{last + LINES_PER_PAGE}" if last < int(data["lines"]) else "",
            "symbols": symbols,
            "range": lines,
            "crumbs": crumbs(str(data["path"])),
        }
        return "code.html", values

    def symbol(self, request: Request) -> Shown:
        """A definition with its code, its callers and its callees, as lists and as a picture."""
        name = request.query_params.get("name", "")
        calls = self._ask(request, "calls", {"name": name, "depth": 1, "all": True})
        callers = self._ask(request, "callers", {"name": name, "all": True})
        known = definitions_of(calls, "calls") or definitions_of(callers, "callers")
        if not known:
            return "search.html", {
                **EMPTY_RESULT, "tool": "refs", "query": name, "reply": calls, "error": callers.text
            }  # fmt: skip
        called_by = {(one["path"], one["line"]): one for one in definitions_of(callers, "callers")}
        views = [
            self._symbol_view(request, one, called_by.get((one["path"], one["line"]), {})) for one in known[:MOST_SAME]
        ]
        return "symbol.html", {"name": name, "definitions": views, "more": len(known) - len(views)}

    def _symbol_view(self, request: Request, one: dict[str, Any], called_by: dict[str, Any]) -> dict[str, Any]:
        """`one` contains the callees of the definition, `called_by` its callers, if they are known."""
        path, line, end = str(one["path"]), int(one["line"]), int(one["end_line"])
        target = f"{one['root']}/{path}:{line}-{min(end, line + LINES_PER_PAGE)}"
        text = str(self._ask(request, "read", {"target": target, "all": True}).data.get("text", ""))
        callees = neighbours(one.get("calls", ()))
        callers = neighbours(called_by.get("callers", ()))
        return {
            "name": str(one["name"]),
            "kind": str(one.get("kind", "")),
            "path": path,
            "root": self._root_names.get(str(one["root"]), ""),
            "target": f"{one['root']}/{path}",
            "first": line,
            "last": end,
            "lines": list(enumerate(highlighted(dedent(text.removesuffix("\n")), path), line)) if text else [],
            "callers": by_path(callers),
            "callees": by_path(callees),
            "caller_count": len(callers),
            "callee_count": len(callees),
            "guesses": int(one.get("guesses", 0)) + int(called_by.get("guesses", 0)),
            "picture": picture(str(one["name"]), f"{path}:{line}", callers, callees),
        }

    # ---- activity ----

    def activity(self, request: Request) -> Shown:
        given = request.query_params
        span = given.get("since", "")
        span = span if span in SPANS else "24h"
        session, tool = given.get("session", ""), given.get("tool", "")
        found = self._figures(span, session, tool)
        recent = [call for call in RECENT.newest(session=session) if not tool or call.tool == tool]
        values = {
            "span": span,
            "spans": SPANS,
            "session": session,
            "only_tool": tool,
            "figures": found,
            "chart": savings_chart(found.slots),
            "small_chart": savings_chart(found.slots, SMALL),
            "tool_bars": tool_chart(found.tools),
            "recent": recent[:50],
            **self._session_values(found.sessions[:10]),
        }
        return "activity.html", values

    def sessions(self, _request: Request) -> Shown:
        """Sessions from the ledger, consistent with the activity page, and which of them are connected."""
        values = self._session_values(self._figures("90d").sessions)
        listed = {one.session for one in values["sessions"]}
        silent = [one for one in values["connected"].values() if one.id not in listed]
        return "sessions.html", {**values, "silent": silent}

    def _session_values(self, sessions: tuple[SessionStats, ...]) -> dict[str, Any]:
        connected = {one.id: one for one in self._service.sessions.all()}
        workspaces = {call.session: call.workspace for call in reversed(RECENT.newest())}
        return {"sessions": sessions, "connected": connected, "workspaces": workspaces}

    def _figures(self, span: str, session: str = "", tool: str = "") -> Figures:
        self._service.ledger.flush()
        since = time.time() - SPANS[span]
        return figures(self._service.ledger.database, LedgerFilter(since, session, tool))

    # ---- personas ----

    def personas(self, request: Request) -> Shown:
        """The personas, with a preview of one for the arguments in the URL."""
        settings = self._service.settings_of(self._contexts.client)
        infos = AgentRegistry.from_settings(settings).list()
        given = request.query_params
        chosen = given.get("name", "")
        args = {key.removeprefix("arg."): value for key, value in given.items() if key.startswith("arg.") and value}
        values: dict[str, Any] = {"personas": infos, "chosen": chosen, "args": args, "preview": None, "error": ""}
        if "preview" in given and chosen:
            try:
                client = self._contexts.client
                resolved = Personas(self._service).resolve(client, chosen, args, RunningRequest(client))
                values["preview"] = resolved
            except LlmcError as error:
                values["error"] = ": ".join(filter(None, (error.message, error.reason)))
        return "personas.html", values

    # ---- index and health ----

    def index(self, _request: Request) -> Shown:
        workspace, roots = self.roots()
        client = self._contexts.client
        status: StatusReport = self._service.call("status", {}, RunningRequest(client))  # type: ignore[assignment]
        troubles = [*status.problems, *(why for one in roots for why in (one.error, one.degraded) if why)]
        if status.embedder is not None and status.embedder.state == "failed":
            troubles.append(f"embedder: {status.embedder.error}")
        values = {
            "roots": roots,
            "stores": [store_status(one) for one in workspace.writer_threads] if workspace else [],
            "status": status,
            "troubles": troubles,
        }
        return "index.html", values

    def live(self, _request: Request) -> Shown:
        return "live.html", {"roots": self.roots()[1]}

    def roots(self) -> tuple[Workspace | None, list[RootStatus]]:
        """The roots of this workspace."""
        try:
            workspace = self._service.workspace(RunningRequest(self._contexts.client))
        except LlmcError:
            return None, []
        return workspace, [
            root_status(root_index, workspace.registry.writer_thread(root_index))
            for root_index in workspace.root_indexes
        ]

    # ---- helpers ----

    def _ask(self, request: Request, tool: str, args: dict[str, Any]) -> Reply:
        """The reply that a model would receive. It is not recorded, since no model reads it, and has no session, so
        that nothing is omitted because it was sent before."""
        context = self._contexts.enter(request.scope[CALLER], "", {})
        surface = ToolSurface(self._service, recorded=False)
        return surface.call(context, tool, args, RunningRequest(context.client))

    def _tool(self, name: str) -> str:
        return name if name in TOOLS else "search"

    @cached_property
    def _root_paths(self) -> dict[str, str]:
        workspace, _ = self.roots()
        return {one.root.name: one.root.path for one in workspace.root_indexes} if workspace else {}

    @property
    def _named_roots(self) -> dict[str, str]:
        """name → folder if there are several roots; a single root is not named in replies."""
        return self._root_paths if len(self._root_paths) > 1 else {}

    @property
    def _root_names(self) -> dict[str, str]:
        return {path: name for name, path in self._named_roots.items()}


MOST_SAME: Final = 4
EMPTY_RESULT: Final = {"path": "", "head": "", "left": "", "handle": "", "files": [], "groups": []}


def definitions_of(reply: Reply, key: str) -> list[dict[str, Any]]:
    found = reply.data.get("definitions")
    return [one for one in found if isinstance(one, dict) and key in one] if isinstance(found, list) else []


def by_path(found: list[Neighbour]) -> dict[str, list[Neighbour]]:
    files: dict[str, list[Neighbour]] = {}
    for one in found:
        files.setdefault(one.path, []).append(one)
    return files


def crumbs(path: str) -> list[tuple[str, str]]:
    """(name, path) of each folder above the file."""
    parts = path.split("/")[:-1]
    return [(part, "/".join(parts[: at + 1])) for at, part in enumerate(parts)]
