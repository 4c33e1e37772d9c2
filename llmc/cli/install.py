"""`llmc install`: tell clients how to start llmc."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from llmc.base.errors import ConfigError, LlmcError
from llmc.cli._options import Options, pass_options

if TYPE_CHECKING:
    from llmc.install.clients import ClientLocations, McpClient
    from llmc.install.files import EditOutcome
    from llmc.install.plan import InstallOptions, InstallStep

PROFILES = ("lean", "research", "pruner", "full")


@click.command()
@click.argument("clients", metavar="[CLIENT]...", nargs=-1)
@click.option("--all", "every", is_flag=True, help="Every client that is found on this machine.")
@click.option("--dry-run", is_flag=True, help="Show what would change, and change nothing.")
@click.option("--print", "show", is_flag=True, help="Print the entry, to be pasted by hand.")
@click.option("--uninstall", is_flag=True, help="Take out what was installed.")
@click.option("--project", is_flag=True, help="The project's own file instead of the user's.")
@click.option("--profile", type=click.Choice(PROFILES), help="Which tools are first class.")
@click.option("--agent", default="", metavar="NAME", help="Serve as this agent of the settings.")
@click.option("--name", default="llmc", metavar="NAME", help="What the server is called.", show_default=True)
@click.option("--hooks", is_flag=True, help="Also tell agents to use it: lines in AGENTS.md or its like, a hook.")
@click.option("--subagents", is_flag=True, help="Also write a sub-agent that looks things up, where clients have such.")
@pass_options
def command(
    options: Options, /, clients: tuple[str, ...], *, every: bool, show: bool, dry_run: bool, **rest: Any
) -> int:
    """Tell clients how to start llmc.

    CLIENT is claude-code, claude-desktop, cursor, vscode, codex, gemini, windsurf, zed, lmstudio, copilot or opencode.
    The client's file keeps its comments and all other entries, and a backup is made beside it. Clients that know no
    project (claude-desktop, lmstudio, windsurf) are given --root, or else the git work tree of the current folder.
    """
    from llmc.install.plan import InstallOptions, client_named

    if bool(clients) == every:
        raise click.UsageError("name one or more clients, or give --all.")
    roots = tuple(str(Path(root).resolve()) for root in options.roots)
    for root in roots:
        if not Path(root).is_dir():
            raise ConfigError(f"{root} is not a folder")
    wanted = InstallOptions(roots=roots, **{key: value for key, value in rest.items() if value is not None})
    places = _places()
    chosen = _found(options, wanted, places) if every else [client_named(name) for name in dict.fromkeys(clients)]
    if show:
        return _print(options, chosen, wanted, places)
    reports = [_install(options, client, wanted, places, dry_run=dry_run, passing=every) for client in chosen]
    if options.json:
        click.echo(json.dumps({"clients": reports}, indent=2))
    return max((report["exit"] for report in reports), default=0)


def _places() -> ClientLocations:
    from llmc.install.clients import ClientLocations
    from llmc.settings.locations import work_tree

    cwd = Path.cwd()
    return ClientLocations(os.environ, work_tree(cwd) or cwd)


def _found(options: Options, wanted: InstallOptions, places: ClientLocations) -> list[McpClient]:
    from llmc.install.clients import CLIENTS

    here = [client for client in CLIENTS.values() if client.is_here(places)]
    if wanted.project:
        here = [client for client in here if client.project]
    absent = [name for name in CLIENTS if name not in {client.name for client in here}]
    if absent and not options.json:
        click.echo(f"not found, passed by: {', '.join(absent)}")
    if not here and not options.json:
        click.echo("no client was found; name one to write its file all the same")
    return here


def _print(options: Options, chosen: list[McpClient], wanted: InstallOptions, places: ClientLocations) -> int:
    from llmc.install.plan import config_file, snippet

    for client in chosen:
        options.say(f"{client.title}: {_short(config_file(client, wanted, places))}")
        click.echo(snippet(client, wanted, places), nl=False)
    return 0


def _install(
    options: Options,
    client: McpClient,
    wanted: InstallOptions,
    places: ClientLocations,
    *,
    dry_run: bool,
    passing: bool,
) -> dict[str, Any]:
    """One client; what goes wrong with it does not keep the others from being done."""
    from llmc.install.files import change
    from llmc.install.plan import steps

    report: dict[str, Any] = {"client": client.name, "files": [], "exit": 0}
    try:
        for step in steps(client, wanted, places):
            outcome = change(step.path, step.edit, write=not dry_run)
            report["files"].append(_described(step, outcome, wanted))
            if not options.json:
                _tell(client, step, outcome, wanted, dry_run=dry_run)
    except LlmcError as error:
        report |= {
            "error": error.as_dict(),
            "exit": 0 if passing and "needs" in error.context else error.exit_code,
        }
        if not options.json:
            click.echo(f"{client.name}: {error.message}{': ' if error.reason else ''}{error.reason}", err=True)
            click.echo(f"  {error.hint}", err=True)
        return report
    changed = any(file["changed"] for file in report["files"])
    if changed and not dry_run and not options.json:
        click.echo(f"  {'Restart it to let go of llmc.' if wanted.uninstall else client.next_step}")
    return report


def _described(step: InstallStep, outcome: EditOutcome, wanted: InstallOptions) -> dict[str, Any]:
    return {
        "path": str(step.path),
        "what": step.what,
        "changed": outcome.changed,
        "action": _action(outcome, wanted),
        "backup": str(outcome.backup) if outcome.backup else None,
    }


def _action(outcome: EditOutcome, wanted: InstallOptions) -> str:
    if not outcome.changed:
        return "unchanged"
    return "removed" if wanted.uninstall else "added"


def _tell(client: McpClient, step: InstallStep, outcome: EditOutcome, wanted: InstallOptions, *, dry_run: bool) -> None:
    path = _short(step.path)
    if not outcome.changed:
        if not wanted.uninstall or step.what.startswith("the server"):
            state = "is not in" if wanted.uninstall else "is already in"
            click.echo(f"{client.name}: {step.what} {state} {path}")
        return
    if dry_run:
        click.echo(_difference(step, outcome), nl=False)
        return
    verb, link = ("removed", "from") if wanted.uninstall else ("added", "to")
    kept = f" (before: {_short(outcome.backup)})" if outcome.backup else ""
    click.echo(f"{client.name}: {verb} {step.what} {link} {path}{kept}")


def _difference(step: InstallStep, outcome: EditOutcome) -> str:
    """A diff whose surroundings are redacted: other entries of these files hold keys."""
    import difflib

    from llmc.envelope.redact.redactor import redact

    before, after = (redact(text or "").text.splitlines(keepends=True) for text in (outcome.before, outcome.after))
    name = str(step.path)
    lines = difflib.unified_diff(
        before,
        after,
        name if outcome.before is not None else os.devnull,
        name if outcome.after is not None else os.devnull,
    )
    return "".join(line if line.endswith("\n") else line + "\n" for line in lines)


def _short(path: Path | None) -> str:
    home = str(Path.home())
    text = str(path)
    return "~" + text[len(home) :] if home != "/" and text.startswith(home + "/") else text
