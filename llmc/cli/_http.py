"""`llmc serve --http` and `llmc ui`: keep an HTTP server open in the daemon while this process runs.

If the daemon dies, it is restarted and listens at the same address. If a newer llmc replaces it, the new daemon
listens. If a person stops it, this process ends too.
"""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from llmc.base.errors import DaemonGoneError
from llmc.client.connection import ConnectionLostError

if TYPE_CHECKING:
    from collections.abc import Callable

    from llmc.cli._options import Options

__all__ = ["serve_http"]

# A newer llmc that replaces the daemon has its own running within a few seconds.
SUCCESSOR_SECONDS = 10.0
MOST_RESTARTS = 5


def serve_http(
    options: Options,
    address: str,
    *,
    cert: str = "",
    key: str = "",
    names: tuple[str, ...] = (),
    insecure: bool = False,
    on_login: Callable[[str], None] | None = None,
) -> int:
    """`on_login` receives the address that logs in one browser, once."""
    paths = {"cert": _absolute(cert), "key": _absolute(key)}
    params: dict[str, Any] = {"address": address, **paths, "names": list(names), "insecure": insecure}
    params["login"] = on_login is not None
    reporter = _ListenReporter(options, params, on_login)
    if options.no_daemon:
        options.ask("http", params, on_event=reporter)
        return 0
    start = True
    for _ in range(MOST_RESTARTS):
        try:
            with options.connect(start=start) as connection:
                connection.call("http", params, on_event=reporter)
                return 0
        except ConnectionLostError:
            if not reporter.listening:
                raise
            options.notify("the daemon died; restarting it")
            start = True
        except DaemonGoneError:
            if not reporter.listening or not _successor(options):
                raise
            start = False
    raise DaemonGoneError("the daemon keeps crashing", hint="Run `llmc doctor` to look for the cause.")


class _ListenReporter:
    """Prints the address, and requests the same address after a restart."""

    def __init__(self, options: Options, params: dict[str, Any], on_login: Callable[[str], None] | None = None) -> None:
        self._options = options
        self._on_login = on_login
        self._params = params
        self.listening = False

    def __call__(self, event: dict[str, Any]) -> None:
        url = str(event["url"])
        self._params["address"] = url.partition("://")[2]
        if self.listening:
            self._options.notify(f"listening again at {url}")
            return
        self.listening = True
        if self._on_login is not None:
            self._on_login(str(event["login"]))
            self._options.notify("listening until Ctrl-C")
            return
        if self._options.json:
            click.echo(json.dumps({"url": url}))
            return
        click.echo(f"listening at {url} (MCP at {url}/mcp; `llmc ui` opens the page)")
        self._options.notify("clients send `Authorization: Bearer TOKEN`; `llmc token show` prints it")
        if self._params["insecure"]:
            self._options.notify("no TLS: anyone who can read the network traffic can read the token")


def _successor(options: Options) -> bool:
    """Wait for a daemon that replaces the one that left; False if none appears."""
    deadline = time.monotonic() + SUCCESSOR_SECONDS
    while time.monotonic() < deadline:
        try:
            options.connect(start=False).close()
        except DaemonGoneError:
            time.sleep(0.2)
        else:
            return True
    return False


def _absolute(path: str) -> str:
    return str(Path(path).absolute()) if path else ""
