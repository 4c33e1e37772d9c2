"""The application of a shared server: `/mcp` without sessions, REST, health, readiness and metrics.

Each request contains all state that its reply needs, so a load balancer can send each one to another server, and the
failure of a server loses no state.
"""

from __future__ import annotations

from base64 import b64encode
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import orjson
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.routing import Route

from llmc import __version__
from llmc.server.http.app import McpEndpoint, not_routed
from llmc.server.http.callers import CALLER
from llmc.server.http.prometheus import answered_calls, exposition_of, gauge, process_metrics
from llmc.server.http.refusals import HttpRefusal
from llmc.server.http.request_context import RequestContexts
from llmc.server.http.rest import Rest, arguments, json_bytes
from llmc.server.surface import ToolSurface
from llmc.server.wire import encode_line
from llmc.state.connected_sessions import ConnectedSession, RequestContext
from llmc.store.shared.access import Access
from llmc.store.shared.vectors import vectors_of_contents

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from mcp.server.lowlevel import Server
    from prometheus_client.core import Metric
    from starlette.requests import Request
    from starlette.responses import Response

    from llmc.base.model import Vectors
    from llmc.server.call_threads import CallThreads
    from llmc.server.http.callers import HttpCaller
    from llmc.server.shared.authentication import SharedCallers
    from llmc.server.shared.service import SharedService
    from llmc.server.surface import Surface
    from llmc.store.shared.index import SharedIndex

__all__ = ["shared_application"]

# A server without access to the storage for this long reports that it is not ready.
UNREADY_SECONDS = 30.0
# A client requests the vectors of some hundred documents at a time.
MOST_HASHES = 1_000


def shared_application(
    contexts: SharedContexts, pool: CallThreads, url: str, largest: int, callers: SharedCallers
) -> Starlette:
    endpoint = StatelessEndpoint(contexts, pool, largest)
    rest = SharedRest(contexts, pool, url)
    app = Starlette(
        routes=[*rest.routes(), *callers.routes(), Route("/mcp", endpoint)],
        exception_handlers={HTTPException: not_routed},
        lifespan=lambda _: endpoint.running(),
    )
    app.router.redirect_slashes = False
    return app


@dataclass(frozen=True)
class SharedContexts(RequestContexts):
    """Callers without sessions: requests share no state."""

    service: SharedService

    def enter(self, caller: HttpCaller, session: str, query: Mapping[str, str]) -> RequestContext:  # noqa: ARG002 - see above
        client = replace(self.client_for(query), repositories=caller.repositories, session=caller.name)
        profile = self.service.settings_of(client).server.profile
        return RequestContext(client, ConnectedSession("http", f"{caller.owner}/", profile, "http"))

    def named(self, context: RequestContext, caller: HttpCaller, session: str) -> RequestContext:  # noqa: ARG002 - see above
        return context


class StatelessEndpoint(McpEndpoint):
    def _manager(self, server: Server[Any], largest: int) -> StreamableHTTPSessionManager:
        return StreamableHTTPSessionManager(server, stateless=True, max_request_body_size=largest)


class EnvelopeRest(Rest):
    """The endpoint for a developer's daemon, which receives complete envelopes and merges them into its own replies."""

    def _surface(self, _context: RequestContext) -> Surface:
        return ToolSurface(self.contexts.service, recorded=False, packed=True)


class SharedRest(Rest):
    contexts: SharedContexts

    def routes(self) -> list[Route]:
        envelopes = EnvelopeRest(self.contexts, self._pool, self._url)
        return [
            *super().routes(),
            Route("/ready", self.answered(self.ready)),
            Route("/vectors", self.answered(self.vectors), methods=["POST"]),
            Route("/envelopes/{name}", envelopes.answered(envelopes.call), methods=["POST"]),
        ]

    @property
    def _index(self) -> SharedIndex:
        return self.contexts.service.site.index

    async def health(self, _request: Request) -> Response:
        """Succeeds while the process runs; `/ready` reports whether it should get requests."""
        return json_bytes(encode_line({"status": "ok", "version": __version__}))

    async def ready(self, _request: Request) -> Response:
        behind = self._index.seconds_behind()
        is_ready = behind < UNREADY_SECONDS
        body: dict[str, object] = {"status": "ready" if is_ready else "not ready", "seconds_behind": round(behind, 1)}
        return json_bytes(encode_line(body), 200 if is_ready else 503)

    async def vectors(self, request: Request) -> Response:
        """The vectors of contents of a repository, for a daemon that indexes a clone of it."""
        args = await arguments(request)
        context = await self.enter(request, "")
        found = await self.in_thread(partial(self._vectors, context, args))
        sent = {name: b64encode(rows.astype("<f2").tobytes()).decode() for name, rows in found.items()}
        return json_bytes(orjson.dumps({"vectors": sent}))

    def _vectors(self, context: RequestContext, args: dict[str, Any]) -> dict[str, Vectors]:
        repo, embedder, hashes = args.get("repo"), args.get("embedder"), args.get("hashes")
        is_listed = isinstance(hashes, list) and all(isinstance(one, str) for one in hashes)
        if not isinstance(repo, str) or not isinstance(hashes, list) or not is_listed or len(hashes) > MOST_HASHES:
            raise HttpRefusal(400, "query", "a request for vectors needs `repo`, `embedder` and `hashes`")
        index = self._index
        selection = index.select(Access.of(context.client.repositories or ()), [repo], ["**"])
        if embedder != selection.description.embedder or not selection.heads:
            return {}
        return vectors_of_contents(selection.readable, hashes, selection.description.dimension)

    async def metrics(self, request: Request) -> Response:
        """Metrics over all repositories, therefore only for tokens with `metrics = true`."""
        if not request.scope[CALLER].monitors:
            raise HttpRefusal(403, "read", "this token may not read the metrics", "Set `metrics = true` for it.")
        return await super().metrics(request)

    def _metrics(self) -> str:
        return exposition_of([*answered_calls(), *shared_metrics(self._index), *process_metrics(0)])


def shared_metrics(index: SharedIndex) -> Iterator[Metric]:
    heads = [head for refs in index.snapshot.heads.values() for head in refs.values()]
    yield gauge("llmc_shared_repositories", "Published repositories.", [({}, float(len(index.snapshot.heads)))])
    yield gauge("llmc_shared_refs", "Published refs.", [({}, float(len(heads)))])
    yield gauge("llmc_shared_chunks", "Chunks of all refs.", [({}, float(sum(head.chunks for head in heads)))])
    yield gauge("llmc_shared_seconds_behind", "Seconds since the last refresh.", [({}, index.seconds_behind())])
    yield gauge("llmc_shared_trouble", "1 while the storage cannot be read.", [({}, float(bool(index.trouble)))])
    caches = index.caches
    used = {"facts": caches.facts.bytes, "references": caches.references.bytes, "contents": caches.contents.bytes}
    used["loaded"] = sum(one.size for one in caches.loaded.values())
    sizes = [({"cache": name}, float(size)) for name, size in used.items()]
    yield gauge("llmc_shared_cache_bytes", "Memory of the caches of documents.", sizes)
