"""`llmc over`."""

from __future__ import annotations

import re
from typing import Any

import click

from llmc.cli._options import Options, pass_options
from llmc.cli._tool_call import ask_tool


@click.command()
@click.argument("words", metavar="HANDLE... [EXPRESSION]", nargs=-1, required=True)
@click.option("--all", "all_", is_flag=True, help="All results, without a budget.")
@click.option("--budget", type=int, metavar="N", help="Token budget of the reply.")
@pass_options
def command(options: Options, /, words: tuple[str, ...], **args: Any) -> int:
    """Count, group, sort, filter or join the items of an earlier result.

    \b
    llmc over habcd                                   list the fields of the rows
    llmc over habcd 'length(@)'
    llmc over habcd 'count_by(@, &folder)'
    llmc over habcd "[?!test && kind=='def'].path | unique(@)"
    llmc over habcd "reverse(sort_by(@, &line))[:5].[path, line]"
    llmc over habcd hefgh 'join_on(habcd, hefgh, &path)'

    The expression is JMESPath, with count_by, group_by, join_on, unique, matches(text, 'regex') and lower added. With
    several handles, each is a table named after it. The rows are read from the index again, so they are complete.
    """
    last = words[-1]
    only_handles = len(words) == 1 or re.fullmatch(r"h[a-z2-7]{3,32}", last)
    args |= {"handle": words if only_handles else words[:-1], "expression": "" if only_handles else last}
    return ask_tool(options, "over", args)
