"""`llmc handoff`: create, resume, list."""

from __future__ import annotations

from typing import Any

import click

from llmc.cli._options import Options, pass_options
from llmc.cli._research_call import ask_report, report_options


@click.group()
def command() -> None:
    """Hand work over to the next session: write what is known, and read it back."""


@command.command()
@click.argument("question", nargs=-1, required=True)
@click.option("--summary", metavar="TEXT", help="Where it stands, in your own words.")
@click.option(
    "--open", "open_questions", multiple=True, metavar="TEXT", help="A question that is open; may be repeated."
)
@click.option("--notes", metavar="TEXT", help="Anything else that matters.")
@click.option("--name", metavar="NAME", help="The file's name, without a folder.")
@report_options
@pass_options
def create(options: Options, /, question: tuple[str, ...], **args: Any) -> int:
    """Write what is known, what is open and which results are alive into a file."""
    args["open_questions"] = list(args["open_questions"]) or None
    return ask_report(options, "create_handoff", {"question": " ".join(question), **args})


@command.command()
@click.argument("name")
@pass_options
def resume(options: Options, /, name: str) -> int:
    """Read a handoff back as a compact context."""
    return ask_report(options, "resume_handoff", {"name": name})


@command.command(name="list")
@pass_options
def list_(options: Options, /) -> int:
    """The handoffs and reports there are, newest first."""
    return ask_report(options, "resume_handoff", {})
