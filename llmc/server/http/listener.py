"""The HTTP server in the daemon: a thread with its own event loop, as long as a client keeps it open.

`llmc serve --http` is an ordinary client on the daemon's socket whose call lasts until it disconnects. Requests are
served in its workspace. Listening beyond loopback requires TLS or explicit permission; see `address`.
"""

from __future__ import annotations

import asyncio
import ssl
import threading
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from llmc.base import logs
from llmc.base.errors import ConfigError, DaemonError
from llmc.base.mcp_sdk import load_sdk
from llmc.envelope.request import RunningRequest
from llmc.server.call_threads import CallThreads
from llmc.server.http.address import Address, bind, is_loopback, parse_address
from llmc.server.http.callers import HomeCallers
from llmc.server.http.guard import HEAD_BYTES, Bounds, Guard
from llmc.server.http.logins import LOGIN, Logins
from llmc.server.http.token import Token, make_token

if TYPE_CHECKING:
    import socket

    from uvicorn import Config

    from llmc.base.home import Home
    from llmc.envelope.request import JsonObject
    from llmc.server.http.protocol import HeldServer
    from llmc.server.service import Service
    from llmc.workspace import Workspace

__all__ = ["ListenOptions", "check_options", "serve_http", "server_config"]

log = logs.get("http")

# As many as for calls on the socket.
THREADS = 16
IDLE_SECONDS = 5
# How long running requests may take when the listener stops.
GRACE_SECONDS = 2
POLL_SECONDS = 0.5


@dataclass(frozen=True, slots=True)
class ListenOptions:
    """The options of `llmc serve --http`. `names` are additional host names. `login`: a browser will be opened and
    needs a login URL."""

    address: str = ""
    names: tuple[str, ...] = ()
    cert: str = ""
    key: str = ""
    insecure: bool = False
    login: bool = False


def serve_http(service: Service, home: Home, params: JsonObject, call: RunningRequest) -> JsonObject:
    """Serve until the client disconnects; an event reports the URL."""
    options = options_of(params)
    settings = service.settings_of(call.client).server
    host, port = parse_address(options.address, settings.host, settings.port)
    check_options(options, host)
    service.workspace(call)  # report an unusable folder now, and start indexing
    make_token(home)
    sockets = bind(host, port)
    scheme = "https" if options.cert else "http"
    address = Address(host, sockets[0].getsockname()[1], scheme, options.names)
    bounds = Bounds(settings.max_request_bytes, settings.request_seconds)
    listener = Listener(service, home, call, address, bounds)
    try:
        listener.run(options, sockets, call)
    finally:
        for one in sockets:
            one.close()
    return {"url": address.url}


def options_of(params: JsonObject) -> ListenOptions:
    texts = {name: str(params.get(name) or "") for name in ("address", "cert", "key")}
    names = tuple(str(name) for name in params.get("names") or ())
    insecure, login = params.get("insecure") is True, params.get("login") is True
    return ListenOptions(texts["address"], names, texts["cert"], texts["key"], insecure, login)


def check_options(options: ListenOptions, host: str) -> None:
    if bool(options.cert) != bool(options.key):
        raise ConfigError("TLS requires a certificate and its key", hint="Pass both --tls-cert and --tls-key.")
    if options.cert:
        try:
            ssl.create_default_context(ssl.Purpose.CLIENT_AUTH).load_cert_chain(options.cert, options.key)
        except (OSError, ssl.SSLError) as error:
            names = f"{Path(options.cert).name}, {Path(options.key).name}"
            raise ConfigError(f"the TLS certificate is not usable ({names})", reason=str(error)) from None
    elif not options.insecure and not is_loopback(host):
        raise ConfigError(
            f"{host} is reachable from other machines, and the token would be sent unencrypted",
            hint="Pass --tls-cert and --tls-key, or --insecure if a proxy in front encrypts.",
        )


class Listener:
    def __init__(self, service: Service, home: Home, call: RunningRequest, address: Address, bounds: Bounds) -> None:
        self._service = service
        self._home = home
        self._client = call.client
        self._address = address
        self._bounds = bounds
        self.logins = Logins(home, address.port)
        self._ready: Future[HeldServer] = Future()

    def login_url(self) -> str:
        """A login URL for a browser, valid once and for a short time."""
        return f"{self._address.url}{LOGIN}?code={self.logins.code()}"

    def serves(self, workspace: Workspace) -> bool:
        """Whether its page shows exactly these roots, on this machine."""
        ours = self._service.workspace(RunningRequest(self._client))
        same = {one.root.id for one in ours.root_indexes} == {one.root.id for one in workspace.root_indexes}
        return same and is_loopback(self._address.host)

    def run(self, options: ListenOptions, sockets: list[socket.socket], call: RunningRequest) -> None:
        thread = threading.Thread(target=self._serve, args=(options, sockets), name="llmc-http", daemon=True)
        thread.start()
        try:
            server = self._ready.result()
        except ImportError as error:
            raise DaemonError("cannot serve HTTP", reason=str(error), hint="Reinstall llmc.") from error
        log.info("http listening", url=self._address.url)
        login = {"login": self.login_url()} if options.login else {}
        call.progress({"stage": "http", "url": self._address.url, **login})
        self._service.listeners.append(self)
        try:
            while thread.is_alive() and not call.wait(POLL_SECONDS):
                pass
        finally:
            self._service.listeners.remove(self)
        server.should_exit = True
        thread.join(GRACE_SECONDS * 3)
        log.info("http ended", url=self._address.url)

    def _serve(self, options: ListenOptions, sockets: list[socket.socket]) -> None:
        """The body of the thread."""
        try:
            with CallThreads(THREADS, "llmc-rest") as pool:
                asyncio.run(self._run(options, sockets, pool))
        except BaseException as error:  # passed to the waiting caller, or logged
            if not self._ready.done():
                self._ready.set_exception(error)
            else:
                log.exception("http failed")

    async def _run(self, options: ListenOptions, sockets: list[socket.socket], pool: CallThreads) -> None:
        load_sdk()
        from llmc.server.http.app import application  # noqa: PLC0415 - see the package's paragraph
        from llmc.server.http.protocol import HeldServer  # noqa: PLC0415 - loaded on first use
        from llmc.server.http.request_context import RequestContexts  # noqa: PLC0415 - loaded on first use

        contexts = RequestContexts(self._service, self._client)
        inner = application(contexts, pool, self._address, self._bounds.size, self.logins)
        guard = Guard(inner, self._address, HomeCallers(Token(self._home), self.logins), self._bounds)
        server = HeldServer(server_config(guard, options, self._bounds.seconds), lambda: self._ready.set_result(server))
        guard.cut = server.cut
        await server.hold(sockets)


def server_config(app: Guard, options: ListenOptions, seconds: float) -> Config:
    """How uvicorn serves; `seconds` is the timeout for the headers of a request."""
    from llmc.server.http.protocol import TimedConfig, TimedProtocol  # noqa: PLC0415 - loaded on first use

    config = TimedConfig(
        app,
        http=TimedProtocol,
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,  # otherwise a client could claim any origin
        timeout_keep_alive=IDLE_SECONDS,
        timeout_graceful_shutdown=GRACE_SECONDS,
        h11_max_incomplete_event_size=HEAD_BYTES,
        ssl_certfile=options.cert or None,
        ssl_keyfile=options.key or None,
    )
    config.seconds = seconds
    return config
