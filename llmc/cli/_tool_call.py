"""How a command asks a tool and shows the reply: text as it comes, coloured for a person; JSON for a machine.

The exit code is ripgrep's: 0 something was found, 1 nothing was, 2 and above something went wrong.
"""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from collections.abc import Callable

    from llmc.cli._options import Options

__all__ = ["ask_tool", "common_options"]

NOTHING_FOUND = 1


def common_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """What every tool takes."""
    command = click.option("--fields", metavar="A,B", help="A table of only these fields; * is all.")(command)
    command = click.option(
        "--focus", "context_focus_question", metavar="QUESTION", help="Keep only what answers this question."
    )(command)
    command = click.option("--all", "all_", is_flag=True, help="Everything, without a budget.")(command)
    return click.option("--budget", type=int, metavar="N", help="Tokens that the reply may take.")(command)


def ask_tool(options: Options, name: str, args: dict[str, Any]) -> int:
    """Ask, print, and give the exit code."""
    if "all_" in args:
        args["all"] = args.pop("all_")
    reply = options.ask("tool", {"name": name, "args": given(args), "data": options.json})
    if reply["error"]:
        raise revived(reply["data"]["error"])
    if options.json:
        click.echo(json.dumps({**reply["data"], "handle": reply["handle"], "shown": reply["shown"]}, indent=2))
    else:
        click.echo(painted(reply["text"]) if colours(options) else reply["text"])
    return 0 if reply["total"] else NOTHING_FOUND


def given(args: dict[str, Any]) -> dict[str, Any]:
    """What was typed; a budget of 0 was."""
    return {key: value for key, value in args.items() if value is not None and value is not False and value != ()}


def revived(error: dict[str, Any]) -> Exception:
    from llmc.base.errors import error_from_fields

    return error_from_fields(error)


def colours(options: Options) -> bool:
    return not options.plain and sys.stdout.isatty()


def painted(text: str) -> str:
    """Paths stand out, line numbers and the frame stand back."""
    first, *rest = text.split("\n")
    return "\n".join([click.style(first, bold=True), *(painted_line(line) for line in rest)])


def painted_line(line: str) -> str:
    if line.startswith(("+", "→")):
        return click.style(line, dim=True)
    number, _, text = line.partition(" ")
    if number.replace("-", "").isdecimal():
        return f"{click.style(number, fg='green')} {text}"
    return line if line.startswith(" ") else click.style(line, fg="magenta")
