"""`llmc te`: runs a command and prints a short summary of its output.

The command runs with this process's folder and environment, so it behaves as it would without `te`. The beginning and
end of its output are passed to the daemon in a file. If the daemon is not available, the output is printed unchanged,
so the result of a command that ran is never lost.
"""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING, Any

import click

from llmc.cli._options import Options, pass_options
from llmc.cli._tool_call import colour_reply, error_of, set_arguments, use_colour

if TYPE_CHECKING:
    from llmc.cli._subprocess import FinishedProcess

NOT_FOUND, NOT_EXECUTABLE, DENIED = 127, 126, 1


@click.command(context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@click.option("--raw", is_flag=True, help="Run the command with unchanged output.")
@click.option("--agent", default="", metavar="ID", help="Agent that runs the command (default: TE_AGENT_ID).")
@click.option("--budget", type=int, metavar="N", help="Token budget of the reply.")
@click.option("--all", "all_", is_flag=True, help="The whole output, without a budget.")
@click.option("--focus", metavar="QUESTION", help="Keep only what answers this question.")
@click.argument("words", metavar="CMD...", nargs=-1, required=True, type=click.UNPROCESSED)
@pass_options
def command(options: Options, /, *, words: tuple[str, ...], raw: bool, agent: str, **limits: Any) -> int:
    """Run a command and summarize its output; the exit code is the command's.

    \b
    llmc te pytest -q tests         failing tests, with reasons and locations
    llmc te git log -20             one line per commit
    llmc te grep -rn TODO src       answered from the index
    llmc te --raw make              run without llmc
    llmc te 'make 2>&1 | head'      a single quoted argument is run by sh

    The reply's handle gives access to the whole output: `llmc read habcd` pages through it, `llmc read habcd:2` prints
    the second failure in full. Ignored files are searched if they are named. Files on the denylist are not shown.
    """
    from llmc.cli import _subprocess as subprocesses

    if agent:
        os.environ["TE_AGENT_ID"] = agent
    args = {"budget": limits["budget"], "all": limits["all_"], "context_focus_question": limits["focus"]}
    line = list(words)
    if len(line) == 1 and any(character.isspace() for character in line[0]):
        line = ["/bin/sh", "-c", line[0]]
    try:
        if raw:
            return subprocesses.pass_through(line)
        code = answer_from_index(options, line, args)
        if code is not None:
            return code
        process = subprocesses.run(line, options.home, quiet=options.quiet or not sys.stderr.isatty())
    except FileNotFoundError:
        click.echo(f"llmc: te: {line[0]}: command not found", err=True)
        return NOT_FOUND
    except PermissionError:
        click.echo(f"llmc: te: {line[0]}: permission denied", err=True)
        return NOT_EXECUTABLE
    with process:
        typed = line[2:] if line[:2] == ["/bin/sh", "-c"] and len(words) == 1 else line
        return summarize_output(options, typed, process, args)


def answer_from_index(options: Options, line: list[str], args: dict[str, Any]) -> int | None:
    """The exit code if the index answered. If it found nothing, None: the command itself must report that."""
    from llmc.base.errors import DaemonError, LlmcError
    from llmc.extend.shell.rewrite import enriched

    call = enriched(line)
    if call is None or (call[0] == "grep" and not call[1]["path"] and not sys.stdin.isatty() and reads_stdin(line)):
        return None
    name, tool_args = call
    try:
        reply = options.ask("tool", {"name": name, "args": set_arguments({**tool_args, **args}), "data": options.json})
    except DaemonError:
        raise
    except LlmcError:
        return None
    if reply["error"] and is_denied(error_of(reply)):
        raise error_of(reply)
    if reply["error"] or not reply["total"]:
        return None
    show(options, reply)
    return 0


def is_denied(error: Exception) -> bool:
    """Whether the error refuses a file that the command would have printed."""
    from llmc.base.errors import ReadError

    return isinstance(error, ReadError) and error.refusal == "on the denylist"


def reads_stdin(line: list[str]) -> bool:
    """Whether the command would read a pipe: rg without a path does, grep -r does not."""
    import stat

    if line[0].rpartition("/")[2] != "rg":
        return False
    mode = os.fstat(0).st_mode
    return stat.S_ISFIFO(mode) or stat.S_ISREG(mode) or stat.S_ISSOCK(mode)


def summarize_output(options: Options, line: list[str], process: FinishedProcess, args: dict[str, Any]) -> int:
    from llmc.base.errors import LlmcError

    params = {
        **set_arguments(args),
        "words": line,
        "cwd": options.about()["cwd"],
        "spool": process.spool,
        "head": process.head,
        "dropped": process.dropped,
        "dropped_lines": process.dropped_lines,
        "code": process.code,
        "signal": process.signal,
        "stopped": "cancelled" if process.interrupted else "",
        "seconds": process.seconds,
        "agent": os.environ.get("TE_AGENT_ID", ""),
    }
    try:
        reply = options.ask("te", params)
        if reply["error"]:
            raise error_of(reply)
        show(options, reply)
    except LlmcError as error:
        if is_denied(error):
            click.echo(f"llmc: te: the output is not shown: {error}", err=True)
            return process.code or DENIED
        process.print_raw()
        options.notify(f"the output is not summarized: {error.message}")
    return process.code


def show(options: Options, reply: dict[str, Any]) -> None:
    if options.json:
        click.echo(json.dumps({**reply["data"], "handle": reply["handle"], "shown": reply["shown"]}, indent=2))
    else:
        click.echo(colour_reply(reply["text"]) if use_colour(options) else reply["text"])
