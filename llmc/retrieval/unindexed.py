"""Files that the index does not hold yet: which of them contain these words, which of them define this name?

After a save there are a few, which are simply read. During the first build of a root there are thousands: the bundled
ripgrep names those that contain a word, and only they are read. The answers are complete, or say that they are not.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from llmc.base.errors import LlmcError
from llmc.retrieval.enclosing import symbols_of
from llmc.retrieval.grep import ripgrep

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from llmc.base.model import Symbol
    from llmc.retrieval.view import View

__all__ = ["UnindexedFiles", "unindexed_definitions", "unindexed_files"]

# Reading a file takes 0.1 ms, starting ripgrep 10.
FEW = 64
SCAN_SECONDS = 5.0
LARGEST_READ = 8 << 20
MOST_LINES = 200  # of one file, to see which words it contains
# Parsing takes some 4 ms a file. A name that more files contain is too common to be looked up this way.
MOST_PARSED = 300


@dataclass(frozen=True, slots=True)
class UnindexedFiles:
    """`complete` is False if the scan was stopped at its time limit, so that further files may contain the words."""

    paths: tuple[str, ...]
    complete: bool = True


def unindexed_files(
    view: View, words: Sequence[str], accepts: Callable[[str], bool] = lambda _path: True
) -> UnindexedFiles:
    """The pending files with any of the words, ignoring case: those with the most different words first, then by path.
    Few files are all returned, whatever they contain."""
    pending = sorted(filter(accepts, view.pending))
    if len(pending) <= FEW:
        return UnindexedFiles(tuple(pending))
    wanted = [word for word in words if word and "\n" not in word]
    if not wanted:
        return UnindexedFiles((), complete=False)
    try:
        found = _by_ripgrep(view, pending, wanted) if ripgrep.available() else _one_by_one(view, pending, wanted)
    except LlmcError:  # too slow for the time limit
        return UnindexedFiles((), complete=False)
    return UnindexedFiles(tuple(sorted(found, key=lambda path: (-found[path], path))))


def _by_ripgrep(view: View, paths: Sequence[str], words: Sequence[str]) -> dict[str, int]:
    """path → how many different words the file contains."""
    options = ["--only-matching", "--ignore-case", "--fixed-strings", f"--max-count={MOST_LINES}"]
    options += [f"--regexp={word}" for word in words]
    files = ripgrep.run(view.root_fs, options, paths, time.monotonic() + SCAN_SECONDS, SCAN_SECONDS)
    return {file.path: len(set(file.rows.lower().split(b"\n"))) for file in files}


def _one_by_one(view: View, paths: Iterable[str], words: Sequence[str]) -> dict[str, int]:
    wanted = [word.lower().encode() for word in words]
    found: dict[str, int] = {}
    for path in paths:
        try:
            text = view.root_fs.read(path, LARGEST_READ)[0].lower()
        except LlmcError:
            continue
        if count := sum(word in text for word in wanted):
            found[path] = count
    return found


def unindexed_definitions(view: View, name: str) -> tuple[list[tuple[str, Symbol]], bool]:
    """((path, symbol) of every definition of `name` or `Class.name` in pending files, whether these are all)."""
    last = name.rpartition(".")[2]
    files = unindexed_files(view, (last,))
    found = [
        (path, symbol)
        for path in files.paths[:MOST_PARSED]
        for symbol in symbols_of(view, path).symbols
        if symbol.name == last and f".{symbol.qualified}".endswith(f".{name}")
    ]
    return found, files.complete and len(files.paths) <= MOST_PARSED
