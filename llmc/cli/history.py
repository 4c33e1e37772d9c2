"""`llmc history`."""

from __future__ import annotations

from typing import Any

import click

from llmc.cli._options import Options, pass_options
from llmc.cli._tool_call import ask_tool, common_options


@click.command()
@click.argument("target", nargs=-1, required=True)
@click.option("--limit", "-n", type=int, metavar="N", help="Maximum number of commits.")
@common_options
@pass_options
def command(options: Options, /, target: tuple[str, ...], **args: Any) -> int:
    """Commits that touched a path or the file of a symbol, or that mention a topic.

    \b
    llmc history src/auth/session.py
    llmc history SessionStore
    llmc history 'token refresh'

    Only ancestors of the current commit are read, the last 5,000 at most, without running git.
    """
    return ask_tool(options, "history", {"target": " ".join(target), **args})
