"""Which files have this name? Names and paths from the catalog: globs, substrings, then letters in order (fuzzy).

Pending paths are checked on disk, so a file created a moment ago is found and a deleted one is not.
"""

from __future__ import annotations

import itertools
import re
import time
from dataclasses import dataclass, field
from fnmatch import translate
from typing import TYPE_CHECKING, NamedTuple

from llmc.base.errors import LlmcError, QueryError
from llmc.base.root_fs import FileKind
from llmc.retrieval.globs import PathFilter

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence

    from llmc.retrieval.view import View
    from llmc.store.catalog.document_paths import DocumentPaths

__all__ = ["FindRequest", "FindResult", "FoundFile", "find", "parse_age", "parse_size"]

GLOB = re.compile(r"[*?\[]")
# The variable parts of a glob: wildcards, and character classes.
GLOB_RUN = re.compile(r"[*?]+|\[[^\]]*\]?")
# For more matches, reading all rows is faster than looking each one up.
FEW = 8_000
UNITS = {"": 1, "b": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}
AGE_HINT = "Write 2h, 3d, 1w or 2026-01-31."
LONGEST_NUMBER = 15  # digits; no size or age has more
AGES = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}


@dataclass(frozen=True)
class FindRequest:
    """`query` is a glob if it contains `*`, `?` or `[`, else part of a path, else letters in order. An empty one finds
    all."""

    query: str = ""
    paths: PathFilter = field(default_factory=PathFilter)
    min_bytes: int | None = None
    max_bytes: int | None = None
    newer_than: float | None = None  # seconds since the epoch
    older_than: float | None = None


class FoundFile(NamedTuple):
    root: str
    path: str
    size: int
    mtime: float
    how: str  # name, path, glob, fuzzy


@dataclass(frozen=True, slots=True)
class FindResult:
    files: tuple[FoundFile, ...]
    pending: int = 0
    share: float = 1.0
    unsure: str = ""  # why a file may have been missed


def find(views: Sequence[View], request: FindRequest) -> FindResult:
    part = telling(request.query)
    scored = matching(views, request, ranking(request.query), lambda places: places.holding(part)[1])
    if not scored and request.query and not GLOB.search(request.query):
        letters = request.query.lower()
        scored = matching(
            views, request, lambda path: fuzzy(letters, path), lambda places: places.with_letters(letters)
        )
    scored.sort(key=lambda pair: (pair[0], len(pair[1].path), pair[1].path))
    return FindResult(
        files=tuple(file for _, file in scored),
        pending=sum(len(view.pending) for view in views),
        share=min((view.share for view in views), default=1.0),
        unsure=next((view.unsure for view in views if view.unsure), ""),
    )


HOW = ("name", "name", "path", "fuzzy")


Rank = tuple[int, int]
Found = tuple[Rank, FoundFile]


def matching(
    views: Sequence[View],
    request: FindRequest,
    ranked: Callable[[str], Rank | None],
    chosen: Callable[[DocumentPaths], Sequence[str]],
) -> list[Found]:
    """`chosen` are the indexed paths that can match at all; only those are checked one by one."""
    found: list[Found] = []
    for view in views:
        accepts = request.paths.of(view.root.id).accepts
        scores = {path: rank for path in listed(view, chosen) if (rank := ranked(path)) is not None and accepts(path)}
        for path, size, mtime_ns in sizes_and_times(view, scores):
            modified = mtime_ns / 1e9
            if within(size, modified, request):
                how = HOW[min(scores[path][0], 3)]
                found.append((scores[path], FoundFile(view.root.id, path, size, modified, how)))
    return found


def telling(query: str) -> str:
    """The longest part of a query that a path must contain literally."""
    return max(GLOB_RUN.split(query.lower().strip("/")), key=len)


def listed(view: View, chosen: Callable[[DocumentPaths], Sequence[str]]) -> Iterator[str]:
    catalog = view.store.catalog
    indexed = itertools.chain(chosen(catalog.places(view.root.id)), catalog.without_document(view.root.id))
    yield from (path for path in indexed if path not in view.hidden)
    yield from view.pending
    yield from view.named


def sizes_and_times(view: View, paths: Collection[str]) -> Iterator[tuple[str, int, int]]:
    """The sizes and times in the catalog, updated from disk for files that are pending or changed too recently."""
    catalog = view.store.catalog
    few = len(paths) <= FEW
    known = catalog.stamps_of(view.root.id, paths) if few else catalog.stamps(view.root.id)
    for path in paths:
        size, mtime_ns = known.get(path, (0, 0))[:2]
        if mtime_ns and path not in view.pending:
            yield path, size, mtime_ns
            continue
        try:
            seen = view.root_fs.stat(path)
        except LlmcError:
            continue
        if seen is not None and seen.kind is FileKind.FILE:
            yield path, seen.stamp.size, seen.stamp.mtime_ns


def within(size: int, modified: float, request: FindRequest) -> bool:
    return (
        (request.min_bytes is None or size >= request.min_bytes)
        and (request.max_bytes is None or size <= request.max_bytes)
        and (request.newer_than is None or modified >= request.newer_than)
        and (request.older_than is None or modified <= request.older_than)
    )


def ranking(query: str) -> Callable[[str], Rank | None]:
    """0: the name itself, 1: part of the name, 2: part of the path; None: no match."""
    if not query:
        return lambda _path: (0, 0)
    if GLOB.search(query):
        whole = "/" in query
        matches = re.compile(
            translate(query if not whole else f"*{query}" if query[0] != "*" else query), re.IGNORECASE
        )
        return lambda path: (0, 0) if matches.match(path if whole else path.rpartition("/")[2]) else None
    wanted = query.lower().strip("/")

    def rank(path: str) -> Rank | None:
        lowered = path.lower()
        name = lowered.rpartition("/")[2]
        if name == wanted or name.partition(".")[0] == wanted:
            return 0, 0
        at = name.find(wanted)
        if at >= 0:
            return 1, at
        return (2, 0) if wanted in lowered else None

    return rank


def fuzzy(letters: str, path: str) -> Rank | None:
    """The letters in order, as close to each other as possible: fewer gaps rank first, the name before the folders."""
    for text, rank in ((path.lower().rpartition("/")[2], 3), (path.lower(), 4)):
        at, gaps = -1, 0
        for letter in letters:
            found = text.find(letter, at + 1)
            if found < 0:
                break
            gaps += found - at - 1 if at >= 0 else 0
            at = found
        else:
            if gaps <= 3 * len(letters):
                return rank, gaps
    return None


def parse_size(text: str) -> int:
    """`100`, `20k`, `3M`."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([bkmg]?)(?:i?b)?", text.strip().lower())
    if not match or len(match[1]) > LONGEST_NUMBER:
        raise QueryError(f"{text[:40]!r} is not a size", hint="Write 500, 20k, 3M or 1G.")
    return int(float(match[1]) * UNITS[match[2]])


def parse_age(text: str) -> float:
    """`2h`, `3d`, `1w` ago, or a date such as 2026-01-31, as seconds since the epoch."""
    text = text.strip()
    match = re.fullmatch(r"(\d+)\s*([smhdw])", text.lower())
    if match and len(match[1]) <= LONGEST_NUMBER:
        return time.time() - int(match[1]) * AGES[match[2]]
    try:
        return time.mktime(time.strptime(text, "%Y-%m-%d"))
    except ValueError:
        raise QueryError(f"{text[:40]!r} is neither an age nor a date", hint=AGE_HINT) from None
