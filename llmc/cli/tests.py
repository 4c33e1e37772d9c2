"""`llmc tests`."""

from __future__ import annotations

from typing import Any

import click

from llmc.cli._options import Options, pass_options
from llmc.cli._tool_call import ask_tool, common_options


@click.command()
@click.argument("name")
@click.option("--depth", type=int, metavar="N", help="Levels of callers (default: 4).")
@common_options
@pass_options
def command(options: Options, /, **args: Any) -> int:
    """List tests that reach a definition, directly or through its callers, and those that mock it."""
    return ask_tool(options, "tests", args)
