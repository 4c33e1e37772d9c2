"""The commands as click sees them. Importing click takes longer than asking the daemon; `_grep_all` does without."""

from __future__ import annotations

import importlib
from typing import Any

import click

from llmc import __version__
from llmc.cli import COMMANDS, FIRST_COMMANDS, INTERRUPTED, print_json
from llmc.cli._options import Options, SecondaryOption, global_options

__all__ = ["cli", "run_command"]


class LazyGroup(click.Group):
    """Imports each command when it is used."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - click's signature
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = importlib.import_module(f"llmc.cli.{cmd_name}").command
        return _with_global_options(command)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        options = ctx.find_object(Options)
        listed = list(COMMANDS) if options is None or options.full_help else list(COMMANDS)[:FIRST_COMMANDS]
        with formatter.section("Commands"):
            formatter.write_dl([(name, COMMANDS[name]) for name in listed])
        if rest := [name for name in COMMANDS if name not in listed]:
            with formatter.section("More"):
                formatter.write_text(", ".join(rest))
                formatter.write_text(f"Also {_secondary_names(self)}; llmc --help --all describes them.")

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            raise click.UsageError(f"no such command: {args[0]}.{_suggestion(args[0])}", ctx)
        return super().resolve_command(ctx, args)


@click.command(
    cls=LazyGroup,
    params=global_options(),
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    no_args_is_help=True,
)
@click.version_option(__version__, prog_name="llmc", message="%(prog)s %(version)s", cls=SecondaryOption)
@click.help_option("-h", "--help", cls=SecondaryOption)
def cli() -> None:
    """Index-first retrieval for coding agents: the relevant lines, fast, in few tokens."""


def run_command(arguments: list[str]) -> int:
    """Run a command line and return its exit code; errors of usage are reported here."""
    options = Options()
    options.full_help = "--all" in arguments
    without = [one for one in arguments if one != "--all"] if arguments[:1] in (["-h"], ["--help"]) else arguments
    try:
        with cli.make_context("llmc", list(without), obj=options) as context:
            result: Any = cli.invoke(context)
            return result if isinstance(result, int) else 0
    except click.exceptions.Exit as request:
        return request.exit_code
    except click.ClickException as error:
        return _report_usage(error, arguments)
    except click.Abort:
        return INTERRUPTED


def _with_global_options(command: click.Command) -> click.Command:
    """Let the global options follow the command as well."""
    taken = {name for parameter in command.params for name in parameter.opts}
    if "--root" in taken:
        return command  # already added
    for option in global_options(hidden=True):
        if not taken.intersection(option.opts):
            command.params.append(option)
    if isinstance(command, click.Group):
        for inner in command.commands.values():
            _with_global_options(inner)
    names = _secondary_names(command)
    also = f"Also {names}; --help --all describes them." if names else ""
    command.epilog = command.epilog or also or "Global options also work here; see `llmc --help`."
    return click.help_option("-h", "--help", cls=SecondaryOption)(command)


def _secondary_names(command: click.Command) -> str:
    shown = (one for one in command.params if isinstance(one, SecondaryOption) and not one.hidden)
    return ", ".join(one.opts[0] for one in shown if one.name != "help")


def _suggestion(name: str) -> str:
    import difflib

    near = difflib.get_close_matches(name, COMMANDS, n=1)
    return f" Did you mean {near[0]}?" if near else " Run `llmc --help` for a list."


def _report_usage(error: click.ClickException, arguments: list[str]) -> int:
    if "--json" in arguments:
        hint = "See `llmc --help` and `llmc COMMAND --help`."
        print_json({"code": "usage", "message": error.format_message(), "reason": "", "hint": hint, "context": {}})
    else:
        error.show()
    return error.exit_code
