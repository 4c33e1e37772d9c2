"""cli: which commands can a person, or an agent without MCP, run?

`COMMANDS` lists every command with one line of help. The module `llmc.cli.<name>` defines its `command` and is imported
only when that command runs, which keeps `--help` and short commands fast. Global options are in `_options`; errors are
printed here and nowhere else.
"""

from __future__ import annotations

import io
import os
import sys
from typing import Any, NoReturn

import click

from llmc import __version__
from llmc.base.errors import LlmcError
from llmc.cli._options import Options, SecondaryOption, global_options

__all__ = ["COMMANDS", "main", "main_pruner"]

COMMANDS = {
    "search": "Best places for words, a question or a pasted error.",
    "grep": "Every match, as ripgrep finds it, by enclosing symbol.",
    "read": "Files, lines, symbols, several at once; --code is shortest.",
    "find": "Files by name.",
    "outline": "Symbols of a file, a folder or the repository.",
    "match": "Code of a given shape, or calls with an argument.",
    "refs": "Where a name is defined and used, by name.",
    "calls": "What a function calls, 2 levels deep.",
    "callers": "Every caller of a function or user of a type, resolved.",
    "impls": "Implementations, subclasses, overrides, registrations.",
    "tests": "Tests that reach a definition, or mock it.",
    "path": "A chain of calls between two definitions.",
    "impact": "Uses and overrides that a changed signature touches.",
    "history": "Commits that touched a path or symbol, or mention a topic.",
    "context": "Passages for a question, ready for a prompt.",
    "tree": "Folders with file counts and sizes.",
    "ls": "Contents of a folder.",
    "over": "Count, group, filter or join the items of a handle.",
    "handle": "Results left out of replies: list, show, drop.",
    "te": "Run a command and summarize its output.",
    "research": "Research a question about the code; report with path and line.",
    "locate": "Find the files and lines of a feature, by category.",
    "patterns": "Find existing examples of a pattern.",
    "analyze": "Explain a component: callers, calls, data, configuration.",
    "handoff": "Write a handoff for the next session, or resume from one.",
    "agent": "Personas: list, test, show, init.",
    "ask": "Answer a question: plan, look up, verify, cite path and line.",
    "session": "Shared session memory: list, show, resume, drop.",
    "index": "Build the index of the roots and keep it up to date.",
    "roots": "List the folders that have an index.",
    "forget": "Remove a root and its index.",
    "status": "Show what is indexed, how fresh it is, and what failed.",
    "stats": "Tokens and time spent and saved, by tool and session.",
    "ui": "Open search, index and statistics in a browser.",
    "publish": "Publish a commit to a shared index in object storage.",
    "shared": "The shared index: status, list, drop, optimize, verify.",
    "serve": "Serve MCP on stdin and stdout, or over HTTP.",
    "delegate": "Delegates and downstream MCP servers: list, test, trust.",
    "stop": "Stop the index daemon.",
    "config": "Show and check the settings.",
    "redact": "Print files with secrets removed, or list the secrets.",
    "install": "Add llmc to the configuration of an agent or editor.",
    "uninstall": "Remove llmc from all clients, stop the daemon, delete its state.",
    "completion": "Complete commands and options in bash, zsh or fish.",
    "token": "Print or rotate the token of the HTTP server.",
    "hook": "Answer an agent's hook event (see `install --hooks`).",
    "service": "Start the daemon at login.",
    "bench": "Compare llmc with other tools; needs a source checkout.",
    "doctor": "Check the installation and suggest fixes.",
}

# The commands for agents. The help only lists the names of the others, unless --all is given.
FIRST_COMMANDS = list(COMMANDS).index("te") + 1
INTERRUPTED = 130  # a shell's exit code for a process that SIGINT ended
BROKEN_PIPE = 141  # a shell's exit code for a process that SIGPIPE ended


class LazyGroup(click.Group):
    """Imports each command when it is used."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - click's signature
        if cmd_name not in COMMANDS:
            return None
        import importlib

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


def main_pruner() -> NoReturn:
    """The `mcp-pruner` command, required by the contract of the pruner profile: `llmc serve --profile pruner`."""
    sys.argv[1:1] = ["serve", "--profile", "pruner"]
    main()


def main() -> NoReturn:
    """The `llmc` command."""
    if isinstance(sys.stdout.buffer, io.RawIOBase):
        # PYTHONUNBUFFERED: a raw stream may write only a part, and report a closed pipe as a part that was written.
        sys.stdout = open(sys.stdout.fileno(), "w", encoding=sys.stdout.encoding, closefd=False)  # noqa: SIM115 - a descriptor
    for stream in (sys.stdout, sys.stderr):
        # A file name that is not valid UTF-8 is printed escaped instead of raising an error.
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
    """Run a command line and return its exit code. All errors are reported here."""
    try:
        options = Options()
        options.full_help = "--all" in arguments
        arguments = [one for one in arguments if one != "--all"] if arguments[:1] in (["-h"], ["--help"]) else arguments
        with cli.make_context("llmc", list(arguments), obj=options) as context:
            result: Any = cli.invoke(context)
            return result if isinstance(result, int) else 0
    except click.exceptions.Exit as request:
        return request.exit_code
    except click.ClickException as error:
        return _report_usage(error, arguments)
    except LlmcError as error:
        return _report(error, arguments)
    except (KeyboardInterrupt, click.Abort):
        return INTERRUPTED
    except BrokenPipeError:
        return _close_pipe()


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
        hint = "See `llmc --help` and `llmc COMMAND --help`."
        _print_json({"code": "usage", "message": error.format_message(), "reason": "", "hint": hint, "context": {}})
    else:
        error.show()
    return error.exit_code


def _print_json(error: dict[str, object]) -> None:
    import json

    click.echo(json.dumps({"error": error}))


def _close_pipe() -> int:
    """The reader of stdout is gone, as with `| head`. Redirect the final flush at exit to /dev/null."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return BROKEN_PIPE
