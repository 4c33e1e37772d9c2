"""Shared by the commands of the shared index: the settings of this process and the URL."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from collections.abc import Mapping

    from llmc.cli._options import Options
    from llmc.settings import Settings

__all__ = ["serve", "settings_here", "shared_option", "size_text", "url_of"]

shared_option = click.option(
    "--shared", "url", default="", metavar="URL", help="The shared index (shared.url): s3://, gs://, az:// or a folder."
)


def settings_here(options: Options) -> Settings:
    """Load the settings here: these commands run without a daemon, because CI has none."""
    from llmc.settings import load

    about = options.about()
    return load(about["cwd"], os.environ, flags=about["flags"], config_file=about["config"] or None).settings


def url_of(settings: Settings, given: str) -> str:
    from llmc.base.errors import ConfigError

    url = given or settings.shared.url
    if not url:
        raise ConfigError("no shared index is configured", hint="Give --shared URL, or set shared.url.")
    return url


def serve(options: Options, address: str | None, given: Mapping[str, Any]) -> int:
    """Serve a shared index from this process until it is stopped."""
    from llmc.base.errors import ConfigError
    from llmc.server.http.listener import ListenOptions
    from llmc.server.shared.serve import SharedServerOptions, serve_shared

    if address is None:
        raise ConfigError("a shared index is served over HTTP", hint="Add --http HOST:PORT.")
    settings = settings_here(options)
    if given["tokens"]:
        shared = settings.shared.model_copy(update={"tokens": given["tokens"]})
        settings = settings.model_copy(update={"shared": shared})
    listen = ListenOptions(address, given["allow_host"], given["tls_cert"], given["tls_key"], given["insecure"])

    def report(url: str) -> None:
        click.echo(json.dumps({"url": url}) if options.json else f"listening at {url} (MCP at {url}/mcp)")

    serve_shared(SharedServerOptions(given["url"], listen), settings, report)
    return 0


def size_text(size: float) -> str:
    for unit in ("B", "KB", "MB", "GB"):
        if size < 1_000:  # noqa: PLR2004 - the next unit
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1_000
    return f"{size:.1f} TB"
