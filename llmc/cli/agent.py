"""`llmc agent`: list personas, resolve one with arguments, and create a new one."""

from __future__ import annotations

import json
import os
from typing import Any

import click

from llmc.cli._options import Options, pass_options

__all__ = ["command"]

WIDEST = 80


@click.group(name="agent")
def command() -> None:
    """Personas: a prompt, the tools that go with it, and context from the index.

    \b
    llmc agent list
    llmc agent test incident-responder --arg service=payments --arg severity=P1
    """


@command.command("list")
@pass_options
def list_agents(options: Options) -> int:
    """List all personas with their tools and source."""
    reply = options.ask("agents")
    agents = reply["agents"]
    for note in reply["notes"]:
        options.notify(note)
    if options.json:
        _print_json({"agents": [_public(one) for one in agents]})
        return 0
    width = max(len(one["name"]) for one in agents)
    described = max(min(len(one["description"]), WIDEST) for one in agents)
    for one in agents:
        mark = "" if one["source"] == "toml" else f"  [{one['source']}]"
        about = f"{one['name']:<{width}}   {one['description']:<{described}}"
        click.echo(f"  {about}   (tools: {_tools(one)}){mark}")
    return 0


@command.command("show")
@click.argument("name")
@pass_options
def show(options: Options, name: str) -> int:
    """Show a persona's tools, arguments and source file."""
    one = _find(options.ask("agents")["agents"], name)
    if options.json:
        _print_json(_public(one))
        return 0
    click.echo(f"Agent: {one['name']}\n  {one['description']}")
    click.echo(f"Source: {_source(one)}")
    click.echo(f"Tools: {_tools(one)}")
    if one["arguments"]:
        click.echo("Arguments:")
    for argument in one["arguments"]:
        required = " (required)" if argument["required"] else ""
        click.echo(f"  {argument['name']}{required}: {argument['description']}".rstrip(": "))
    return 0


@command.command("test")
@click.argument("name")
@click.option("--arg", "args", multiple=True, metavar="NAME=VALUE", help="Argument of the persona; may be repeated.")
@pass_options
def test(options: Options, name: str, args: tuple[str, ...]) -> int:
    """Resolve a persona and print the prompt that a client would receive, with its cost."""
    resolved = options.ask("agent", {"name": name, "args": _pairs(args)})
    if options.json:
        _print_json({**resolved, "info": _public(resolved["info"])})
        return 0
    prompt, messages = resolved["prompt"], resolved["prompt"]["messages"]
    click.echo(f"\nAgent: {resolved['info']['name']}")
    click.echo(f"Source: {_source(resolved['info'])}")
    click.echo(f"Tools: {_tools(prompt)}")
    click.echo(f"\nSystem prompt ({len(prompt['system'])} chars):\n{_indent(prompt['system'])}")
    if messages:
        click.echo(f"\nMessages ({len(messages)}):")
    for message in messages:
        click.echo(_indent(f"[{message['role']}] {message['content']}"))
    for note in resolved["notes"]:
        click.echo(f"note: {note}", err=True)
    system, others = resolved["system_tokens"], resolved["message_tokens"]
    click.echo(f"\nTokens: {system + others} (system {system}, messages {others})")
    queries = f"{_count(resolved['searches'], 'search quer')}, {_count(resolved['fetches'], 'document fetch')}"
    click.echo(f"Resolved in {resolved['seconds'] * 1_000:.0f}ms ({queries})")
    return 0


@command.command("init")
@click.argument("name")
@click.option(
    "--kind",
    type=click.Choice(("lua", "toml", "python")),
    default="lua",
    show_default=True,
    help="Kind of persona.",
)
@pass_options
def init(options: Options, name: str, kind: str) -> int:
    """Create a starter persona in the current folder: agents/NAME.lua, a section of llmc.toml, or a package."""
    from pathlib import Path

    from llmc.extend.personas.scaffold import scaffold
    from llmc.settings.locations import config_folder

    created = scaffold(Path.cwd(), name, kind, str(config_folder(os.environ) / "llmc.toml"))
    if options.json:
        _print_json({"files": list(created.files)})
        return 0
    for path in created.files:
        click.echo(f"Created: {path}")
    click.echo(created.then)
    return 0


def _find(agents: list[dict[str, Any]], name: str) -> dict[str, Any]:
    from difflib import get_close_matches

    from llmc.base.errors import NotFoundError

    known = {one["name"]: one for one in agents}
    if name not in known:
        near = get_close_matches(name, known, 1)
        hint = f"Did you mean {near[0]}?" if near else f"Available: {', '.join(known)}."
        raise NotFoundError(f"no agent is named {name!r}", hint=hint)
    return known[name]


def _pairs(args: tuple[str, ...]) -> dict[str, str]:
    pairs = [one.partition("=") for one in args]
    wrong = next((name for name, equals, _ in pairs if not equals or not name), None)
    if wrong is not None:
        raise click.BadParameter(f"{wrong!r} is not NAME=VALUE", param_hint="--arg")
    return {name: value for name, _, value in pairs}


def _public(one: dict[str, Any]) -> dict[str, Any]:
    """The fields that the HTTP endpoints return, and the source file."""
    arguments = [{name: each[name] for name in ("name", "description", "required")} for each in one["arguments"]]
    return {**{name: one[name] for name in ("name", "description", "tools", "source", "place")}, "arguments": arguments}


def _source(one: dict[str, Any]) -> str:
    place = one["place"]
    if os.path.isabs(place) and place.startswith(os.getcwd() + os.sep):  # noqa: PTH109, PTH117 - pathlib costs 5 ms
        place = os.path.relpath(place)
    return f"{one['source']} ({place})" if place else one["source"]


def _tools(one: dict[str, Any]) -> str:
    return ", ".join(one["tools"]) or "all"


def _indent(text: str) -> str:
    return "\n".join(f"  {line}".rstrip() for line in text.split("\n"))


def _count(number: int, noun: str) -> str:
    """`1 search query`, `2 search queries`, `3 document fetches`."""
    endings = ("y", "ies") if noun.endswith("quer") else ("", "es")
    return f"{number} {noun}{endings[number != 1]}"


def _print_json(value: Any) -> None:
    click.echo(json.dumps(value, indent=2))
