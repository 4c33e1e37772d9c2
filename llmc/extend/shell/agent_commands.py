"""Decides which shell commands of an agent are rewritten to `llmc te …`.

Only a single simple command is rewritten: no pipes, lists, redirections, substitutions, variables or several lines.
It must only read, and only inside the current folder, because the hook that rewrites it also answers the client's
question whether it may run. cat and sed -n are left alone unless they would print more than the cap, so that they stay
byte-identical. Standard library only: a hook runs before every command.
"""

from __future__ import annotations

import os
import re
import shlex
from typing import TYPE_CHECKING, Final

from llmc.base.errors import QueryError
from llmc.base.listing_programs import LISTS, TEXTS, program_of
from llmc.extend.shell.command_line import parse

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["is_simple", "rewritten", "simple_words"]

# About 8,000 tokens, which is `envelope.cap`; clients cut at 30,000 characters.
CAP_BYTES: Final = 28_000
REWRITTEN: Final = (LISTS | {"cat", "sed"}) - {"fd"}
_SYSTEM: Final = ("/bin/", "/usr/bin/", "/usr/local/bin/")
# Flags with which a program that lists files writes them, starts programs, or never ends.
_REFUSED: Final = {
    "rg": ("--pre", "--hostname-bin"),
    "find": ("-exec", "-ok", "-delete", "-fprint", "-fls"),
    "tree": ("-o", "--output", "-R", "-H"),
}
_PRINT: Final = re.compile(r"(?:\d{1,9}|\$)(?:,(?:\d{1,9}|\$))?p")


def simple_words(command: str) -> list[str] | None:
    """The words of a single simple command, or None."""
    try:
        (pipeline,) = parse(command)
        (only,) = pipeline.commands
    except (QueryError, ValueError):
        return None
    if only.redirects or command.rstrip().endswith(";"):
        return None
    words = [word.text for word in only.words]
    plain = "/" not in words[0] or words[0].startswith(_SYSTEM)
    return words if plain and program_of(words) in REWRITTEN else None


def is_simple(command: str) -> bool:
    words = simple_words(command)
    return words is not None and only_reads(words)


def rewritten(command: str, cwd: str, *, program: Sequence[str]) -> str | None:
    """The command as a call of `program te`, or None if it runs as it is."""
    words = simple_words(command)
    if words is None or not only_reads(words) or not stays_inside(words[1:], cwd):
        return None
    name = program_of(words)
    if name in TEXTS and not exceeds_cap(words[1:], cwd):
        return None
    if name in {"grep", "egrep", "fgrep"} and not searches_many(words[1:], cwd):
        return None
    return f"{shlex.join([*program, 'te', '--no-start'])} {command.strip()}"


def only_reads(words: Sequence[str]) -> bool:
    name, args = program_of(words), words[1:]
    if name == "sed":
        scripts = [word for word in args if _PRINT.fullmatch(word)]
        flags = [word for word in args if word.startswith("-")]
        return flags == ["-n"] and args[0] == "-n" and len(scripts) == 1 and args[1] == scripts[0]
    return not any(word.startswith(_REFUSED.get(name, ())) for word in args if word.startswith("-"))


def stays_inside(args: Sequence[str], cwd: str) -> bool:
    """Whether every word that names an existing file names one inside the folder; links are followed."""
    top = os.path.realpath(cwd)
    for word in args:
        for path in {word, word.partition("=")[2], word[word.find("/") :] if "/" in word else ""}:
            full = os.path.join(top, os.path.expanduser(path))  # noqa: PTH111, PTH118 - a hook must start quickly
            if path and os.path.lexists(full):
                real = os.path.realpath(full)
                if real != top and not real.startswith(top + os.sep):
                    return False
    return True


def exceeds_cap(args: Sequence[str], cwd: str) -> bool:
    """Whether cat or `sed -n A,Bp` would print more than the cap."""
    files = [os.path.join(cwd, word) for word in args if not word.startswith("-")]  # noqa: PTH118 - as above
    lines = next((word for word in args if _PRINT.fullmatch(word)), "")
    total = 0
    for file in files[1:] if lines else files:
        try:
            size = os.path.getsize(file)  # noqa: PTH202 - as above
            total += size if size <= CAP_BYTES or not lines else printed_bytes(file, lines)
        except OSError:
            return False  # a missing file: the command reports it best
    return total > CAP_BYTES


def printed_bytes(file: str, lines: str) -> int:
    """The size of the lines `A,Bp` of a file."""
    first, _, last = lines.removesuffix("p").partition(",")
    if first == "$":
        return 0
    end = float("inf") if last == "$" else int(last or first)
    with open(file, "rb") as text:  # noqa: PTH123 - as above
        return sum(len(line) for number, line in enumerate(text, 1) if int(first) <= number <= end)


def searches_many(args: Sequence[str], cwd: str) -> bool:
    """Whether grep searches a folder or several files, or prints numbers: lines of one file without them are no shorter
    and could be taken for something else."""
    letters = "".join(match[0] for word in args if (match := re.match(r"-[A-Za-z]+", word)))
    if set(letters) & set("rRn") or "--recursive" in args or "--line-number" in args:
        return True
    return sum(os.path.isfile(os.path.join(cwd, word)) for word in args) > 1  # noqa: PTH113, PTH118 - as above
