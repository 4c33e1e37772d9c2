"""Calls a tool for a command and prints the reply: text, coloured on a terminal, or JSON.

Exit codes follow ripgrep: 0 if something was found, 1 if nothing exists, 2 and above for errors. 75 (sysexits'
EX_TEMPFAIL) means that nothing was found so far and not everything was checked.
"""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from collections.abc import Callable

    from llmc.cli._options import Options

__all__ = ["ask_tool", "common_options", "error_of", "exit_code", "json_text", "secondary", "set_arguments"]

NOTHING_FOUND = 1


def common_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options of every tool command."""
    command = secondary("--fields", metavar="A,B", help="Print a table of these fields; * for all.")(command)
    command = secondary(
        "--focus", "context_focus_question", metavar="QUESTION", help="Keep only what answers this question."
    )(command)
    command = secondary("--ref", multiple=True, metavar="REF", help="At this ref of a published repository.")(command)
    command = secondary("--repo", multiple=True, metavar="NAME", help="Only this root or published repository.")(
        command
    )
    command = secondary("--all", "all_", is_flag=True, help="All results, without a budget.")(command)
    return secondary("--budget", type=int, metavar="N", help="Token budget of the reply.")(command)


def secondary(*names: str, **about: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    from llmc.cli._options import SecondaryOption

    return click.option(*names, cls=SecondaryOption, **about)


def ask_tool(options: Options, name: str, args: dict[str, Any]) -> int:
    """Call the tool, print its reply, and return the exit code."""
    if "all_" in args:
        args["all"] = args.pop("all_")
    numbered = use_colour(options) and not options.json  # for a person, who may open item 3 of the reply
    params = {"name": name, "args": set_arguments(args), "data": options.json, "numbered": numbered}
    reply = options.ask("tool", params)
    if reply["error"]:
        raise error_of(reply)
    if options.json:
        click.echo(json_text(reply))
    else:
        click.echo(colour_reply(reply["text"]) if use_colour(options) else reply["text"])
    return exit_code(reply, reply["total"])


def json_text(reply: dict[str, Any]) -> str:
    """The data of the reply, its handle, and what its text costs a model in tokens."""
    weight = reply["weight"] or {"content": 0, "frame": 0}
    about = {key: reply[key] for key in ("handle", "shown", "total", "provisional")}
    return json.dumps({**reply["data"], **about, "tokens": weight["content"] + weight["frame"]}, indent=2)


def exit_code(reply: dict[str, Any], found: int) -> int:
    """0 if something was found, 1 if nothing exists, 75 if nothing was found so far and not everything was checked."""
    from llmc.base.errors import NOT_KNOWN_YET

    return 0 if found else NOT_KNOWN_YET if reply["provisional"] else NOTHING_FOUND


def set_arguments(args: dict[str, Any]) -> dict[str, Any]:
    """The arguments that were given; a budget of 0 counts as given."""
    return {key: value for key, value in args.items() if value is not None and value is not False and value != ()}


def error_of(reply: dict[str, Any]) -> Exception:
    """The error that the reply reports, as an exception."""
    from llmc.base.errors import error_from_fields

    return error_from_fields(reply["data"]["error"])


def use_colour(options: Options) -> bool:
    return not options.plain and sys.stdout.isatty()


def colour_reply(text: str) -> str:
    """Bold first line, coloured paths and line numbers, dimmed footer."""
    first, *rest = text.split("\n")
    return "\n".join([click.style(first, bold=True), *(colour_line(line) for line in rest)])


def colour_line(line: str) -> str:
    if line.startswith(("+", "→")):
        return click.style(line, dim=True)
    number, _, text = line.partition(" ")
    if number.replace("-", "").isdecimal():
        return f"{click.style(number, fg='green')} {text}"
    return line if line.startswith(" ") else click.style(line, fg="magenta")
