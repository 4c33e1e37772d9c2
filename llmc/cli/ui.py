"""`llmc ui`: opens the web page in a browser."""

from __future__ import annotations

import json
import webbrowser

import click

from llmc.cli._options import Options, pass_options


@click.command()
@click.option("--no-browser", is_flag=True, help="Only print the address.")
@click.option(
    "--port",
    type=click.IntRange(0, 65_535),
    default=0,
    metavar="PORT",
    help="Port to listen on (default: any free).",
)
@pass_options
def command(options: Options, /, *, no_browser: bool, port: int) -> int:
    """Open a web page with search, index status, token statistics and sessions.

    The page is served on this machine only, while this command runs. If `llmc serve --http` already serves these roots,
    its page is opened instead. The printed address logs in one browser, once, within a minute.
    """

    def open_page(login: str) -> None:
        click.echo(json.dumps({"login": login}) if options.json else login)
        if not no_browser and not webbrowser.open(login):
            options.notify("no browser found: open the address by hand within a minute")

    login = "" if options.no_daemon or port else options.ask("ui")["login"]
    if login:
        open_page(login)
        return 0
    from llmc.cli._http import serve_http

    return serve_http(options, f"127.0.0.1:{port}", on_login=open_page)
