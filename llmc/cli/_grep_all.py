"""`llmc grep --all`: every match, printed as it comes; from the command line to the daemon without click.

Whoever wants every match would otherwise run ripgrep, which is done before click is imported (30 ms of 60). A command
line of the options below is read here, in the way click reads it; any other one, and every mistake, is left to click.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from llmc.cli._call_options import Options
from llmc.cli._tool_reply import error_of, exit_code, set_arguments

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["IGNORED", "print_all", "run_grep_all", "split_words"]

# Options that people and agents habitually pass to grep and rg, and that are the default here.
IGNORED = ("-n", "-r", "-R", "-H", "-E", "-I", "--line-number", "--recursive", "--no-heading", "--with-filename")

FLAGS = {
    **dict.fromkeys(("-i", "--ignore-case"), "ignore_case"),
    **dict.fromkeys(("-S", "--smart-case"), "smart_case"),
    **dict.fromkeys(("-w", "--word-regexp"), "word"),
    **dict.fromkeys(("-F", "--fixed-strings"), "fixed"),
    **dict.fromkeys(("-v", "--invert-match"), "invert"),
    **dict.fromkeys(("-l", "--files-with-matches", "--files"), "files"),
    **dict.fromkeys(("-c", "--count"), "count"),
    **dict.fromkeys(IGNORED, ""),
    "--no-tests": "no_tests",
    "--only-tests": "only_tests",
    "--all": "all",
}
VALUES = {
    **dict.fromkeys(("-e", "--regexp"), "patterns"),
    **dict.fromkeys(("-g", "--glob"), "glob"),
    **dict.fromkeys(("-t", "--type"), "type"),
    **dict.fromkeys(("-T", "--type-not"), "type_not"),
}
GLOBAL = {"--root": "roots", "--set": "set"}


def run_grep_all(arguments: list[str]) -> int | None:
    """Run this command line and return its exit code; None if it is not one of these."""
    line = CommandLine()
    if not line.read(arguments) or "all" not in line.flags or not (line.words or line.values["patterns"]):
        return None
    options = Options()
    options.roots, options.set = tuple(line.values.pop("roots")), tuple(line.values.pop("set"))
    patterns = tuple(line.values.pop("patterns"))
    args: dict[str, Any] = dict.fromkeys(line.flags - {""}, True)
    args |= {name: tuple(given) for name, given in line.values.items()}
    return print_all(options, args | split_words(tuple(line.words), patterns, args["glob"]))


class CommandLine:
    """Words, flags and values of options after `grep`, and the global options around it."""

    def __init__(self) -> None:
        self.words: list[str] = []
        self.flags: set[str] = set()
        self.values: dict[str, list[str]] = {name: [] for name in [*VALUES.values(), *GLOBAL.values()]}

    def read(self, arguments: list[str]) -> bool:
        """Whether everything is understood."""
        left = iter(arguments)
        before = self._options(left, GLOBAL, "grep")
        given = {name for name in GLOBAL.values() if self.values[name]}
        # A global option after the command overrides the same one before it: click knows how.
        after = {option: name for option, name in {**GLOBAL, **VALUES}.items() if name not in given}
        return before and self._options(left, after, "")

    def _options(self, left: Iterator[str], known: dict[str, str], end: str) -> bool:
        """Read options up to the word `end`, or to the end of the line."""
        for one in left:
            if one == end:
                return True
            if one in known:
                value = next(left, None)
                if value is None:
                    return False
                self.values[known[one]].append(value)
            elif one in FLAGS and not end:
                self.flags.add(FLAGS[one])
            elif one.startswith("-") or end:
                return False
            else:
                self.words.append(one)
        return not end


def split_words(words: tuple[str, ...], patterns: tuple[str, ...], globs: tuple[str, ...]) -> dict[str, Any]:
    """The pattern is the first word unless one was given as an option; the other words are paths."""
    if not patterns:
        patterns, words = words[:1], words[1:]
    globs = tuple(glob.removeprefix("=") for glob in globs)  # ripgrep takes `-g=*.py` too
    return {"pattern": patterns[0], "also": patterns[1:], "path": words, "glob": globs}


def print_all(options: Options, args: dict[str, Any]) -> int:
    """The daemon prints the matches; they pass through as they come, whatever their number."""
    out = sys.stdout.buffer

    def write(event: dict[str, Any]) -> None:
        if "bytes" in event:
            out.write(event["bytes"])
            out.flush()

    request = {"name": "grep", "args": set_arguments(args), "stream": True, "data": False}
    reply = options.ask("tool", request, on_event=write)
    if reply["error"]:
        raise error_of(reply)
    return exit_code(reply, reply["total"])
