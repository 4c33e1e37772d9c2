"""`llmc completion`: completes commands and options in bash, zsh and fish."""

from __future__ import annotations

import json

import click

from llmc.cli._options import Options, pass_options

SHELLS = ("bash", "zsh", "fish")
SHELL = click.argument("shell", type=click.Choice(SHELLS), required=False)


@click.group()
def command() -> None:
    """Complete commands and options in bash, zsh or fish (default: the shell in SHELL)."""


@command.command()
@SHELL
@pass_options
def install(options: Options, /, *, shell: str | None) -> None:
    """Write the completion file that the shell loads; for zsh also two lines between marks in .zshrc."""
    _change(options, shell, remove=False)


@command.command()
@SHELL
@pass_options
def uninstall(options: Options, /, *, shell: str | None) -> None:
    """Remove the completion file."""
    _change(options, shell, remove=True)


@command.command()
@SHELL
@pass_options
def show(_options: Options, /, *, shell: str | None) -> None:
    """Print the completion script."""
    from llmc.cli.install import client_places
    from llmc.install.completion import completion_script, current_shell

    click.echo(completion_script(shell or current_shell(client_places())))


def _change(options: Options, shell: str | None, *, remove: bool) -> None:
    from llmc.cli.install import client_places, shortened
    from llmc.install.completion import completion_steps, current_shell
    from llmc.install.files import change

    places = client_places()
    name = shell or current_shell(places)
    outcomes = [change(step.path, step.edit) for step in completion_steps(name, places, remove=remove)]
    if options.json:
        click.echo(json.dumps({"shell": name, "files": [str(one.path) for one in outcomes if one.changed]}))
        return
    for one in outcomes:
        state = ("removed" if remove else "wrote") if one.changed else "unchanged:"
        click.echo(f"{state} {shortened(one.path)}")
    if not remove and not options.quiet:
        click.echo(f"Open a new {name} to use it.")
