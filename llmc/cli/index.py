"""`llmc index`: build the index of the roots and keep it up to date.

In the foreground, this process becomes the daemon and prints its progress. If a daemon is already running, this process
follows that one. In both cases the view is an ordinary client of the socket.
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
@click.option("--once", is_flag=True, help="Build the index, print a summary, and exit.")
@click.option("--detach", is_flag=True, help="Let the daemon build the index in the background.")
@click.option("--verify", is_flag=True, help="Compare the index with the disk; exit 1 on differences.")
@click.option("--rebuild", is_flag=True, help="Delete the index of these roots and rebuild it.")
@click.option("--pause", is_flag=True, help="Stop indexing these roots until --resume, or until the daemon stops.")
@click.option("--resume", is_flag=True, help="Continue indexing after --pause.")
@pass_options
def command(options: Options, /, folders: tuple[str, ...], **flags: bool) -> int:
    """Build the index of the roots and keep it up to date.

    Without ROOT, the roots in the settings are used, or else the git work tree of the current folder. The command stays
    in the foreground and watches for changes until Ctrl-C; the index remains.
    """
    if flags["detach"] and options.no_daemon:
        raise click.UsageError("--detach cannot be combined with --no-daemon.")
    if flags["pause"] or flags["resume"]:
        return _pause(options, folders, flags)
    params: dict[str, Any] = {"roots": [str(Path(folder).absolute()) for folder in folders], **flags}
    if options.no_daemon:
        return _finish(options, _with_view(options, partial(options.ask, "index", params), watching=not _ends(params)))
    return _once(options, params) if _ends(params) else _foreground(options, params)


def _pause(options: Options, folders: tuple[str, ...], flags: dict[str, bool]) -> int:
    others = [name for name in ("once", "detach", "verify", "rebuild") if flags[name]]
    if options.no_daemon or others or (flags["pause"] and flags["resume"]):
        raise click.UsageError("--pause and --resume are used alone, and with a daemon.")
    result = options.ask("index", {"roots": [str(Path(folder).absolute()) for folder in folders], **flags})
    if options.json:
        click.echo(json.dumps(result, indent=2))
    elif not options.quiet:
        for root in result["roots"]:
            left = f", {count(root['pending'], 'change')} left to index" if root["pending"] else ""
            click.echo(f"{shown(root['path'])}: {'paused' if flags['pause'] else 'resumed'}{left}")
    return 0


def _ends(params: dict[str, Any]) -> bool:
    return bool(params["once"] or params["verify"] or params["detach"])


def _once(options: Options, params: dict[str, Any]) -> int:
    """Call once without retrying: if a person stops the daemon, it should not be restarted."""
    with options.connect() as connection:
        result = _with_view(options, partial(connection.call, "index", params), watching=False)
    if params["detach"]:
        options.notify("indexing in the background; `llmc status` shows the progress")
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
        options.notify(f"following the running daemon ({running.reason})")
        with options.connect() as connection:
            _with_view(options, partial(connection.call, "index", params), watching=True)
        return 0


class _Foreground:
    """The daemon in this process, and a client thread that prints its progress."""

    def __init__(self, options: Options, params: dict[str, Any]) -> None:
        from llmc.server.daemon import Daemon
        from llmc.server.local import open_service

        self._options = options
        self._params = params
        self._error: LlmcError | None = None
        self._view = threading.Thread(target=self._show_progress, name="llmc-view", daemon=True)
        build = partial(open_service, options.home, os.environ)
        command = "llmc index in the foreground"
        self._daemon = Daemon(options.home, build, command=command, foreground=True, on_ready=self._view.start)

    def run(self) -> int:
        """The exit code: 130 after Ctrl-C, 0 if the daemon was stopped otherwise. Errors are raised."""
        self._daemon.run()
        self._view.join(timeout=1)
        if self._error is not None and not isinstance(self._error, DaemonGoneError):
            raise self._error
        return INTERRUPTED if self._daemon.exit_reason == "SIGINT" else 0

    def _show_progress(self) -> None:
        try:
            with self._options.connect(start=False) as connection:
                _with_view(self._options, partial(connection.call, "index", self._params), watching=True)
        except LlmcError as error:
            self._error = error
        finally:
            self._daemon.stop("the index command has ended")


def _finish(options: Options, result: dict[str, Any]) -> int:
    """Print a summary; the exit code is 1 if `--verify` found differences, 3 if a root could not be indexed."""
    if options.json:
        click.echo(json.dumps(result, indent=2))
    elif not options.quiet:
        for root in result["roots"]:
            skipped, failed = count(root["skipped"]), count(root["failed"])
            summary = f"{count(root['indexed'], 'file')} indexed, {skipped} skipped, {failed} failed"
            click.echo(f"{shown(root['path'])}: {summary} in {duration(result['seconds'])}")
        for each in result["differences"]:
            click.echo(f"{each['kind']} {shown(each['path'])}: {shown(each['detail'])}")
    errors = [root["error"] for root in result["roots"] if root["error"]]
    for error in errors:
        click.echo(f"llmc: {shown(error)}", err=True)
    return StoreError.exit_code if errors else 1 if result["differences"] else 0
