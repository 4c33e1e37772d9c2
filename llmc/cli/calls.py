"""`llmc calls`."""

from __future__ import annotations

from typing import Any

import click

from llmc.cli._options import Options, pass_options
from llmc.cli._tool_call import ask_tool, common_options, secondary


@click.command()
@click.argument("name")
@click.option("--depth", type=int, metavar="N", help="Levels of calls (default: 2).")
@secondary("--skip", multiple=True, metavar="PATTERN", help="Leave out calls of these names or paths: 'get*', models/.")
@secondary("--signatures", is_flag=True, help="Arguments and results of what is called, too.")
@secondary("--guesses", is_flag=True, help="List what matches by name alone, too.")
@common_options
@pass_options
def command(options: Options, /, **args: Any) -> int:
    """What a function calls in this repository, as a tree in source order.

    Each call has the path and line of what it calls (./ is the caller's folder); ~ marks a likely target, ? one by
    name alone.
    """
    return ask_tool(options, "calls", args)
