"""`llmc context`."""

from __future__ import annotations

from typing import Any

import click

from llmc.cli._options import Options, pass_options
from llmc.cli._tool_call import ask_tool, common_options, typed_or_piped


@click.command()
@click.argument("query", nargs=-1, required=True)
@click.option("--path", "-p", multiple=True, metavar="PATH", help="Limit to this path, or to an earlier result (h4k2).")
@common_options
@pass_options
def command(options: Options, /, query: tuple[str, ...], **args: Any) -> int:
    """Print passages for a question, ready for a prompt, each with path and lines; `-` reads it from standard input."""
    return ask_tool(options, "context", {"query": typed_or_piped(query), **args})
