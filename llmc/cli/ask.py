"""`llmc ask`."""

from __future__ import annotations

from typing import Any

import click

from llmc.cli._options import Options, pass_options
from llmc.cli._tool_call import ask_tool, typed_or_piped


@click.command()
@click.argument("question", nargs=-1, required=True)
@click.option("--session", "name", metavar="NAME", help="Session to continue; a new one by default.")
@click.option("--in", "within", multiple=True, metavar="ROOT", help="Only this root or folder.")
@click.option("--budget", type=int, metavar="N", help="Token budget of the reply.")
@click.option("--all", "all_", is_flag=True, help="All results, without a budget.")
@pass_options
def command(options: Options, /, question: tuple[str, ...], **args: Any) -> int:
    """Answer a question about code, docs or both, with path and line.

    \b
    llmc ask how are sessions expired
    llmc ask 'where do the docs explain the cache?' --session s4f2a90
    llmc ask - < issue.txt
    """
    args["roots"] = list(args.pop("within")) or None
    return ask_tool(options, "ask", {"question": typed_or_piped(question), **args})
