"""`llmc serve` and its daemon around a surface that tests control.

    fake_mcp_server.py            the relay; it starts the daemon below when there is none
    fake_mcp_server.py --detach …  the daemon

Tools write what happens to them into `$LLMC_HOME/events`, so that tests wait on that: `read` and `shell` begin, then
wait until the file that they name is there or the call is given up.
"""

from __future__ import annotations

import os
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from llmc.base.errors import InvalidParamsError
from llmc.base.home import find_home
from llmc.client.daemon_client import Caller
from llmc.client.relay import Relay
from llmc.envelope.reply import Reply
from llmc.envelope.tool_definition import ToolDefinition
from llmc.server.__main__ import main
from llmc.server.daemon import Opened
from llmc.state.connected_sessions import ConnectedSessions, RequestContext

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Mapping

    from llmc.base.home import Home
    from llmc.envelope.request import ClientInfo, RunningRequest

LARGEST = 100_000


class TwinSurface:
    name = "twin"
    version = "1.0.0"
    instructions = "Wait."

    def __init__(self, home: Home) -> None:
        self._events = Path(home.path, "events")
        self.sessions = ConnectedSessions()

    def definitions(self, visit: RequestContext) -> tuple[ToolDefinition, ...]:  # noqa: ARG002 - the protocol's
        return tuple(ToolDefinition(name, "Wait.", {"type": "object"}) for name in ("read", "shell"))

    def unknown(self, visit: RequestContext, name: str) -> str:  # noqa: ARG002 - as above
        return "" if name in {"read", "shell"} else "no such tool"

    def call(self, visit: RequestContext, name: str, args: dict[str, Any], call: RunningRequest) -> Reply:
        if "target" not in args:
            raise InvalidParamsError("target is missing")
        self.note(f"{name} begins for {visit.session.id}")
        call.progress({"stage": "waiting", "done": 1, "total": 2})
        call.progress({"stage": "waiting", "done": 1, "total": 2})
        while not Path(args["target"]).exists():
            if call.wait(0.01):
                self.note(f"{name} cancelled")
                return Reply("cancelled")
        return Reply(f"{name} is done")

    def note(self, text: str) -> None:
        with self._events.open("a") as file:
            file.write(f"{text}\n")


class Nothing:
    """This daemon only has streams."""

    def start(self) -> None: ...

    def close(self) -> None: ...

    def busy(self) -> str | None:
        return None

    def call(self, method: str, params: dict[str, Any], call: RunningRequest) -> object:
        raise NotImplementedError


async def serve(
    surface: TwinSurface, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, client: ClientInfo
) -> None:
    from llmc.server.mcp.build import build_server
    from llmc.server.mcp.stream import converse

    server = build_server(surface, lambda _: RequestContext(client, surface.sessions.enter(client.session)))
    await converse(server, reader, writer, LARGEST)


def opened(home: Home, environ: Mapping[str, str]) -> Opened:
    return Opened(Nothing(), 60.0, {"mcp": partial(serve, TwinSurface(home))})


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(opened)
    command = [sys.executable, __file__]
    caller = Caller(find_home(os.environ), os.environ, cwd="/", session="twin", command=command)
    sys.exit(Relay(lambda: caller.connect().stream("mcp")).run())
