"""`llmc serve`: the command that an MCP client starts."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import click

from llmc.cli._options import Options, pass_options

PROFILES = ("lean", "research", "pruner", "full")
# A program that starts a pruner ends it by closing stdin, without waiting for a running command.
PRUNER_LAST_SECONDS = 0.5
LOG_LEVELS = ("debug", "info", "warn", "warning", "error")


@click.command()
@click.option("--profile", type=click.Choice(PROFILES), help="Tools listed to the client (server.profile).")
@click.option("--agent", default="", metavar="NAME", help="Serve this persona: its tools and prompt.")
@click.option("--arg", "args", multiple=True, metavar="NAME=VALUE", help="Argument of the persona; may be repeated.")
@click.option("--log-level", type=click.Choice(LOG_LEVELS), help="Log servers and delegates to stderr from this level.")
@click.option("--log-pretty", is_flag=True, help="Log readable lines instead of JSON.")
@click.option(
    "--http",
    "address",
    is_flag=False,
    flag_value="",
    metavar="[HOST:PORT]",
    help="Serve HTTP (/mcp and REST) instead, by default at the address in the settings.",
)
@click.option("--tls-cert", default="", metavar="FILE", help="Certificate for HTTPS.")
@click.option("--tls-key", default="", metavar="FILE", help="Private key for HTTPS.")
@click.option("--allow-host", multiple=True, metavar="NAME", help="Accepted host name; may be repeated.")
@click.option("--insecure", is_flag=True, help="Allow other machines to connect without TLS.")
@click.option("--shared", "url", default="", metavar="URL", help="Serve a shared index over HTTP, without a daemon.")
@click.option("--tokens", default="", metavar="FILE", help="Tokens and the repositories they may read (shared.tokens).")
@click.option("--print-record", is_flag=True, help="Print the {command, args, env} that starts this server, and exit.")
@pass_options
def command(
    options: Options, /, profile: str | None, agent: str, args: tuple[str, ...], address: str | None, **http: Any
) -> int:
    """Serve MCP on stdin and stdout, or over the network with --http.

    \b
    llmc serve
    llmc serve --profile full --root ~/src/project
    llmc serve --http 0.0.0.0:7331 --shared s3://bucket/llmc --tokens tokens.toml

    An MCP client starts this command; `llmc install` configures it. The daemon answers and is started if necessary.
    """
    if http.pop("print_record"):
        return print_record(options, profile or "", agent)
    options.send_variables = True
    if profile:
        options.set = (*options.set, f"server.profile={profile}")
    session = f"mcp-{os.getpid()}-{os.urandom(4).hex()}"
    follow_log(options, http.pop("log_level"), session, pretty=http.pop("log_pretty"))
    check_config(options)
    if profile == "pruner":
        report_pruning(options, session)
    # An editor without an open folder does not expand its variables; the current folder is used then.
    options.roots = tuple(root for root in options.roots if not root.startswith("${"))
    if agent:
        options.set = (*options.set, f"server.agent={agent}")
    if args:
        import json

        options.set = (*options.set, f"server.agent_arguments={json.dumps(args)}")
    if http["url"]:
        from llmc.cli._shared import serve

        return serve(options, address, http)
    if address is not None:
        from llmc.cli._http import serve_http

        tls = {"cert": http["tls_cert"], "key": http["tls_key"]}
        return serve_http(options, address, **tls, names=http["allow_host"], insecure=http["insecure"])
    return relay(options, session, is_pruner=profile == "pruner")


def report_pruning(options: Options, session: str) -> None:
    """Print to stderr why a reply was not pruned, since replies of this profile are plain text."""
    from llmc.cli._log_tail import follow
    from llmc.extend.pruner.config import config_of

    for warning in config_of(os.environ, "").warnings:
        click.echo(warning, err=True)
    follow(options.home.log, "warning", session, pretty=True, sources=("llmc.pruner",))


def relay(options: Options, session: str, *, is_pruner: bool) -> int:
    """Connect stdin and stdout to the daemon until the client closes stdin."""
    from functools import partial

    from llmc.client.relay import LAST_REPLIES_SECONDS, Relay

    caller = options.caller
    caller.about["session"] = session
    waits = PRUNER_LAST_SECONDS if is_pruner else LAST_REPLIES_SECONDS
    if is_pruner:
        caller.about["environ"] = dict(os.environ)  # the variables of the MCP entry, for the commands that it runs
    if options.no_daemon:
        from llmc.server.local import stream_here

        return Relay(partial(stream_here, caller), last_replies_seconds=waits).run()
    return Relay(lambda: caller.connect().stream("mcp"), last_replies_seconds=waits).run()


def print_record(options: Options, profile: str, agent: str) -> int:
    """Print the record as JSON, for programs that start agents; if there is none, print the reason to stderr."""
    import json

    from llmc.install import mcp_servers_config, why_not

    servers = mcp_servers_config(profile=profile, agent=agent, roots=options.roots, cwd=str(Path.cwd()))
    if not servers:
        click.echo(f"llmc: {why_not(profile=profile)}", err=True)
        return 1
    click.echo(json.dumps(servers, indent=1))
    return 0


def check_config(options: Options) -> None:
    """Stop if the file of `--config` is missing or invalid; entries that are skipped are reported on stderr.

    Without it an MCP client would start a server that answers every request with an error.
    """
    if options.config:
        from llmc.cli.config import checked

        for problem in checked(options):
            click.echo(f"llmc: {problem}", err=True)


def follow_log(options: Options, level: str | None, client: str, *, pretty: bool) -> None:
    """Copy new log lines to stderr if either option or a file with servers and delegates is given, from `info` unless
    another level is. `warn` is an alias of `warning`."""
    if level or pretty or options.config:
        from llmc.cli._log_tail import follow

        level = "warning" if level == "warn" else level
        if level:
            options.set = (*options.set, f"daemon.log_level={level}")
        follow(options.home.log, level or "info", client, pretty=pretty)
