"""`llmc te`: runs a command and prints a short version of its output.

The command runs with this process's folder and environment, so it behaves as it would without `te`. The beginning and
end of its output are passed to the daemon in a file. If the daemon is not available, the output is printed unchanged,
so the result of a command that ran is never lost. Programs that print files or lists (`base.listing_programs`) keep
their standard error separate, and their output is shown completely up to a cap.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

import click

from llmc.base.listing_programs import MATCHING, is_listing, program_of
from llmc.cli._options import Options, pass_options
from llmc.cli._tool_call import colour_reply, json_text, use_colour
from llmc.cli._tool_reply import error_of, set_arguments

if TYPE_CHECKING:
    from llmc.cli._subprocess import Display, FinishedProcess

NOT_FOUND, NOT_EXECUTABLE, DENIED = 127, 126, 1
WORTH_IMPORTS = 400  # bytes; regrouping in this process takes 100 ms for its imports


@click.command(context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@click.option("--raw", is_flag=True, help="Run the command with unchanged output.")
@click.option("--agent", default="", metavar="ID", help="Agent that runs the command (default: TE_AGENT_ID).")
@click.option("--budget", type=int, metavar="N", help="Token budget of the reply.")
@click.option("--all", "all_", is_flag=True, help="The whole output, without a budget.")
@click.option("--focus", metavar="QUESTION", help="Keep only parts relevant to this question.")
@click.option("--no-start", is_flag=True, help="Print the output unchanged if no daemon is running.")
@click.option(
    "--stream/--no-stream", default=None, help="Copy the output to stderr while it runs (on a terminal: yes)."
)
@click.argument("words", metavar="CMD...", nargs=-1, required=True, type=click.UNPROCESSED)
@pass_options
def command(options: Options, /, *, words: tuple[str, ...], raw: bool, agent: str, **rest: Any) -> int:
    """Run a command and print a condensed version of its output; the exit code is the command's.

    \b
    llmc te pytest -q tests         failing tests, with reasons and locations
    llmc te git log -20             one line per commit
    llmc te rg -n TODO src          each path once, its lines below it
    llmc te cat setup.py            unchanged, up to the cap
    llmc te --raw make              run without llmc
    llmc te 'make 2>&1 | head'      a single quoted argument is run by sh

    The reply's handle gives access to the whole output: `llmc read habcd` pages through it, `llmc read habcd:2` prints
    the second failure in full. Files on the denylist are not shown.
    """
    from llmc.cli import _subprocess as subprocesses

    if agent:
        os.environ["TE_AGENT_ID"] = agent
    args = {"budget": rest["budget"], "all": rest["all_"], "context_focus_question": rest["focus"]}
    line = list(words)
    if len(line) == 1 and any(character.isspace() for character in line[0]):
        line = ["/bin/sh", "-c", line[0]]
    try:
        if raw:
            return subprocesses.pass_through(line)
        process = subprocesses.run(line, options.home, show=display(options, rest["stream"]), lists=is_listing(line))
    except FileNotFoundError:
        click.echo(f"llmc: te: {line[0]}: command not found", err=True)
        return NOT_FOUND
    except PermissionError:
        click.echo(f"llmc: te: {line[0]}: permission denied", err=True)
        return NOT_EXECUTABLE
    with process:
        typed = line[2:] if line[:2] == ["/bin/sh", "-c"] and len(words) == 1 else line
        return summarize_output(options, typed, process, args, start=not rest["no_start"])


def display(options: Options, stream: bool | None) -> Display:
    """What to show on stderr while the command runs: its output, a line of progress, or nothing."""
    if stream if stream is not None else sys.stderr.isatty() and not options.quiet and not options.plain:
        return "output"
    return "progress" if sys.stderr.isatty() and not options.quiet else ""


def is_denied(error: Exception) -> bool:
    """Whether the error refuses a file that the command would have printed."""
    from llmc.base.errors import ReadError

    return isinstance(error, ReadError) and error.refusal == "on the denylist"


def summarize_output(
    options: Options, line: list[str], process: FinishedProcess, args: dict[str, Any], *, start: bool
) -> int:
    from llmc.base.errors import LlmcError

    params = {
        **set_arguments(args),
        "words": line,
        "cwd": options.about()["cwd"],
        "code": process.code,
        "signal": process.signal,
        "stopped": "cancelled" if process.interrupted else "",
        "seconds": process.seconds,
        "agent": os.environ.get("TE_AGENT_ID", ""),
    }
    try:
        params |= process.parameters()
        reply = options.ask("te", params) if start else call_running_daemon(options, params)
        if reply["error"]:
            raise error_of(reply)
        if reply["data"].get("raw") and not options.json:
            process.print_raw()
        else:
            show(options, reply)
    except LlmcError as error:
        if is_denied(error):
            click.echo(f"llmc: te: the output is not shown: {error}", err=True)
            return process.code or DENIED
        print_here(options, line, process, error.message if start else "")
    except OSError as error:
        print_here(options, line, process, f"it cannot be stored: {error.strerror}" if start else "")
    return process.code


def print_here(options: Options, line: list[str], process: FinishedProcess, reason: str) -> None:
    """Without a daemon, as in a sandbox that allows no connections: a list is still regrouped, other output is not."""
    short = None if options.json or process.output.dropped else regrouped_here(line, process)
    if short is not None:
        click.echo(short)
        return
    process.print_raw()
    if reason:
        options.notify(f"the output is not summarized: {reason}")


def regrouped_here(line: list[str], process: FinishedProcess) -> str | None:
    listed = is_listing(line) and (not process.code or program_of(line) in MATCHING)
    if not listed or len(process.output.head) < WORTH_IMPORTS:
        return None
    try:
        text = process.output.head.decode()
    except UnicodeDecodeError:
        return None
    from llmc.envelope.logs.listings import regrouped_text
    from llmc.envelope.redact.redactor import redact

    cleaned = redact(text).text
    return regrouped_text(line, cleaned) or (cleaned.removesuffix("\n") if cleaned != text else None)


def call_running_daemon(options: Options, params: dict[str, Any]) -> dict[str, Any]:
    with options.connect(start=False) as connection:
        reply: dict[str, Any] = connection.call("te", params)
        return reply


def show(options: Options, reply: dict[str, Any]) -> None:
    if options.json:
        click.echo(json_text(reply))
    elif reply["text"]:
        click.echo(colour_reply(reply["text"]) if use_colour(options) else reply["text"])
