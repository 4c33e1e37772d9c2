"""`llmc impact`."""

from __future__ import annotations

from typing import Any

import click

from llmc.cli._options import Options, pass_options
from llmc.cli._tool_call import ask_tool, common_options, secondary


@click.command()
@click.argument("name")
@secondary("--no-tests", is_flag=True, help="Count tests without listing them.")
@common_options
@pass_options
def command(options: Options, /, **args: Any) -> int:
    """List the code that must change if the signature of a definition changes."""
    return ask_tool(options, "impact", args)
