"""`llmc te`: a command of the user's, run here and now, with what it wrote told in few tokens.

The command runs in this process's terminal and environment, so that it can do what it could without `te`. What it wrote
is kept at both ends up to a bound and handed to the daemon in a file. If the daemon cannot be asked, the output is
printed as it came: nothing that ran is ever lost.
"""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING, Any

import click

from llmc.cli._options import Options, pass_options
from llmc.cli._tool_call import colours, given, painted, revived

if TYPE_CHECKING:
    from llmc.cli._subprocess import FinishedProcess

NOT_FOUND, NOT_EXECUTABLE, DENIED = 127, 126, 1


@click.command(context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@click.option("--raw", is_flag=True, help="Run it and pass its output through, untouched.")
@click.option("--agent", default="", metavar="ID", help="Which agent asks; TE_AGENT_ID says it otherwise.")
@click.option("--budget", type=int, metavar="N", help="Tokens that the reply may take.")
@click.option("--all", "all_", is_flag=True, help="The whole output, without a budget.")
@click.option("--focus", metavar="QUESTION", help="Keep only what answers this question.")
@click.argument("words", metavar="CMD...", nargs=-1, required=True, type=click.UNPROCESSED)
@pass_options
def command(options: Options, /, *, words: tuple[str, ...], raw: bool, agent: str, **asked: Any) -> int:
    """Run a command and tell what matters of its output; the exit code is the command's.

    \b
    llmc te pytest -q tests         failing tests, why and where
    llmc te git log -20             a line for each commit
    llmc te grep -rn TODO src       answered from the index
    llmc te --raw make              as if it had been typed alone
    llmc te 'make 2>&1 | head'      one word with spaces goes to sh

    The whole output is behind the handle of the reply: `llmc read habcd` pages through it, `llmc read habcd:2` shows
    the second failure in full. Ignored files are searched where they are named; what a denied file holds is not shown.
    """
    from llmc.cli import _subprocess as running

    if agent:
        os.environ["TE_AGENT_ID"] = agent
    wanted = {"budget": asked["budget"], "all": asked["all_"], "context_focus_question": asked["focus"]}
    line = list(words)
    if len(line) == 1 and any(character.isspace() for character in line[0]):
        line = ["/bin/sh", "-c", line[0]]
    try:
        if raw:
            return running.pass_through(line)
        answered = answered_by_index(options, line, wanted)
        if answered is not None:
            return answered
        ran = running.run(line, options.home, quiet=options.quiet or not sys.stderr.isatty())
    except FileNotFoundError:
        click.echo(f"llmc: te: {line[0]}: command not found", err=True)
        return NOT_FOUND
    except PermissionError:
        click.echo(f"llmc: te: {line[0]}: permission denied", err=True)
        return NOT_EXECUTABLE
    with ran:
        shown = line[2:] if line[:2] == ["/bin/sh", "-c"] and len(words) == 1 else line
        return tell(options, shown, ran, wanted)


def answered_by_index(options: Options, line: list[str], args: dict[str, Any]) -> int | None:
    """The exit code where the index has the answer. Where it has none, the command itself must say so."""
    from llmc.base.errors import DaemonError, LlmcError
    from llmc.extend.shell.rewrite import enriched

    known = enriched(line)
    if known is None or (known[0] == "grep" and not known[1]["path"] and not sys.stdin.isatty() and reads_stdin(line)):
        return None
    name, asked = known
    try:
        reply = options.ask("tool", {"name": name, "args": given({**asked, **args}), "data": options.json})
    except DaemonError:
        raise
    except LlmcError:
        return None
    if reply["error"] and is_denied(revived(reply["data"]["error"])):
        raise revived(reply["data"]["error"])
    if reply["error"] or not reply["total"]:
        return None
    show(options, reply)
    return 0


def is_denied(error: Exception) -> bool:
    """Whether a file is refused that the command would have shown."""
    from llmc.base.errors import ReadError

    return isinstance(error, ReadError) and error.refusal == "on the denylist"


def reads_stdin(line: list[str]) -> bool:
    """rg without a path reads what is piped into it; grep -r does not."""
    import stat

    if line[0].rpartition("/")[2] != "rg":
        return False
    mode = os.fstat(0).st_mode
    return stat.S_ISFIFO(mode) or stat.S_ISREG(mode) or stat.S_ISSOCK(mode)


def tell(options: Options, line: list[str], ran: FinishedProcess, args: dict[str, Any]) -> int:
    from llmc.base.errors import LlmcError

    asked = {
        **given(args),
        "words": line,
        "cwd": options.about()["cwd"],
        "spool": ran.spool,
        "head": ran.head,
        "dropped": ran.dropped,
        "dropped_lines": ran.dropped_lines,
        "code": ran.code,
        "signal": ran.signal,
        "stopped": "cancelled" if ran.interrupted else "",
        "seconds": ran.seconds,
        "agent": os.environ.get("TE_AGENT_ID", ""),
    }
    try:
        reply = options.ask("te", asked)
        if reply["error"]:
            raise revived(reply["data"]["error"])
        show(options, reply)
    except LlmcError as error:
        if is_denied(error):
            click.echo(f"llmc: te: the output is not shown: {error}", err=True)
            return ran.code or DENIED
        ran.print_raw()
        options.say(f"the output is as it came: {error.message}")
    return ran.code


def show(options: Options, reply: dict[str, Any]) -> None:
    if options.json:
        click.echo(json.dumps({**reply["data"], "handle": reply["handle"], "shown": reply["shown"]}, indent=2))
    else:
        click.echo(painted(reply["text"]) if colours(options) else reply["text"])
