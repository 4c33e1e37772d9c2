"""`llmc find`."""

from __future__ import annotations

from typing import Any

import click

from llmc.cli._options import Options, pass_options
from llmc.cli._tool_call import ask_tool, common_options


@click.command()
@click.argument("name", default="")
@click.argument("path", nargs=-1)
@click.option("-g", "--glob", multiple=True, metavar="GLOB", help="Only files that match; !GLOB excludes.")
@click.option("-t", "--type", multiple=True, metavar="TYPE", help="Only files of this type, such as py.")
@click.option("--larger", metavar="SIZE", help="At least this size: 20k, 3M.")
@click.option("--smaller", metavar="SIZE", help="At most this size.")
@click.option("--newer", metavar="AGE", help="Changed within 2h, 3d, 1w, or since 2026-01-31.")
@click.option("--older", metavar="AGE", help="Not changed within that time.")
@click.option("-l", "--long", is_flag=True, help="Print size and date.")
@common_options
@pass_options
def command(options: Options, /, **args: Any) -> int:
    """Find files by name: part of a path, a glob, or letters in order.

    \b
    llmc find autoreload
    llmc find '*_test.go' pkg --newer 2d
    """
    return ask_tool(options, "find", args)
