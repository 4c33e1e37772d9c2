"""`llmc locate`."""

from __future__ import annotations

from typing import Any

import click

from llmc.cli._options import Options, pass_options
from llmc.cli._tool_call import ask_report, report_options


@click.command()
@click.argument("query", nargs=-1, required=True)
@report_options
@pass_options
def command(options: Options, /, query: tuple[str, ...], **args: Any) -> int:
    """Find where a feature is implemented: paths and lines by category, without excerpts."""
    return ask_report(options, "locate_in_codebase", {"query": " ".join(query), **args})
