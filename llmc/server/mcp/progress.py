"""Sends the progress events of a call as MCP progress notifications.

Events arrive in the call's thread and are sent by the loop, in order. The protocol requires an increasing number; an
event without one counts as one step.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mcp.server.context import ServerRequestContext

    from llmc.envelope.request import JsonObject

__all__ = ["McpProgress"]


class McpProgress:
    def __init__(self, context: ServerRequestContext[Any, Any]) -> None:
        self._session = context.session
        self._loop = asyncio.get_running_loop()
        self._last = -1.0

    def emit(self, event: JsonObject) -> None:
        done, total = event.get("done"), event.get("total")
        counted = isinstance(done, int | float) and isinstance(total, int | float) and total > 0
        value = float(done) if counted and isinstance(done, int | float) else self._last + 1
        if value <= self._last:
            return
        self._last = value
        sending = self._session.report_progress(value, float(total) if counted and total else None, words(event))
        asyncio.run_coroutine_threadsafe(sending, self._loop)


def words(event: JsonObject) -> str | None:
    text = event.get("message") or event.get("stage")
    return str(text) if text else None
