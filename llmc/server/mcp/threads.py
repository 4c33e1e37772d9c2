"""Where whatever takes time is done, so that the daemon's loop never waits for it."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["in_thread"]

# As many as the calls of the socket have: each costs an arena of memory, and the GIL makes more useless.
THREADS = 16

Answer = TypeVar("Answer")

_pool = ThreadPoolExecutor(THREADS, "llmc-mcp")


async def in_thread(act: Callable[[], Answer]) -> Answer:
    return await asyncio.get_running_loop().run_in_executor(_pool, act)
