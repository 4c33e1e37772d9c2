"""`llmc stop`: stops the daemon and waits until it has exited."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from typing import TYPE_CHECKING

import click

from llmc.base.errors import DaemonError
from llmc.cli._options import Options, pass_options

if TYPE_CHECKING:
    from llmc.base.daemon_lock import Owner
    from llmc.base.home import Home

# The daemon waits 5 s for replies and 30 s for the handler to close; see `server.daemon`.
PATIENCE_SECONDS = 40.0
FORCE_SECONDS = 2.0
POLL_SECONDS = 0.02


@click.command()
@click.option("--force", is_flag=True, help="Kill the daemon if it does not respond.")
@pass_options
def command(options: Options, *, force: bool) -> None:
    """Stop the index daemon.

    The daemon finishes or rolls back its current write. The next command that needs it starts it again.
    """
    from llmc.base.daemon_lock import read_owner

    owner = read_owner(options.home)
    if owner is None:
        _answer(options, "no daemon is running", stopped=False, pid=None)
        return
    stop_daemon(options.home, owner, force=force)
    _answer(options, f"stopped the index daemon (pid {owner.pid})", stopped=True, pid=owner.pid)


def stop_daemon(home: Home, owner: Owner, *, force: bool) -> None:
    received = _request_stop(home, owner)
    if not wait_until_stopped(home, PATIENCE_SECONDS if not force else FORCE_SECONDS if received else 0.0):
        _kill(home, force=force)


def _request_stop(home: Home, owner: Owner) -> bool:
    """Ask over the socket, or with a signal if nothing listens there; whether the request was received.

    Every version of the daemon understands this request.
    """
    from llmc.client.connection import dial

    peer = dial(home)
    if peer is not None:
        with contextlib.closing(peer), contextlib.suppress(OSError):
            peer.settimeout(FORCE_SECONDS)
            peer.sendall(b'{"id":1,"method":"stop"}\n')
            return bool(peer.recv(65_536))
    elif owner.pid:
        with contextlib.suppress(ProcessLookupError):
            os.kill(owner.pid, signal.SIGTERM)
            return True
    return False


def wait_until_stopped(home: Home, seconds: float) -> bool:
    """Wait until the daemon's lock is free; False after `seconds`. The socket closes a little earlier."""
    from llmc.base.daemon_lock import read_owner

    deadline = time.monotonic() + seconds
    while read_owner(home) is not None:
        if time.monotonic() > deadline:
            return False
        time.sleep(POLL_SECONDS)
    return True


def _kill(home: Home, *, force: bool) -> None:
    """Kill the process that holds the lock now, so that a reused pid is never killed."""
    from llmc.base.daemon_lock import read_owner

    owner = read_owner(home)
    if owner is None or not owner.pid:
        return
    if not force:
        raise DaemonError(
            "the daemon does not stop", reason=owner.describe(), hint="`llmc stop --force` kills it; no data is lost."
        )
    os.kill(owner.pid, signal.SIGKILL)
    if not wait_until_stopped(home, FORCE_SECONDS):
        raise DaemonError("the daemon cannot be killed", reason=owner.describe())


def _answer(options: Options, text: str, *, stopped: bool, pid: int | None) -> None:
    if options.json:
        import json

        click.echo(json.dumps({"stopped": stopped, "pid": pid}))
    elif not options.quiet:
        click.echo(text)
