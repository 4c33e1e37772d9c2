"""How many requests are worked on at once: in all, and for each client.

A client is a token's owner at an address. Health checks are never refused, and neither are the standing streams of MCP
sessions, which wait for hours and cost nothing; how many sessions there may be is `mcp_sessions`'s.
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

# A sixteenth of them has a thread at any moment; more would only wait longer.
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
        """In the loop's thread. Raises `HttpRefusal` when there is no room."""
        if scope["path"] in ALWAYS or (scope["path"] == "/mcp" and scope["method"] == "GET"):
            yield
            return
        client = (owner, str((scope.get("client") or ("",))[0]))
        if self._running[client] >= self._of_client or self._running.total() >= self._most:
            raise HttpRefusal(503, "busy", "too many requests at once", "Ask again when some of them are answered.")
        self._running[client] += 1
        try:
            yield
        finally:
            self._running[client] -= 1
            if not self._running[client]:
                del self._running[client]
