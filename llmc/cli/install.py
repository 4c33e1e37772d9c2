"""`llmc install`: adds llmc to the configuration files of MCP clients."""

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
HOOK_MODES = ("off", "suggest", "rewrite")


class HookMode(click.Choice[str]):
    """`--hooks` alone is `suggest`; it takes the next word for its mode, so it follows the clients' names."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if value not in HOOK_MODES:
            modes = ", ".join(HOOK_MODES)
            self.fail(f"{value!r} is not a mode: --hooks comes after the clients and takes {modes}", param, ctx)
        return str(value)


@click.command()
@click.argument("clients", metavar="[CLIENT]...", nargs=-1)
@click.option("--all", "every", is_flag=True, help="Every client found on this machine.")
@click.option("--dry-run", is_flag=True, help="Print the changes without making them.")
@click.option("--print", "show", is_flag=True, help="Print the configuration entry instead of writing it.")
@click.option("--link", is_flag=True, help="Print a link that adds the server (cursor, vscode, lmstudio).")
@click.option("--uninstall", is_flag=True, help="Remove what was installed.")
@click.option("--project", is_flag=True, help="Write the project's file instead of the user's.")
@click.option("--profile", type=click.Choice(PROFILES), help="Tools listed to the client.")
@click.option("--agent", default="", metavar="NAME", help="Serve this persona.")
@click.option("--name", default="llmc", metavar="NAME", help="Name of the server entry.", show_default=True)
@click.option("--http", default="", metavar="HOST:PORT", help="Connect to a running `llmc serve --http` instead.")
@click.option("--ask", is_flag=True, help="Let the client ask before it calls llmc's reading tools.")
@click.option(
    "--hooks",
    type=HookMode(HOOK_MODES),
    is_flag=False,
    flag_value="suggest",
    metavar="[MODE]",
    help="Also add instructions and a hook for shell searches: suggest (default), rewrite, or off to remove both.",
)
@click.option("--subagents", is_flag=True, help="Also write a search sub-agent, for clients that support them.")
@click.option("--skill", is_flag=True, help="Also write a skill file, for agents without MCP.")
@pass_options
def command(
    options: Options, /, clients: tuple[str, ...], *, every: bool, show: bool, link: bool, dry_run: bool, **rest: Any
) -> int:
    """Add llmc to the configuration of MCP clients.

    CLIENT is claude-code, claude-desktop, cursor, vscode, codex, gemini, windsurf, zed, lmstudio, copilot or opencode.
    Comments and other entries of the client's file are preserved, and a backup is written next to it. For clients
    without projects (claude-desktop, lmstudio, windsurf), the entry contains --root, or else the git work tree of the
    current folder. `llmc uninstall` removes everything from every client.
    """
    from llmc.install.plan import client_named

    places = client_places()
    if bool(clients) == every:
        raise click.UsageError(f"name one or more clients, or give --all.{_found_hint(places)}")
    install = _install_options(options, rest)
    chosen = (
        _detect_clients(options, install, places) if every else [client_named(name) for name in dict.fromkeys(clients)]
    )
    if show or link:
        return _print(options, chosen, install, places, link=link)
    reports = [apply_steps(options, client, install, places, dry_run=dry_run, lenient=every) for client in chosen]
    if options.json:
        click.echo(json.dumps({"clients": reports}, indent=2))
    return max((report["exit"] for report in reports), default=0)


def _install_options(options: Options, rest: dict[str, Any]) -> InstallOptions:
    from llmc.install.plan import InstallOptions

    roots = tuple(str(Path(root).resolve()) for root in options.roots)
    for root in roots:
        if not Path(root).is_dir():
            raise ConfigError(f"{root} is not a folder")
    token = ""
    if rest["http"] and not rest["uninstall"] and not rest["project"]:
        from llmc.server.http.token import make_token

        options.home.make()
        token = make_token(options.home)
    given = {key: value for key, value in rest.items() if value is not None}
    return InstallOptions(roots=roots, token=token, **given)


def client_places() -> ClientLocations:
    from llmc.install.clients import ClientLocations
    from llmc.settings.locations import work_tree

    cwd = Path.cwd()
    return ClientLocations(os.environ, work_tree(cwd) or cwd)


def _found_hint(places: ClientLocations) -> str:
    from llmc.install.clients import CLIENTS

    found = [client.name for client in CLIENTS.values() if client.is_here(places)]
    return f"\nFound here: {', '.join(found)}." if found else ""


def _detect_clients(options: Options, install: InstallOptions, places: ClientLocations) -> list[McpClient]:
    from llmc.install.clients import CLIENTS

    present = [client for client in CLIENTS.values() if client.is_here(places)]
    if install.project:
        present = [client for client in present if client.project]
    absent = [name for name in CLIENTS if name not in {client.name for client in present}]
    if absent and not options.json:
        click.echo(f"not found, skipped: {', '.join(absent)}")
    if not present and not options.json:
        click.echo("no client was found; name a client to write its file anyway")
    return present


def _print(
    options: Options, chosen: list[McpClient], install: InstallOptions, places: ClientLocations, *, link: bool
) -> int:
    from llmc.install.links import deep_link
    from llmc.install.plan import config_file, snippet

    for client in chosen:
        if link:
            click.echo(deep_link(client, install, places))
            continue
        options.notify(f"{client.title}: {shortened(config_file(client, install, places))}")
        click.echo(snippet(client, install, places), nl=False)
    return 0


def apply_steps(
    options: Options,
    client: McpClient,
    install: InstallOptions,
    places: ClientLocations,
    *,
    dry_run: bool,
    lenient: bool,
) -> dict[str, Any]:
    """Install for one client; its errors go into the report, so that the other clients are still processed."""
    from llmc.install.files import change
    from llmc.install.hooks import HOOKS
    from llmc.install.plan import steps

    report: dict[str, Any] = {"client": client.name, "files": [], "exit": 0}
    try:
        for step in steps(client, install, places):
            outcome = change(step.path, step.edit, write=not dry_run, private=step.private)
            report["files"].append(_as_dict(step, outcome, install))
            if not options.json:
                _print_outcome(client, step, outcome, install, dry_run=dry_run)
    except LlmcError as error:
        report |= {
            "error": error.as_dict(),
            "exit": 0 if lenient and "needs" in error.context else error.exit_code,
        }
        if not options.json:
            click.echo(f"{client.name}: {error.message}{': ' if error.reason else ''}{error.reason}", err=True)
            click.echo(f"  {error.hint}", err=True)
        return report
    changed = any(file["changed"] for file in report["files"])
    if changed and not dry_run and not options.json:
        click.echo(f"  {'Restart the client to unload llmc.' if install.uninstall else client.next_step}")
        if install.hooks in ("suggest", "rewrite") and (note := _hook_note(client, HOOKS, report)):
            click.echo(f"  {note}")
    return report


def _hook_note(client: McpClient, hooks: dict[str, Any], report: dict[str, Any]) -> str:
    if client.name not in hooks:
        instructed = any("instructions" in file["what"] for file in report["files"])
        rest = "only the instructions were added" if instructed else "nor a file for instructions"
        return f"{client.title} has no hooks{'; ' if instructed else ' '}{rest}."
    return str(hooks[client.name].next_step)


def _as_dict(step: InstallStep, outcome: EditOutcome, install: InstallOptions) -> dict[str, Any]:
    return {
        "path": str(step.path),
        "what": step.what,
        "changed": outcome.changed,
        "action": _action(outcome, install),
        "backup": str(outcome.backup) if outcome.backup else None,
    }


def _action(outcome: EditOutcome, install: InstallOptions) -> str:
    if not outcome.changed:
        return "unchanged"
    return "removed" if install.uninstall else "added"


def _print_outcome(
    client: McpClient, step: InstallStep, outcome: EditOutcome, install: InstallOptions, *, dry_run: bool
) -> None:
    path = shortened(step.path)
    removes = install.uninstall or step.edit.removes
    if not outcome.changed:
        if not removes or (install.name and step.what.startswith("the server")):
            click.echo(f"{client.name}: {path} {'does not have' if removes else 'already has'} {step.what}")
        return
    if dry_run:
        click.echo(_difference(step, outcome), nl=False)
        return
    verb, preposition = ("removed", "from") if removes else ("added", "to")
    if not removes and outcome.before is not None and step.edit.holds(outcome.before):
        verb, preposition = "updated", "in"
    backup = f" (backup: {shortened(outcome.backup)})" if outcome.backup else ""
    click.echo(f"{client.name}: {verb} {step.what} {preposition} {path}{backup}")


def _difference(step: InstallStep, outcome: EditOutcome) -> str:
    """A diff with secrets redacted: other entries of these files may contain keys."""
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


def shortened(path: Path | None) -> str:
    home = str(Path.home())
    text = str(path)
    return "~" + text[len(home) :] if home != "/" and text.startswith(home + "/") else text
