"""`llmc ls`: one level of `tree`."""

from __future__ import annotations

from typing import Any

import click

from llmc.cli._options import Options, pass_options
from llmc.cli._tool_call import ask_tool, common_options


@click.command()
@click.argument("path", nargs=-1)
@common_options
@pass_options
def command(options: Options, /, **args: Any) -> int:
    """List a folder: its files, and its folders with file counts and sizes."""
    return ask_tool(options, "tree", {**args, "depth": 1})
