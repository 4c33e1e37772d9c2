"""Every place that matches a pattern: the same lines that ripgrep prints for the same files, for far less reading.

Plan the trigrams, take the candidates from the index, add what the index cannot know yet (pending and oversized
files), and decide each file as it is on disk now: in process with RE2 where it agrees with ripgrep, else with the
bundled ripgrep. When the index cannot narrow, ripgrep gets all the files. A first page reads code before tests and
docs, and counts what it does not read; otherwise results are in order of path. Formatting and budgets are the
envelope's.
"""

from __future__ import annotations

import time
from codecs import BOM_UTF8
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

from llmc.base.errors import LlmcError, QueryError, ReadError, SearchTimeoutError
from llmc.base.languages import role_of
from llmc.base.root_fs import ReadRefusal
from llmc.retrieval.globs import PathFilter
from llmc.retrieval.grep import ripgrep
from llmc.retrieval.grep.large_files import LARGE
from llmc.retrieval.grep.match_lines import ROW, MatchedLine, Matcher, Undecided, read_rows, rows_of, searched_end
from llmc.retrieval.grep.pattern import GrepPlan, Unsupported, plan
from llmc.store.protocols import Trigrams

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from llmc.retrieval.view import View

__all__ = ["FileMatches", "GrepRequest", "GrepResult", "LineFilter", "grep", "role_rank"]

# The order in which a first page reads files.
ROLE_ORDER = (
    "code", "config", "legacy", "stub", "test", "example", "doc", "fixture", "data", "translation", "snapshot",
    "generated", "amalgamated", "vendored",
)  # fmt: skip

# In process a file costs 100 to 300 µs, in ripgrep about 12 µs after 10 ms for its start: beyond this it is cheaper.
IN_PROCESS = 60
# Files that may be binary are read here; during a first build that is every file, and ripgrep names those that match.
MOST_APART = 200
# A first page is looked for in slices, so that a common word is not looked for everywhere. Each is as large as what was
# found so far says that it must be, and half as large again; where nothing was found, four times the last one.
FIRST_SLICE = 300
GROWTH = 4
ENOUGH = 1.5
# Of one file, for a first page: `.` in some hundred long files is more than anybody pages through.
MOST_LINES = 1_000
# Of files that are fetched over the network no more are counted than one request brings at once.
MOST_COUNTED_VIRTUAL = 300
# A count of all the rest is worth this much waiting; 27,000 files take ripgrep .3 s.
COUNT_SECONDS = 2.0
MAX_PATTERN = 10_000
READ_LIMIT = 64 * 1024 * 1024


@dataclass(frozen=True)
class GrepRequest:
    """`stop` bounds the matching lines that a first page needs; None asks for every one. `lines` keeps only some of the
    matching lines, such as definitions or tests."""

    patterns: tuple[str, ...]
    fixed: bool = False
    ignore_case: bool = False
    smart_case: bool = False
    word: bool = False
    invert: bool = False
    multiline: bool = False
    before: int = 0
    after: int = 0
    paths: PathFilter = field(default_factory=PathFilter)
    within: frozenset[tuple[str, str]] | None = None  # (root, path) of an earlier result
    files_only: bool = False
    count_only: bool = False
    stop: int | None = None
    seconds: float = 10.0
    lines: LineFilter | None = None
    count_rest: bool = False  # the files behind `stop` are counted


@dataclass(frozen=True)
class FileMatches:
    """`count` lines match. `rows` are they, as ripgrep prints them, parsed by `lines` on demand. `cut`: they were more
    than enough for a first page, so that the rest of the file was not looked at. `counted`: only the count is known."""

    root: str
    path: str
    count: int
    rows: bytes = b""
    cut: bool = False
    counted: bool = False

    @cached_property
    def lines(self) -> tuple[MatchedLine, ...]:
        return tuple(read_rows(self.rows)) if self.rows else ()


@dataclass(frozen=True, slots=True)
class GrepResult:
    """`complete` is False when the search ended at `stop`: then `unread` files, or the one in which it ended, may hold
    further matches."""

    files: tuple[FileMatches, ...]
    complete: bool = True
    unread: int = 0
    searched: int = 0
    pending: int = 0
    share: float = 1.0
    unsure: str = ""  # why a file may have been missed

    @property
    def matches(self) -> int:
        return sum(file.count for file in self.files)


class LineFilter(Protocol):
    """Keeps some of the matching lines; what it keeps has its count and rows adjusted."""

    def keep(self, view: View, files: list[FileMatches], matcher: Matcher | None) -> list[FileMatches]: ...


def role_rank(path: str) -> int:
    return ROLE_ORDER.index(role_of(path))


def grep(views: Sequence[View], request: GrepRequest) -> GrepResult:
    request = settle_case(checked(request))
    matcher = matcher_for(request)
    deadline = time.monotonic() + request.seconds
    found: list[FileMatches] = []
    searched = unread = 0
    listed = [(view, candidates(view, request, condition_of(matcher))) for view in views]
    countable = MOST_COUNTED_VIRTUAL
    for view, paths in announced(listed):
        left = None if request.stop is None else request.stop - sum(file.count for file in found)
        if left is not None and left <= 0 and not request.count_rest:
            unread += len(paths)
            continue
        read, matched = search_files(view, paths, replace(request, stop=left), matcher, deadline)
        found += matched
        searched += read
        rest = paths[read:]
        countable -= len(rest) if view.root_fs.is_virtual else 0
        if rest and request.count_rest and countable >= 0:
            counts = count_files(view, rest, request, matcher, deadline)
            found += counts or ()
            rest = rest if counts is None else []
        unread += len(rest)
    return GrepResult(
        files=tuple(found),
        complete=unread == 0 and not any(file.cut for file in found),
        unread=unread,
        searched=searched,
        pending=sum(len(view.pending) for view in views),
        share=min((view.share for view in views), default=1.0),
        unsure=next((view.unsure for view in views if view.unsure), ""),
    )


def announced(listed: Sequence[tuple[View, list[str]]]) -> Iterator[tuple[View, list[str]]]:
    """Each view with its paths. Files are announced for several views together, as many as a first slice has, so that
    those of small repositories are fetched in one request."""
    ahead = 0
    for at, one in enumerate(listed):
        room = FIRST_SLICE if at == ahead else 0
        while room > 0 and ahead < len(listed):
            view, paths = listed[ahead]
            view.root_fs.expect(paths[:room])
            room -= len(paths)
            ahead += 1
        yield one


def checked(request: GrepRequest) -> GrepRequest:
    if not request.patterns:
        raise QueryError("there is no pattern", hint="Give some text or a regular expression to look for.")
    if sum(map(len, request.patterns)) > MAX_PATTERN:
        raise QueryError(
            f"the pattern is over {MAX_PATTERN:,} characters", hint="Split it, or search for its rarest part."
        )
    if any("\0" in pattern for pattern in request.patterns):
        raise QueryError("the pattern holds a NUL byte", hint="Binary files are not searched.")
    return request


def settle_case(request: GrepRequest) -> GrepRequest:
    """Smart case: ignore case unless a literal of the pattern is upper case."""
    if not request.smart_case or request.ignore_case:
        return request
    try:
        upper = any(plan(pattern, fixed=request.fixed).has_upper for pattern in request.patterns)
    except Unsupported:
        return request  # ripgrep gets --smart-case itself
    return replace(request, ignore_case=not upper, smart_case=False)


def matcher_for(request: GrepRequest) -> Matcher | None:
    """None: only ripgrep can decide (and the pattern was shown to it)."""
    only_ripgrep = request.invert or request.multiline or request.smart_case
    try:
        if only_ripgrep:
            ripgrep.check(options_of(request))
            return None
        plans = [plan(one, fixed=request.fixed, ignore_case=request.ignore_case) for one in request.patterns]
        matcher = Matcher(joined(plans), request.word)
        matcher.lines(b"x", 1)
    except (Unsupported, Undecided):
        ripgrep.check(options_of(request))
        return None
    return matcher


def joined(plans: list[GrepPlan]) -> GrepPlan:
    if len(plans) == 1:
        return plans[0]
    flags = plans[0].source.partition(")")[0]
    conditions = tuple(one.condition for one in plans)
    return GrepPlan(
        source=f"{flags})" + "|".join(f"(?:{one.source.partition(')')[2]})" for one in plans),
        condition=Trigrams() if any(one.is_empty for one in conditions) else Trigrams(any=(conditions,)),
        ascii_only=any(one.ascii_only for one in plans),
        has_upper=any(one.has_upper for one in plans),
    )


def condition_of(matcher: Matcher | None) -> Trigrams:
    """What the trigrams of every matching file fulfil."""
    return matcher.plan.condition if matcher else Trigrams()


def candidates(view: View, request: GrepRequest, condition: Trigrams) -> list[str]:
    """Every path that may match, in order: from the index, and what the index cannot vouch for."""
    catalog = view.store.catalog
    places = catalog.places(view.root.id)
    # Lists, not sets: documents are numbered in order of path mostly, and what is nearly sorted is sorted at once.
    listed = places.paths() if condition.is_empty else places.paths_of(view.store.keywords.candidates(condition))
    large = {path for path in catalog.unvouched(view.root.id) if LARGE.may_hold(view, path, condition)}
    listed += {*large, *view.pending, *view.named}.difference(listed)
    if view.hidden:
        listed = [path for path in listed if path not in view.hidden or path in view.named]
    if request.within is not None:
        within = {path for root, path in request.within if root == view.root.id}
        listed = [path for path in listed if path in within]
    paths = request.paths.of(view.root.id)
    accepted = sorted(listed) if paths.is_open else sorted(filter(paths.accepts, listed))
    if request.stop is not None:
        accepted.sort(key=role_rank)
    return accepted


def search_files(
    view: View, paths: list[str], request: GrepRequest, matcher: Matcher | None, deadline: float
) -> tuple[int, list[FileMatches]]:
    """(files read, matches): all of the paths, or as many as `stop` lines need."""
    if request.stop is None:
        return len(paths), search_slice(view, paths, request, matcher, deadline)
    found: list[FileMatches] = []
    read, lines, size = 0, 0, FIRST_SLICE
    while read < len(paths) and request.stop > 0:
        part = paths[read : read + size]
        for file in search_slice(view, part, request, matcher, deadline):
            found.append(file)
            lines += file.count
            if lines >= request.stop:
                return read + part.index(file.path) + 1, found
        read += len(part)
        needed = ENOUGH * (request.stop - lines) * read / lines if lines else read * GROWTH
        size = max(FIRST_SLICE, min(round(needed), size * GROWTH))
    return read, found


def count_files(
    view: View, paths: list[str], request: GrepRequest, matcher: Matcher | None, deadline: float
) -> list[FileMatches] | None:
    """How many lines match in each; None when that takes too long, or when a line must be read to be counted."""
    if request.lines is not None:
        return None
    plain = replace(request, count_only=True, files_only=False, before=0, after=0, stop=None)
    soon = min(deadline, time.monotonic() + COUNT_SECONDS)
    try:
        files = search_slice(view, paths, plain, matcher, soon)
    except QueryError:
        return None
    return [replace(file, counted=True) for file in files]


def search_slice(
    view: View, paths: list[str], request: GrepRequest, matcher: Matcher | None, deadline: float
) -> list[FileMatches]:
    """The files that match, with those of their lines that the request keeps."""
    if request.lines is None:
        return match_slice(view, paths, request, matcher, deadline)
    lines = replace(request, files_only=False, count_only=False, lines=None)
    kept = request.lines.keep(view, match_slice(view, paths, lines, matcher, deadline), matcher)
    bare = request.files_only or request.count_only
    return [replace(file, rows=b"") for file in kept] if bare else kept


def match_slice(
    view: View, paths: list[str], request: GrepRequest, matcher: Matcher | None, deadline: float
) -> list[FileMatches]:
    view.root_fs.expect(paths)
    few = matcher is not None and len(paths) <= IN_PROCESS
    doubtful = set(paths) if few else perhaps_binary(view).intersection(paths)
    apart = doubtful if few or len(doubtful) <= MOST_APART else set[str]()
    rest = [path for path in paths if path not in apart]
    found, undecided, begun = one_by_one(view, sorted(apart), request, matcher, deadline)
    matched = by_ripgrep(view, rest + undecided, request, deadline)
    if not apart and doubtful:
        matched, cut = as_come_across(view, matched, doubtful, request)
        begun |= cut
    if begun:
        lines = by_ripgrep(view, list(begun), replace(request, files_only=False), deadline)
        matched += [file for one in lines if (file := up_to(one, begun[one.path], request)).count]
    places = {path: at for at, path in enumerate(paths)}
    return sorted([*found, *matched], key=lambda file: places[file.path])


def as_come_across(
    view: View, matched: list[FileMatches], doubtful: set[str], request: GrepRequest
) -> tuple[list[FileMatches], dict[str, int]]:
    """(matches that count, files of which only so many lines count): ripgrep searches all of a file that is given by
    name, but had it come across one with a NUL byte, it would have stopped there."""
    kept: list[FileMatches] = []
    cut: dict[str, int] = {}
    for file in matched:
        if file.path not in doubtful:
            kept.append(file)
            continue
        try:
            data, _ = view.root_fs.read(file.path, READ_LIMIT)
        except ReadError as error:
            kept += [file] if error.refusal is ReadRefusal.TOO_LARGE else []
            continue
        except (OSError, LlmcError):
            continue  # gone since, or not a file any more
        end = searched_end(data)
        if end == len(data):
            kept.append(file)
        elif end and not request.count_only:
            cut[file.path] = data[:end].count(b"\n")
    return kept, cut


def perhaps_binary(view: View) -> set[str]:
    """Files of which ripgrep, had it come across them, might not have searched all; it does search what it is given."""
    catalog = view.store.catalog
    large = {path for path in catalog.unvouched(view.root.id) if not LARGE.is_whole(view, path)}
    return {*catalog.holding_nul(view.root.id), *large, *view.pending, *view.named}


def one_by_one(
    view: View, paths: Iterable[str], request: GrepRequest, matcher: Matcher | None, deadline: float
) -> tuple[list[FileMatches], list[str], dict[str, int]]:
    """(matches; what only ripgrep can decide; the same, where no more than so many lines count)."""
    found: list[FileMatches] = []
    undecided: list[str] = []
    begun: dict[str, int] = {}
    for path in paths:
        if time.monotonic() > deadline:
            raise too_long(request)
        try:
            matches = in_process(view, path, request, matcher)
        except Undecided as decided:
            if decided.lines is None:
                undecided.append(path)
            else:
                begun[path] = decided.lines
            continue
        if matches:
            found.append(matches)
    return found, undecided, begun


def in_process(view: View, path: str, request: GrepRequest, matcher: Matcher | None) -> FileMatches | None:
    try:
        data, _ = view.root_fs.read(path, READ_LIMIT)
    except ReadError as error:
        if error.refusal is ReadRefusal.TOO_LARGE:
            raise Undecided from None
        return None
    except (OSError, LlmcError):
        return None  # gone since, or not a file any more
    end = searched_end(data)
    is_cut = end < len(data)
    if is_cut and (end == 0 or request.count_only):
        return None  # ripgrep counts nothing in a file in which it met a NUL byte
    searched = data[:end].removeprefix(BOM_UTF8)
    try:
        hits = hits_in(searched, request, matcher)
    except Undecided:
        raise Undecided(searched.count(b"\n") if is_cut else None) from None
    if not hits:
        return None
    rows = b"" if request.files_only or request.count_only else rows_of(searched, hits, request.before, request.after)
    return FileMatches(view.root.id, path, len(hits), rows, cut=len(hits) == most_lines(request))


def hits_in(data: bytes, request: GrepRequest, matcher: Matcher | None) -> list[tuple[int, int, int]]:
    if matcher is None:
        raise Undecided
    return matcher.lines(data, 1 if request.files_only else most_lines(request))


def most_lines(request: GrepRequest) -> int | None:
    """Of one file, where a first page is wanted."""
    return None if request.stop is None or request.files_only or request.count_only else MOST_LINES


def up_to(file: FileMatches, lines: int, request: GrepRequest) -> FileMatches:
    """Its first lines alone, since ripgrep searches all of a file that it is given by name."""
    listed = file.rows.split(b"\n")
    rows = b"\n".join(row for row in listed if (number := ROW.match(row)) and int(number[1]) <= lines)
    matched = sum(line.matched for line in read_rows(rows))
    return replace(file, count=matched, rows=b"" if request.files_only else rows)


def by_ripgrep(view: View, paths: Sequence[str], request: GrepRequest, deadline: float) -> list[FileMatches]:
    if not paths:
        return []
    if not ripgrep.available():
        raise QueryError(
            "this pattern needs ripgrep, which is not available here", hint="llmc doctor says what is missing."
        )
    files = ripgrep.run(view.root_fs, options_of(request), paths, deadline, request.seconds)
    return [counted(view.root.id, file, request) for file in files]


def counted(root: str, file: ripgrep.FileRows, request: GrepRequest) -> FileMatches:
    if request.files_only:
        return FileMatches(root, file.path, 1)
    if request.count_only:
        return FileMatches(root, file.path, int(file.rows))
    count = file.rows.count(b"\n") + 1
    if request.before or request.after:
        count = sum(line.matched for line in read_rows(file.rows))
    return FileMatches(root, file.path, count, file.rows, cut=count == most_lines(request))


def options_of(request: GrepRequest) -> list[str]:
    flags = {
        "--fixed-strings": request.fixed,
        "--ignore-case": request.ignore_case,
        "--smart-case": request.smart_case,
        "--word-regexp": request.word,
        "--invert-match": request.invert,
        "--multiline": request.multiline,
        "--files-with-matches": request.files_only,
        "--count": request.count_only and not request.files_only,
        "--line-number": not (request.files_only or request.count_only),
    }
    options = [flag for flag, given in flags.items() if given]
    if request.before and not request.files_only:
        options.append(f"--before-context={request.before}")
    if request.after and not request.files_only:
        options.append(f"--after-context={request.after}")
    if most := most_lines(request):
        options.append(f"--max-count={most}")
    return options + [f"--regexp={pattern}" for pattern in request.patterns]


def too_long(request: GrepRequest) -> SearchTimeoutError:
    stopped = f"the search was stopped at its time limit of {request.seconds:g} s"
    return SearchTimeoutError(stopped, hint=ripgrep.SLOW_HINT)
