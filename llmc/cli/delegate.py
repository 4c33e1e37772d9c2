"""`llmc delegate`: list, test and trust the user's own tools and the MCP servers they use."""

from __future__ import annotations

import json
from typing import Any

import click

from llmc.cli._options import Options, pass_options


@click.group()
def command() -> None:
    """Delegates, Lua scripts and downstream MCP servers: list, test, trust."""


def ask(options: Options, params: dict[str, Any]) -> Any:
    options.send_variables = True
    return options.ask("delegates", params)


@command.command("list")
@pass_options
def list_all(options: Options, /) -> int:
    """List every server, delegate and Lua script in the settings; servers are started to check that they respond."""
    reply = ask(options, {})
    if options.json:
        click.echo(json.dumps(reply))
        return 0
    if not any(reply.values()):
        click.echo("The settings define no servers, delegates or scripts.")
    for server in reply["servers"]:
        click.echo("\n".join(server_lines(server)))
    for delegate in reply["delegates"]:
        model = f" · {delegate['provider']} {delegate['model']}" if "model" in delegate else ""
        click.echo(f"delegate {delegate['name']} · {status_text(delegate)}{model}")
    for script in reply["scripts"]:
        path = f" · {script['path']}" if "path" in script else ""
        click.echo(f"script {script['name']} · {status_text(script)}{path}")
    return 0


def server_lines(server: dict[str, Any]) -> list[str]:
    tools = server.get("tools", [])
    lines = [f"server {server['name']} · {status_text(server)}{f' · {len(tools)} tools' if tools else ''}"]
    if server.get("exposed"):
        lines.append(f"  exposed: {', '.join(server['exposed'])}")
    if server.get("changed"):
        lines.append(f"  changed since you allowed them: {', '.join(server['changed'])}")
        lines.append(f"    llmc delegate trust {server['name']}")
    lines += [f"  unusable: {name}: {reason}" for name, reason in server.get("refused", {}).items()]
    for name, near in server.get("absent", {}).items():
        lines.append(f"  unknown tool: {name}{f'; did you mean {near}?' if near else ''}")
    return lines


def status_text(one: dict[str, Any]) -> str:
    return f"{one['status']}: {one['reason']}" if one.get("reason") else str(one["status"])


@command.command()
@click.argument("name")
@click.argument("arguments", nargs=-1, metavar="[KEY=VALUE]...")
@pass_options
def test(options: Options, /, name: str, arguments: tuple[str, ...]) -> int:
    """Run a delegate, a Lua script, or an exposed tool (SERVER.TOOL), once.

    \b
    llmc delegate test research_dependency query='an async HTTP client'
    llmc delegate test filesystem.list_directory path=/srv
    """
    reply = ask(options, {"test": name, "args": dict(parse_pair(text) for text in arguments)})
    if options.json:
        click.echo(json.dumps(reply))
    else:
        click.echo(reply["text"], err=bool(reply["error"]))
    return 1 if reply["error"] else 0


def parse_pair(text: str) -> tuple[str, Any]:
    """`key=value`; a value that is valid JSON is parsed."""
    key, equals, value = text.partition("=")
    if not equals or not key:
        raise click.UsageError(f"{text!r} is not KEY=VALUE")
    try:
        return key, json.loads(value)
    except ValueError:
        return key, value


@command.command()
@click.argument("server")
@click.argument("tools", nargs=-1)
@pass_options
def trust(options: Options, /, server: str, tools: tuple[str, ...]) -> int:
    """Accept changed tool descriptions of a server: of all its tools, or of TOOLS."""
    reply = ask(options, {"trust": server, "tools": list(tools)})
    if options.json:
        click.echo(json.dumps(reply))
    else:
        names = ", ".join(reply["trusted"])
        click.echo(f"trusted: {names}" if names else f"no tool of {server} has changed")
    return 0
