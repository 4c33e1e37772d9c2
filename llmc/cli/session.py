"""`llmc session`: what the work knows so far, for people and for agents without MCP."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from llmc.cli._options import Options, pass_options
from llmc.cli._tool_call import ask_tool, common_options

if TYPE_CHECKING:
    from collections.abc import Callable


@click.group()
def command() -> None:
    """Sessions that the server keeps: keys with versions, a log, tool calls, tokens.

    \b
    llmc session list
    llmc session resume s4f2a90
    llmc session set s4f2a90 plan '["read the parser", "fix the loop"]' --agent otto
    """


def agent_options(command: Callable[..., Any]) -> Callable[..., Any]:
    command = click.option("--private", is_flag=True, help="Only for this agent's slice.")(command)
    return click.option("--agent", metavar="NAME", help="Which agent asks; it sees its own slice besides.")(command)


def ask(options: Options, action: str, args: dict[str, Any]) -> int:
    ask_tool(options, "session", {"action": action, **args})
    return 0


@command.command("list")
@common_options
@pass_options
def list_sessions(options: Options, /, **args: Any) -> int:
    """Every session, the last used first."""
    args.pop("fields", None)
    return ask(options, "list", args)


@command.command()
@click.argument("name")
@click.option("--agent", metavar="NAME", help="Which agent asks; it sees its own slice besides.")
@click.option("--budget", type=int, metavar="N", help="Tokens that the reply may take.")
@click.option("--all", "all_", is_flag=True, help="Everything, without a budget.")
@pass_options
def show(options: Options, /, **args: Any) -> int:
    """Its keys, lists, last entries, and what it has cost."""
    return ask(options, "show", args)


@command.command()
@click.argument("name")
@click.option("--agent", metavar="NAME", help="Which agent asks; it sees its own slice besides.")
@pass_options
def resume(options: Options, /, **args: Any) -> int:
    """Where it stands, in at most 300 tokens, for whoever goes on with it."""
    return ask(options, "resume", args)


@command.command()
@click.argument("name")
@click.argument("value", required=False)
@agent_options
@pass_options
def checkpoint(options: Options, /, **args: Any) -> int:
    """Write down where it stands, in your own words if you like."""
    return ask(options, "checkpoint", args)


@command.command()
@click.argument("name")
@click.argument("key")
@click.option("--agent", metavar="NAME", help="Which agent asks; it sees its own slice besides.")
@click.option("--all", "all_", is_flag=True, help="Everything, without a budget.")
@pass_options
def get(options: Options, /, **args: Any) -> int:
    """One key, or the last entries of a list."""
    return ask(options, "get", args)


@command.command("set")
@click.argument("name")
@click.argument("key")
@click.argument("value")
@click.option("--version", type=int, metavar="N", help="The version that you saw; 0 for a key that must be new.")
@agent_options
@pass_options
def set_key(options: Options, /, **args: Any) -> int:
    """Set a key; whoever replaces what another wrote says which version it saw."""
    return ask(options, "set", args)


@command.command()
@click.argument("name")
@click.argument("value")
@click.option("--key", metavar="LIST", help="Which list; the log when left out.")
@click.option("--act", metavar="WORD", help="said, asked, found, decided, solution.")
@agent_options
@pass_options
def append(options: Options, /, **args: Any) -> int:
    """Add an entry to the log or to another list."""
    return ask(options, "append", args)


@command.command()
@click.argument("name")
@click.argument("query", nargs=-1, required=True)
@click.option("--agent", metavar="NAME", help="Which agent asks; it sees its own slice besides.")
@pass_options
def search(options: Options, /, query: tuple[str, ...], **args: Any) -> int:
    """What was said, found and decided, by words and meaning."""
    return ask_tool(options, "session", {"action": "search", "query": " ".join(query), **args})


@command.command()
@click.argument("name", nargs=-1, required=True)
@pass_options
def drop(options: Options, /, name: tuple[str, ...]) -> int:
    """Forget sessions."""
    for one in name:
        ask(options, "drop", {"name": one})
    return 0
