"""Starts a client's downstream servers, and announces changes of its tool list.

Servers start in the fleet's thread. When one changes, a thread checks whether the client's tool list is outdated, and
the loop of the connection sends the notification.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from typing import TYPE_CHECKING, Any

from llmc.base import logs
from llmc.base.errors import LlmcError
from llmc.server.mcp.threads import in_thread
from llmc.server.surface import ToolSurface
from llmc.state.connected_sessions import RequestContext

if TYPE_CHECKING:
    from llmc.envelope.request import ClientInfo
    from llmc.server.service import Service
    from llmc.server.surface import Surface

__all__ = ["Listening"]

log = logs.get("mcp")


class Listening:
    """`begin` runs once, in a thread; everything else when the state of a server changes."""

    def __init__(self, service: Service, client: ClientInfo, standing: Any, surface: Surface, server: Any) -> None:
        self._service = service
        self._client = client
        self._standing = standing
        self._surface = surface
        self._server = server
        self._loop = asyncio.get_running_loop()
        self._telling: set[asyncio.Task[None]] = set()

    def begin(self) -> None:
        """Start the servers; profiles with their own contract and clients with invalid settings have none."""
        if not isinstance(self._surface, ToolSurface):
            return
        with contextlib.suppress(LlmcError):
            settings = self._service.settings_of(self._client)
            if settings.daemon.log_level == "debug":
                logging.getLogger("llmc.delegates").setLevel(logging.DEBUG)
            if settings.mcps:
                self._service.fleet.listen(self._client.session, self._changed)
                self._service.extra_tools(self._client, settings)

    def _changed(self) -> None:
        with contextlib.suppress(RuntimeError):  # the loop has ended
            self._loop.call_soon_threadsafe(self._begin_to_tell)

    def _begin_to_tell(self) -> None:
        task = self._loop.create_task(self._tell())
        self._telling.add(task)
        task.add_done_callback(self._telling.discard)

    async def _tell(self) -> None:
        assert isinstance(self._surface, ToolSurface)
        session = self._service.sessions.enter(self._client.session, profile=self._standing.profile)
        try:
            if await in_thread(lambda: self._is_stale(session)):
                session.changed = False
                await self._server.announce()
        except Exception:
            log.exception("could not announce changed tools")

    def _is_stale(self, session: Any) -> bool:
        assert isinstance(self._surface, ToolSurface)
        return self._surface.is_stale(RequestContext(self._client, session))
