"""`llmc delegate`: tools of your own, and the servers behind them."""

from __future__ import annotations

import json
from typing import Any

import click

from llmc.cli._options import Options, pass_options


@click.group()
def command() -> None:
    """Delegates and downstream MCP servers: what runs, a try, a word of trust."""


def ask(options: Options, params: dict[str, Any]) -> Any:
    options.named = True
    return options.ask("delegates", params)


@command.command("list")
@pass_options
def list_all(options: Options, /) -> int:
    """Every server and delegate of the settings; servers are started to see whether they answer."""
    found = ask(options, {})
    if options.json:
        click.echo(json.dumps(found))
        return 0
    if not found["servers"] and not found["delegates"]:
        click.echo("The settings name no servers and no delegates.")
    for server in found["servers"]:
        click.echo("\n".join(server_lines(server)))
    for delegate in found["delegates"]:
        by = f"{delegate['provider']} {delegate['model']}" if "model" in delegate else ""
        click.echo(f"delegate {delegate['name']} · {said(delegate)}{f' · {by}' if by else ''}")
    return 0


def server_lines(server: dict[str, Any]) -> list[str]:
    tools = server.get("tools", [])
    lines = [f"server {server['name']} · {said(server)}{f' · {len(tools)} tools' if tools else ''}"]
    if server.get("exposed"):
        lines.append(f"  exposed: {', '.join(server['exposed'])}")
    if server.get("changed"):
        lines.append(f"  changed since you allowed them: {', '.join(server['changed'])}")
        lines.append(f"    llmc delegate trust {server['name']}")
    lines += [f"  unusable: {name}: {why}" for name, why in server.get("refused", {}).items()]
    for name, near in server.get("absent", {}).items():
        lines.append(f"  there is no tool {name}{f'; did you mean {near}?' if near else ''}")
    return lines


def said(one: dict[str, Any]) -> str:
    return f"{one['status']}: {one['reason']}" if one.get("reason") else str(one["status"])


@command.command()
@click.argument("name")
@click.argument("arguments", nargs=-1, metavar="[KEY=VALUE]...")
@pass_options
def test(options: Options, /, name: str, arguments: tuple[str, ...]) -> int:
    """Run a delegate, or an exposed tool (SERVER.TOOL), once.

    \b
    llmc delegate test research_dependency query='an async HTTP client'
    llmc delegate test filesystem.list_directory path=/srv
    """
    found = ask(options, {"test": name, "args": dict(pair(text) for text in arguments)})
    if options.json:
        click.echo(json.dumps(found))
    else:
        click.echo(found["text"], err=bool(found["error"]))
    return 1 if found["error"] else 0


def pair(text: str) -> tuple[str, Any]:
    """`key=value`; a value that is JSON is meant as that."""
    key, is_pair, value = text.partition("=")
    if not is_pair or not key:
        raise click.UsageError(f"{text!r} is no KEY=VALUE")
    try:
        return key, json.loads(value)
    except ValueError:
        return key, value


@command.command()
@click.argument("server")
@click.argument("tools", nargs=-1)
@pass_options
def trust(options: Options, /, server: str, tools: tuple[str, ...]) -> int:
    """Confirm tools of a server whose descriptions have changed: all of them, or those that are named."""
    found = ask(options, {"trust": server, "tools": list(tools)})
    if options.json:
        click.echo(json.dumps(found))
    else:
        names = ", ".join(found["trusted"])
        click.echo(f"trusted: {names}" if names else f"nothing of {server} has changed")
    return 0
