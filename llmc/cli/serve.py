"""`llmc serve`: what an MCP client starts."""

from __future__ import annotations

import os
from typing import Any

import click

from llmc.cli._options import Options, pass_options

PROFILES = ("lean", "research", "pruner", "full")
LOG_LEVELS = ("debug", "info", "warn", "warning", "error")


@click.command()
@click.option("--profile", type=click.Choice(PROFILES), help="Which tools are listed (server.profile).")
@click.option("--agent", default="", metavar="NAME", help="Serve as this persona: its tools, its prompt.")
@click.option("--arg", "args", multiple=True, metavar="NAME=VALUE", help="An argument of the persona; may be repeated.")
@click.option("--log-level", type=click.Choice(LOG_LEVELS), help="Show what servers and delegates do, on stderr.")
@click.option("--log-pretty", is_flag=True, help="Write that for a person instead of as JSON.")
@click.option("--http", "address", metavar="HOST:PORT", help="Serve HTTP there instead: /mcp and REST.")
@click.option("--tls-cert", default="", metavar="FILE", help="Certificate for HTTPS.")
@click.option("--tls-key", default="", metavar="FILE", help="Its key.")
@click.option("--allow-host", multiple=True, metavar="NAME", help="A host name by which others reach it.")
@click.option("--insecure", is_flag=True, help="Listen beyond this machine without TLS.")
@pass_options
def command(
    options: Options, /, profile: str | None, agent: str, args: tuple[str, ...], address: str | None, **http: Any
) -> int:
    """Serve MCP on stdin and stdout, or with --http over the network.

    \b
    llmc serve
    llmc serve --profile full --root ~/src/project

    An MCP client starts this; `llmc install` tells it how. The daemon answers; it is started when there is none.
    """
    from functools import partial

    from llmc.client.relay import Relay

    options.named = True
    if profile:
        options.set = (*options.set, f"server.profile={profile}")
    shown(options, http.pop("log_level"), pretty=http.pop("log_pretty"))
    if profile == "pruner":
        from llmc.extend.pruner.config import config_of

        for warning in config_of(os.environ, "").warnings:
            click.echo(warning, err=True)
    # An editor without an open folder leaves its variables as they are; the current folder then decides.
    options.roots = tuple(root for root in options.roots if not root.startswith("${"))
    if agent:
        options.set = (*options.set, f"server.agent={agent}")
    if args:
        import json

        options.set = (*options.set, f"server.agent_arguments={json.dumps(args)}")
    if address is not None:
        from llmc.cli._http import serve_http

        tls = {"cert": http["tls_cert"], "key": http["tls_key"]}
        return serve_http(options, address, **tls, names=http["allow_host"], insecure=http["insecure"])
    caller = options.caller
    caller.about["session"] = f"mcp-{os.getpid()}-{os.urandom(4).hex()}"
    if options.no_daemon:
        from llmc.server.local import stream_here

        return Relay(partial(stream_here, caller)).run()
    return Relay(lambda: caller.connect().stream("mcp")).run()


def shown(options: Options, level: str | None, *, pretty: bool) -> None:
    """What is logged from now on, if that is wanted; `warn` is what others call a warning."""
    if level or pretty:
        from llmc.cli._log_tail import follow

        level = {None: "info", "warn": "warning"}.get(level, level) or "info"
        options.set = (*options.set, f"daemon.log_level={level}")
        follow(options.home.log, level, pretty=pretty)
