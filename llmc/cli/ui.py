"""`llmc ui`: the page for people, in a browser."""

from __future__ import annotations

import json
import webbrowser

import click

from llmc.cli._options import Options, pass_options


@click.command()
@click.option("--no-browser", is_flag=True, help="Only print the address.")
@click.option(
    "--port", type=click.IntRange(0, 65_535), default=0, metavar="PORT", help="Listen here, not anywhere free."
)
@pass_options
def command(options: Options, /, *, no_browser: bool, port: int) -> int:
    """Search, the index, the token ledger and sessions, on a page in your browser.

    It is served on this machine alone, for as long as this command runs; if `llmc serve --http` shows these roots
    already, that one is opened. The address that is printed logs in one browser, once, within a minute.
    """

    def opened(login: str) -> None:
        click.echo(json.dumps({"login": login}) if options.json else login)
        if not no_browser and not webbrowser.open(login):
            options.say("no browser was found: open the address yourself within a minute")

    login = "" if options.no_daemon or port else options.ask("ui")["login"]
    if login:
        opened(login)
        return 0
    from llmc.cli._http import serve_http

    return serve_http(options, f"127.0.0.1:{port}", on_login=opened)
