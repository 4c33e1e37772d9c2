"""The threads of MCP requests, so that the daemon's event loop never waits for one."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from llmc.server.call_threads import CallThreads

if TYPE_CHECKING:
    from collections.abc import Callable

    from llmc.envelope.request import RunningRequest

__all__ = ["in_thread"]

# As many as for calls on the socket: each costs a memory arena, and the GIL makes more useless.
THREADS = 16

Answer = TypeVar("Answer")

_pool = CallThreads(THREADS, "llmc-mcp")


async def in_thread(act: Callable[[], Answer], call: RunningRequest | None = None) -> Answer:
    """Run `act` in a thread; `CallLimitError` when it takes too long or uses too much memory."""
    return await _pool.run(act, call)
