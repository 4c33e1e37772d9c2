"""`llmc grep`: ripgrep's options, run on the index."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from llmc.cli._options import Options, pass_options
from llmc.cli._tool_call import NOTHING_FOUND, ask_tool, common_options, error_of, set_arguments

if TYPE_CHECKING:
    from collections.abc import Iterable


@click.command()
@click.argument("words", metavar="[PATTERN] [PATH]...", nargs=-1)
@click.option("-e", "--regexp", "patterns", multiple=True, metavar="PATTERN", help="A pattern; may be repeated.")
@click.option("-i", "--ignore-case", is_flag=True, help="Case-insensitive search.")
@click.option("-S", "--smart-case", is_flag=True, help="Ignore case unless the pattern has an upper-case letter.")
@click.option("-w", "--word-regexp", "word", is_flag=True, help="Whole words only.")
@click.option("-F", "--fixed-strings", "fixed", is_flag=True, help="Treat the pattern as a literal string.")
@click.option("-v", "--invert-match", "invert", is_flag=True, help="Print lines that do not match.")
@click.option("-U", "--multiline", is_flag=True, help="Let matches span lines.")
@click.option("-A", "--after-context", "after", type=int, metavar="N", help="Lines after each match.")
@click.option("-B", "--before-context", "before", type=int, metavar="N", help="Lines before each match.")
@click.option("-C", "--context", type=int, metavar="N", help="Lines around each match.")
@click.option("-g", "--glob", multiple=True, metavar="GLOB", help="Only files that match; !GLOB excludes.")
@click.option("-t", "--type", multiple=True, metavar="TYPE", help="Only files of this type, such as py.")
@click.option("-T", "--type-not", multiple=True, metavar="TYPE", help="Skip files of this type.")
@click.option("--no-tests", is_flag=True, help="Skip test code, by path or by the framework's markers.")
@click.option("--only-tests", is_flag=True, help="Only test code.")
@click.option(
    "--kind", multiple=True, metavar="KIND", help="Only definitions (def), uses (use), import, comment or text."
)
@click.option("-l", "--files-with-matches", "files", is_flag=True, help="Print only file names.")
@click.option("-c", "--count", is_flag=True, help="Print only the number of matching lines per file.")
@common_options
@pass_options
def command(options: Options, /, words: tuple[str, ...], patterns: tuple[str, ...], **args: Any) -> int:
    """Print every match of a regular expression, with ripgrep's syntax and results, from the index.

    \b
    llmc grep 'def \\w+_token' src
    llmc grep -l TODO -g '*.py'
    llmc grep timeout h4k2          inside an earlier result
    llmc grep readToken --kind use --no-tests

    Matches are listed under the function, class or handler that contains them. With --all, every match is printed in
    ripgrep's format, PATH:LINE:TEXT.
    """
    if not patterns:
        if not words:
            raise click.UsageError("missing PATTERN.")
        patterns, words = words[:1], words[1:]
    args |= {"pattern": patterns[0], "also": patterns[1:], "path": words}
    if args["all_"] and not options.json and not args["fields"] and not args["context_focus_question"]:
        return _print_all(options, args)
    return ask_tool(options, "grep", args)


def _print_all(options: Options, args: dict[str, Any]) -> int:
    """Matches are streamed as events, so the size of the reply stays bounded."""
    args["all"] = args.pop("all_")
    files = 0

    def show(event: dict[str, Any]) -> None:
        nonlocal files
        for file in event.get("files", ()):
            files += 1
            for line in _lines(file, args):
                click.echo(line)

    reply = options.ask("tool", {"name": "grep", "args": set_arguments(args), "stream": True}, on_event=show)
    if reply["error"]:
        raise error_of(reply)
    return 0 if files else NOTHING_FOUND


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
