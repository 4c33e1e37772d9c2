"""`llmc service`: lets systemd or launchd start the daemon at login."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import click

from llmc.base.errors import ConfigError
from llmc.cli._options import Options, pass_options

if TYPE_CHECKING:
    from llmc.cli._service_units import ServiceUnit


@click.group()
def command() -> None:
    """Start the daemon at login.

    This is optional: any command starts the daemon if it is not running. With a service unit it runs from login on, so
    the index is up to date before the first query.
    """


@command.command()
@click.option("--print", "show", is_flag=True, help="Print the unit and change nothing.")
@pass_options
def install(options: Options, /, *, show: bool) -> None:
    """Write the unit, enable it and start it."""
    unit = _unit(options)
    if show:
        click.echo(unit.text, nl=False)
        return
    before = unit.installed
    if before == unit.text:
        _answer(options, unit, f"already installed: {unit.path}", backup=None, trouble=_manage(unit.start))
        return
    backup = _write(unit, before)
    if before is not None:
        _manage(unit.stop)  # the service manager runs the old unit until it is stopped
    _stop_on_demand_daemon(options)
    _answer(options, unit, f"installed: {unit.path}", backup=backup, trouble=_manage(unit.start))


@command.command()
@pass_options
def uninstall(options: Options, /) -> None:
    """Stop the unit and remove it."""
    from llmc.cli._service_units import MARK

    unit = _unit(options)
    text = unit.installed
    if text is None:
        _answer(options, unit, "not installed", trouble="")
        return
    if MARK not in text:
        raise ConfigError(f"{unit.path} was not written by llmc", hint="Delete it by hand if you no longer need it.")
    trouble = _manage(unit.stop)
    unit.path.unlink()
    _answer(options, unit, f"removed: {unit.path}", trouble=trouble)


@command.command()
@pass_options
def status(options: Options, /) -> None:
    """Show whether the unit is installed, up to date and running."""
    from llmc.cli._service_units import run

    unit = _unit(options)
    text = unit.installed
    state = "not installed" if text is None else "installed" if text == unit.text else "installed, but outdated"
    active = text is not None and run(unit.query)[0]
    _answer(options, unit, f"{state}{', active' if active else ''}: {unit.path}", active=active)


def _unit(options: Options) -> ServiceUnit:
    from llmc.cli._service_units import unit_for

    return unit_for(options.home.path, os.environ)


def _write(unit: ServiceUnit, before: str | None) -> str | None:
    """Write the unit; returns the path of the backup if the file existed."""
    backup = None
    try:
        unit.path.parent.mkdir(parents=True, exist_ok=True)
        if before is not None:
            backup = unit.path.with_name(unit.path.name + ".bak")
            backup.write_text(before)
        unit.path.write_text(unit.text)
    except OSError as error:
        raise ConfigError(f"cannot write {unit.path}", reason=error.strerror or str(error)) from error
    return str(backup) if backup else None


def _stop_on_demand_daemon(options: Options) -> None:
    """Stop a daemon that was started on demand, since the unit's daemon could not start; keep one in the foreground."""
    from llmc.base.errors import DaemonError
    from llmc.cli.stop import PATIENCE_SECONDS, wait_until_stopped

    try:
        with options.connect(start=False) as connection:
            leaves = connection.call("stop", {"polite": True})["leaving"]
        if leaves:
            wait_until_stopped(options.home, PATIENCE_SECONDS)
    except DaemonError:
        pass  # no daemon is running


def _manage(commands: tuple[tuple[str, ...], ...]) -> str:
    """Run commands of the service manager; the first failure as a message, or an empty string."""
    from llmc.cli._service_units import run

    for each in commands:
        succeeded, output = run(each)
        if not succeeded:
            return f"`{' '.join(each)}` failed: {output}"
    return ""


def _answer(options: Options, unit: ServiceUnit, text: str, **fields: Any) -> None:
    if options.json:
        click.echo(json.dumps({"path": str(unit.path), "installed": unit.installed is not None, **fields}))
        return
    click.echo(text)
    if fields.get("backup"):
        click.echo(f"backup of the previous unit: {fields['backup']}")
    if fields.get("trouble"):
        options.notify(fields["trouble"])
