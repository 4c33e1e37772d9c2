"""`llmc match`."""

from __future__ import annotations

from typing import Any

import click

from llmc.cli._options import Options, pass_options
from llmc.cli._tool_call import ask_tool, common_options


@click.command()
@click.argument("pattern")
@click.argument("path", nargs=-1)
@click.option(
    "--with", "with_", multiple=True, metavar="ARG", help="Calls that pass this argument: verify, verify=False, 2=x."
)
@click.option("--without", multiple=True, metavar="ARG", help="Calls that do not pass this argument.")
@click.option("-g", "--glob", multiple=True, metavar="GLOB", help="Only files that match; !GLOB excludes.")
@click.option("-t", "--type", multiple=True, metavar="TYPE", help="Only files of this type, such as py.")
@click.option("-T", "--type-not", multiple=True, metavar="TYPE", help="Skip files of this type.")
@click.option("--no-tests", is_flag=True, help="Skip test code, by path or by the framework's markers.")
@click.option("--only-tests", is_flag=True, help="Only test code.")
@click.option("-l", "--files-with-matches", "--files", "files", is_flag=True, help="Print only file names.")
@click.option("-c", "--count", is_flag=True, help="Print only the number of matches per file.")
@common_options
@pass_options
def command(options: Options, /, **args: Any) -> int:
    """Find code by its shape: text, line breaks and comments do not matter.

    \b
    llmc match 'requests.get($$$A, verify=False)'
    llmc match 'if err != nil { return nil }' pkg -t go
    llmc match requests.get --without timeout
    llmc match subprocess.run --with shell=True --no-tests

    In a pattern, $X is any expression, $$$ARGS any number of arguments or statements, and $X twice the same code twice.
    With --with and --without, PATTERN is the name of a function; an argument is found by keyword, in an options object,
    or by its position if the repository defines the function (2=x is the second argument).
    """
    args["with"] = args.pop("with_")
    return ask_tool(options, "match", args)
