"""`llmc grep`: ripgrep's options, answered from the index."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from llmc.cli._options import Options, pass_options
from llmc.cli._tool_call import NOTHING_FOUND, ask_tool, common_options, given

if TYPE_CHECKING:
    from collections.abc import Iterable


@click.command()
@click.argument("words", metavar="[PATTERN] [PATH]...", nargs=-1)
@click.option("-e", "--regexp", "patterns", multiple=True, metavar="PATTERN", help="A pattern; may be repeated.")
@click.option("-i", "--ignore-case", is_flag=True, help="Upper and lower case are the same.")
@click.option("-S", "--smart-case", is_flag=True, help="Ignore case unless the pattern has an upper-case letter.")
@click.option("-w", "--word-regexp", "word", is_flag=True, help="Whole words only.")
@click.option("-F", "--fixed-strings", "fixed", is_flag=True, help="The pattern is plain text.")
@click.option("-v", "--invert-match", "invert", is_flag=True, help="Lines that do not match.")
@click.option("-U", "--multiline", is_flag=True, help="A match may span lines.")
@click.option("-A", "--after-context", "after", type=int, metavar="N", help="Lines after each match.")
@click.option("-B", "--before-context", "before", type=int, metavar="N", help="Lines before each match.")
@click.option("-C", "--context", type=int, metavar="N", help="Lines around each match.")
@click.option("-g", "--glob", multiple=True, metavar="GLOB", help="Only files that match, or with ! do not.")
@click.option("-t", "--type", multiple=True, metavar="TYPE", help="Only files of this type, such as py.")
@click.option("-T", "--type-not", multiple=True, metavar="TYPE", help="No files of this type.")
@click.option("--no-tests", is_flag=True, help="No test code, by path or by the framework's marks.")
@click.option("--only-tests", is_flag=True, help="Only test code.")
@click.option(
    "--kind", multiple=True, metavar="KIND", help="Only definitions (def), uses (use), import, comment or text."
)
@click.option("-l", "--files-with-matches", "files", is_flag=True, help="Only the names of the files.")
@click.option("-c", "--count", is_flag=True, help="Only how many lines match in each file.")
@common_options
@pass_options
def command(options: Options, /, words: tuple[str, ...], patterns: tuple[str, ...], **args: Any) -> int:
    """Every match of a regular expression: ripgrep's syntax and its matches, from the index.

    \b
    llmc grep 'def \\w+_token' src
    llmc grep -l TODO -g '*.py'
    llmc grep timeout h4k2          inside an earlier result
    llmc grep readToken --kind use --no-tests

    Matches stand under the function, class or handler that they are in. With --all every match is printed as
    ripgrep prints it, PATH:LINE:TEXT.
    """
    if not patterns:
        if not words:
            raise click.UsageError("what to look for? Give a PATTERN.")
        patterns, words = words[:1], words[1:]
    args |= {"pattern": patterns[0], "also": patterns[1:], "path": words}
    if args["all_"] and not options.json and not args["fields"] and not args["context_focus_question"]:
        return _print_all(options, args)
    return ask_tool(options, "grep", args)


def _print_all(options: Options, args: dict[str, Any]) -> int:
    """Matches come in events, as many as there are, so that no reply grows beyond bounds."""
    args["all"] = args.pop("all_")
    found = 0

    def show(event: dict[str, Any]) -> None:
        nonlocal found
        for file in event.get("files", ()):
            found += 1
            for line in _lines(file, args):
                click.echo(line)

    reply = options.ask("tool", {"name": "grep", "args": given(args), "stream": True}, on_event=show)
    if reply["error"]:
        from llmc.base.errors import error_from_fields

        raise error_from_fields(reply["data"]["error"])
    return 0 if found else NOTHING_FOUND


def _lines(file: dict[str, Any], args: dict[str, Any]) -> Iterable[str]:
    path = file["path"]
    if args["files"]:
        yield path
    elif args["count"]:
        yield f"{path}:{file['count']}"
    else:
        for number, text, matched in file["lines"]:
            mark = ":" if matched else "-"
            yield f"{path}{mark}{number}{mark}{text}"
