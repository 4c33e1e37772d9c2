"""cli: what can a person (or an agent without MCP) type?

`COMMANDS` names every command with one line of help; the module `llmc.cli.<name>` has its `command` and is imported
only when that command runs, so that `--help` and the quick commands stay quick. Options that hold everywhere live in
`options`; what goes wrong is said once, here.
"""

from __future__ import annotations

import os
import sys
from typing import Any, NoReturn

import click

from llmc import __version__
from llmc.base.errors import LlmcError
from llmc.cli._options import Options, global_options

__all__ = ["COMMANDS", "main"]

COMMANDS = {
    "search": "Ranked places for words, a symbol or a question.",
    "grep": "Every match of a regular expression, as ripgrep finds it.",
    "read": "A file, some lines, a symbol, or the rest of a reply.",
    "find": "Files by name.",
    "outline": "The symbols of a file, a folder or the repository.",
    "refs": "Where a name is defined, and who uses it.",
    "calls": "What a function calls, some levels deep.",
    "callers": "What calls a function or uses a type.",
    "impls": "Implementations, subclasses and overrides.",
    "tests": "Tests that reach a definition.",
    "path": "A chain of calls between two definitions.",
    "impact": "What must change if a signature does.",
    "history": "Commits that touched a path or symbol, or mention a topic.",
    "context": "Passages for a question, ready for a prompt.",
    "tree": "Folders with how much is in them.",
    "ls": "What is in a folder.",
    "handle": "What replies left out: list, show, drop.",
    "te": "Run a command and tell what matters of its output.",
    "research": "Answer a question about the code, compactly, with path and line.",
    "locate": "Where something lives, by category.",
    "patterns": "Existing examples of a pattern.",
    "analyze": "How something works: callers, calls, data, configuration.",
    "handoff": "Hand work over to the next session, and take it up again.",
    "agent": "Personas: list, test, show, init.",
    "ask": "Answer a question: plan, look, check, answer with path and line.",
    "session": "What the work knows so far: list, show, resume, drop.",
    "index": "Build the index of the roots and keep it right.",
    "roots": "Which folders have an index.",
    "forget": "Remove a root and its index.",
    "status": "What is indexed, how fresh, what failed and why.",
    "stats": "What calls cost and saved: tokens, times, by tool and session.",
    "ui": "Search, index and ledger on a page in your browser.",
    "serve": "Serve MCP to an agent, on stdin and stdout.",
    "delegate": "Tools of your own, and the MCP servers behind them.",
    "stop": "End the index daemon.",
    "config": "Show and check the settings.",
    "redact": "A text without its secrets, or what would go and why.",
    "install": "Tell an agent or editor how to start llmc.",
    "token": "The token of the HTTP server.",
    "hook": "Answer a hook of an agent.",
    "service": "Start the daemon at login.",
    "bench": "Measure llmc beside other tools, from a checkout.",
    "doctor": "Look for whatever could be wrong, and say the fix.",
}

INTERRUPTED = 130  # what a shell shows for a program that SIGINT ended
BROKEN_PIPE = 141  # likewise for SIGPIPE


class LazyGroup(click.Group):
    """Commands by name, imported when they are wanted."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - likewise
        if cmd_name not in COMMANDS:
            return None
        import importlib

        command: click.Command = importlib.import_module(f"llmc.cli.{cmd_name}").command
        return _with_global_options(command)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - likewise
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            raise click.UsageError(f"no such command: {args[0]}.{_meant(args[0])}", ctx)
        return super().resolve_command(ctx, args)


@click.command(
    cls=LazyGroup,
    params=global_options(),
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    no_args_is_help=True,
)
@click.version_option(__version__, prog_name="llmc", message="%(prog)s %(version)s")
def cli() -> None:
    """Index-first retrieval for coding agents: the right lines, at once, for few tokens."""


def main() -> NoReturn:
    """The `llmc` command."""
    for stream in (sys.stdout, sys.stderr):
        # A name that is not UTF-8 is shown escaped instead of ending the program.
        stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    if "_LLMC_COMPLETE" in os.environ:
        cli.main(prog_name="llmc")
    code = run(sys.argv[1:])
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        code = _close_pipe()
    sys.exit(code)


def run(arguments: list[str]) -> int:
    """Run a command line and return its exit code; every failure is reported here, once."""
    try:
        with cli.make_context("llmc", list(arguments), obj=Options()) as context:
            result: Any = cli.invoke(context)
            return result if isinstance(result, int) else 0
    except click.exceptions.Exit as end:
        return end.exit_code
    except click.ClickException as error:
        return _report_usage(error, arguments)
    except LlmcError as error:
        return _report(error, arguments)
    except (KeyboardInterrupt, click.Abort):
        return INTERRUPTED
    except BrokenPipeError:
        return _close_pipe()


def _with_global_options(command: click.Command) -> click.Command:
    """The options of `llmc` may stand behind the command too."""
    taken = {name for parameter in command.params for name in parameter.opts}
    if "--root" in taken:
        return command  # it was here before
    for option in global_options(hidden=True):
        if not taken.intersection(option.opts):
            command.params.append(option)
    if isinstance(command, click.Group):
        for inner in command.commands.values():
            _with_global_options(inner)
    command.epilog = command.epilog or "Global options may stand here too; see `llmc --help`."
    return command


def _meant(name: str) -> str:
    import difflib

    near = difflib.get_close_matches(name, COMMANDS, n=1)
    return f" Did you mean {near[0]}?" if near else " `llmc --help` lists them."


def _report(error: LlmcError, arguments: list[str]) -> int:
    if "--json" in arguments:
        _print_json(error.as_dict())
    else:
        text = f"llmc: {error.message}"
        if error.reason:
            text += f": {error.reason}"
        click.echo(text, err=True)
        if error.hint:
            click.echo(f"  {error.hint}", err=True)
    return error.exit_code


def _report_usage(error: click.ClickException, arguments: list[str]) -> int:
    if "--json" in arguments:
        hint = "`llmc --help` and `llmc COMMAND --help` say what there is."
        _print_json({"code": "usage", "message": error.format_message(), "reason": "", "hint": hint, "context": {}})
    else:
        error.show()
    return error.exit_code


def _print_json(error: dict[str, object]) -> None:
    import json

    click.echo(json.dumps({"error": error}))


def _close_pipe() -> int:
    """Whoever read our output has gone, as `head` does; what Python flushes at its end must go nowhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return BROKEN_PIPE
