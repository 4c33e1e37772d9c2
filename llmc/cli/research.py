"""`llmc research`."""

from __future__ import annotations

from typing import Any

import click

from llmc.cli._options import Options, pass_options
from llmc.cli._tool_call import ask_report, report_options, typed_or_piped


@click.command()
@click.argument("question", nargs=-1, required=True)
@click.option("--artifact", is_flag=True, help="Also write the report to a file and print its path.")
@report_options
@pass_options
def command(options: Options, /, question: tuple[str, ...], **args: Any) -> int:
    """Research a question about the code: where, how, and with which examples.

    \b
    llmc research how are sessions expired
    llmc research 'show examples of a custom middleware' --artifact
    llmc research 'where is RetryPolicy implemented?' --json
    llmc research - < issue.txt
    """
    return ask_report(options, "research_codebase", {"question": typed_or_piped(question), **args})
