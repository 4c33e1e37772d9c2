"""Calls a tool for a command and prints the reply: text, coloured on a terminal, or JSON.

Exit codes follow ripgrep: 0 if something was found, 1 if nothing exists, 2 and above for errors. 75 (sysexits'
EX_TEMPFAIL) means that nothing was found so far and not everything was checked. Research tools print their report;
`--json` prints the report's JSON contract with nothing added.
"""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import click

from llmc.cli._tool_reply import error_of, exit_code, set_arguments

if TYPE_CHECKING:
    from collections.abc import Callable

    from llmc.cli._options import Options

__all__ = [
    "ask_report",
    "ask_tool",
    "common_options",
    "json_text",
    "report_options",
    "secondary",
    "typed_or_piped",
]

LONGEST_INPUT = 8 << 20


def common_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options of every tool command."""
    command = secondary("--fields", metavar="A,B", help="Print a table of these fields; * for all.")(command)
    command = secondary(
        "--focus", "context_focus_question", metavar="QUESTION", help="Keep only parts relevant to this question."
    )(command)
    command = secondary("--ref", multiple=True, metavar="REF", help="At this ref of a published repository.")(command)
    command = secondary("--repo", multiple=True, metavar="NAME", help="Only this root or published repository.")(
        command
    )
    command = secondary("--all", "all_", is_flag=True, help="All results, without a budget.")(command)
    return secondary("--budget", type=int, metavar="N", help="Token budget of the reply.")(command)


def secondary(*names: str, **about: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    from llmc.cli._options import SecondaryOption

    return click.option(*names, cls=SecondaryOption, **about)


def ask_tool(options: Options, name: str, args: dict[str, Any]) -> int:
    """Call the tool, print its reply, and return the exit code."""
    if "all_" in args:
        args["all"] = args.pop("all_")
    numbered = use_colour(options) and not options.json  # for a person, who may open item 3 of the reply
    params = {"name": name, "args": set_arguments(args), "data": options.json, "numbered": numbered}
    reply = options.ask("tool", params)
    if reply["error"]:
        raise error_of(reply)
    if options.json:
        click.echo(json_text(reply))
    else:
        click.echo(colour_reply(reply["text"]) if use_colour(options) else reply["text"])
    return exit_code(reply, reply["total"])


def typed_or_piped(words: tuple[str, ...]) -> str:
    """The words of the command line, or standard input for `-`. Only its first megabytes: the end of a longer text
    adds nothing."""
    if words == ("-",):
        return sys.stdin.buffer.read(LONGEST_INPUT).decode("utf-8", "replace")
    return " ".join(words)


def json_text(reply: dict[str, Any]) -> str:
    """The data of the reply, its handle, and what its text costs a model in tokens."""
    weight = reply["weight"] or {"content": 0, "frame": 0}
    about = {key: reply[key] for key in ("handle", "shown", "total", "provisional")}
    return json.dumps({**reply["data"], **about, "tokens": weight["content"] + weight["frame"]}, indent=2)


def use_colour(options: Options) -> bool:
    return not options.plain and sys.stdout.isatty()


def colour_reply(text: str) -> str:
    """Bold first line, coloured paths and line numbers, dimmed footer."""
    first, *rest = text.split("\n")
    return "\n".join([click.style(first, bold=True), *(colour_line(line) for line in rest)])


def colour_line(line: str) -> str:
    if line.startswith(("+", "→")):
        return click.style(line, dim=True)
    number, _, text = line.partition(" ")
    if number.replace("-", "").isdecimal():
        return f"{click.style(number, fg='green')} {text}"
    return line if line.startswith(" ") else click.style(line, fg="magenta")


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
