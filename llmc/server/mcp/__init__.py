"""mcp: the Model Context Protocol, implemented with the official SDK inside the daemon.

    build.py    build_server(surface, enter) -> mcp.server.lowlevel.Server
                  surface: a `server.surface.Surface`: the tools (`ToolSurface(service, profile)`)
                  enter:   ServerRequestContext -> `RequestContext(client, session)`: the origin of a request
                The server supports every revision that the SDK does; mount it with `server.run(...)` over streams or
                `server.streamable_http_app(...)` over HTTP. `named_session(ctx)` is the session id in a request.
    stream.py   one client on the daemon's socket (`llmc serve` is at the other end)

Nothing is imported here: `import mcp` takes 0.8 s and 42 MB, which the daemon pays once, in `warm`, and the CLI never.
"""

from __future__ import annotations

import asyncio
import threading
from importlib import import_module
from typing import TYPE_CHECKING

from llmc.base.mcp_sdk import load_sdk

if TYPE_CHECKING:
    from types import ModuleType

    from llmc.envelope.request import ClientInfo
    from llmc.server.service import Service

__all__ = ["serve", "warm"]


def _load() -> ModuleType:
    load_sdk()
    return import_module("llmc.server.mcp.stream")


def warm() -> None:
    """Import the SDK in a thread, so that the first client does not wait for it."""
    threading.Thread(target=_load, name="llmc-warm", daemon=True).start()


async def serve(
    service: Service, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, client: ClientInfo
) -> None:
    """Serve a client on the daemon's socket until it disconnects."""
    stream = await asyncio.get_running_loop().run_in_executor(None, _load)
    await stream.serve(service, reader, writer, client)
