"""`llmc analyze`."""

from __future__ import annotations

from typing import Any

import click

from llmc.cli._options import Options, pass_options
from llmc.cli._tool_call import ask_report, report_options


@click.command()
@click.argument("component", nargs=-1, required=True)
@report_options
@pass_options
def command(options: Options, /, component: tuple[str, ...], **args: Any) -> int:
    """Explain how a component works: callers, calls, inputs and outputs, configuration.

    COMPONENT is a name, a path, path:line, path::symbol, or a question.
    """
    return ask_report(options, "analyze_component", {"component": " ".join(component), **args})
