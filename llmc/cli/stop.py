"""`llmc stop`: end the daemon, and wait until it has gone."""

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

# Replies have 5 s, the handler 30 s to end; see `server.daemon`.
PATIENCE_SECONDS = 40.0
FORCE_SECONDS = 2.0
LOOK_SECONDS = 0.02


@click.command()
@click.option("--force", is_flag=True, help="Kill it when it does not answer.")
@pass_options
def command(options: Options, *, force: bool) -> None:
    """End the index daemon.

    It finishes or rolls back what it is writing. The next command that needs it starts it again.
    """
    from llmc.base.daemon_lock import read_owner

    owner = read_owner(options.home)
    if owner is None:
        _answer(options, "no daemon is running", stopped=False, pid=None)
        return
    heard = _ask(options.home, owner)
    if not has_gone(options.home, PATIENCE_SECONDS if not force else FORCE_SECONDS if heard else 0.0):
        _kill(options.home, force=force)
    _answer(options, f"stopped the index daemon (pid {owner.pid})", stopped=True, pid=owner.pid)


def _ask(home: Home, owner: Owner) -> bool:
    """By the socket, or with a signal when nobody listens there. Any version understands this. Whether it was heard."""
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


def has_gone(home: Home, seconds: float) -> bool:
    """Whether nobody holds the lock any more, within so many seconds; the socket closes a little earlier."""
    from llmc.base.daemon_lock import read_owner

    deadline = time.monotonic() + seconds
    while read_owner(home) is not None:
        if time.monotonic() > deadline:
            return False
        time.sleep(LOOK_SECONDS)
    return True


def _kill(home: Home, *, force: bool) -> None:
    """The pid is that of whoever holds the lock at this moment, so it cannot be a stranger's."""
    from llmc.base.daemon_lock import read_owner

    owner = read_owner(home)
    if owner is None or not owner.pid:
        return
    if not force:
        raise DaemonError(
            "the daemon does not end", reason=owner.describe(), hint="`llmc stop --force` kills it; nothing is lost."
        )
    os.kill(owner.pid, signal.SIGKILL)
    if not has_gone(home, FORCE_SECONDS):
        raise DaemonError("the daemon cannot be killed", reason=owner.describe())


def _answer(options: Options, text: str, *, stopped: bool, pid: int | None) -> None:
    if options.json:
        import json

        click.echo(json.dumps({"stopped": stopped, "pid": pid}))
    elif not options.quiet:
        click.echo(text)
