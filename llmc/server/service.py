"""The service behind the daemon's socket: one index registry, and a workspace for each client.

Every call carries the context of its client (folder, environment, flags), which determines settings and roots, so
clients in different projects are independent. `server.daemon` handles transport, threads and the process.
"""

from __future__ import annotations

import gc
import os
import queue
import threading
import time
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from llmc.base import logs
from llmc.base.cache_budget import cache_sizes, empty_caches, register_cache
from llmc.base.errors import LlmcError, NotFoundError, QueryError, RootError, StoreError
from llmc.base.malloc import trim_heap
from llmc.base.roots import make_root
from llmc.envelope.clean import without_secrets
from llmc.envelope.handles import Handles
from llmc.extend.delegates.fleet import Fleet
from llmc.indexer.known_roots import forget_root, known_roots
from llmc.indexer.registry import IndexRegistry
from llmc.retrieval.dependency_cache import DependencyCache
from llmc.retrieval.scope import forget_scopes
from llmc.server.kept_workspaces import KeptWorkspace, KeptWorkspaces, stamp_of_roots
from llmc.server.report import difference, embedder_status, progress_of, root_status, store_status
from llmc.server.status import IndexResult, MemoryStatus, StatusReport, process_status
from llmc.settings import RootEntry
from llmc.settings.cache import SettingsCache
from llmc.state.connected_sessions import ConnectedSessions
from llmc.state.ledger import Ledger, LedgerDatabase, LedgerFilter, figures
from llmc.state.metrics import METER
from llmc.state.sessions.join import close_memory
from llmc.store.vectors import engine
from llmc.tool import ToolRequest
from llmc.tools.call import call_tool
from llmc.tools.registry import TOOLS
from llmc.tools.reply_cache import reply_bytes
from llmc.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Callable

    from llmc.base.home import Home
    from llmc.envelope.reply import Reply
    from llmc.envelope.request import ClientInfo, JsonObject, RunningRequest
    from llmc.extend.delegates.offer import Offer
    from llmc.extend.personas.model import ResolvedPersona
    from llmc.indexer.root_index import RootIndex
    from llmc.server.http.listener import Listener
    from llmc.server.status import IndexDifference
    from llmc.settings import Loaded, Settings, SettingsProblem
    from llmc.state.ledger import Figures

__all__ = ["Service"]

log = logs.get("service")

STATUS_SECONDS = 1.0
# The first search after releasing memory takes about 50 ms longer, with 30,000 files.
REST_SECONDS = 60.0
# Replies consist of many short-lived values, whose pages glibc keeps between calls unless they are trimmed: 20 to 100
# MB, also after the import of LanceDB. Trimming takes 1 to 5 ms.
TRIM_SECONDS = 20.0


class ProgressReporter:
    """Reports changed progress of a root to a client; returns False when the call was cancelled."""

    def __init__(self, call: RunningRequest) -> None:
        self._call = call
        self._last: JsonObject | None = None

    def __call__(self, root_index: RootIndex) -> bool:
        progress = progress_of(root_index)
        if progress is not None and progress != self._last:
            self._call.progress({**progress, "root": root_index.root.path})
            self._last = progress
        return not self._call.cancelled


class Service:
    """`alone`: it serves a single command (`--no-daemon`), so every call waits until everything is indexed."""

    has_personas: ClassVar[bool] = True

    def __init__(self, settings: Settings, home: Home, *, alone: bool = False) -> None:
        self.settings = settings
        self.alone = alone
        self._home = home
        self._registry = IndexRegistry(home, wait_for_vectors=alone, on_commit=self._committed)
        envelope = settings.envelope
        self.handles = Handles(home.handles, hours=envelope.handle_ttl_hours, max_bytes=envelope.handle_bytes)
        # Variables of the process that started the daemon must not affect later clients.
        theirs = ("LLMC_", "PRUNER_", "MCP_PRUNER_")
        self._environ = {name: value for name, value in os.environ.items() if not name.startswith(theirs)}
        self._cache = DependencyCache(size_of=reply_bytes)
        register_cache("replies", lambda: self._cache.memory, self._cache.clear)
        self._loaded = SettingsCache()
        self._workspaces = KeptWorkspaces()
        self._calls = 0
        self._trimmed_calls, self._trimmed_at = 0, time.monotonic()
        self._last_used = time.monotonic()  # 0: memory was released since then
        ledger_settings = settings.ledger
        self.ledger = Ledger(
            LedgerDatabase(home.ledger, days=ledger_settings.days, most=ledger_settings.max_calls),
            enabled=ledger_settings.enabled,
            client_tokens=ledger_settings.client_tokens,
        )
        self.sessions = ConnectedSessions()
        self.fleet = Fleet(home)
        self._lock = threading.Lock()
        self._viewers: list[queue.SimpleQueue[JsonObject]] = []
        self.listeners: list[Listener] = []
        self._methods: dict[str, Callable[[JsonObject, RunningRequest], object]] = {
            "agent": self._agent,
            "agents": self._agents,
            "delegates": self._delegates,
            "forget": self._forget,
            "http": self._http,
            "index": self._index,
            "roots": self._roots,
            "stats": self._stats,
            "status": self._status,
            "te": self._te,
            "tool": self._tool,
            "ui": self._ui,
        }

    def start(self) -> None:
        log.info("service ready")

    def call(self, method: str, params: JsonObject, call: RunningRequest) -> object:
        handler = self._methods.get(method)
        if handler is None:
            raise QueryError(f"unknown method {method!r}", hint="Client and daemon may have different versions.")
        return handler(params, call)

    def tend(self) -> None:
        """After `REST_SECONDS` without calls, release memory that the next call can reload."""
        now, calls = time.monotonic(), METER.calls
        if calls != self._calls or self._registry.busy:
            self._calls, self._last_used = calls, now
        elif self._last_used and now - self._last_used >= REST_SECONDS:
            self._last_used = 0.0
            self._workspaces.clear()
            empty_caches()
            self._registry.release_memory()
            gc.collect()
            trim_heap()
        if calls != self._trimmed_calls and now - self._trimmed_at >= TRIM_SECONDS:
            self._trimmed_calls, self._trimmed_at = calls, now
            trim_heap()

    def busy(self) -> str | None:
        return "indexing" if self._registry.busy else None

    def close(self) -> None:
        from llmc.extend.personas.sandbox import pool  # noqa: PLC0415 - most daemons never run a script

        pool.close()
        self.fleet.close()
        self._registry.close()
        self.handles.close()
        self.ledger.close()
        close_memory(self._home)

    # ---- methods ----

    def settings_of(self, client: ClientInfo) -> Settings:
        return self._load(client).settings

    def notices_of(self, client: ClientInfo) -> tuple[SettingsProblem, ...]:
        """Settings of the client that are ignored, and why."""
        return self._load(client).notices

    def environ_of(self, client: ClientInfo) -> dict[str, str]:
        """The environment from which the client's settings are read."""
        return {**self._environ, **client.environ}

    def _load(self, client: ClientInfo) -> Loaded:
        return self._loaded.load(client.place, client.cwd, self.environ_of(client), client.flags, client.config)

    def workspace(self, call: RunningRequest, named: list[str] | None = None) -> Workspace:
        """The workspace of a client; `named` roots replace those of its settings."""
        client = call.client
        loaded = self._load(client)
        key = (client.place, tuple(named or ()))
        if (kept := self._workspaces.get(key, loaded)) is not None:
            return kept
        entries = [RootEntry(path=Path(path)) for path in named or ()] or loaded.roots()
        stamp = stamp_of_roots(entries)
        workspace = Workspace.within(self._registry, loaded.settings, entries, client.cwd)
        workspace.cache = self._cache
        self._workspaces.put(key, KeptWorkspace(workspace, loaded, entries, stamp))
        return workspace

    def extra_tools(self, client: ClientInfo, settings: Settings) -> Offer | None:
        """Tools of the client's servers, delegates and scripts; servers run until `fleet.release(client.session)`."""
        added = bool(settings.mcps or settings.delegates or settings.tool_scripts)
        environ = self.environ_of(client) if added else {}
        servers = self.fleet.hold(client.session, settings.mcps, (client.cwd, environ))
        if not added:
            return None
        from llmc.extend.delegates.offer import Offer  # noqa: PLC0415 - most clients have neither

        return Offer(settings, servers, self.fleet, environ, TOOLS)

    def bare_workspace(self, call: RunningRequest) -> Workspace:
        """For tools that need no root: an empty workspace if the client's folder cannot be a root."""
        try:
            return self.workspace(call)
        except RootError:
            return Workspace(self._registry, self._load(call.client).settings, (), call.client.cwd)

    def _index(self, params: JsonObject, call: RunningRequest) -> IndexResult:
        started = time.monotonic()
        workspace = self.workspace(call, params.get("roots"))
        for note in workspace.notes:
            call.progress({"stage": "note", "path": note})
        switch = params.get("pause") or params.get("resume")
        self._pause_or_check(workspace, pause=bool(params.get("pause")), resume=bool(params.get("resume")))
        if params.get("rebuild"):
            workspace.rebuild()
        if not params.get("detach") and not switch:
            workspace.index(ProgressReporter(call))
        if params.get("once"):
            workspace.wait_for_vectors()
        differences: tuple[IndexDifference, ...] = ()
        if params.get("verify"):
            differences = tuple(difference(one) for one in workspace.verify())
        if not (switch or params.get("once") or params.get("detach") or params.get("verify")):
            self._watch(workspace, call)
        roots = tuple(
            root_status(root_index, workspace.registry.writer_thread(root_index))
            for root_index in workspace.root_indexes
        )
        return without_secrets(IndexResult(roots, time.monotonic() - started, differences))

    @staticmethod
    def _pause_or_check(workspace: Workspace, *, pause: bool, resume: bool) -> None:
        """Pause or resume the roots of a workspace; without either, a paused root is an error."""
        for root_index in workspace.root_indexes:
            writer_thread = workspace.registry.writer_thread(root_index)
            if pause:
                writer_thread.pause()
            elif resume:
                writer_thread.resume()
            elif writer_thread.paused:
                raise StoreError(f"indexing of {root_index.root.path} is paused", hint="Run `llmc index --resume`.")

    def _tool(self, params: JsonObject, call: RunningRequest) -> Reply:
        """A call from the CLI. With `stream`, output of the tool is sent as soon as it is available."""
        workspace = self.workspace(call)
        if self.alone:
            workspace.index(ProgressReporter(call))
        return call_tool(
            ToolRequest(
                params["name"],
                params.get("args") or {},
                workspace,
                self.handles,
                call=call,
                data=params.get("data", True),
                numbered=bool(params.get("numbered")),
                received_at=call.received_at,
                ledger=self.ledger,
                stream=bool(params.get("stream")),
            )
        )

    def _te(self, params: JsonObject, call: RunningRequest) -> Reply:
        """Summarize a command that ran in the client's terminal, even if its folder is not a root."""
        from llmc.tools.te import te_request  # noqa: PLC0415 - the readers of logs, which few need

        try:
            workspace = self.workspace(call)
        except LlmcError:
            workspace = Workspace(self._registry, self._load(call.client).settings, (), call.client.cwd)
        return call_tool(replace(te_request(workspace, self.handles, params, call), ledger=self.ledger))

    def _agents(self, _params: JsonObject, call: RunningRequest) -> JsonObject:
        """The personas and where each is defined."""
        from llmc.extend.personas.registry import AgentRegistry  # noqa: PLC0415 - Lua and TOML, which few need

        loaded = self._load(call.client)
        infos = AgentRegistry.from_settings(loaded.settings, loaded.sources).list()
        notes = [str(notice) for notice in loaded.notices if notice.key.startswith("agents.")]
        return without_secrets({"agents": [{**info.as_dict(), "place": info.place} for info in infos], "notes": notes})

    def _agent(self, params: JsonObject, call: RunningRequest) -> ResolvedPersona:
        from llmc.server.personas import Personas  # noqa: PLC0415 - loaded on first use

        return Personas(self).resolve(call.client, params["name"], params.get("args") or {}, call)

    def _delegates(self, params: JsonObject, call: RunningRequest) -> JsonObject:
        """The state of servers and delegates; `test` runs one, `trust` accepts changed descriptions."""
        from llmc.server.delegate_report import report  # noqa: PLC0415 - the SDK, which few need

        try:
            return without_secrets(report(self, params, call))
        finally:
            self.fleet.release(call.client.session)

    def _http(self, params: JsonObject, call: RunningRequest) -> JsonObject:
        """Listen for HTTP until the client disconnects."""
        from llmc.server.http.listener import serve_http  # noqa: PLC0415 - uvicorn and starlette, which few need

        self.extra_tools(call.client, self.settings_of(call.client))  # start its servers now
        try:
            return serve_http(self, self._home, params, call)
        finally:
            self.fleet.release(call.client.session)

    def _stats(self, params: JsonObject, _call: RunningRequest) -> Figures:
        """Statistics of the ledger; `since` is seconds since the epoch."""
        self.ledger.flush()
        selection = LedgerFilter(
            since=float(params.get("since") or 0),
            session=str(params.get("session") or ""),
            tool=str(params.get("tool") or ""),
        )
        return figures(self.ledger.database, selection)

    def _ui(self, _params: JsonObject, call: RunningRequest) -> JsonObject:
        """A login URL for a browser, if a listener already serves this workspace."""
        workspace = self.workspace(call)
        return {"login": next((one.login_url() for one in self.listeners if one.serves(workspace)), "")}

    def _watch(self, workspace: Workspace, call: RunningRequest) -> None:
        """Report what is re-indexed until the client disconnects."""
        roots = {root_index.root.path for root_index in workspace.root_indexes}
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

    def _committed(self, root_index: RootIndex, paths: set[str]) -> None:
        event: dict[str, Any] = {
            "stage": "watch",
            "root": root_index.root.path,
            "path": min(paths),
            "done": len(paths),
            "seconds": root_index.pending.unsettled_for(),
        }
        log.info("indexed", root=root_index.root.path, files=len(paths), first=min(paths))
        with self._lock:
            for viewer in self._viewers:
                viewer.put(event)

    def _roots(self, _params: JsonObject, call: RunningRequest) -> JsonObject:
        """Every root with an index; `named` are the roots in the client's settings, or the work tree of its folder."""
        loaded = self._load(call.client)
        named = [str(entry.path) for entry in loaded.settings.roots]
        roots = [asdict(root) for root in known_roots(self._registry)]
        return without_secrets(
            {"roots": roots, "named": named, "reason": loaded.no_root.reason if loaded.no_root else ""}
        )

    def _forget(self, params: JsonObject, call: RunningRequest) -> JsonObject:
        """Remove the index of a root and every stored result with text from it."""
        named = os.path.join(call.client.cwd, os.path.expanduser(params["root"]))  # noqa: PTH111, PTH118 - text
        try:
            found = forget_root(self._registry, named)
        except NotFoundError:
            found = forget_root(self._registry, params["root"])
        self._workspaces.clear()
        self._cache.clear()
        forget_scopes()
        handles = self.handles.drop_root(found.path)
        log.info("forgot a root", root=found.path or found.family, files=found.files, handles=handles)
        return without_secrets({**asdict(found), "handles": handles})

    def _status(self, _params: JsonObject, call: RunningRequest) -> StatusReport:
        problems = self._problems_of(call)
        writer_threads = list(self._registry.writer_threads.values())
        workers = [
            process_status("worker", writer_thread.worker_pid)
            for writer_thread in writer_threads
            if writer_thread.worker_pid
        ]
        try:
            selection = self.settings_of(call.client).embedder
        except LlmcError:
            selection = self.settings.embedder  # errors in the client's settings are among the problems
        embedder, trouble = self._registry.embedder(selection, 0)
        sizes = cache_sizes()
        status = StatusReport(
            roots=tuple(
                root_status(root_index, self._registry.writer_thread(root_index))
                for root_index in self._registry.root_indexes.values()
            ),
            stores=tuple(store_status(writer_thread) for writer_thread in writer_threads),
            embedder=embedder_status(selection, embedder, trouble),
            processes=(process_status("daemon"), *workers),
            problems=problems,
            memory=MemoryStatus(
                len(self._cache),
                sizes.pop("graph", 0),
                sum(writer_thread.store.vectors.memory for writer_thread in writer_threads),
                engine.cache_bytes(),
                sizes.pop("replies"),
                sum(sizes.values()),
                self.settings.daemon.cache_mb * 1024 * 1024,
            ),
        )
        return without_secrets(status)

    def _problems_of(self, call: RunningRequest) -> tuple[str, ...]:
        """Open the client's roots that are already indexed, and return the problems of its settings."""
        try:
            loaded = self._load(call.client)
            known = [entry for entry in loaded.settings.roots if self._registry.knows(make_root(str(entry.path)))]
            if known:
                Workspace.within(self._registry, loaded.settings, known, call.client.cwd)
        except LlmcError as error:
            return (str(error),)
        return tuple(str(notice) for notice in loaded.notices)
