"""The global options of `llmc`, as click reads them; `_call_options` has their values and what is done with them."""

from __future__ import annotations

from functools import partial
from typing import Any

import click

from llmc.cli._call_options import Options, referenced_variables

__all__ = ["Options", "SecondaryOption", "global_options", "pass_options", "referenced_variables"]


class SecondaryOption(click.Option):
    """An option that `--help` lists only by name, since agents pay for every line; `--help --all` describes it."""

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        options = ctx.find_object(Options)
        return super().get_help_record(ctx) if options is None or options.full_help else None


pass_options = click.make_pass_decorator(Options)


def global_options(*, hidden: bool = False) -> list[click.Parameter]:
    """The options of `llmc` itself. Each command gets hidden copies, so they work before and after its name."""
    option = partial(SecondaryOption, expose_value=False, callback=_store_option, hidden=hidden)
    return [
        option(["--root", "roots"], multiple=True, metavar="DIR", help="Folder to work in; may be repeated."),
        option(["--config", "config"], metavar="FILE", help="Settings file to use instead of the workspace's."),
        option(["--set", "set"], multiple=True, metavar="KEY=VALUE", help="Override one setting; may be repeated."),
        option(["--no-daemon", "no_daemon"], is_flag=True, help="Do all work in this process."),
        option(["--json", "json"], is_flag=True, help="Print JSON."),
        option(["--plain", "plain"], is_flag=True, help="No colour, no tables, no progress bars."),
        option(["-q", "--quiet", "quiet"], is_flag=True, help="Print only the result."),
        option(["-v", "--verbose", "verbose"], count=True, help="Print call times; -vv also prints log lines."),
    ]


def _store_option(context: click.Context, parameter: click.Parameter, value: Any) -> None:
    """An option after the command overrides the same option before it."""
    options = context.find_object(Options)
    if options is not None and value and parameter.name is not None:
        setattr(options, parameter.name, value)
