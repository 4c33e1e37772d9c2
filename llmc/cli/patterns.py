"""`llmc patterns`."""

from __future__ import annotations

from typing import Any

import click

from llmc.cli._options import Options, pass_options
from llmc.cli._tool_call import ask_report, report_options


@click.command()
@click.argument("pattern", nargs=-1, required=True)
@report_options
@pass_options
def command(options: Options, /, pattern: tuple[str, ...], **args: Any) -> int:
    """Find two to six existing examples of a pattern, with the relevant lines."""
    return ask_report(options, "find_patterns", {"pattern": " ".join(pattern), **args})
