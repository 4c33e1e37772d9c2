"""`llmc callers`."""

from __future__ import annotations

from typing import Any

import click

from llmc.cli._options import Options, pass_options
from llmc.cli._tool_call import ask_tool, common_options, secondary


@click.command()
@click.argument("name", nargs=-1, required=True)
@click.option("--depth", type=int, metavar="N", help="Levels of callers (default: 1).")
@secondary("--guesses", is_flag=True, help="Also list matches by name alone.")
@secondary("--no-tests", is_flag=True, help="Count tests without listing them.")
@common_options
@pass_options
def command(options: Options, /, **args: Any) -> int:
    """List the callers and users of definitions, by file.

    Uses are resolved by imports, scopes and types; a few matches by name alone are listed separately. Tests are counted
    by file, and listed with --all.
    """
    return ask_tool(options, "callers", {**args, "name": " ".join(args["name"])})
