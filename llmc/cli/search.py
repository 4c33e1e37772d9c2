"""`llmc search`."""

from __future__ import annotations

from typing import Any

import click

from llmc.cli._options import Options, pass_options
from llmc.cli._tool_call import ask_tool, common_options, secondary, typed_or_piped


@click.command()
@click.argument("query", nargs=-1, required=True)
@click.option("--path", "-p", multiple=True, metavar="PATH", help="Limit to this path, or to an earlier result (h4k2).")
@click.option("--limit", "-n", type=int, metavar="N", help="Maximum number of files.")
@secondary("--explain", is_flag=True, help="Show the ranking signals, and the quoted code found in the query.")
@secondary("--syntax", is_flag=True, help='Apply path:, -word and "phrase" as operators even in a long query.')
@common_options
@pass_options
def command(options: Options, /, query: tuple[str, ...], **args: Any) -> int:
    """Find ranked places in the code for words, a symbol, a question or pasted text.

    \b
    llmc search where are passwords hashed
    llmc search Parser.feed lang:python -- -path:tests
    llmc search '"connection refused" kind:function'
    llmc search - < issue.txt

    In a short query: path:, lang:, kind:, root:, each also negated with a leading minus; "quoted phrases"; -word.
    Longer text (an issue, a stack trace, a log, a diff) is searched as it is. `-` reads it from standard input.
    """
    return ask_tool(options, "search", {"query": typed_or_piped(query), **args})
