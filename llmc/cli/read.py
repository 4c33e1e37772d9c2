"""`llmc read`."""

from __future__ import annotations

from typing import Any

import click

from llmc.cli._options import Options, pass_options
from llmc.cli._tool_call import ask_tool, common_options


@click.command()
@click.argument("target", nargs=-1, required=True)
@click.option("--skeleton", is_flag=True, help="Print signatures, control flow and calls; fold the rest.")
@click.option("--code", is_flag=True, help="Print every statement, without comments, logging and brackets.")
@common_options
@pass_options
def command(options: Options, /, **args: Any) -> int:
    """Print a file, a range of lines, a symbol, or the rest of an earlier reply.

    \b
    llmc read src/main.py
    llmc read src/main.py:10-40
    llmc read src/parser.py::Parser.feed
    llmc read Parser.feed --skeleton
    llmc read Parser.feed Parser.close --code
    llmc read h4k2                  the next page
    llmc read h4k2:3                its third item in full
    """
    return ask_tool(options, "read", args)
