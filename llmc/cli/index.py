"""`llmc index`: build the index of the roots and keep it right.

In the foreground this process becomes the daemon and its terminal the view on it; when a daemon runs already, it looks
on at that one. Either way the view is an ordinary client of the socket.
"""

from __future__ import annotations

import json
import os
import threading
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from llmc.base.errors import DaemonGoneError, DaemonRunningError, LlmcError, StoreError
from llmc.base.paths import shown
from llmc.cli._options import Options, pass_options
from llmc.cli._progress import view_for
from llmc.cli._render import count, duration

if TYPE_CHECKING:
    from collections.abc import Callable

INTERRUPTED = 130


@click.command()
@click.argument("folders", metavar="[ROOT]...", nargs=-1)
@click.option("--once", is_flag=True, help="Build, say what was done, and exit.")
@click.option("--detach", is_flag=True, help="Leave the work to the daemon in the background.")
@click.option("--verify", is_flag=True, help="Hold the index against the disk; exit 1 if anything differs.")
@click.option("--rebuild", is_flag=True, help="Throw the index of these roots away and make it anew.")
@pass_options
def command(options: Options, /, folders: tuple[str, ...], **flags: bool) -> int:
    """Build the index of the roots and keep it right.

    Without ROOT: the roots of the settings, or else the git work tree of the current folder. It stays in the foreground
    and watches, until Ctrl-C; the index is kept.
    """
    if flags["detach"] and options.no_daemon:
        raise click.UsageError("--detach needs the daemon that --no-daemon forbids.")
    params: dict[str, Any] = {"roots": [str(Path(folder).absolute()) for folder in folders], **flags}
    if options.no_daemon:
        return _finish(options, _with_view(options, partial(options.ask, "index", params), watching=not _ends(params)))
    return _once(options, params) if _ends(params) else _foreground(options, params)


def _ends(params: dict[str, Any]) -> bool:
    return bool(params["once"] or params["verify"] or params["detach"])


def _once(options: Options, params: dict[str, Any]) -> int:
    """Asked once and not again: a person who stops the daemon does not want it back."""
    with options.connect() as connection:
        result = _with_view(options, partial(connection.call, "index", params), watching=False)
    if params["detach"]:
        options.say("indexing in the background; `llmc status` shows how far it is")
    return _finish(options, result)


def _with_view(options: Options, ask: Callable[..., Any], *, watching: bool) -> Any:
    view = view_for(options, watching=watching)
    try:
        return ask(on_event=view.show)
    finally:
        view.close()


def _foreground(options: Options, params: dict[str, Any]) -> int:
    from llmc.server.daemon import end_now

    try:
        end_now(_Foreground(options, params).run())
    except DaemonRunningError as running:
        options.say(f"looking on at the daemon that runs ({running.reason})")
        with options.connect() as connection:
            _with_view(options, partial(connection.call, "index", params), watching=True)
        return 0


class _Foreground:
    """The daemon in this process, and a client of it that draws."""

    def __init__(self, options: Options, params: dict[str, Any]) -> None:
        from llmc.server.daemon import Daemon
        from llmc.server.local import open_service

        self._options = options
        self._params = params
        self._error: LlmcError | None = None
        self._view = threading.Thread(target=self._look, name="llmc-view", daemon=True)
        build = partial(open_service, options.home, os.environ)
        command = "llmc index in the foreground"
        self._daemon = Daemon(options.home, build, command=command, foreground=True, on_ready=self._view.start)

    def run(self) -> int:
        """130 after Ctrl-C, 0 when it was stopped otherwise; what went wrong is raised."""
        self._daemon.run()
        self._view.join(timeout=1)
        if self._error is not None and not isinstance(self._error, DaemonGoneError):
            raise self._error
        return INTERRUPTED if self._daemon.left_for == "SIGINT" else 0

    def _look(self) -> None:
        try:
            with self._options.connect(start=False) as connection:
                _with_view(self._options, partial(connection.call, "index", self._params), watching=True)
        except LlmcError as error:
            self._error = error
        finally:
            self._daemon.stop("the index command has ended")


def _finish(options: Options, result: dict[str, Any]) -> int:
    """Say what was done; 1 when `--verify` found a difference, 3 when a root could not be indexed."""
    if options.json:
        click.echo(json.dumps(result, indent=2))
    elif not options.quiet:
        for root in result["roots"]:
            skipped, failed = count(root["skipped"]), count(root["failed"])
            done = f"{count(root['indexed'], 'file')} indexed, {skipped} skipped, {failed} failed"
            click.echo(f"{shown(root['path'])}: {done} in {duration(result['seconds'])}")
        for each in result["differences"]:
            click.echo(f"{each['kind']} {shown(each['path'])}: {shown(each['detail'])}")
    troubles = [root["error"] for root in result["roots"] if root["error"]]
    for trouble in troubles:
        click.echo(f"llmc: {shown(trouble)}", err=True)
    return StoreError.exit_code if troubles else 1 if result["differences"] else 0
