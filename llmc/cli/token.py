"""`llmc token`: the token of the HTTP server."""

from __future__ import annotations

import json

import click

from llmc.cli._options import Options, pass_options


@click.group()
def command() -> None:
    """The token that HTTP clients send (`Authorization: Bearer …`).

    It is created at first use and stored in llmc's home folder, readable only by you.
    """


@command.command()
@click.option("--client", default="", metavar="NAME", help="Separate token for this client, with its own handles.")
@pass_options
def show(options: Options, /, *, client: str) -> None:
    """Print the token."""
    from llmc.server.http.token import client_token, make_token

    options.home.make()
    token = make_token(options.home)
    _answer(options, client_token(token, client) if client else token)


@command.command()
@pass_options
def rotate(options: Options, /) -> None:
    """Create a new token; the old one and all client tokens stop working at once."""
    from llmc.server.http.token import rotate_token

    _answer(options, rotate_token(options.home))


def _answer(options: Options, token: str) -> None:
    click.echo(json.dumps({"token": token}) if options.json else token)
