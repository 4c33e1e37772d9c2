"""`llmc handle`: results that did not fit, and are kept for a day."""

from __future__ import annotations

from typing import Any

import click

from llmc.cli._options import Options, pass_options
from llmc.cli._tool_call import ask_tool, common_options


@click.group()
def command() -> None:
    """What replies left out is kept for a day behind handles; `llmc read HANDLE` goes on reading."""


@command.command("list")
@common_options
@pass_options
def list_handles(options: Options, /, **args: Any) -> int:
    """Every handle: its age, what is left behind it, and the question."""
    return ask_tool(options, "handle", args)


@command.command("show")
@click.argument("name")
@common_options
@pass_options
def show_handle(options: Options, /, **args: Any) -> int:
    """The places behind a handle, numbered as `llmc read HANDLE:3` opens them, and what changed since."""
    return ask_tool(options, "handle", {**args, "name": (args["name"],)})


@command.command("drop")
@click.argument("name", nargs=-1)
@click.option("--all", "everything", is_flag=True, help="All of them.")
@pass_options
def drop_handles(options: Options, /, name: tuple[str, ...], *, everything: bool) -> int:
    """Forget handles."""
    if bool(name) == everything:
        raise click.UsageError("which? Name some handles, or give --all.")
    ask_tool(options, "handle", {"name": name, "drop": True})
    return 0
