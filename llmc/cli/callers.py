"""`llmc callers`."""

from __future__ import annotations

from typing import Any

import click

from llmc.cli._options import Options, pass_options
from llmc.cli._tool_call import ask_tool, common_options, secondary


@click.command()
@click.argument("name")
@click.option("--depth", type=int, metavar="N", help="Levels of callers (default: 1).")
@secondary("--guesses", is_flag=True, help="List what matches by name alone, too.")
@common_options
@pass_options
def command(options: Options, /, **args: Any) -> int:
    """What calls or uses a definition, by file.

    Uses are resolved by imports, scopes and types; a few that match by name alone are listed apart. Tests are counted
    by file, and listed with --all.
    """
    return ask_tool(options, "callers", args)
