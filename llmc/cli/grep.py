"""`llmc grep`: ripgrep's options, run on the index."""

from __future__ import annotations

from typing import Any

import click

from llmc.cli._grep_all import IGNORED, print_all, split_words
from llmc.cli._options import Options, pass_options
from llmc.cli._tool_call import ask_tool, common_options, secondary


@click.command()
@click.argument("words", metavar="[PATTERN] [PATH]...", nargs=-1)
@secondary("-e", "--regexp", "patterns", multiple=True, metavar="PATTERN", help="A pattern; may be repeated.")
@secondary("-i", "--ignore-case", is_flag=True, help="Case-insensitive search.")
@secondary("-S", "--smart-case", is_flag=True, help="Ignore case unless the pattern has an upper-case letter.")
@secondary("-w", "--word-regexp", "word", is_flag=True, help="Whole words only.")
@secondary("-F", "--fixed-strings", "fixed", is_flag=True, help="Treat the pattern as a literal string.")
@secondary("-v", "--invert-match", "invert", is_flag=True, help="Print lines that do not match.")
@secondary("-U", "--multiline", is_flag=True, help="Let matches span lines.")
@secondary("-A", "--after-context", "after", type=int, metavar="N", help="Lines after each match.")
@secondary("-B", "--before-context", "before", type=int, metavar="N", help="Lines before each match.")
@click.option("-W", "--body", is_flag=True, help="Show the enclosing function if short, else the block.")
@secondary("-C", "--context", type=int, metavar="N", help="Lines around each match.")
@click.option("-g", "--glob", multiple=True, metavar="GLOB", help="Only files that match; !GLOB excludes.")
@secondary("-t", "--type", multiple=True, metavar="TYPE", help="Only files of this type, such as py.")
@secondary("-T", "--type-not", multiple=True, metavar="TYPE", help="Skip files of this type.")
@click.option("--no-tests", is_flag=True, help="Skip test code, by path or by the framework's markers.")
@click.option("--only-tests", is_flag=True, help="Only test code.")
@click.option("--kind", multiple=True, metavar="KIND", help="Only def, use, write, import, comment or text.")
@click.option("-l", "--files-with-matches", "--files", "files", is_flag=True, help="Print only file names.")
@click.option("--symbols", is_flag=True, help="Print only the enclosing symbols, with counts.")
@secondary("-c", "--count", is_flag=True, help="Print only the number of matching lines per file.")
@click.option(*IGNORED, "ignored", is_flag=True, hidden=True, expose_value=False)
@common_options
@pass_options
def command(options: Options, /, words: tuple[str, ...], patterns: tuple[str, ...], **args: Any) -> int:
    """Print every match of a regular expression, with ripgrep's syntax and results, from the index.

    \b
    llmc grep 'def \\w+_token' src
    llmc grep -l TODO -g '*.py'
    llmc grep timeout h4k2          inside an earlier result
    llmc grep readToken --kind use --no-tests

    Matches are listed with the function, class or handler around them; with --all they are printed as ripgrep does.
    """
    if not patterns and not words:
        raise click.UsageError("missing PATTERN.")
    args |= split_words(words, patterns, args["glob"])
    is_plain = not (options.json or args["fields"] or args["context_focus_question"] or args["symbols"])
    args["all"] = args.pop("all_")
    if args["all"] and is_plain:
        return print_all(options, args)
    return ask_tool(options, "grep", args)
