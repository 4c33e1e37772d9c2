"""`llmc service`: have the daemon started at login, by systemd or launchd."""

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

    Not needed: any command starts the daemon when it is not running. With a unit it runs from login on, so that the
    first question of the day finds everything indexed.
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
        _manage(unit.stop)  # the manager runs the old text until it is told
    _make_way(options)
    _answer(options, unit, f"installed: {unit.path}", backup=backup, trouble=_manage(unit.start))


@command.command()
@pass_options
def uninstall(options: Options, /) -> None:
    """Stop the unit and remove it."""
    from llmc.cli._service_units import MARK

    unit = _unit(options)
    there = unit.installed
    if there is None:
        _answer(options, unit, "not installed", trouble="")
        return
    if MARK not in there:
        raise ConfigError(f"{unit.path} was not written by llmc", hint="Remove it yourself if you want it gone.")
    trouble = _manage(unit.stop)
    unit.path.unlink()
    _answer(options, unit, f"removed: {unit.path}", trouble=trouble)


@command.command()
@pass_options
def status(options: Options, /) -> None:
    """Whether the unit is there, as this llmc would write it, and running."""
    from llmc.cli._service_units import run

    unit = _unit(options)
    there = unit.installed
    state = "not installed" if there is None else "installed" if there == unit.text else "installed, and differs"
    active = there is not None and run(unit.query)[0]
    _answer(options, unit, f"{state}{', active' if active else ''}: {unit.path}", active=active)


def _unit(options: Options) -> ServiceUnit:
    from llmc.cli._service_units import unit_for

    return unit_for(options.home.path, os.environ)


def _write(unit: ServiceUnit, before: str | None) -> str | None:
    """The path of the backup when something else was there."""
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


def _make_way(options: Options) -> None:
    """A daemon that was started on demand would keep the unit's from starting; one in the foreground stays."""
    from llmc.base.errors import DaemonError
    from llmc.cli.stop import PATIENCE_SECONDS, has_gone

    try:
        with options.connect(start=False) as connection:
            leaves = connection.call("stop", {"polite": True})["leaving"]
        if leaves:
            has_gone(options.home, PATIENCE_SECONDS)
    except DaemonError:
        pass  # there is none


def _manage(commands: tuple[tuple[str, ...], ...]) -> str:
    """Run the manager's commands; what went wrong, with the command to repeat, or nothing."""
    from llmc.cli._service_units import run

    for each in commands:
        worked, words = run(each)
        if not worked:
            return f"`{' '.join(each)}` did not work: {words}"
    return ""


def _answer(options: Options, unit: ServiceUnit, text: str, **fields: Any) -> None:
    if options.json:
        click.echo(json.dumps({"path": str(unit.path), "installed": unit.installed is not None, **fields}))
        return
    click.echo(text)
    if fields.get("backup"):
        click.echo(f"what was there before: {fields['backup']}")
    if fields.get("trouble"):
        options.say(fields["trouble"])
