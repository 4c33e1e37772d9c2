"""`llmc path`."""

from __future__ import annotations

from typing import Any

import click

from llmc.cli._options import Options, pass_options
from llmc.cli._tool_call import ask_tool, common_options


@click.command()
@click.argument("source")
@click.argument("target")
@click.option("--guesses", is_flag=True, help="Also use matches by name alone.")
@common_options
@pass_options
def command(options: Options, /, **args: Any) -> int:
    """Print the shortest chain of calls from SOURCE to TARGET."""
    return ask_tool(options, "path", args)
