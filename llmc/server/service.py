"""What the daemon does behind its socket: it keeps one library and answers each client in the client's own workspace.

Every call brings along where its client stands (folder, variables, flags), from which the settings and so the roots are
made anew: two clients in two projects never meet. Transport, threads and the end of the process are `server.daemon`'s.
"""

from __future__ import annotations

import os
import queue
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from llmc import logs
from llmc.envelope.clean import without_secrets
from llmc.envelope.handles import Handles
from llmc.errors import LlmcError, QueryError
from llmc.indexer.library import Library
from llmc.retrieval.cache import SearchCache
from llmc.roots import make_root
from llmc.server.report import difference, embedder_status, progress_of, root_status, store_status
from llmc.server.sessions import Sessions
from llmc.server.status import IndexResult, Status, process_status
from llmc.server.tools import answer
from llmc.settings import RootEntry, load
from llmc.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Callable

    from llmc.home import Home
    from llmc.indexer.keeper import Keeper
    from llmc.server.calls import Call, Client, JsonObject
    from llmc.server.status import Difference
    from llmc.server.tools import Reply
    from llmc.settings import Loaded, Settings

__all__ = ["Service"]

log = logs.get("service")

STATUS_SECONDS = 1.0
STREAMED_FILES = 200


class Shown:
    """Tells a client how far a keeper is, whenever that has changed; false when the client has gone."""

    def __init__(self, call: Call) -> None:
        self._call = call
        self._last: JsonObject | None = None

    def __call__(self, keeper: Keeper) -> bool:
        progress = progress_of(keeper)
        if progress is not None and progress != self._last:
            self._call.progress({**progress, "root": keeper.root.path})
            self._last = progress
        return not self._call.cancelled


class Service:
    """`alone`: it lives for one command (`--no-daemon`), so that every answer waits until all is indexed."""

    def __init__(self, settings: Settings, home: Home, *, alone: bool = False) -> None:
        self.settings = settings
        self.alone = alone
        self._home = home
        self._library = Library(home, on_commit=self._committed)
        envelope = settings.envelope
        self.handles = Handles(home.handles, hours=envelope.handle_ttl_hours, max_bytes=envelope.handle_bytes)
        # What the daemon's own starter had set is no business of the clients that come after.
        theirs = ("LLMC_", "PRUNER_", "MCP_PRUNER_")
        self._environ = {name: value for name, value in os.environ.items() if not name.startswith(theirs)}
        self._answers = SearchCache()
        self.sessions = Sessions()
        self._lock = threading.Lock()
        self._viewers: list[queue.SimpleQueue[JsonObject]] = []
        self._methods: dict[str, Callable[[JsonObject, Call], object]] = {
            "http": self._http,
            "index": self._index,
            "status": self._status,
            "te": self._te,
            "tool": self._tool,
        }

    def start(self) -> None:
        log.info("service ready")

    def call(self, method: str, params: JsonObject, call: Call) -> object:
        handler = self._methods.get(method)
        if handler is None:
            raise QueryError(f"there is no method {method!r}", hint="Client and daemon may be of different versions.")
        return handler(params, call)

    def busy(self) -> str | None:
        return "indexing" if self._library.busy else None

    def close(self) -> None:
        self._library.close()
        self.handles.close()

    # ---- methods ----

    def settings_of(self, client: Client) -> Settings:
        return self._load(client).settings

    def _load(self, client: Client) -> Loaded:
        return load(client.cwd, {**self._environ, **client.environ}, client.flags, client.config or None)

    def workspace(self, call: Call, named: list[str] | None = None) -> Workspace:
        """The workspace of a client; `named` roots come before those of its settings."""
        client = call.client
        loaded = self._load(client)
        entries = [RootEntry(path=Path(path)) for path in named or ()] or loaded.roots()
        workspace = Workspace.within(self._library, loaded.settings, entries, client.cwd)
        workspace.answers = self._answers
        return workspace

    def _index(self, params: JsonObject, call: Call) -> IndexResult:
        started = time.monotonic()
        workspace = self.workspace(call, params.get("roots"))
        for note in workspace.notes:
            call.progress({"stage": "note", "path": note})
        if params.get("rebuild"):
            workspace.rebuild()
        if not params.get("detach"):
            workspace.index(Shown(call))
        differences: tuple[Difference, ...] = ()
        if params.get("verify"):
            differences = tuple(difference(one) for one in workspace.verify())
        if not (params.get("once") or params.get("detach") or params.get("verify")):
            self._look_on(workspace, call)
        roots = tuple(root_status(keeper, workspace.library.lane(keeper)) for keeper in workspace.keepers)
        return without_secrets(IndexResult(roots, time.monotonic() - started, differences))

    def _tool(self, params: JsonObject, call: Call) -> Reply:
        """`stream`: the files of a reply come as events, some hundred at a time, instead of in the reply."""
        workspace = self.workspace(call)
        if self.alone:
            workspace.index(Shown(call))
        args, data = params.get("args") or {}, params.get("data", True)
        reply = answer(workspace, self.handles, params["name"], args, call=call, data=data)
        if params.get("stream") and not reply.error:
            files = reply.data.get("files", [])
            for start in range(0, len(files), STREAMED_FILES):
                call.progress({"files": files[start : start + STREAMED_FILES]})
            reply = replace(reply, text="", data={})
        return reply

    def _te(self, params: JsonObject, call: Call) -> Reply:
        """A command has run in the client's terminal; a folder that can be no root has outputs all the same."""
        from llmc.server.shell.te import reply_to_te  # noqa: PLC0415 - the readers of logs, which few need

        try:
            workspace = self.workspace(call)
        except LlmcError:
            workspace = Workspace(self._library, self._load(call.client).settings, (), call.client.cwd)
        return reply_to_te(workspace, self.handles, params, call)

    def _http(self, params: JsonObject, call: Call) -> JsonObject:
        """Listen for HTTP until the client goes."""
        from llmc.server.http.listener import serve_http  # noqa: PLC0415 - uvicorn and starlette, which few need

        return serve_http(self, self._home, params, call)

    def _look_on(self, workspace: Workspace, call: Call) -> None:
        """Tell what is re-indexed, until the client goes."""
        roots = {keeper.root.path for keeper in workspace.keepers}
        events: queue.SimpleQueue[JsonObject] = queue.SimpleQueue()
        with self._lock:
            self._viewers.append(events)
        call.progress({"stage": "watch", "root": min(roots), "done": 0})
        try:
            while not call.cancelled:
                try:
                    event = events.get(timeout=STATUS_SECONDS)
                except queue.Empty:
                    continue
                if event["root"] in roots:
                    call.progress(event)
        finally:
            with self._lock:
                self._viewers.remove(events)

    def _committed(self, keeper: Keeper, paths: set[str]) -> None:
        event: dict[str, Any] = {
            "stage": "watch",
            "root": keeper.root.path,
            "path": min(paths),
            "done": len(paths),
            "seconds": keeper.pending.owed_for(),
        }
        log.info("indexed", root=keeper.root.path, files=len(paths), first=min(paths))
        with self._lock:
            for viewer in self._viewers:
                viewer.put(event)

    def _status(self, _params: JsonObject, call: Call) -> Status:
        problems = self._problems_of(call)
        lanes = list(self._library.lanes.values())
        workers = [process_status("worker", lane.worker_pid) for lane in lanes if lane.worker_pid]
        embedder, trouble = self._library.embedder(self.settings.embedder)
        status = Status(
            roots=tuple(root_status(keeper, self._library.lane(keeper)) for keeper in self._library.keepers.values()),
            stores=tuple(store_status(lane) for lane in lanes),
            embedder=embedder_status(self.settings.embedder, embedder, trouble),
            processes=(process_status("daemon"), *workers),
            problems=problems,
        )
        return without_secrets(status)

    def _problems_of(self, call: Call) -> tuple[str, ...]:
        """Open the client's roots that are indexed already, and say what is wrong with its settings."""
        try:
            loaded = self._load(call.client)
            known = [entry for entry in loaded.settings.roots if self._library.knows(make_root(str(entry.path)))]
            if known:
                Workspace.within(self._library, loaded.settings, known, call.client.cwd)
        except LlmcError as error:
            return (str(error),)
        return tuple(str(notice) for notice in loaded.notices)
