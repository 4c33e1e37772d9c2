"""`llmc search`."""

from __future__ import annotations

from typing import Any

import click

from llmc.cli._options import Options, pass_options
from llmc.cli._tool_call import ask_tool, common_options


@click.command()
@click.argument("query", nargs=-1, required=True)
@click.option(
    "--path", "-p", multiple=True, metavar="PATH", help="Only below this, or inside an earlier result (h4k2)."
)
@click.option("--limit", "-n", type=int, metavar="N", help="At most so many files.")
@click.option("--explain", is_flag=True, help="Show what each ranking signal did.")
@common_options
@pass_options
def command(options: Options, /, query: tuple[str, ...], **args: Any) -> int:
    """Ranked places for words, a symbol or a question.

    \b
    llmc search where are passwords hashed
    llmc search Parser.feed lang:python -- -path:tests
    llmc search '"connection refused" kind:function'

    Filters: path:, lang:, kind:, root:, each also with a minus in front; "quoted phrases"; -word.
    """
    return ask_tool(options, "search", {"query": " ".join(query), **args})
