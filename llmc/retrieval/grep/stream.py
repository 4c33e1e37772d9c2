"""Every match as it is found, for output that is printed and not kept.

Where the index cannot narrow much, ripgrep searches all candidates and its output passes through a piece at a time, so
that a word with half a million matches takes little more than ripgrep itself and no more memory than a rare one. What
must be decided in process, or filtered by kind, is read a slice at a time and comes first. Both are in order of path,
and together they are what `grep` finds.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from llmc.retrieval.grep import ripgrep
from llmc.retrieval.grep.grep import (
    IN_PROCESS,
    candidates,
    checked,
    condition_of,
    matcher_for,
    options_of,
    perhaps_binary,
    search_slice,
    settle_case,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from llmc.retrieval.grep.grep import FileMatches, GrepRequest
    from llmc.retrieval.grep.match_lines import Matcher
    from llmc.retrieval.view import View

__all__ = ["MatchPiece", "stream_matches"]

FIRST_FILES: Final = 100
SLICE_FILES: Final = 1_000
BETWEEN: Final = b"\n\n"
# Of one file; ripgrep's output is cut between files otherwise.
MOST_OF_FILE: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class MatchPiece:
    """Some files of a root, each as its path, NUL and its lines (`12:text`), with an empty line between them."""

    root: str
    lines: bytes


def stream_matches(views: Sequence[View], request: GrepRequest) -> Iterator[MatchPiece]:
    """Of `files_only` and `count_only` the lines are `path` and `path:count`, as they are printed."""
    request = replace(settle_case(checked(request)), stop=None)
    matcher = matcher_for(request)
    deadline = time.monotonic() + request.seconds
    for view in views:
        paths = candidates(view, request, condition_of(matcher))
        piped = piped_paths(view, paths, request, matcher)
        yield from sliced(view, sorted(set(paths).difference(piped)), request, matcher, deadline)
        if piped:
            output = ripgrep.stream(view.root_fs, options_of(request), piped, deadline, request.seconds)
            yield from (MatchPiece(view.root.id, lines) for lines in whole_files(output))


def piped_paths(view: View, paths: list[str], request: GrepRequest, matcher: Matcher | None) -> list[str]:
    """The files whose matches ripgrep may print itself: all but those that it might take for binary, and those whose
    names cannot be printed as they are."""
    few = matcher is not None and len(paths) <= IN_PROCESS
    is_piped = is_available() and not view.root_fs.is_virtual
    if few or request.lines or request.files_only or request.count_only or not is_piped:
        return []
    apart = perhaps_binary(view)
    return [path for path in paths if path not in apart and path.isprintable() and path != "-"]


def is_available() -> bool:
    return ripgrep.available() and ripgrep.landlock()


def sliced(
    view: View, paths: list[str], request: GrepRequest, matcher: Matcher | None, deadline: float
) -> Iterator[MatchPiece]:
    """The first slice is small, so that the first line comes at once."""
    at, size = 0, FIRST_FILES
    between = b"" if request.files_only or request.count_only else BETWEEN
    while at < len(paths):
        found = search_slice(view, paths[at : at + size], request, matcher, deadline)
        if found:
            yield MatchPiece(view.root.id, between.join(printed(file, request) for file in found))
        at, size = at + size, SLICE_FILES


def printed(file: FileMatches, request: GrepRequest) -> bytes:
    path = os.fsencode(file.path)
    if request.files_only:
        return path + b"\n"
    if request.count_only:
        return b"%s:%d\n" % (path, file.count)
    return path + b"\0" + file.rows


def whole_files(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Output of ripgrep, cut between files. A file with very many matches is cut between lines, and its path repeated;
    a line that is longer than that is cut off."""
    begun = b""
    for piece in pieces:
        begun += piece
        end = begun.rfind(BETWEEN)
        if end >= 0:
            yield begun[:end]
            begun = begun[end + len(BETWEEN) :]
        # The last byte may be half of what separates two files.
        while len(begun) > MOST_OF_FILE and (end := begun.rfind(b"\n", 0, -1)) >= 0:
            yield begun[:end]
            begun = begun.partition(b"\0")[0] + b"\0" + begun[end + 1 :]
    if begun:
        yield begun
