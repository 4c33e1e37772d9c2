"""`llmc handle`: results that did not fit into a reply; they are stored for a day."""

from __future__ import annotations

from typing import Any

import click

from llmc.cli._options import Options, pass_options
from llmc.cli._tool_call import ask_tool, common_options


@click.group()
def command() -> None:
    """Results that did not fit into a reply are stored for a day; `llmc read HANDLE` prints the rest."""


@command.command("list")
@common_options
@pass_options
def list_handles(options: Options, /, **args: Any) -> int:
    """List handles with their age, number of remaining results, and query."""
    return ask_tool(options, "handle", args)


@command.command("show")
@click.argument("name")
@common_options
@pass_options
def show_handle(options: Options, /, **args: Any) -> int:
    """List a handle's places, numbered as in `llmc read HANDLE:3`, and files that changed since."""
    return ask_tool(options, "handle", {**args, "name": (args["name"],)})


@command.command("drop")
@click.argument("name", nargs=-1)
@click.option("--all", "everything", is_flag=True, help="Delete all handles.")
@pass_options
def drop_handles(options: Options, /, name: tuple[str, ...], *, everything: bool) -> int:
    """Delete handles."""
    if bool(name) == everything:
        raise click.UsageError("name the handles to delete, or give --all.")
    ask_tool(options, "handle", {"name": name, "drop": True})
    return 0
