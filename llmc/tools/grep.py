"""`grep`: every match of a pattern, grouped by the symbols that enclose the matches."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmc.base.errors import QueryError
from llmc.base.languages import role_of
from llmc.envelope import Envelope, Group, Item
from llmc.envelope.phrases import freshness_notes, plural
from llmc.retrieval.grep.grep import GrepRequest, grep, matcher_for, role_rank, settle_case
from llmc.retrieval.grep_groups import KindFilter, group_files, ungrouped
from llmc.retrieval.line_kinds import KINDS
from llmc.tool import FOCUS, Argument, Tool, ToolRequest
from llmc.tools.folder_counts import by_folder
from llmc.tools.grep_layout import Layout, lay_out
from llmc.tools.grep_output import grep_output
from llmc.tools.grep_rows import all_groups, section_counts
from llmc.tools.scope import scope_of
from llmc.workspace import shown_path

if TYPE_CHECKING:
    from collections.abc import Sequence

    from llmc.retrieval.globs import PathFilter
    from llmc.retrieval.grep.grep import FileMatches, GrepResult
    from llmc.retrieval.grep_groups import FileGroups
    from llmc.retrieval.view import View
    from llmc.workspace import Workspace

# Matching lines that are read, grouped and kept behind the handle; of a pattern with more the rest is only counted.
MOST_READ = 1_000
# ripgrep needs seconds for a pattern that spans lines; without an index for it, all files are read.
MULTILINE_SECONDS = 30.0
NARROW = "narrow it: a path, no_tests, kind=def|use|import|comment, or a longer pattern"


def run(asked: ToolRequest) -> Envelope:
    in_output = grep_output(asked)
    if in_output is not None:
        return in_output
    scope = scope_of(
        asked, asked.paths(), globs=asked.texts("glob"), types=asked.texts("type"), types_not=asked.texts("type_not")
    )
    request, views = request_of(asked, scope.paths), scope.views
    result = grep(views, request)
    if not result.files:
        check_scope(asked, views, request)
    listed = request.files_only or request.count_only
    files = [] if listed else grouped(asked, views, result, request)
    layout = Layout(tuple(listing(result, request, asked.workspace))) if listed else layout_of(asked, result, files)
    return Envelope(
        "grep",
        found_words(result, request, files),
        layout.groups,
        notes=(*notes_of(result, request), *freshness_notes(result.pending, result.share), *scope.notes),
        data=data_of(result) if asked.wants_data else {},
        unit="" if listed else "match",
        folded=layout.folded,
    )


def request_of(asked: ToolRequest, paths: PathFilter) -> GrepRequest:
    workspace = asked.workspace
    context = asked.number("context")
    seconds = workspace.settings.limits.query_timeout_ms / 1000 * (5 if asked.flag("all") else 1)
    return GrepRequest(
        patterns=(asked.text("pattern"), *asked.texts("also")),
        fixed=asked.flag("fixed"),
        ignore_case=asked.flag("ignore_case"),
        smart_case=asked.flag("smart_case"),
        word=asked.flag("word"),
        invert=asked.flag("invert"),
        multiline=asked.flag("multiline"),
        before=asked.number("before", context),
        after=asked.number("after", context),
        paths=paths,
        within=asked.within(),
        files_only=asked.flag("files"),
        count_only=asked.flag("count"),
        stop=None if asked.flag("all") or asked.flag("files") or asked.flag("count") else MOST_READ,
        seconds=max(seconds, MULTILINE_SECONDS) if asked.flag("multiline") else seconds,
        lines=line_filter(asked),
        count_rest=True,
    )


def line_filter(asked: ToolRequest) -> KindFilter | None:
    kinds = frozenset(kind for text in asked.texts("kind") for kind in text.replace("|", ",").split(","))
    if wrong := sorted(kinds - {*KINDS}):
        raise QueryError(f"{wrong[0]!r} is not a kind of line", hint=f"Available: {', '.join(KINDS)}.")
    if asked.flag("no_tests") and asked.flag("only_tests"):
        raise QueryError("no_tests and only_tests exclude each other", hint="Give one of them.")
    tests = False if asked.flag("no_tests") else True if asked.flag("only_tests") else None
    return KindFilter(kinds, tests) if kinds or tests is not None else None


def grouped(asked: ToolRequest, views: Sequence[View], result: GrepResult, request: GrepRequest) -> list[FileGroups]:
    """The matches that were read, by symbol."""
    files = [file for file in result.files if not file.counted]
    if asked.flag("all") or any(file.counted for file in result.files):  # too many to look up their symbols
        return [ungrouped(file) for file in files]
    matcher = matcher_for(settle_case(request)) if files else None
    by_root = {view.root.id: [file for file in files if file.root == view.root.id] for view in views}
    return [group for view in views for group in group_files(view, by_root[view.root.id], matcher)]


def layout_of(asked: ToolRequest, result: GrepResult, files: list[FileGroups]) -> Layout:
    workspace = asked.workspace

    def name(root: str, path: str) -> str:
        return shown_path(workspace, root, path)

    context = bool(asked.number("context") or asked.number("before") or asked.number("after"))
    if not files or asked.flag("all") or asked.text(FOCUS.name).strip() or asked.texts("fields"):
        return Layout(all_groups(files, name, context=context))
    if any(file.counted for file in result.files):
        folders = by_folder([(name(file.root, file.path), file.count) for file in result.files])
        return Layout(tuple(folders), all_groups(files, name, context=context))
    settings = workspace.settings.envelope
    budget = min(asked.number("budget", settings.grep_budget), settings.cap) - HEAD_TOKENS
    return lay_out(files, name, budget, context=context)


HEAD_TOKENS = 40  # first line and handle


def found_words(result: GrepResult, request: GrepRequest, files: list[FileGroups]) -> str:
    if not result.files:
        return "no matches"
    named = plural(len(result.files), "file")
    unread = f", {plural(result.unread, 'file')} unread" if result.unread else ""
    if request.files_only:
        return f"{named}{unread}"
    more = "" if result.complete else "+"
    found = f"{result.matches:,}{more} match{'' if result.matches == 1 else 'es'} in {named}{unread}"
    roles = [(file.role, file.count) for file in files]
    roles += [(role_of(file.path), file.count) for file in result.files if file.counted or not files]
    counts = section_counts(roles)
    return f"{found}: {counts}" if counts else found


def notes_of(result: GrepResult, request: GrepRequest) -> tuple[str, ...]:
    if request.files_only or request.count_only:
        return ()
    return (NARROW,) if any(file.counted for file in result.files) or not result.complete else ()


def check_scope(asked: ToolRequest, views: Sequence[View], request: GrepRequest) -> None:
    """A filter that lets no file through is a mistake of the call, not an answer."""
    if request.paths.is_open or any(view.share < 1.0 for view in views):
        return
    if any(request.paths.of(view.root.id).accepts(path) for view in views for path in paths_of(view)):
        return
    given = [*asked.texts("path"), *(f"-g {one}" for one in asked.texts("glob"))]
    given += [f"-t {one}" for one in asked.texts("type")] + [f"-T {one}" for one in asked.texts("type_not")]
    raise QueryError(
        f"no indexed file matches {' '.join(given)}",
        reason="nothing was searched",
        hint="`find` lists paths; ignored and binary files are not indexed.",
    )


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


def listing(result: GrepResult, request: GrepRequest, workspace: Workspace) -> list[Group]:
    return [
        Group(
            shown_path(workspace, file.root, file.path),
            (Item(root=file.root, path=file.path),),
            file.count if request.count_only else None,
        )
        for file in sorted(result.files, key=rank)
    ]


def data_of(result: GrepResult) -> dict[str, object]:
    files = [file_data(file) for file in result.files]
    return {"matches": result.matches, "complete": result.complete, "files": files}


def file_data(file: FileMatches) -> dict[str, object]:
    lines = [[line.number, line.text, line.matched] for line in file.lines]
    return {"root": file.root, "path": file.path, "count": file.count, "lines": lines}


TOOL = Tool(
    name="grep",
    summary="Every match of a regular expression, as ripgrep finds it.",
    run=run,
    cacheable=True,
    cpu_bound=True,
    arguments=(
        Argument("pattern", "string", "A regular expression in ripgrep's syntax.", required=True, text="pattern"),
        Argument(
            "path", "strings", "Only below this file or folder, or inside an earlier result (a handle).", text="path"
        ),
        Argument("also", "strings", "Further patterns; any of them matches.", text="pattern"),
        Argument("ignore_case", "boolean", "Upper and lower case are the same."),
        Argument("smart_case", "boolean", "Ignore case unless the pattern has an upper-case letter."),
        Argument("word", "boolean", "Whole words only."),
        Argument("fixed", "boolean", "The pattern is plain text."),
        Argument("invert", "boolean", "Lines that do not match."),
        Argument("multiline", "boolean", "A match may span lines."),
        Argument("context", "integer", "Lines around each match."),
        Argument("before", "integer", "Lines before each match."),
        Argument("after", "integer", "Lines after each match."),
        Argument("glob", "strings", "Only files that match, or with ! do not.", text="glob"),
        Argument("type", "strings", "Only files of this type, such as py."),
        Argument("type_not", "strings", "No files of this type."),
        Argument("no_tests", "boolean", "No test code, by path or by the framework's marks."),
        Argument("only_tests", "boolean", "Only test code."),
        Argument("kind", "strings", "Only lines of these kinds: def, use, import, comment, text."),
        Argument("files", "boolean", "Only the names of the files."),
        Argument("count", "boolean", "Only how many lines match in each file."),
        Argument("fields", "strings", "A table of only these: path, line, text; * is all."),
        Argument("budget", "integer", "Tokens that the reply may take."),
        Argument("all", "boolean", "Every match, without a budget."),
    ),
    budget="grep_budget",
    profiles=frozenset({"lean", "full"}),
    brief="Every match of a regex (ripgrep syntax), by enclosing symbol.",
    schema=("pattern", "path", "context_focus_question"),
    topics=frozenset({"code", "docs", "tests"}),
    examples=("grep 'def \\w+_token' src", "grep TODO -g '*.py' --files", "grep readToken --kind use --no-tests"),
)
