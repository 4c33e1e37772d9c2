"""The options that hold for every command, and how a command reaches the daemon with them.

A command asks with `options.ask("status")` and need not know whether a daemon answered or this very process did
(`--no-daemon`). Nothing here reads settings: folder, variables and flags are sent along, and the daemon reads them.
"""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from llmc.base.home import Home, find_home

if TYPE_CHECKING:
    from collections.abc import Callable

    from llmc.client.daemon_client import Caller, DaemonConnection

    OnEvent = Callable[[dict[str, Any]], None]

__all__ = ["Options", "global_options", "pass_options"]


class Options:
    """What the user said to `llmc` itself."""

    def __init__(self) -> None:
        self.roots: tuple[str, ...] = ()
        self.config = ""
        self.set: tuple[str, ...] = ()
        self.no_daemon = False
        self.json = False
        self.plain = False
        self.quiet = False
        self.verbose = 0
        self.named = False  # whether the variables that the settings name are sent along; servers need them

    @property
    def home(self) -> Home:
        return find_home(os.environ)

    @property
    def caller(self) -> Caller:
        from llmc.client.daemon_client import Caller

        roots = [f"roots={os.path.abspath(root)}" for root in self.roots]  # noqa: PTH100 - pathlib costs 5 ms
        made = Caller(self.home, os.environ, cwd=_cwd(), flags=[*self.set, *roots], config=self.config, notify=self.say)
        if self.named:
            from llmc.cli._env import named_variables

            made.about["environ"].update(named_variables(self.config, os.environ))
        return made

    def about(self) -> dict[str, Any]:
        """What settings are made of where this process stands: `cwd`, `flags`, `config`."""
        return self.caller.about

    def ask(self, method: str, params: dict[str, Any] | None = None, *, on_event: OnEvent | None = None) -> Any:
        """One call that may be asked twice, by the daemon or in this process."""
        if self.no_daemon:
            from llmc.server.local import ask_here

            return ask_here(self.caller, method, params or {}, on_event=on_event)
        return self.caller.ask(method, params, on_event=on_event)

    def connect(self, *, start: bool = True) -> DaemonConnection:
        return self.caller.connect(start=start)

    def say(self, text: str) -> None:
        """A word to the person at the terminal; never on stdout."""
        if not self.quiet:
            click.echo(f"llmc: {text}", err=True)


pass_options = click.make_pass_decorator(Options)


def global_options(*, hidden: bool = False) -> list[click.Parameter]:
    """The options of `llmc` itself; commands get hidden copies, so that they may stand on either side."""
    option = partial(click.Option, expose_value=False, callback=_remember, hidden=hidden)
    return [
        option(["--root", "roots"], multiple=True, metavar="DIR", help="A folder to work in; may be repeated."),
        option(["--config", "config"], metavar="FILE", help="Settings instead of the workspace's llmc.toml."),
        option(["--set", "set"], multiple=True, metavar="KEY=VALUE", help="One setting, above all files."),
        option(["--no-daemon", "no_daemon"], is_flag=True, help="Do everything in this process."),
        option(["--json", "json"], is_flag=True, help="Answer in JSON."),
        option(["--plain", "plain"], is_flag=True, help="No colour, no tables, no bars."),
        option(["-q", "--quiet", "quiet"], is_flag=True, help="Say nothing but the answer."),
        option(["-v", "--verbose", "verbose"], count=True, help="Say more."),
    ]


def _remember(context: click.Context, parameter: click.Parameter, value: Any) -> None:
    """Both places count; the one behind the command wins."""
    options = context.find_object(Options)
    if options is not None and value and parameter.name is not None:
        setattr(options, parameter.name, value)


def _cwd() -> str:
    try:
        return os.getcwd()  # noqa: PTH109 - pathlib costs 5 ms
    except FileNotFoundError:
        from llmc.base.errors import RootError

        raise RootError("the current folder no longer exists", hint="Change to another one.") from None
