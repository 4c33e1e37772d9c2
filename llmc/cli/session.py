"""`llmc session`: shared session memory, for people and for agents without MCP."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from llmc.cli._options import Options, pass_options
from llmc.cli._tool_call import ask_tool, common_options

if TYPE_CHECKING:
    from collections.abc import Callable


@click.group()
def command() -> None:
    """Sessions stored by the daemon: versioned keys, a log, tool calls, token counts.

    \b
    llmc session list
    llmc session resume s4f2a90
    llmc session set s4f2a90 plan '["read the parser", "fix the loop"]' --agent otto
    """


def agent_options(command: Callable[..., Any]) -> Callable[..., Any]:
    command = click.option("--private", is_flag=True, help="Store in this agent's private part.")(command)
    return click.option("--agent", metavar="NAME", help="Agent name; includes its private part.")(command)


def ask(options: Options, action: str, args: dict[str, Any]) -> int:
    ask_tool(options, "session", {"action": action, **args})
    return 0


@command.command("list")
@common_options
@pass_options
def list_sessions(options: Options, /, **args: Any) -> int:
    """List sessions, most recently used first."""
    args.pop("fields", None)
    return ask(options, "list", args)


@command.command()
@click.argument("name")
@click.option("--agent", metavar="NAME", help="Agent name; includes its private part.")
@click.option("--budget", type=int, metavar="N", help="Token budget of the reply.")
@click.option("--all", "all_", is_flag=True, help="All results, without a budget.")
@pass_options
def show(options: Options, /, **args: Any) -> int:
    """Show a session's keys, lists, recent entries and cost."""
    return ask(options, "show", args)


@command.command()
@click.argument("name")
@click.option("--agent", metavar="NAME", help="Agent name; includes its private part.")
@pass_options
def resume(options: Options, /, **args: Any) -> int:
    """Summarize a session in at most 300 tokens, to continue it."""
    return ask(options, "resume", args)


@command.command()
@click.argument("name")
@click.argument("value", required=False)
@agent_options
@pass_options
def checkpoint(options: Options, /, **args: Any) -> int:
    """Record the state of the work, optionally in your own words."""
    return ask(options, "checkpoint", args)


@command.command()
@click.argument("name")
@click.argument("key")
@click.option("--agent", metavar="NAME", help="Agent name; includes its private part.")
@click.option("--all", "all_", is_flag=True, help="All results, without a budget.")
@pass_options
def get(options: Options, /, **args: Any) -> int:
    """Print a key, or the last entries of a list."""
    return ask(options, "get", args)


@command.command("set")
@click.argument("name")
@click.argument("key")
@click.argument("value")
@click.option("--version", type=int, metavar="N", help="The version you read; 0 if the key must be new.")
@agent_options
@pass_options
def set_key(options: Options, /, **args: Any) -> int:
    """Set a key. To replace another agent's value, give the version you read."""
    return ask(options, "set", args)


@command.command()
@click.argument("name")
@click.argument("value")
@click.option("--key", metavar="LIST", help="List to append to; the log by default.")
@click.option("--act", metavar="WORD", help="Kind of entry: said, asked, found, decided, solution.")
@agent_options
@pass_options
def append(options: Options, /, **args: Any) -> int:
    """Add an entry to the log or to another list."""
    return ask(options, "append", args)


@command.command()
@click.argument("name")
@click.argument("query", nargs=-1, required=True)
@click.option("--agent", metavar="NAME", help="Agent name; includes its private part.")
@pass_options
def search(options: Options, /, query: tuple[str, ...], **args: Any) -> int:
    """Search the entries of a session, by words and meaning."""
    return ask_tool(options, "session", {"action": "search", "query": " ".join(query), **args})


@command.command()
@click.argument("name", nargs=-1, required=True)
@pass_options
def drop(options: Options, /, name: tuple[str, ...]) -> int:
    """Delete sessions."""
    for one in name:
        ask(options, "drop", {"name": one})
    return 0
