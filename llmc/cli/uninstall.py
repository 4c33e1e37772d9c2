"""`llmc uninstall`: removes everything that llmc has written outside of its own package.

Client entries, hooks, instructions, sub-agents, skills, policies, the service unit and shell completion are removed,
the daemon is stopped, and the index and settings are deleted if the user says so. Nothing that llmc did not write is
touched. The package itself is left to the program that installed it.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from llmc.base.errors import LlmcError
from llmc.cli._options import Options, pass_options

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from llmc.install.clients import ClientLocations
    from llmc.install.files import EditOutcome


@click.command()
@click.option("--dry-run", is_flag=True, help="Print what would be removed.")
@click.option("--yes", is_flag=True, help="Do not ask; keeps the index and settings unless --delete-state is given.")
@click.option("--keep-state", is_flag=True, help="Keep the index, handles, statistics and settings without asking.")
@click.option("--delete-state", is_flag=True, help="Delete them without asking.")
@pass_options
def command(options: Options, /, *, dry_run: bool, yes: bool, keep_state: bool, delete_state: bool) -> int:
    """Remove llmc from every client, stop the daemon, and delete its state if you confirm.

    Entries in the user's files of all clients are removed, and those in the current project. Files that llmc did not
    write are not touched. A file that cannot be edited is reported, and the others are still processed.
    """
    from llmc.cli.install import client_places

    if keep_state and delete_state:
        raise click.UsageError("--keep-state and --delete-state exclude each other.")
    report: dict[str, Any] = {"removed": [], "errors": [], "state": "kept"}
    places = client_places()
    _remove_from_clients(options, places, report, dry_run=dry_run)
    _remove_completion(options, places, report, dry_run=dry_run)
    _remove_service(options, report, dry_run=dry_run)
    _stop(options, report, dry_run=dry_run)
    if not keep_state:
        _delete_state(options, report, ask=not yes, delete=delete_state, dry_run=dry_run)
    if options.json:
        click.echo(json.dumps(report, indent=2))
    else:
        if not report["removed"]:
            _say(options, f"nothing {'would be' if dry_run else 'was'} removed: no client is configured")
        _say(options, f"To remove the program itself: {remove_command()}")
    return 2 if report["errors"] else 0


def _say(options: Options, line: str) -> None:
    if not options.json and not options.quiet:
        click.echo(line)


def _remove_from_clients(options: Options, places: ClientLocations, report: dict[str, Any], *, dry_run: bool) -> None:
    """Remove every entry that starts llmc, whatever its name, from the user's and the current project's files."""
    from llmc.install.clients import CLIENTS
    from llmc.install.files import change
    from llmc.install.plan import InstallOptions, every_entry, steps

    for client in CLIENTS.values():
        for project in (False, True):
            if project and not client.project:
                continue
            wanted = every_entry(InstallOptions(project=project))
            for step in steps(client, wanted, places):
                edit = partial(change, step.path, step.edit, write=not dry_run)
                _apply(options, report, f"{client.name}: ", step.what, edit, dry_run=dry_run)


def _remove_completion(options: Options, places: ClientLocations, report: dict[str, Any], *, dry_run: bool) -> None:
    from llmc.install.completion import SHELLS, completion_steps
    from llmc.install.files import change

    for shell in SHELLS:
        for step in completion_steps(shell, places, remove=True):
            edit = partial(change, step.path, step.edit, write=not dry_run)
            _apply(options, report, "", step.what, edit, dry_run=dry_run)


def _apply(
    options: Options, report: dict[str, Any], client: str, what: str, edit: Callable[[], EditOutcome], *, dry_run: bool
) -> None:
    from llmc.cli.install import shortened

    try:
        outcome = edit()
    except LlmcError as error:
        report["errors"].append(error.as_dict())
        if not options.json:
            click.echo(f"{client}{what}: {error.message}{': ' if error.reason else ''}{error.reason}", err=True)
        return
    if outcome.changed:
        report["removed"].append({"what": f"{client}{what}", "path": str(outcome.path)})
        verb = "would remove" if dry_run else "removed"
        _say(options, f"{client}{verb} {what} from {shortened(outcome.path)}")


def _remove_service(options: Options, report: dict[str, Any], *, dry_run: bool) -> None:
    from llmc.cli._service_units import MARK, run, unit_for

    unit = unit_for(options.home.path, os.environ)
    if unit.installed is None or MARK not in unit.installed:
        return
    if not dry_run:
        for each in unit.stop:
            run(each)
        unit.path.unlink()
    report["removed"].append({"what": "the service", "path": str(unit.path)})
    _say(options, f"{'would remove' if dry_run else 'removed'} the service {unit.path}")


def _stop(options: Options, report: dict[str, Any], *, dry_run: bool) -> None:
    from llmc.base.daemon_lock import read_owner
    from llmc.cli.stop import stop_daemon

    owner = read_owner(options.home)
    if owner is None:
        return
    if not dry_run:
        stop_daemon(options.home, owner, force=True)
    report["removed"].append({"what": "the daemon", "pid": owner.pid})
    _say(options, f"{'would stop' if dry_run else 'stopped'} the index daemon (pid {owner.pid})")


def _delete_state(options: Options, report: dict[str, Any], *, ask: bool, delete: bool, dry_run: bool) -> None:
    """Delete the home folder with the index, and the user's settings."""
    folders = [folder for folder in _state_folders(options) if folder.is_dir()]
    if not folders:
        return
    named = " and ".join(f"{folder} ({_size(folder)})" for folder in folders)
    if dry_run:
        verb = "would delete" if delete else "would ask whether to delete" if ask else "would keep"
        _say(options, f"{verb} the index, statistics and settings in {named}")
        return
    if not delete and ask and sys.stdin.isatty():
        delete = click.confirm(f"Delete the index, statistics and settings in {named}?", default=False, err=True)
    if not delete:
        _say(options, f"kept {' and '.join(map(str, folders))} (delete with --delete-state)")
        return
    for folder in folders:
        shutil.rmtree(folder, ignore_errors=True)
        _say(options, f"deleted {folder}")
    report["state"] = "deleted"


def _state_folders(options: Options) -> Iterator[Path]:
    from llmc.settings.locations import user_folder

    yield Path(options.home.path)
    config = os.environ.get("XDG_CONFIG_HOME") or str(user_folder(os.environ) / ".config")
    settings = Path(config, "llmc")
    if settings != Path(options.home.path):
        yield settings


def _size(folder: Path) -> str:
    from llmc.cli._render import size

    return size(sum(path.lstat().st_size for path in folder.rglob("*") if not path.is_dir()))


def remove_command() -> str:
    """The command that removes the package, depending on how it was installed."""
    place = str(Path(sys.prefix))
    if "/uv/tools/" in place:
        return "uv tool uninstall llmc-index"
    return "pipx uninstall llmc-index" if "/pipx/" in place else f"{sys.executable} -m pip uninstall llmc-index"
