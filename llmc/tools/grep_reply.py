"""From the matches of a search to its envelope, for every tool whose result is lines of files: `grep` and `match`."""

from __future__ import annotations

import posixpath
import re
from typing import TYPE_CHECKING

from llmc.base.errors import QueryError
from llmc.envelope import Envelope, Group, Item
from llmc.envelope.phrases import freshness_notes, plural
from llmc.retrieval.globs import PathFilter
from llmc.retrieval.grep.grep import role_rank
from llmc.retrieval.grep_groups import KindFilter, group_files, ungrouped
from llmc.retrieval.line_kinds import KINDS
from llmc.tool import BUDGET, FOCUS, Argument
from llmc.tools.folder_counts import by_folder
from llmc.tools.grep_layout import Layout, lay_out
from llmc.tools.grep_rest import with_rests
from llmc.tools.grep_rows import all_groups, section_counts, symbol_lists
from llmc.tools.grep_symbols import symbol_layout
from llmc.tools.sibling_files import sibling_files, sibling_group
from llmc.workspace import shown_path

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from llmc.retrieval.grep.grep import FileMatches, GrepRequest, GrepResult
    from llmc.retrieval.grep.match_lines import Matcher
    from llmc.retrieval.grep_groups import FileGroups
    from llmc.retrieval.view import View
    from llmc.tool import ToolRequest
    from llmc.tools.scope import CallScope

__all__ = ["AMOUNT", "WHERE", "check_scope", "line_filter", "matches_envelope", "most_read"]

# Matching lines that are read, grouped and kept behind the handle; of a pattern with more the rest is only counted.
MOST_READ = 1_000
# Where only the symbols around them are listed, which takes a line each.
MOST_IN_SYMBOLS = 5_000
# With a focus question, which chooses among all matches and shows few of them.
MOST_FOCUSED = 20_000
HEAD_TOKENS = 40  # first line and handle
MOST_NAMED = 8  # paths in an error message

# The arguments of both tools: where they look, and how much they show.
WHERE = (
    Argument("path", "strings", "Only below this file or folder, or inside an earlier result (a handle).", text="path"),
    Argument("glob", "strings", "Only files that match, or with ! do not.", text="glob"),
    Argument("type", "strings", "Only files of this type, such as py."),
    Argument("type_not", "strings", "No files of this type."),
    Argument("no_tests", "boolean", "No test code, by path or by the framework's marks."),
    Argument("only_tests", "boolean", "Only test code."),
)
AMOUNT = (
    Argument("files", "boolean", "Only the names of the files."),
    Argument("count", "boolean", "Only the number of matching lines per file."),
    Argument("fields", "strings", "A table of only these: path, line, text; * is all."),
    BUDGET,
    Argument("all", "boolean", "Every match, without a budget."),
)


def matches_envelope(  # noqa: PLR0917 - what every stage before it has made
    tool: str,
    request: ToolRequest,
    scope: CallScope,
    query: GrepRequest,
    result: GrepResult,
    matcher: Matcher | None,
    *notes: str,
) -> Envelope:
    """`matcher` finds where in its lines a pattern matches, if that is known."""
    if not result.files:
        check_scope(request, scope.views, query)
    listed = query.files_only or query.count_only
    files = [] if listed else grouped(request, scope.views, result, matcher)
    layout = layout_of(request, result, files, query)
    freshness = freshness_notes(result.pending, result.share, unsure=result.unsure, scanned=True)
    return Envelope(
        tool,
        found_words(result, query, files),
        layout.groups,
        notes=(*notes, *freshness, *scope.notes, *idle_exclusions(request, scope.views)),
        data=data_of(result, files) if request.wants_data else {},
        unit="" if listed or by_symbols(request) else "match",
        folded=layout.folded,
        provisional=bool(result.unsure),
    )


def most_read(request: ToolRequest) -> int | None:
    """How many matching lines are read; None for all of them."""
    symbols = by_symbols(request)
    if request.flag("all") or request.flag("files") or request.flag("count"):
        return None
    if symbols:
        return MOST_IN_SYMBOLS
    return MOST_FOCUSED if request.text(FOCUS.name).strip() else MOST_READ


def grouped(
    request: ToolRequest, views: Sequence[View], result: GrepResult, matcher: Matcher | None
) -> list[FileGroups]:
    """The matches that were read, by symbol."""
    files = [file for file in result.files if not file.counted]
    too_many = request.flag("all") or any(file.counted for file in result.files)
    if too_many and not by_symbols(request):  # to look up their symbols
        return [ungrouped(file, matcher) for file in files]
    by_root = {view.root.id: [file for file in files if file.root == view.root.id] for view in views}
    body = request.flag("body")
    groups = [group for view in views for group in group_files(view, by_root[view.root.id], matcher, body=body)]
    return with_rests(groups, request.workspace.text_of) if is_grouped_reply(request) else groups


def is_grouped_reply(request: ToolRequest) -> bool:
    """Whether the reply lists matching lines below their symbols, without requested context lines."""
    numbers = ("context", "before", "after")
    return not (
        any(request.flag(name) for name in ("all", "symbols", "body", "invert"))
        or any(request.number(name) for name in numbers)
        or request.texts("fields")
        or request.text(FOCUS.name).strip()
    )


def by_symbols(request: ToolRequest) -> bool:
    """Whether the symbols around the matches are listed instead of the lines; a table is always one of lines."""
    if not request.flag("symbols"):
        return False
    if other := next((name for name in ("files", "count") if request.flag(name)), ""):
        raise QueryError(f"symbols and {other} exclude each other", hint="Give one of them.")
    return not request.texts("fields")


def line_filter(request: ToolRequest) -> KindFilter | None:
    kinds = frozenset(kind for text in request.texts("kind") for kind in text.replace("|", ",").split(","))
    if wrong := sorted(kinds - {*KINDS}):
        raise QueryError(f"{wrong[0]!r} is not a kind of line", hint=f"Available: {', '.join(KINDS)}.")
    if request.flag("no_tests") and request.flag("only_tests"):
        raise QueryError("no_tests and only_tests exclude each other", hint="Give one of them.")
    tests = False if request.flag("no_tests") else True if request.flag("only_tests") else None
    return KindFilter(kinds, tests) if kinds or tests is not None else None


def layout_of(request: ToolRequest, result: GrepResult, files: list[FileGroups], query: GrepRequest) -> Layout:
    workspace = request.workspace

    def name(root: str, path: str) -> str:
        return shown_path(workspace, root, path)

    everything = bool(request.flag("all") or request.texts("fields"))
    if query.files_only or query.count_only:
        if everything:
            return Layout(tuple(listing(result.files, name, counts=query.count_only)))
        return short_listing(result.files, name, counts=query.count_only)
    context = bool(
        request.flag("body") or request.number("context") or request.number("before") or request.number("after")
    )
    if by_symbols(request):
        rest = [file for file in result.files if file.counted]
        layout = Layout(tuple(symbol_lists(files, name))) if everything else symbol_layout(files, name)
        return Layout((*layout.groups, *listing(rest, name, counts=True)), layout.folded)
    if not files or request.flag("all") or request.text(FOCUS.name).strip() or request.texts("fields"):
        return Layout(all_groups(files, name, context=context))
    if any(file.counted for file in result.files):
        folders = by_folder([(name(file.root, file.path), file.count) for file in result.files])
        return Layout(tuple(folders), all_groups(files, name, context=context))
    settings = workspace.settings.envelope
    budget = min(request.number("budget", settings.grep_budget), settings.cap) - HEAD_TOKENS
    return lay_out(files, name, budget, context=context, everything=bool(request.args.get("budget")))


def found_words(result: GrepResult, request: GrepRequest, files: list[FileGroups]) -> str:
    if not result.files:
        return "no matches"
    named = plural(len(result.files), "file")
    unread = f", {plural(result.unread, 'file')} unread" if result.unread else ""
    if request.files_only:
        return f"{named}{unread}"
    more = "" if result.complete else "+"
    found = f"{result.matches:,}{more} match{'' if result.matches == 1 else 'es'} in {named}{unread}"
    parts = [(file.path, file.role, file.count) for file in files]
    parts += [(file.path, "", file.count) for file in result.files if file.counted or not files]
    counts = section_counts(parts)
    return f"{found}: {counts}" if counts else found


def check_scope(request: ToolRequest, views: Sequence[View], query: GrepRequest) -> None:
    """A filter that lets no file through is a mistake of the call, not an answer."""
    if query.paths.is_open or any(view.share < 1.0 for view in views):
        return
    if any(query.paths.of(view.root.id).accepts(path) for view in views for path in paths_of(view)):
        return
    paths = request.texts("path")
    given = [
        *paths[:MOST_NAMED],
        *(["…"] if len(paths) > MOST_NAMED else []),
        *(f"-g {one}" for one in request.texts("glob")),
    ]
    given += [f"-t {one}" for one in request.texts("type")] + [f"-T {one}" for one in request.texts("type_not")]
    raise QueryError(
        f"no indexed file matches {' '.join(given)}",
        reason="nothing was searched",
        hint=quoting_hint(request)
        or glob_hint(request, views)
        or "`find` lists paths; ignored and binary files are not indexed.",
    )


def quoting_hint(request: ToolRequest) -> str:
    """Without quotes the shell makes of `-g *.go` the option `-g build.go` and the paths `main.go models.go`."""
    paths = request.texts("path")
    paths = paths[:-1] or paths  # a pattern after the option is taken for the last path
    for glob in request.texts("glob"):
        folder, name = posixpath.split(glob)
        ending = posixpath.splitext(name)[1]
        is_name = ending and not WILDCARDS.search(glob)
        if is_name and paths and all(path.endswith(ending) and path != glob for path in paths):
            return f"If the shell expanded it, quote the glob: -g '{posixpath.join(folder, f'*{ending}')}'"
    return ""


WILDCARDS = re.compile(r"[*?\[{!]")


def glob_hint(request: ToolRequest, views: Sequence[View]) -> str:
    """A glob with a slash is relative to the root: suggests the probable one if it matches files."""
    meant = next(filter(None, (meant_glob(glob, views) for glob in request.texts("glob"))), "")
    return f"A glob with a slash is relative to the root. Try -g '{meant}'." if meant else ""


def meant_glob(glob: str, views: Sequence[View]) -> str:
    core = glob.strip("/").removeprefix("**/").removeprefix("*/").removesuffix("/**").removesuffix("/*")
    for meant in (f"**/{core}", f"**/{core}/**"):
        accepts = PathFilter(globs=(meant,)).accepts
        if meant != glob and core and any(accepts(path) for view in views for path in paths_of(view)):
            return meant
    return ""


def idle_exclusions(request: ToolRequest, views: Sequence[View]) -> list[str]:
    """A note on each glob with `!` that excludes nothing: it may be relative to another folder than was meant."""
    notes = []
    for glob in request.texts("glob"):
        accepts = PathFilter(globs=(glob,)).accepts
        if not glob.startswith("!") or any(not accepts(path) for view in views for path in paths_of(view)):
            continue
        meant = meant_glob(glob[1:], views) if "/" in glob else ""
        advice = f"; a glob with a slash is relative to the root: try -g '!{meant}'" if meant else ""
        notes.append(f"-g '{glob}' excludes no file{advice}")
    return notes


def paths_of(view: View) -> list[str]:
    return [
        *view.store.catalog.places(view.root.id).paths(),
        *view.pending,
        *view.store.catalog.unvouched(view.root.id),
        *view.named,
    ]


def rank(file: FileMatches) -> tuple[int, str]:
    """Code first, in order of path."""
    return role_rank(file.path), file.path


def short_listing(files: Sequence[FileMatches], names: Callable[[str, str], str], *, counts: bool) -> Layout:
    """Files of the same names in sibling folders share a line, below the others; each is behind the handle."""
    alike = sibling_files(files)
    taken = {(file.root, file.path) for one in alike for file in one.files}
    others = [file for file in files if (file.root, file.path) not in taken]
    shared = [sibling_group(one, names, counts=counts) for one in alike]
    folded = [file for file in files if (file.root, file.path) in taken]
    return Layout((*listing(others, names, counts=counts), *shared), tuple(listing(folded, names, counts=counts)))


def listing(files: Iterable[FileMatches], names: Callable[[str, str], str], *, counts: bool) -> list[Group]:
    return [
        Group(names(file.root, file.path), (Item(root=file.root, path=file.path),), file.count if counts else None)
        for file in sorted(files, key=rank)
    ]


def data_of(result: GrepResult, files: Sequence[FileGroups]) -> dict[str, object]:
    """A line is its number, its text, whether it matches, and of a match the symbol around it and its kind."""
    about = {
        (file.root, file.path, number): (one.symbol.qualified if one.symbol else "", kind)
        for file in files
        for one in file.symbols
        for number, kind in one.kinds.items()
    }
    found = [
        {
            "root": file.root,
            "path": file.path,
            "count": file.count,
            "lines": [
                [line.number, line.text, line.matched, *about.get((file.root, file.path, line.number), ())]
                for line in file.lines
            ],
        }
        for file in result.files
    ]
    return {"matches": result.matches, "complete": result.complete, "files": found}
