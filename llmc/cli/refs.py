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
@click.option("--kind", multiple=True, type=click.Choice(KINDS), help="Only uses of this kind; may be repeated.")
@common_options
@pass_options
def command(options: Options, /, **args: Any) -> int:
    """List the definitions of a name, and every use, call and subclass of it.

    A plain name matches every definition of that name. For Class.method and path:name, uses of other definitions are
    omitted, and inherited members are found through base classes.
    """
    return ask_tool(options, "refs", args)
