"""`llmc handoff`: create, resume, list."""

from __future__ import annotations

from typing import Any

import click

from llmc.cli._options import Options, pass_options
from llmc.cli._tool_call import ask_report, report_options


@click.group()
def command() -> None:
    """Hand work over to the next session: write a handoff file, and resume from one."""


@command.command()
@click.argument("question", nargs=-1, required=True)
@click.option("--summary", metavar="TEXT", help="State of the work, in your own words.")
@click.option("--open", "open_questions", multiple=True, metavar="TEXT", help="An open question; may be repeated.")
@click.option("--notes", metavar="TEXT", help="Anything else that matters.")
@click.option("--name", metavar="NAME", help="File name, without a folder.")
@report_options
@pass_options
def create(options: Options, /, question: tuple[str, ...], **args: Any) -> int:
    """Write findings, open questions and stored results into a file."""
    args["open_questions"] = list(args["open_questions"]) or None
    return ask_report(options, "create_handoff", {"question": " ".join(question), **args})


@command.command()
@click.argument("name")
@pass_options
def resume(options: Options, /, name: str) -> int:
    """Print a handoff as compact context."""
    return ask_report(options, "resume_handoff", {"name": name})


@command.command(name="list")
@pass_options
def list_(options: Options, /) -> int:
    """List handoffs and reports, newest first."""
    return ask_report(options, "resume_handoff", {})
