"""`llmc impls`."""

from __future__ import annotations

from typing import Any

import click

from llmc.cli._options import Options, pass_options
from llmc.cli._tool_call import ask_tool, common_options


@click.command()
@click.argument("name")
@common_options
@pass_options
def command(options: Options, /, **args: Any) -> int:
    """List implementations, subclasses and overrides of a definition, and where a function is registered."""
    return ask_tool(options, "impls", args)
