"""`llmc outline`."""

from __future__ import annotations

from typing import Any

import click

from llmc.cli._options import Options, pass_options
from llmc.cli._tool_call import ask_tool, common_options


@click.command()
@click.argument("path", nargs=-1)
@click.option("--deep", is_flag=True, help="Include members, not only top-level symbols.")
@click.option("--inherited", is_flag=True, help="For a class, also list inherited members, by base.")
@common_options
@pass_options
def command(options: Options, /, **args: Any) -> int:
    """List the symbols of a file, a folder or the whole repository, within a token budget.

    For the name of a class, its bases in lookup order and its members are listed.
    """
    return ask_tool(options, "outline", args)
