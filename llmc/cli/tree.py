"""`llmc tree`."""

from __future__ import annotations

from typing import Any

import click

from llmc.cli._options import Options, pass_options
from llmc.cli._tool_call import ask_tool, common_options


@click.command()
@click.argument("path", nargs=-1)
@click.option("--depth", "-d", type=int, metavar="N", help="Number of levels (default 2).")
@common_options
@pass_options
def command(options: Options, /, **args: Any) -> int:
    """Show folders with file counts and sizes."""
    return ask_tool(options, "tree", args)
