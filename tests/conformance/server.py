"""The HTTP application of `llmc serve --http` with the suite's fixtures in it: `python server.py PORT`.

The suite sends no token, so that each request is given it here, in front of the guard; everything behind is the
product's own, from the exact Host check to the sessions.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import uvicorn
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

sys.path.insert(0, str(Path(__file__).parent))

from events import Events
from fixtures import with_fixtures

from llmc.base.home import Home
from llmc.envelope.request import ClientInfo
from llmc.server.call_threads import CallThreads
from llmc.server.http import app as http_app
from llmc.server.http.address import Address
from llmc.server.http.callers import HomeCallers
from llmc.server.http.guard import Bounds, Guard
from llmc.server.http.logins import Logins
from llmc.server.http.request_context import RequestContexts
from llmc.server.http.token import Token, make_token
from llmc.server.local import open_service
from llmc.server.mcp.build import build_server

if TYPE_CHECKING:
    from mcp.server.lowlevel import Server
    from starlette.types import ASGIApp, Receive, Scope, Send

DEMO = Path(__file__).parents[2] / "data" / "demo"
LARGEST = 4 << 20


def build_with_fixtures(*args: Any, **options: Any) -> Server[Any]:
    return with_fixtures(build_server(*args, **options))


class Admitted:
    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app = app
        self._header = (b"authorization", f"Bearer {token}".encode())

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            scope = {**scope, "headers": [*scope["headers"], self._header]}
        await self._app(scope, receive, send)


class Resumable(StreamableHTTPSessionManager):
    """A stream that is closed in the middle can be taken up again: one scenario is about that."""

    def __init__(self, app: Server[Any], **options: Any) -> None:
        super().__init__(app, **{**options, "event_store": Events(), "retry_interval": 100})


def main(port: int) -> None:
    vars(http_app).update(build_server=build_with_fixtures, StreamableHTTPSessionManager=Resumable)
    with tempfile.TemporaryDirectory() as folder, CallThreads(8, "conformance") as pool:
        home = Home(folder)
        home.make()
        service: Any = open_service(home, {**os.environ, "LLMC_HOME": folder}).handler
        address = Address("127.0.0.1", port)
        client = ClientInfo(os.getpid(), "conformance", str(DEMO))
        logins = Logins(home, port)
        inner = http_app.application(RequestContexts(service, client), pool, address, LARGEST, logins)
        token = make_token(home)
        app = Admitted(Guard(inner, address, HomeCallers(Token(home), logins), Bounds(LARGEST, 30)), token)
        uvicorn.run(app, host="127.0.0.1", port=port, log_level="warning", lifespan="on")
        service.close()


if __name__ == "__main__":
    main(int(sys.argv[1]))
