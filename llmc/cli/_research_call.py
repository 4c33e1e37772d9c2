"""Calls a research tool and prints its report. `--json` prints the report's JSON contract with nothing added."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from llmc.cli._tool_call import ask_tool, error_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from llmc.cli._options import Options

__all__ = ["ask_report", "report_options"]


def report_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options of every research command."""
    command = click.option("--deadline-ms", type=int, metavar="N", help="Time limit in milliseconds.")(command)
    command = click.option("--max-bytes", type=int, metavar="N", help="Maximum bytes to read.")(command)
    command = click.option("--max-files", type=int, metavar="N", help="Maximum files to read.")(command)
    command = click.option("--in", "within", multiple=True, metavar="ROOT", help="Only this root or folder.")(command)
    command = click.option("--all", "all_", is_flag=True, help="All results, without a budget.")(command)
    return click.option("--budget", type=int, metavar="N", help="Token budget of the reply.")(command)


def ask_report(options: Options, name: str, args: dict[str, Any]) -> int:
    limits = {"deadlineMs": "deadline_ms", "maxBytesRead": "max_bytes", "maxFilesRead": "max_files"}
    values = {limit: args.pop(option) for limit, option in limits.items() if option in args}
    constraints = {limit: value for limit, value in values.items() if value is not None}
    within = list(args.pop("within", ())) or None  # not `roots`, which is the global `--root`
    args = {**args, "constraints": constraints or None, "roots": within}
    if not options.json:
        return ask_tool(options, name, args)
    args["all"] = args.pop("all_", None)
    sent = {key: value for key, value in args.items() if value not in (None, False, ())}
    reply = options.ask("tool", {"name": name, "args": sent})
    if reply["error"]:
        raise error_of(reply)
    click.echo(json.dumps(reply["data"], indent=2))
    return 0
