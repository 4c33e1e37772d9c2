"""`llmc refs`."""

from __future__ import annotations

from typing import Any

import click

from llmc.cli._options import Options, pass_options
from llmc.cli._tool_call import ask_tool, common_options

KINDS = ("def", "call", "read", "write", "import", "inherit", "type", "use")


@click.command()
@click.argument("name")
@click.argument("path", nargs=-1)
@click.option("--kind", multiple=True, type=click.Choice(KINDS), help="Only these uses.")
@common_options
@pass_options
def command(options: Options, /, **args: Any) -> int:
    """Where a name is defined, and every use, call and subclass of it.

    A plain name is matched as such. Of Class.method and path:name, uses that mean another definition are left out, and
    members that a class inherits are found through its bases.
    """
    return ask_tool(options, "refs", args)
