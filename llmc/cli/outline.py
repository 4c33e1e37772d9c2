"""`llmc outline`."""

from __future__ import annotations

from typing import Any

import click

from llmc.cli._options import Options, pass_options
from llmc.cli._tool_call import ask_tool, common_options


@click.command()
@click.argument("path", nargs=-1)
@click.option("--deep", is_flag=True, help="Members too, not only what stands at the top of files.")
@common_options
@pass_options
def command(options: Options, /, **args: Any) -> int:
    """The symbols of a file, a folder or the whole repository: a map that fits a budget."""
    return ask_tool(options, "outline", args)
