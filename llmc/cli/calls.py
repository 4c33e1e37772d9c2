"""`llmc calls`."""

from __future__ import annotations

from typing import Any

import click

from llmc.cli._options import Options, pass_options
from llmc.cli._tool_call import ask_tool, common_options, secondary


@click.command()
@click.argument("name")
@click.option("--depth", type=int, metavar="N", help="Levels of calls (default: 2).")
@secondary("--skip", multiple=True, metavar="PATTERN", help="Omit calls of these names or paths: 'get*', models/.")
@secondary("--signatures", is_flag=True, help="Show parameters and results of the called functions.")
@secondary("--guesses", is_flag=True, help="Also list matches by name alone.")
@common_options
@pass_options
def command(options: Options, /, **args: Any) -> int:
    """Print the calls of a function in this repository, as a tree in source order.

    Each call has the path and line of its target (./ is the caller's folder); ~ marks a likely target, ? one that
    matches by name alone.
    """
    return ask_tool(options, "calls", args)
