"""Runs a shared server in this process until it is stopped."""

from __future__ import annotations

import asyncio
import os
import signal
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from llmc.base import logs
from llmc.base.home import Home
from llmc.base.mcp_sdk import load_sdk
from llmc.envelope.redact.redactor import Redactor
from llmc.envelope.request import ClientInfo
from llmc.server.call_threads import CallThreads
from llmc.server.http.address import Address, bind, parse_address
from llmc.server.http.guard import Bounds, Guard
from llmc.server.http.listener import ListenOptions, check_options, server_config
from llmc.server.http.protocol import HeldServer
from llmc.server.shared.app import SharedContexts, shared_application
from llmc.server.shared.authentication import SharedCallers
from llmc.server.shared.service import SharedService
from llmc.store.shared.index import SharedIndex

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Iterator

    from llmc.settings import Settings

__all__ = ["SharedServerOptions", "serve_shared"]

# More threads than in a local server, since calls mostly wait for the storage.
THREADS = 32


@dataclass(frozen=True, slots=True)
class SharedServerOptions:
    url: str
    listen: ListenOptions = field(default_factory=ListenOptions)


def serve_shared(options: SharedServerOptions, settings: Settings, report: Callable[[str], None]) -> None:
    """Serve until SIGTERM or SIGINT. `report` receives the URL when the server is ready."""
    host, port = parse_address(options.listen.address, settings.server.host, settings.server.port)
    check_options(options.listen, host)
    sockets = bind(host, port)
    try:
        scheme = "https" if options.listen.cert else "http"
        address = Address(host, sockets[0].getsockname()[1], scheme, options.listen.names)
        callers = SharedCallers(settings.shared, address.url)
        with opened_service(options.url, settings) as service:
            asyncio.run(SharedServer(service, callers, address, options.listen).run(sockets, report))
    finally:
        for one in sockets:
            one.close()


@contextmanager
def opened_service(url: str, settings: Settings) -> Iterator[SharedService]:
    redactor = Redactor.of(settings.redaction)
    logs.log_to_stderr(level=settings.daemon.log_level, clean=lambda text: redactor.redact(text).text)
    index = SharedIndex.open(url)
    with tempfile.TemporaryDirectory(prefix="llmc-shared-") as folder:
        home = Home(folder)
        home.make()
        service = SharedService(settings, home, index)
        index.follow()
        try:
            yield service
        finally:
            index.close()
            service.close()


@dataclass(frozen=True, slots=True)
class SharedServer:
    service: SharedService
    callers: SharedCallers
    address: Address
    listen: ListenOptions

    async def run(self, sockets: list[socket.socket], report: Callable[[str], None]) -> None:
        load_sdk()
        settings = self.service.settings.server
        bounds = Bounds(settings.max_request_bytes, settings.request_seconds)
        contexts = SharedContexts(self.service, ClientInfo(os.getpid(), "shared"))
        with CallThreads(THREADS, "llmc-rest") as pool:
            app = shared_application(contexts, pool, self.address.url, bounds.size, self.callers)
            guard = Guard(app, self.address, self.callers, bounds)
            held = HeldServer(server_config(guard, self.listen, bounds.seconds), lambda: report(self.address.url))
            guard.cut = held.cut
            loop = asyncio.get_running_loop()
            for one in (signal.SIGTERM, signal.SIGINT):
                loop.add_signal_handler(one, setattr, held, "should_exit", True)
            await held.hold(sockets)
