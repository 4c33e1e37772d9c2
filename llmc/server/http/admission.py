"""Limits the number of concurrent requests, in total and per client.

A client is the owner of a token at an address. Health checks are never refused, and neither are the long-lived streams
of MCP sessions, which cost nothing; `mcp_sessions` limits the number of sessions.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from typing import TYPE_CHECKING

from llmc.server.http.refusals import HttpRefusal

if TYPE_CHECKING:
    from collections.abc import Iterator

    from starlette.types import Scope

__all__ = ["Admission"]

# A sixteenth of them has a thread at any time; more would only wait longer.
MOST_REQUESTS = 256
MOST_OF_CLIENT = 128
ALWAYS = frozenset({"/health", "/metrics"})


class Admission:
    def __init__(self, most: int = MOST_REQUESTS, of_client: int = MOST_OF_CLIENT) -> None:
        self._most = most
        self._of_client = of_client
        self._running: Counter[tuple[str, str]] = Counter()

    @contextlib.contextmanager
    def admit(self, scope: Scope, owner: str) -> Iterator[None]:
        """Count the request; `HttpRefusal` at the limit. Call this in the thread of the loop."""
        if scope["path"] in ALWAYS or (scope["path"] == "/mcp" and scope["method"] == "GET"):
            yield
            return
        client = (owner, str((scope.get("client") or ("",))[0]))
        if self._running[client] >= self._of_client or self._running.total() >= self._most:
            raise HttpRefusal(503, "busy", "too many concurrent requests", "Try again when some of them are answered.")
        self._running[client] += 1
        try:
            yield
        finally:
            self._running[client] -= 1
            if not self._running[client]:
                del self._running[client]
